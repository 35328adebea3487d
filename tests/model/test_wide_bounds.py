"""Public bounds that are far wider than the column: the model is as good as with better ones."""

import numpy as np
import pytest

from dpfit import Numeric, PrivateLinearRegression, Schema
from dpfit.engine.constants import BoundsConstants
from dpfit.engine.features.linear import LinearFeatures
from dpfit.engine.plan import Plan
from dpfit.engine.ranges.tighten import _closer
from dpfit.release import Released

from .tables import every, r_squared, seeded

ROWS = 20_000


def stays(seed=0, rows=ROWS):
    """Draw days in hospital, of which nearly all are below 20, and what they cost."""
    rng = np.random.default_rng(seed)
    days = np.maximum(1.0, np.floor(rng.lognormal(1.15, 0.8, rows)))
    return days[:, None], 900.0 + 650.0 * days + rng.normal(0.0, 800.0, rows)


@every
@pytest.mark.parametrize("most", [60.0, 365.0, 1e4, 1e7])
def test_bounds_of_a_feature_may_be_far_too_wide(cls, most):
    """Scaled to 365 days, the slope was a third of the true one."""
    X, y = stays()
    for seed in range(3):
        model = seeded(cls, X, y, epsilon=1.0, seed=seed, schema=Schema({0: Numeric(0, most)}))
        assert r_squared(y, model.predict(X)) > 0.8
        assert model.feature_range_[0, 1] <= 80.0
        if cls is PrivateLinearRegression:
            assert model.coef_[0] == pytest.approx(650.0, rel=0.05)


@every
@pytest.mark.parametrize("most", [3e4, 1e6, 1e8])
def test_bounds_of_the_target_may_be_far_too_wide(cls, most):
    X, y = stays()
    schema = Schema({0: Numeric(0, 40)}, target=Numeric(0, most))
    for seed in range(3):
        model = seeded(cls, X, y, epsilon=1.0, seed=seed, schema=schema)
        assert r_squared(y, model.predict(X)) > 0.8
        low, high = model.target_range_
        assert 0.0 <= low < high <= most


def test_with_ample_data_bounds_are_kept():
    """A line over all of the bounds is without bias, and nothing hides it here."""
    X, y = stays()
    model = seeded(
        PrivateLinearRegression, X, y, epsilon=200.0, schema=Schema({0: Numeric(0, 200)})
    )
    np.testing.assert_array_equal(model.feature_range_, [[0.0, 200.0]])


def test_a_frequent_value_among_others_is_not_all():
    """Three rows in four are zero; the others lie all over the bounds."""
    rng = np.random.default_rng(1)
    x = np.where(rng.random(ROWS) < 0.76, 0.0, rng.uniform(0.0, 100.0, ROWS))
    y = x + rng.normal(0.0, 5.0, ROWS)
    for seed in range(5):
        schema = Schema({0: Numeric(0, 100)})
        model = seeded(
            PrivateLinearRegression, x[:, None], y, epsilon=0.3, seed=seed, schema=schema
        )
        np.testing.assert_array_equal(model.feature_range_, [[0.0, 100.0]])


def closer(pair, counts, sigma, hides=True):
    """Return bounds for a column of 1,000 rows."""
    return _closer(pair, Released(counts, (sigma,)), 1000.0, lambda _: hides, BoundsConstants())


@pytest.mark.parametrize("bins", [8, 32])
def test_noise_alone_does_not_move_bounds(bins):
    """Of columns that fill their bounds evenly, with as much noise as is ever looked at.

    20,000 histograms; a bin of noise alone stands out once in 300,000, and one bin is not enough.
    """
    rng = np.random.default_rng(2)
    for _ in range(20_000):
        counts = np.pad(np.full(bins, 1000.0 / bins), 1) + rng.normal(0.0, 100.0, bins + 2)
        assert closer((0.0, 1.0), counts, 100.0) == ((0.0, 1.0), False)


def test_new_bounds_hold_the_column_and_are_inside_of_the_old_ones():
    counts = np.zeros(34)
    counts[[11, 12, 13]] = 300.0, 500.0, 200.0
    pair, again = closer((-16.0, 16.0), counts, 1.0)
    assert pair == (-9.0, 0.0)
    assert again
    # Values beyond the bounds count as the bounds.
    counts = np.zeros(34)
    counts[0] = 1000.0
    assert closer((0.0, 32.0), counts, 1.0)[0] == (0.0, 2.0)
    assert closer((0.0, 32.0), counts, 1.0, hides=False) == ((0.0, 32.0), False)


def test_what_is_hidden_grows_with_the_noise():
    few, many = (Plan(0.2, rows, 3, 0) for rows in (3000.0, 300_000.0))
    variance = 0.02
    room = LinearFeatures().room
    assert few.hides(variance, room(few))
    assert not many.hides(variance, room(many))
    assert not few.hides(1.0 / 3.0, room(few))
