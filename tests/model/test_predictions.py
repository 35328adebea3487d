"""What `predict` returns is what the attributes say.

Lines or curves, flat beyond the ranges, and clipped to where predictions are plausible.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpfit
from dpfit import (
    Binary,
    NotFiniteError,
    Numeric,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)

from .tables import every, seeded, uniform

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")

quick = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**32)
budgets = st.sampled_from([0.5, 5.0, 50.0])


def skewed(rows=2000, seed=0):
    """Draw columns with one long tail, with two, with none, far away, and of two values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.lognormal(sigma=1.5, size=rows),
            rng.standard_t(2, size=rows),
            rng.uniform(-5.0, 1.0, size=rows),
            737_000.0 + 1000.0 * rng.normal(size=rows),
            rng.integers(0, 2, size=rows),
        ]
    )
    y = np.log(X[:, 0]) + np.clip(X[:, 1], -2, 2) + X[:, 2] + X[:, 4] + rng.normal(size=rows)
    return X, y


def inside(model, rows, rng):
    """Draw rows within the ranges; where a range has no end, anywhere."""
    ends = model.feature_range_
    low, high = np.where(np.isfinite(ends), ends, np.sign(ends) * 1e6).T
    return low + rng.uniform(size=(rows, len(low))) * (high - low)


@quick
@given(seeds, budgets, st.sampled_from([100, 2000]))
def test_a_line_inside_its_ranges(seed, epsilon, rows):
    X, y = skewed(rows, seed)
    model = seeded(PrivateLinearRegression, X, y, epsilon=epsilon, seed=seed)
    near = inside(model, 50, np.random.default_rng(seed))
    expected = np.clip(near @ model.coef_ + model.intercept_, *model.prediction_range_)
    size = np.abs(near) @ np.abs(model.coef_) + abs(model.intercept_)
    # Relative to what is added: far from zero much of it cancels.
    assert (np.abs(model.predict(near) - expected) <= 1e-9 * size).all()
    np.testing.assert_allclose(model.predict(near), expected, rtol=1e-9, atol=1e-9 * y.std())


@every
@quick
@given(seeds, budgets)
def test_flat_beyond_the_ranges(cls, seed, epsilon):
    X, y = skewed(seed=seed)
    model = seeded(cls, X, y, epsilon=epsilon, seed=seed)
    rng = np.random.default_rng(seed)
    ends = inside(model, 20, rng)
    beyond = ends.copy()
    for column, (low, high) in enumerate(model.feature_range_):
        if np.isfinite(low):
            side = rng.random(20) < 0.5
            ends[:, column] = np.where(side, low, high)
            far = 10.0 ** rng.uniform(-3, 300, size=20)
            beyond[:, column] = np.where(side, low - far, high + far)
        else:
            beyond[:, column] = 10.0 ** rng.uniform(-3, 300, size=20)
    np.testing.assert_allclose(model.predict(beyond), model.predict(ends), rtol=1e-9)


@quick
@given(seeds, budgets, st.sampled_from([None, 1, 12]))
def test_curves_add_up_to_predictions(seed, epsilon, knots):
    X, y = skewed(seed=seed)
    model = seeded(PrivateAdditiveRegression, X, y, epsilon=epsilon, seed=seed, knots=knots)
    rng = np.random.default_rng(seed)
    rows = inside(model, 50, rng)
    rows[::2] *= rng.uniform(-3.0, 3.0, size=(25, rows.shape[1]))
    expected = np.full(len(rows), model.intercept_)
    for column in range(rows.shape[1]):
        x, height = model.curve(column)
        assert len(x) == len(height)
        assert (np.diff(x) > 0.0).all()
        expected += np.interp(rows[:, column], x, height)
        if len(x) > 1:
            np.testing.assert_array_equal(model.feature_range_[column], [x[0], x[-1]])
    expected = np.clip(expected, *model.prediction_range_)
    np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-9, atol=1e-12)


def test_a_curve_is_zero_at_the_median():
    X, y = uniform(20_000)
    model = seeded(PrivateAdditiveRegression, X, y)
    for column in range(3):
        x, height = model.curve(column)
        middle = np.interp(np.median(X[:, column]), x, height)
        assert abs(middle) < 0.02 * np.ptp(height)
    assert model.intercept_ == pytest.approx(np.median(y), abs=0.1 * y.std())


