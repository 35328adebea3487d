"""Predictions and intervals of many rows, which the core computes."""

import numpy as np
import pytest
from scipy.special import stdtrit

from dpfit import (
    Categorical,
    NotFiniteError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    _native,
)
from dpfit.models import prediction
from dpfit.models.estimates import _t_quantiles


@pytest.fixture(scope="module", params=[PrivateLinearRegression, PrivateAdditiveRegression])
def fitted(request):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(20_000, 3)), rng.integers(0, 5, 20_000)])
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * X[:, 3] + rng.normal(size=20_000)
    # Level 4 is not listed, and level 9 has no rows.
    schema = Schema({3: Categorical([0, 1, 2, 3, 9])})
    return request.param(epsilon=3.0, schema=schema, missing="drop").fit(X, y)


def rows(n):
    rng = np.random.default_rng(1)
    X = np.column_stack([3 * rng.normal(size=(n, 3)), rng.integers(0, 5, n)])
    X[5, 0], X[6, 1], X[7, 2] = np.nan, np.inf, -np.inf
    return X


def test_predictions_are_the_sums_of_effects(fitted):
    X, model = rows(3_000), fitted.model_
    positions = np.where(X[:, 3] < 4, X[:, 3], -1.0)
    columns = [*X[:, :3].T, positions]
    total = np.full(len(X), model.intercept)
    for column, effect in zip(columns, model.effects, strict=True):
        total += effect(column)
        total[np.isnan(column)] = np.nan
    expected = np.clip(total, *model.prediction_range)
    found = fitted.predict(X)
    assert np.isnan(found[5])
    assert np.isfinite(found[[6, 7]]).all()
    assert np.array_equal(found, expected, equal_nan=True)
    # Every number of rows, memory layout and type of numbers.
    assert np.array_equal(fitted.predict(X[:7]), expected[:7], equal_nan=True)
    assert np.array_equal(fitted.predict(np.asfortranarray(X)), expected, equal_nan=True)
    assert np.array_equal(model.predict(columns), expected, equal_nan=True)
    short = [column.astype(np.float16) for column in columns]
    assert np.array_equal(
        model.predict(short),
        model.predict([column.astype(np.float64) for column in short]),
        equal_nan=True,
    )


@pytest.mark.parametrize("inference", ["population", "sample"])
@pytest.mark.parametrize("kind", ["mean", "observation"])
def test_intervals_of_many_rows_are_those_of_few(fitted, inference, kind, monkeypatch):
    X = rows(3_000)
    many = fitted.predict(X, interval=0.9, kind=kind, inference=inference)
    monkeypatch.setattr(prediction, "_FEWEST_ROWS", 10**9)
    few = fitted.predict(X, interval=0.9, kind=kind, inference=inference)
    assert np.array_equal(np.isnan(many), np.isnan(few))
    np.testing.assert_allclose(many, few, rtol=1e-9, atol=1e-9)


def test_strange_values_are_an_error_by_default(fitted):
    model = _native.Additive(0.0, [(0.0, 1.0, 2.0)], (-np.inf, np.inf))
    x = np.array([[0.5], [np.nan]])
    assert np.isnan(model.predict(x, finite=False)[1])
    with pytest.raises(NotFiniteError):
        model.predict(x, finite=True)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999, 1 - 1e-9])
def test_quantiles_of_many_rows_are_accurate(level):
    freedom = np.concatenate([np.geomspace(2.0, 1e9, 2_000), [2.0, 2.5, 3.0]])
    probability = 0.5 + level / 2
    found, expected = _t_quantiles(freedom, probability), stdtrit(freedom, probability)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
