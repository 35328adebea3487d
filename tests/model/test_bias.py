"""What cutting, clipping and rounds without an end do to slopes, and what is said of it.

Fits have seeds, so that nothing here fails by chance.
"""

import numpy as np
import pandas as pd
import pytest

from dpfit import (
    Binary,
    Categorical,
    Numeric,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)
from dpfit.engine.bias import cutting_bias
from dpfit.engine.ranges.marginal import Marginal

from .tables import seeded

ROWS = 20_000


def test_a_column_that_fills_its_range_has_no_bias():
    marginal = Marginal.uniform(-1.0, 1.0)
    assert cutting_bias(marginal, -1.0, 1.0, 3.0, 1.0) == (0.0, 0.0)
    assert cutting_bias(Marginal(np.array([0.0, 1.0]), np.ones(1)), 0.0, 1.0, 3.0, 1.0)[0] == 0.0


@pytest.mark.parametrize("threshold", [0.05, 0.3, 100.0])
def test_the_bias_is_that_of_least_squares(threshold):
    """Against the slopes themselves: of clipped and of whole residuals, on a column that is cut."""
    rng = np.random.default_rng(0)
    x = rng.exponential(size=400_000)
    counts, edges = np.histogram(x, bins=2000)
    low, high = np.quantile(x, [0.02, 0.9])
    cut = np.clip(x, low, high)
    lost = 2.0 * (x - cut)
    clipped = np.clip(lost, -threshold, threshold)
    expected = [np.polyfit(cut, part, 1) for part in (clipped, lost - clipped)]
    found = cutting_bias(Marginal(edges, counts.astype(float)), low, high, 2.0, threshold)
    np.testing.assert_allclose(found, np.abs(expected).max(axis=0), rtol=0.02)


def test_what_may_be_overlooked_is_part_of_it():
    sure = Marginal.uniform(-1.0, 1.0)
    unsure = Marginal(sure.edges, sure.weights, overlooked=(0.01, 0.02))
    assert cutting_bias(unsure, -1.0, 1.0, 3.0, 1.0)[0] > 0.01


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_intervals_of_a_skewed_column_hold_its_slope(epsilon):
    """Of 20 fits none held before; now they hold the true slope and that of the cut column."""
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        days = np.maximum(1.0, np.floor(rng.lognormal(1.15, 0.8, ROWS)))
        y = 900.0 + 650.0 * days + rng.normal(0.0, 800.0, ROWS)
        model = seeded(PrivateLinearRegression, days[:, None], y, epsilon=epsilon, seed=seed)
        low, high = model.coef_interval()[0]
        least = np.polyfit(np.clip(days, *model.feature_range_[0]), y, 1)[0]
        held.append([low <= 650.0 <= high, low <= least <= high])
    assert np.mean(held, axis=0).min() >= 0.8


def test_a_rare_flag_has_no_interval_or_one_that_holds():
    """Five rows in 20,000 have it: X'X does not show them, and the rounds do not get there."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        flag = np.zeros(ROWS)
        flag[:5] = 1.0
        X = np.column_stack([flag, rng.uniform(-1.0, 1.0, ROWS)])
        y = 3.0 * flag + X[:, 1] + 0.3 * rng.normal(size=ROWS)
        schema = Schema({0: Binary(), 1: Numeric(-1, 1)}, target=Numeric(-4, 4))
        model = seeded(PrivateLinearRegression, X, y, epsilon=1.0, seed=seed, schema=schema)
        low, high = model.coef_interval()[0]
        assert np.isnan(low) or low <= 3.0 <= high
        low, high = model.coef_interval()[1]
        assert high - low < 0.5
        if np.isinf(model.coef_bias_[0]):
            notes = " ".join(model.summary().notes)
            assert "No interval: x0." in notes
            assert set(model.summary().rows[0][2:8]) == {"-"}


def test_levels_without_rows_have_no_effect_that_seems_sure():
    """20 of 30 levels occur in no row: 40 % of those with an effect had one that excluded zero."""
    real, ghosts = [f"W{i}" for i in range(10)], [f"G{i}" for i in range(20)]
    schema = Schema({"ward": Categorical(real + ghosts), "x": Numeric(-3, 3)})
    with_effect = sure = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        ward, x = rng.integers(0, 10, ROWS), rng.normal(size=ROWS)
        y = 200.0 * ward + 500.0 * x + rng.normal(0.0, 800.0, ROWS)
        frame = pd.DataFrame({"ward": np.array(real)[ward], "x": x})
        model = seeded(PrivateLinearRegression, frame, y, epsilon=1.0, seed=seed, schema=schema)
        low, high = model.coef_interval()[10:30].T
        with_effect += np.count_nonzero(model.coef_[10:30])
        sure += np.count_nonzero((low > 0.0) | (high < 0.0))
        # Those that occur are still told from each other.
        low, high = model.coef_interval()[:10].T
        assert high[0] < low[9]
        assert "sum to zero" in " ".join(model.summary().notes)
    assert with_effect > 5
    assert sure == 0


def test_curves_of_whole_numbers_do_not_bend_between_them():
    """Knots fell into one bin around a frequent value: spikes of noise of the size of the rest."""
    rng = np.random.default_rng(0)
    table = np.clip(np.round(rng.normal(57.5, 2.2, ROWS)), 50.0, 70.0)
    other = rng.uniform(0.0, 1.0, ROWS)
    y = 10.0 * other + rng.normal(size=ROWS)
    X = np.column_stack([table, other])
    for seed in range(5):
        model = seeded(PrivateAdditiveRegression, X, y, epsilon=1.0, seed=seed)
        x, height = model.curve(0)
        assert np.diff(x).min() > 0.2
        assert np.ptp(height) < 2.0


def test_curves_are_zero_on_average():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.exponential(size=ROWS), rng.uniform(-1.0, 3.0, ROWS)])
    y = 5.0 * X[:, 0] + X[:, 1] ** 2 + rng.normal(size=ROWS)
    schema = Schema({1: Numeric(-1, 3)})
    model = seeded(PrivateAdditiveRegression, X, y, epsilon=5.0, schema=schema)
    for column in range(2):
        x, height = model.curve(column)
        assert abs(np.interp(X[:, column], x, height).mean()) < 0.1 * np.ptp(height)
    assert model.intercept_ == pytest.approx(y.mean(), abs=0.05 * np.std(y) + 0.3)