@pytest.mark.parametrize("knots", [1, 2, 7, 30])
def test_as_many_knots_as_were_asked_for(knots):
    X, y = uniform(20_000, columns=2)
    model = seeded(PrivateAdditiveRegression, X, y, knots=knots)
    for column in range(2):
        x, _ = model.curve(column)
        # And the two ends.
        assert len(x) == knots + 2
        shares = np.mean(X[:, [column]] < x[1:-1], axis=0)
        np.testing.assert_allclose(shares, np.arange(1, knots + 1) / (knots + 1), atol=0.02)


def test_a_curve_bends_where_the_data_do():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(30_000, 2))
    y = np.abs(X[:, 0]) + np.sin(X[:, 1]) + 0.1 * rng.normal(size=30_000)
    model = seeded(PrivateAdditiveRegression, X, y, epsilon=5.0)
    grid = np.linspace(-2.8, 2.8, 50)
    for column, shape in enumerate((np.abs, np.sin)):
        found = model.predict(np.column_stack([grid * (column == k) for k in range(2)]))
        wanted = shape(grid)
        assert np.std((found - found.mean()) - (wanted - wanted.mean())) < 0.15


@every
def test_ranges_are_inside_public_bounds(cls):
    X, y = uniform()
    schema = Schema({0: Numeric(0.0, 2.0), 1: Binary(), 2: Numeric(-10.0, 10.0)})
    model = seeded(cls, X, y, schema=schema)
    low, high = model.feature_range_.T
    # A quarter of the rows is beyond either bound of the first column, which is where it ends then.
    np.testing.assert_allclose(model.feature_range_[0], [0.0, 2.0], atol=0.03)
    assert low[0] >= 0.0
    assert high[0] <= 2.0
    np.testing.assert_array_equal(model.feature_range_[1], [0.0, 1.0])
    assert -1.5 < low[2] < -0.5
    assert 2.5 < high[2] < 3.5
    low, high = np.array([[-1.0, -4.0, -99.0], [5.0, 2.0, 99.0]])
    for row, same in ((low, [0.0, 0.0, -10.0]), (high, [2.0, 1.0, 10.0])):
        np.testing.assert_array_equal(model.predict([row]), model.predict([same]))


