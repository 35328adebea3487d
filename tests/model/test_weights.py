"""Weights of rows: weighted least squares, on every kind of table, and errors without data."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

import dpfit
from dpfit import NotFiniteError, ParameterError, PrivateLinearRegression

from .tables import every, state, uniform

pytestmark = pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")

NAMES = ["a", "b", "c"]


def fitted(cls, X, y, sample_weight, **options):
    options = {"epsilon": 20.0, "max_weight": 6.0, "n_jobs": 1, "random_state": 0, **options}
    return cls(**options).fit(X, y, sample_weight=sample_weight)


def survey(rows=40_000, seed=0):
    """Draw a survey in two strata, of which one was asked six times as often as the other."""
    rng = np.random.default_rng(seed)
    often = rng.random(rows) < 0.7
    x = rng.uniform(0.0, 10.0, size=rows)
    y = np.where(often, x + 3.0, 3.0 * x - 2.0) + rng.normal(size=rows)
    return x[:, None], y, np.where(often, 1.0, 6.0)


@every
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
@pytest.mark.parametrize("size", [1.0, 1e-6, 1e5])
def test_the_slope_of_a_stratified_survey(cls, epsilon, size):
    """The noise is fixed; the weighted and the unweighted slope differ by 0.8."""
    X, y, weight = survey()
    model = fitted(cls, X, y, size * weight, max_weight=6.0 * size, epsilon=epsilon)
    expected = LinearRegression().fit(X, y, weight)
    ends = np.array([[1.0], [9.0]])
    np.testing.assert_allclose(model.predict(ends), expected.predict(ends), atol=0.3)
    if cls is PrivateLinearRegression:
        low, high = model.coef_interval()[0]
        assert low < expected.coef_[0] < high
        assert high - low < 0.1


@every
def test_equal_weights_are_no_weights(cls):
    X, y = uniform(20_000)
    plain = fitted(cls, X, y, None)
    equal = fitted(cls, X, y, np.full(20_000, 6.0))
    np.testing.assert_allclose(equal.predict(X), plain.predict(X), atol=0.1)
    # Weights above the bound are clipped to it, bit for bit.
    above = fitted(cls, X, y, np.linspace(6.0, 1e300, 20_000))
    assert state(above) == state(equal)


@every
def test_rows_of_weight_zero_have_no_part_in_slopes(cls):
    X, y = uniform(20_000)
    weight = np.ones(20_000)
    y[::2], weight[::2] = -y[::2], 0.0
    model = fitted(cls, X, y, weight, max_weight=1.0)
    used = weight > 0.0
    assert np.mean((y - model.predict(X))[used] ** 2) < 0.5
    # They are still counted as rows.
    assert model.n_rows_ == pytest.approx(20_000, rel=0.01)


def named(folder):
    X, y, weight = survey(3000)
    frame = pd.DataFrame({"x": X[:, 0], "y": y, "w": weight.astype(np.int8)})
    frame["w"] = frame["w"].astype(float)
    pq.write_table(pa.Table.from_pandas(frame), folder / "rows.parquet")
    frame.to_csv(folder / "rows.csv", index=False)
    return frame


@every
def test_tables_of_every_kind_give_the_same_model(cls, tmp_path):
    frame = named(tmp_path)
    expected = fitted(cls, frame, "y", "w")
    assert expected.feature_names_in_.tolist() == ["x"]
    for table in (
        pl.DataFrame(frame),
        pa.Table.from_pandas(frame),
        pa.Table.from_pandas(frame).to_reader(),
        dpfit.scan_parquet(tmp_path / "rows.parquet"),
        dpfit.scan_csv(tmp_path / "rows.csv"),
        dpfit.scan_batches(lambda: [frame[:1000], frame[1000:]]),
    ):
        model = fitted(cls, table, "y", "w")
        assert state(model, not_features=()) == state(expected, not_features=())
        np.testing.assert_array_equal(model.predict(frame), expected.predict(frame))
    given = fitted(cls, frame[["x"]], frame["y"], frame["w"])
    assert state(given) == state(expected, not_features=())
    array = fitted(cls, frame[["x"]].to_numpy(), frame["y"].to_numpy(), frame["w"].tolist())
    np.testing.assert_array_equal(array.predict(frame[["x"]].to_numpy()), given.predict(frame))


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, -np.inf])
def test_bad_weights_are_missing_values(cls, bad):
    X, y = uniform(700)
    weight = np.ones(700)
    weight[7] = bad
    with pytest.raises(NotFiniteError, match="sample_weight also a negative number") as error:
        fitted(cls, X, y, weight)
    assert "700" not in str(error.value)
    kept = np.arange(700) != 7
    dropped = fitted(cls, X, y, weight, missing="drop")
    assert state(dropped) == state(fitted(cls, X[kept], y[kept], weight[kept], missing="drop"))


@every
def test_wrong_weights(cls):
    X, y = uniform(300)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, w=1.0)
    for weight in (np.ones(299), np.ones((300, 1)), 3.0, ["a"] * 300, [None] * 299, object()):
        with pytest.raises(ParameterError, match="sample_weight must have one number"):
            fitted(cls, X, y, weight)
        with pytest.raises(ParameterError, match="sample_weight must have one number"):
            fitted(cls, frame, "y", weight)
    masked = np.ma.masked_less(np.ones(300), 2.0)
    for table, target in ((X, y), (frame, "y")):
        with pytest.raises(ParameterError, match="must not be a masked array"):
            fitted(cls, table, target, masked)
    for weight, match in (("v", "'v' to use as the weight"), ("y", "different columns")):
        with pytest.raises(ParameterError, match=match):
            fitted(cls, frame, "y", weight)
    with pytest.raises(ParameterError, match="no column 'w'"):
        fitted(cls, X, y, "w")
    with pytest.raises(ParameterError, match="the name of one of its columns"):
        fitted(cls, dpfit.scan_batches(lambda: [frame]), "y", np.ones(300))
    with pytest.raises(ParameterError, match="max_weight, a public upper bound"):
        fitted(cls, X, y, np.ones(300), max_weight=None)


@every
def test_units_and_weights(cls):
    X, y = uniform(3000)
    owners, weight = np.arange(3000) // 3, np.random.default_rng(0).uniform(0, 7, 3000)
    model = cls(epsilon=20.0, max_rows=2, max_weight=6.0, random_state=0)
    first = state(model.fit(X, y, unit=owners, sample_weight=weight))
    order = np.random.default_rng(1).permutation(3000)
    model.fit(X[order], y[order], unit=owners[order], sample_weight=weight[order])
    assert state(model) == first


def test_a_search_passes_weights_on():
    X, y, weight = survey(3000)
    model = PrivateLinearRegression(max_weight=6.0, random_state=0, n_jobs=1)
    search = GridSearchCV(model, {"epsilon": [5.0, 20.0]}, cv=2).fit(X, y, sample_weight=weight)
    again = search.best_estimator_
    assert "sum of weights" in [event.statistic for event in again.privacy_.events]
    assert again.max_weight == 6.0


def test_a_file_keeps_the_bound(tmp_path):
    X, y, weight = survey(3000)
    model = fitted(PrivateLinearRegression, X, y, weight)
    model.save(tmp_path / "model.json")
    assert dpfit.load(tmp_path / "model.json").max_weight == 6.0


@pytest.mark.parametrize("bound", [np.inf, np.nan, 0.0, -1.0, "6"])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_bound_is_checked_before_anything_is_spent(bound, weighted):
    """Also without weights: the model is saved with the parameter."""
    X = np.zeros((30, 1))
    model = PrivateLinearRegression(max_weight=bound)
    with pytest.raises(ParameterError, match="max_weight"):
        model.fit(X, X[:, 0], sample_weight=np.ones(30) if weighted else None)


@pytest.mark.parametrize("max_weight", [1.0, 4.0])
def test_the_residual_variance_does_not_depend_on_the_largest_weight(max_weight):
    """To 15 %: if all weights are one, a bound of four makes scores four times as small."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=20_000)
    weight = np.ones(20_000)
    model = fitted(PrivateLinearRegression, X, y, weight, max_weight=max_weight, epsilon=5.0)
    assert model.residual_variance_ == pytest.approx(1.0, rel=0.15)
