"""evaluate: how near it is to exact numbers, what it accepts, and what it refuses."""

import dataclasses
import json
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import dpfit
from dpfit import (
    Categorical,
    ExactScoreWarning,
    InsecureSeedWarning,
    NotFiniteError,
    Numeric,
    ParameterError,
    PrivateLinearRegression,
    Schema,
    estimator,
)
from dpfit.models.evaluation import MeasuredNumber

from .tables import CLASSES, every, seeded, state, uniform

pytestmark = pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")


def exact(model, X, y):
    """Return exact R², RMSE, mean and quantiles of residuals."""
    off = y - model.predict(X)
    quantiles = np.quantile(off, [share for share, _ in SHARES])
    r2 = 1.0 - np.mean(off**2) / np.var(y)
    return r2, math.sqrt(np.mean(off**2)), off.mean(), quantiles


NAMES = ["a", "b", "c"]
SHARES = [(share, None) for share in (0.05, 0.25, 0.5, 0.75, 0.95)]


@every
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_numbers_are_near_the_exact_ones(cls, epsilon):
    model = seeded(cls, *uniform(5000, seed=1))
    X, y = uniform(20_000, seed=2)
    found = model.evaluate(X, y, epsilon=epsilon, random_state=0)
    r2, rmse, mean, quantiles = exact(model, X, y)
    # Six standard errors: the seed is fixed.
    for value, one in ((r2, found.r2), (rmse, found.rmse), (mean, found.mean_residual)):
        assert abs(one.value - value) < 6 * one.noise
        assert 0.0 < one.noise < 0.2
    for value, (_, one) in zip(quantiles, found.residual_quantiles, strict=True):
        assert abs(one.value - value) < 6 * one.noise
    assert found.rows == pytest.approx(20_000, rel=0.05)
    assert abs(found.beyond) < 0.05
    predictions = model.predict(X)
    for each in found.calibration:
        rows = (predictions >= each.low) & (predictions < each.high)
        assert abs(each.observed.value - each.predicted - (y - predictions)[rows].mean()) < (
            6 * each.observed.noise
        )
    assert len(found.calibration) >= 5


def test_r2_is_within_its_error_of_the_exact_one():
    """In 95 % of 500 evaluations or more. With 95 %, fewer than 449 have a probability of 1e-6.

    Rows are drawn again for each, so that the interval with sampling error is checked, too.
    """
    model = seeded(PrivateLinearRegression, *uniform(5000, seed=1), epsilon=5.0)
    X, y = uniform(200_000, seed=2)
    population = exact(model, X, y)[0]
    own = drawn = 0
    for seed in range(500):
        X, y = uniform(3000, seed=100 + seed)
        found = model.evaluate(X, y, epsilon=1.0, random_state=seed).r2
        low, high = found.interval(sampling=False)
        own += low <= exact(model, X, y)[0] <= high
        low, high = found.interval()
        drawn += low <= population <= high
    least = stats.binom.ppf(1e-6, 500, 0.95)
    assert own >= least
    assert drawn >= least
    # An interval that is always right may be too wide: it is at most 0.1 here.
    assert high - low < 0.1


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_calibration_shows_a_model_that_is_off(shift):
    model = seeded(PrivateLinearRegression, *uniform(5000, seed=1))
    X, y = uniform(20_000, seed=2)
    found = model.evaluate(X, y + shift, epsilon=10.0, random_state=0)
    assert found.mean_residual.value == pytest.approx(shift, abs=0.1)
    for each in found.calibration:
        assert each.observed.value - each.predicted == pytest.approx(shift, abs=0.3)


def same(first, second):
    return first.to_dict() == second.to_dict()


def tables(X, y, folder):
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, other="Ada")
    pq.write_table(pa.Table.from_pandas(frame), folder / "rows.parquet")
    frame.to_csv(folder / "rows.csv", index=False)
    yield frame[NAMES], y
    yield frame, "y"
    yield pl.DataFrame(frame), "y"
    yield pa.Table.from_pandas(frame), "y"
    yield dpfit.scan_parquet(folder / "rows.parquet"), "y"
    yield dpfit.scan_parquet(folder / "rows.parquet", target="y"), None
    yield dpfit.scan_csv(folder / "rows.csv", without=["other"]), "y"


@every
def test_tables_of_every_kind_give_the_same_numbers(cls, tmp_path):
    X, y = uniform(3000)
    model = seeded(cls, pd.DataFrame(X, columns=NAMES), y)
    expected = model.evaluate(pd.DataFrame(X, columns=NAMES), y, random_state=1, epsilon=1.0)
    before = state(model)
    for table, target in tables(X, y, tmp_path):
        assert same(model.evaluate(table, target, random_state=1, epsilon=1.0), expected)
    assert state(model) == before