def saturated(rows=5000, seed=0):
    """Draw a target that follows a sum of columns between -1 and 1 and is flat beyond.

    Predictions for rows of the fit are mostly between these; for rows farther out most are not.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    return X, np.clip(X.sum(axis=1), -1.0, 1.0) + 0.02 * rng.normal(size=rows)


@every
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (-0.3, 0.8), (0.0, 50.0)])
def test_predictions_stay_inside_public_bounds_of_the_target(cls, epsilon, bounds):
    X, y = saturated()
    model = seeded(cls, X, y, epsilon=epsilon, schema=Schema(target=Numeric(*bounds)))
    low, high = model.prediction_range_
    assert bounds[0] <= low < high <= bounds[1]
    for rows in (X, 100.0 * X):
        found = model.predict(rows)
        assert low <= found.min()
        assert found.max() <= high
    # They reach the bounds that cut them: the others would be a guess beyond the target.
    assert (found == bounds[0]).mean() > 0.05
    if bounds[1] < 50.0:
        assert (found == bounds[1]).mean() > 0.05


@every
@pytest.mark.parametrize("schema", [None, Schema(target=Numeric(-0.5, 40.0))])
def test_predictions_are_clipped_a_width_beyond_the_range_of_the_target(cls, schema):
    X, y = saturated()
    model = seeded(cls, X, y, schema=schema)
    low, high = model.target_range_
    expected = low - (high - low), high + (high - low)
    if schema is not None:
        expected = -0.5, expected[1]
    assert model.prediction_range_ == pytest.approx(expected)
    found = model.predict(100.0 * X)
    assert (found == model.prediction_range_[0]).mean() > 0.005
    assert (found == model.prediction_range_[1]).mean() > 0.005
    # No more than that: rows in between are predicted as lines or curves add up.
    inside = (found > model.prediction_range_[0]) & (found < model.prediction_range_[1])
    assert inside.mean() > 0.5
    if cls is PrivateLinearRegression:
        rows = np.clip(100.0 * X[inside], *model.feature_range_.T)
        np.testing.assert_allclose(found[inside], rows @ model.coef_ + model.intercept_)


@every
def test_nothing_is_clipped_if_predictions_fit_the_target(cls):
    X, y = uniform(5000)
    model = seeded(cls, X, y)
    low, high = model.prediction_range_
    assert (model.predict(X) > low).all()
    assert (model.predict(X) < high).all()
    if cls is PrivateLinearRegression:
        rows = np.clip(X, *model.feature_range_.T)
        np.testing.assert_allclose(model.predict(X), rows @ model.coef_ + model.intercept_)


@every
def test_predictions_are_not_clipped_if_the_target_is_not_seen(cls):
    X, y = saturated(50)
    model = seeded(cls, X, 1000.0 * y, epsilon=1e-3)
    assert model.status_ == "nothing"
    assert model.prediction_range_ == (-np.inf, np.inf)
    schema = Schema(target=Numeric(-2000, 1000))
    model = seeded(cls, X, 1000.0 * y, epsilon=1e-3, schema=schema)
    low, high = model.prediction_range_
    assert -2000.0 <= low < high <= 1000.0
    assert low <= model.predict(X).min() <= model.predict(X).max() <= high


@every
def test_missing_values_are_not_clipped(cls):
    X, y = saturated()
    model = seeded(cls, X, y, missing="drop", schema=Schema(target=Numeric(-1, 1)))
    rows = 100.0 * X[:50]
    rows[::2, 1] = np.nan
    found = model.predict(rows)
    np.testing.assert_array_equal(np.isnan(found), np.arange(50) % 2 == 0)


@every
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_to_predict_for_are_finite(cls, value):
    X, y = uniform(500)
    model = seeded(cls, X, y)
    with pytest.raises(NotFiniteError):
        model.predict([[1.0, value, 1.0]])


@every
@pytest.mark.parametrize("rows", [20, 500])
def test_rows_with_nothing_to_predict_from(cls, rows):
    """With missing="drop" NaN is predicted as NaN, and other rows as if they were alone."""
    X, y = uniform(rows)
    model = seeded(cls, X, y, missing="drop", epsilon=5.0)
    found = model.predict([[1.0, np.nan, 1.0], [1.0, 1.0, 1.0]])
    assert np.isnan(found[0])
    assert np.isfinite(found[1])
    assert found[1] == pytest.approx(model.predict([[1.0, 1.0, 1.0]])[0], rel=1e-12)
    # Infinity is beyond every range, and a model of a mean is flat.
    far = model.predict([[1.0, np.inf, 1.0], [1.0, -np.inf, 1.0]])
    near = model.predict([[1.0, 1e300, 1.0], [1.0, -1e300, 1.0]])
    np.testing.assert_allclose(far, near, rtol=1e-12)


@every
def test_columns_that_are_no_features_may_be_there(cls, tmp_path):
    X, y = uniform(columns=2)
    rows = pd.DataFrame(X, columns=["a", "b"])
    model = seeded(cls, rows, y)
    expected = model.predict(rows)
    more = rows.assign(name="Ada", y=y)[["name", "a", "y", "b"]]
    for others in (more, pl.DataFrame(more), pa.Table.from_pandas(more)):
        np.testing.assert_array_equal(np.asarray(model.predict(others)), expected)
    # What scikit-learn says of names holds for the others.
    with pytest.raises(ValueError, match="same order"):
        model.predict(more[["b", "a", "name"]])
    with pytest.raises(ValueError, match="yet now missing:\n- b") as caught:
        model.predict(more.drop(columns="b"))
    assert "name\n" not in str(caught.value)
    with pytest.raises(ValueError, match="unseen at fit time:\n- name"):
        model.predict(more[["name"]])


@every
def test_a_scan_leaves_columns_out(cls, tmp_path):
    X, y = uniform(columns=2)
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(name="Ada", y=y)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_parquet(tmp_path / "rows.parquet")
    for scan in (
        dpfit.scan_csv(tmp_path / "rows.csv", target="y", without=["name"]),
        dpfit.scan_parquet(tmp_path / "rows.parquet", target="y", without=["name"]),
        dpfit.scan_batches(lambda: iter([rows]), target="y", without=["name"]),
    ):
        model = cls(epsilon=5.0).fit(scan)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        assert len(model.predict(scan)) == len(rows)
    scan = dpfit.scan_csv(tmp_path / "rows.csv", target="y", without=["nome"])
    with pytest.raises(dpfit.ParameterError, match="no column 'nome' to leave out"):
        cls().fit(scan)
    with pytest.raises(dpfit.ParameterError, match="list of column names"):
        dpfit.scan_csv(tmp_path / "rows.csv", without="name")
