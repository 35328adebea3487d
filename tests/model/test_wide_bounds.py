"""Public bounds, right or far too wide: the model is about as good as without them."""

import numpy as np
import pytest

from dpfit import Numeric, PrivateLinearRegression, Schema

from .tables import every, r_squared, seeded

ROWS = 20_000
SEEDS = range(5)


def stays(seed=0, rows=ROWS):
    """Draw days in hospital, of which nearly all are below 20, and what they cost."""
    rng = np.random.default_rng(seed)
    days = np.maximum(1.0, np.floor(rng.lognormal(1.15, 0.8, rows)))
    return days[:, None], 900.0 + 650.0 * days + rng.normal(0.0, 800.0, rows)


def bell(seed=0, rows=ROWS, columns=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, X @ np.arange(1.0, columns + 1.0) + rng.normal(size=rows)


def bounded(X, y, factor):
    """Return the bounds of all columns, and of the target, this many times as wide as the data."""

    def kind(column):
        low, high = float(column.min()), float(column.max())
        middle, half = (low + high) / 2, factor * (high - low) / 2
        return Numeric(middle - half, middle + half)

    return Schema({i: kind(column) for i, column in enumerate(X.T)}, target=kind(y))


def unexplained(cls, X, y, **options):
    """Return the median share of the variance that the model does not explain."""
    scores = [r_squared(y, seeded(cls, X, y, seed=s, **options).predict(X)) for s in SEEDS]
    return 1.0 - float(np.median(scores))


@every
@pytest.mark.parametrize("draw", [stays, bell], ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("rows", [2000, ROWS])
def test_bounds_do_no_harm(cls, draw, rows):
    """True or too wide, they leave at most 2 % of the variance more unexplained, and a share.

    The share is 15 % of what is unexplained without them, and half of it with few rows.
    """
    X, y = draw(rows=rows)
    without = unexplained(cls, X, y, epsilon=1.0)
    for factor in (1.0, 3.0, 10.0):
        schema = bounded(X, y, factor)
        found = unexplained(cls, X, y, epsilon=1.0, schema=schema)
        assert found <= (1.15 if rows == ROWS else 1.5) * without + 0.02


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
            least = np.polyfit(np.clip(X[:, 0], *model.feature_range_[0]), y, 1)[0]
            assert model.coef_[0] == pytest.approx(least, rel=0.1)


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


@every
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 200.0])
def test_ranges_lie_inside_the_bounds(cls, epsilon):
    """Bounds that cut the data, fit it or exceed it."""
    X, y = bell()
    bounds = {0: (-1.0, 0.5), 1: (-5.0, 5.0), 2: (-50.0, 80.0)}
    schema = Schema({i: Numeric(*pair) for i, pair in bounds.items()}, target=Numeric(-5, 9))
    model = seeded(cls, X, y, epsilon=epsilon, schema=schema)
    for column, (low, high) in bounds.items():
        found = model.feature_range_[column]
        # A column whose line is not worth its noise has no range.
        assert np.isinf(found).all() or low <= found[0] < found[1] <= high
    low, high = model.target_range_
    assert -5.0 <= low < high <= 9.0


def test_a_frequent_value_among_others_is_not_all():
    """Three rows in four are zero; the others lie all over the bounds."""
    rng = np.random.default_rng(1)
    x = np.where(rng.random(ROWS) < 0.76, 0.0, rng.uniform(0.0, 100.0, ROWS))
    y = x + rng.normal(0.0, 5.0, ROWS)
    for seed in SEEDS:
        schema = Schema({0: Numeric(0, 100)})
        model = seeded(
            PrivateLinearRegression, x[:, None], y, epsilon=0.3, seed=seed, schema=schema
        )
        low, high = model.feature_range_[0]
        assert 0.0 <= low <= 5.0
        assert 85.0 <= high <= 100.0