def test_arrays_and_levels():
    X, y = uniform(3000)
    model = seeded(PrivateLinearRegression, X, y)
    expected = model.evaluate(X, y, random_state=1, epsilon=1.0)
    assert same(model.evaluate(X.tolist(), y.tolist(), random_state=1, epsilon=1.0), expected)
    assert same(model.evaluate(np.asfortranarray(X), y, random_state=1, epsilon=1.0), expected)
    levels = np.array(["u", "v"])[(X[:, 0] > 0).astype(int)]
    rows = np.column_stack([X[:, 1].astype(object), levels.astype(object)])
    schema = Schema({1: Categorical(["u", "v"])})
    model = seeded(PrivateLinearRegression, rows, y, schema=schema)
    assert model.evaluate(rows, y, epsilon=10.0, random_state=1).r2.value > 0.1


@every
def test_units_are_kept_by_their_content(cls):
    X, y = uniform(3000)
    model = seeded(cls, X, y)
    owners = np.arange(3000) // 5
    found = model.evaluate(X, y, unit=owners, max_rows=2, epsilon=50.0, random_state=0)
    assert found.rows == pytest.approx(1200, rel=0.1)
    order = np.random.default_rng(0).permutation(3000)
    turned = model.evaluate(
        X[order], y[order], unit=owners[order], max_rows=2, epsilon=50.0, random_state=0
    )
    assert same(turned, found)
    named = pd.DataFrame(X, columns=NAMES).assign(who=owners, y=y)
    model = seeded(cls, named[NAMES], y)
    found = model.evaluate(named, "y", unit="who", max_rows=2, random_state=0, epsilon=1.0)
    assert found.privacy.unit_name == "who"


@every
def test_missing_values_are_treated_as_in_the_fit(cls):
    X, y = uniform(3000)
    holes = X.copy()
    holes[::10, 1] = np.nan
    model = seeded(cls, X, y, missing="drop")
    kept = np.isfinite(holes).all(axis=1)
    expected = model.evaluate(X[kept], y[kept], random_state=0, epsilon=1.0)
    for value in (np.nan, np.inf, -np.inf):
        holes[::10, 1] = value
        assert same(model.evaluate(holes, y, random_state=0, epsilon=1.0), expected)
    strict = seeded(cls, X, y)
    with pytest.raises(NotFiniteError, match="NaN"):
        strict.evaluate(holes, y, epsilon=1.0)
    y[3] = np.inf
    with pytest.raises(NotFiniteError, match="NaN"):
        strict.evaluate(X, y, epsilon=1.0)


WRONG = [
    ({"epsilon": 0.0}, "epsilon"),
    ({"epsilon": 1.0, "mu": 1.0}, "must not both"),
    ({}, "epsilon or mu is required"),
    ({"delta": 1e-9}, "epsilon or mu is required"),
    ({"epsilon": 1.0, "unit": np.arange(300)}, "together"),
    ({"epsilon": 1.0, "max_rows": 2}, "together"),
    ({"epsilon": 1.0, "max_rows": 0, "unit": np.arange(300)}, "max_rows"),
    ({"epsilon": 1.0, "sample_weight": np.ones(300)}, "sample_weight requires max_weight"),
    ({"epsilon": 1.0, "sample_weight": np.ones(299), "max_weight": 1.0}, "one number for each"),
    ({"epsilon": 1.0, "sample_weight": np.ones(300), "max_weight": 0.0}, "max_weight must be"),
    ({"epsilon": 1.0, "sample_weight": "w", "max_weight": 1.0}, "no column 'w'"),
    (
        {"epsilon": 1.0, "sample_weight": np.ma.masked_less(np.ones(300), 2), "max_weight": 1.0},
        "must not be a masked array",
    ),
]


@pytest.mark.parametrize(("options", "match"), WRONG)
def test_wrong_parameters(options, match):
    X, y = uniform(300)
    model = seeded(PrivateLinearRegression, X, y)
    with pytest.raises(ParameterError, match=match):
        model.evaluate(X, y, **options)


def test_wrong_tables():
    X, y = uniform(300)
    model = seeded(PrivateLinearRegression, pd.DataFrame(X, columns=NAMES), y)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y)
    with pytest.raises(ParameterError, match="requires y"):
        model.evaluate(frame[NAMES], epsilon=1.0)
    with pytest.raises(ParameterError, match="'z'"):
        model.evaluate(frame, "z", epsilon=1.0)
    with pytest.raises(ParameterError, match="feature names"):
        model.evaluate(frame.drop(columns="b"), "y", epsilon=1.0)
    with pytest.raises(ParameterError, match="same number of rows"):
        model.evaluate(frame[NAMES], y[:-1], epsilon=1.0)
    unnamed = seeded(PrivateLinearRegression, X, y)
    with pytest.raises(ParameterError, match="same number of rows"):
        unnamed.evaluate(X, y[:-1], epsilon=1.0)
    with pytest.raises(ParameterError, match="no column 'y'"):
        unnamed.evaluate(X, "y", epsilon=1.0)


def test_a_model_that_knows_no_range_is_refused_before_rows_are_read():
    X, y = uniform(30)
    model = seeded(PrivateLinearRegression, X, y, epsilon=1e-3)
    if math.isfinite(model.prediction_range_[0]):
        pytest.fail("this fit should not see the range of the target")
    with pytest.raises(ParameterError, match="does not know the range"):
        model.evaluate("not a table", None, epsilon=1.0)


