"""evaluate with weights: how near it is to exact numbers, and what it accepts."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import dpfit
from dpfit import NotFiniteError, PrivateLinearRegression

from .tables import every, seeded, uniform

pytestmark = pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")

NAMES = ["a", "b", "c"]


def same(first, second):
    return first.to_dict() == second.to_dict()


def weighted(model, X, y, weight):
    """Return weighted R², RMSE, mean and median of residuals, and the mean of the target."""
    off = y - model.predict(X)
    mean = np.average(y, weights=weight)
    square = np.average(off**2, weights=weight)
    order = np.argsort(off)
    place = np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)
    r2 = 1.0 - square / np.average((y - mean) ** 2, weights=weight)
    return r2, math.sqrt(square), np.average(off, weights=weight), off[order][place]


@every
@pytest.mark.parametrize("size", [1.0, 1e-6, 1e5])
def test_weighted_numbers(cls, size):
    """Rows of large weight have other residuals, so that all numbers differ from plain ones."""
    model = seeded(cls, *uniform(5000, seed=1))
    X, y = uniform(20_000, seed=2)
    weight = np.where(X[:, 0] > 1.5, 5.0, 0.5)
    y[X[:, 0] > 1.5] += 3.0
    options = {"epsilon": 5.0, "random_state": 0}
    found = model.evaluate(X, y, sample_weight=size * weight, max_weight=5.0 * size, **options)
    plain = model.evaluate(X, y, **options)
    assert found.rows == plain.rows
    numbers = [found.r2, found.rmse, found.mean_residual, found.residual_quantiles[2][1]]
    others = [plain.r2, plain.rmse, plain.mean_residual, plain.residual_quantiles[2][1]]
    for exact, one, other in zip(weighted(model, X, y, weight), numbers, others, strict=True):
        # Six standard errors: the seed is fixed.
        assert abs(one.value - exact) < 6.0 * one.noise
        assert abs(one.value - other.value) > 6.0 * one.noise
    predictions = model.predict(X)
    for each in found.calibration:
        rows = (predictions >= each.low) & (predictions < each.high)
        exact = np.average((y - predictions)[rows], weights=weight[rows])
        assert abs(each.observed.value - each.predicted - exact) < 6 * each.observed.noise
    assert len(found.calibration) >= 5
    assert found.to_dict()["max_weight"] == 5.0 * size
    assert "Weights" in str(found)
    assert "max_weight" not in plain.to_dict()


def test_weighted_numbers_are_within_their_error():
    """Of 200 evaluations, at most 28 are further away than 1.96 errors: with 5 %, in 1e-6 of runs.

    Without the bias of quantised weights: those are a tenth of the largest weight or more.
    """
    model = seeded(PrivateLinearRegression, *uniform(5000, seed=1), epsilon=5.0)
    X, y = uniform(4000, seed=2)
    weight = np.random.default_rng(0).uniform(0.5, 5.0, size=4000)
    exact = weighted(model, X, y, weight)[:3]
    far = np.zeros(3)
    for seed in range(200):
        found = model.evaluate(
            X, y, epsilon=1.0, sample_weight=weight, max_weight=5.0, random_state=seed
        )
        numbers = (found.r2, found.rmse, found.mean_residual)
        far += [
            abs(one.value - value) > 1.96 * one.noise
            for one, value in zip(numbers, exact, strict=True)
        ]
    assert far.max() <= stats.binom.isf(1e-6, 200, 0.05)


@every
def test_bad_weights_are_missing_values(cls):
    X, y = uniform(3000)
    options = {"epsilon": 1.0, "max_weight": 2.0, "random_state": 0}
    kept = np.arange(3000) % 10 != 0
    for value in (np.nan, np.inf, -1.0):
        weight = np.ones(3000)
        weight[~kept] = value
        with pytest.raises(NotFiniteError, match="or sample_weight also a negative number"):
            seeded(cls, X, y).evaluate(X, y, sample_weight=weight, **options)
        model = seeded(cls, X, y, missing="drop")
        expected = model.evaluate(X[kept], y[kept], sample_weight=weight[kept], **options)
        assert same(model.evaluate(X, y, sample_weight=weight, **options), expected)


def test_weights_in_tables_of_every_kind(tmp_path):
    X, y = uniform(3000)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, w=np.arange(3000.0) % 7)
    options = {"sample_weight": "w", "max_weight": 6.0, "random_state": 1, "epsilon": 1.0}
    model = PrivateLinearRegression(epsilon=20.0, max_weight=6.0, random_state=0)
    model.fit(frame, "y", sample_weight="w")
    expected = model.evaluate(frame, "y", **options)
    given = model.evaluate(frame[NAMES], y, **{**options, "sample_weight": frame["w"]})
    assert same(given, expected)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for table in (
        pl.DataFrame(frame),
        pa.Table.from_pandas(frame),
        dpfit.scan_parquet(tmp_path / "rows.parquet"),
        dpfit.scan_csv(tmp_path / "rows.csv"),
        dpfit.scan_batches(lambda: [frame[:1000], frame[1000:]]),
    ):
        assert same(model.evaluate(table, "y", **options), expected)