@every
def test_little_data_is_not_an_error(cls):
    """Noise that hides everything gives no number, and raises nothing that would tell."""
    model = seeded(cls, *uniform(3000), schema=Schema(target=Numeric(-20, 20)))
    for rows in (1, 5, 50):
        for seed in range(5):
            X, y = uniform(rows, seed=seed)
            found = model.evaluate(X, y, epsilon=0.1, random_state=seed)
            assert math.isnan(found.r2.value) or found.r2.noise > 0.1
            assert math.isnan(found.rmse.value) or found.rmse.value >= 0.0
            assert "Evaluation" in str(found)


def test_residuals_that_the_noise_hides_are_not_said_to_be_small():
    model = seeded(PrivateLinearRegression, *uniform(3000))
    for seed in range(20):
        X, y = uniform(500, seed=seed)
        found = model.evaluate(X, y, epsilon=0.1, random_state=seed)
        exact = np.sqrt(np.mean(np.square(y - model.predict(X))))
        if math.isnan(found.rmse.value):
            assert "the noise hides how large residuals are" in " ".join(str(found).split())
            assert math.isnan(found.mean_residual.value)
        else:
            assert abs(found.rmse.value - exact) < 5.0 * found.rmse.noise


def test_text_json_and_statement():
    X, y = uniform(3000)
    model = seeded(PrivateLinearRegression, X, y)
    found = model.evaluate(X, y, epsilon=1.0)
    text = str(found)
    assert repr(found) == text
    for word in ("R²", "RMSE", "mean residual", "50 % residual", "target at"):
        assert word in text
    assert "<table" in found._repr_html_()
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["r2"]["value"] == found.r2.value
    assert data["calibration"][0]["low"] is None
    assert found.statement().startswith("This evaluation protects each row")
    assert "NOT PRIVATE" not in text
    assert "Rows (noisy)" in text
    public = seeded(PrivateLinearRegression, X, y, neighbors="replace").evaluate(X, y, epsilon=1.0)
    assert ("Rows", "3000") in public.summary().facts
    seed = model.evaluate(X, y, random_state=1, epsilon=1.0)
    assert "NOT PRIVATE" in str(seed)
    with pytest.warns(InsecureSeedWarning):
        model.evaluate(X, y, random_state=1, epsilon=1.0)


def test_intervals():
    found = MeasuredNumber(1.0, 3.0, 4.0)
    assert found.error == 5.0
    low, high = found.interval(0.95)
    assert high - 1.0 == pytest.approx(1.0 - low) == pytest.approx(5.0 * stats.norm.ppf(0.975))
    low, high = found.interval(0.9, sampling=False)
    assert high - 1.0 == pytest.approx(3.0 * stats.norm.ppf(0.95))
    for level in (0.0, 1.0, "x"):
        with pytest.raises(ParameterError, match="level"):
            found.interval(level)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.value = 2.0
    assert MeasuredNumber(0.9, 3.0, 4.0, (-math.inf, 1.0)).interval()[1] == 1.0
    assert MeasuredNumber(0.9, 3.0, 4.0, (0.0, math.inf)).interval()[0] == 0.0


def test_intervals_of_r2_and_rmse_contain_only_possible_values():
    model = seeded(PrivateLinearRegression, *uniform(5000, seed=1))
    found = model.evaluate(*uniform(400, seed=2), epsilon=0.5, random_state=0)
    wide = dataclasses.replace(found.rmse, noise=found.rmse.value)
    assert wide.value - 1.96 * wide.error < 0.0 == wide.interval()[0]
    assert math.isnan(found.r2.value)
    assert "R² is not known: the noise hides the variance of the target." in " ".join(
        str(found).split()
    )
    found = model.evaluate(*uniform(500, seed=2), epsilon=0.5, random_state=0)
    assert found.r2.value + 1.96 * found.r2.error > 1.0 == found.r2.interval()[1]
    assert "R² is not known" not in str(found)


def test_score_does_not_take_a_name():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    model = PrivateLinearRegression(epsilon=1.0).fit(frame, "y")
    with pytest.raises(ParameterError, match=r"evaluate\(X, 'y', epsilon=...\)"):
        model.score(frame, "y")


@pytest.mark.parametrize("cls", [*CLASSES, dpfit.BoostedAdaSSP])
def test_score_warns_once(cls, monkeypatch):
    X, y = uniform(300)
    model = cls(random_state=0).fit(X, y)
    monkeypatch.setattr(estimator, "_exact_score_was_reported", False)
    with pytest.warns(ExactScoreWarning, match="evaluate"):
        score = model.score(X, y)
    assert score == pytest.approx(
        1.0 - np.sum((y - model.predict(X)) ** 2) / np.sum((y - y.mean()) ** 2)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.score(X, y) == score


def test_a_loaded_model_evaluates_the_same(tmp_path):
    X, y = uniform(3000)
    model = seeded(PrivateLinearRegression, X, y)
    model.save(tmp_path / "model.json")
    loaded = dpfit.load(tmp_path / "model.json")
    assert same(
        loaded.evaluate(X, y, random_state=3, epsilon=1.0),
        model.evaluate(X, y, random_state=3, epsilon=1.0),
    )
