"""Fits find the range of a column: flags, integers and rare amounts have their slope."""

import numpy as np
import pytest

from dpfit import Numeric, PrivateLinearRegression, Schema

from .tables import seeded


def slope_of(x, y):
    return np.polyfit(x, y, 1)[0]


def fits(draw, truth, seeds=5, **options):
    """Return the ranges of a column and slopes / least squares on the column clipped to them."""
    ranges, slopes = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        x = draw(rng)
        y = truth(x) + rng.normal(size=len(x))
        model = seeded(PrivateLinearRegression, x[:, None], y, epsilon=1.0, seed=seed, **options)
        ranges.append(model.feature_range_[0])
        least = slope_of(np.clip(x, *model.feature_range_[0]), y)
        slopes.append((model.coef_[0] / least, model.coef_[0] / slope_of(x, y)))
    return np.array(ranges), np.array(slopes)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("share", "most"), [(0.05, 0.1), (0.3, 0.03), (0.5, 0.03), (0.95, 0.1)])
def test_flags_of_either_sign_have_their_slope(sign, share, most):
    """Zeros of a column that is never positive must not be lost: they are at the end of a bin."""
    ranges, slopes = fits(
        lambda rng: sign * (rng.random(20_000) < share).astype(float), lambda x: 3.0 * x
    )
    # Within a bin of zero and of the other value.
    np.testing.assert_allclose(ranges, [sorted([0.0, sign])] * 5, atol=0.05)
    np.testing.assert_allclose(slopes, 1.0, atol=most)


@pytest.mark.parametrize(
    "schema",
    [None, Schema({0: Numeric(1, 20)}), Schema({0: Numeric(0, 365)})],
    ids=["found", "bounds", "wide"],
)
def test_integers_have_their_slope(schema):
    """Days from 1 to 20, most of them few: the rows of a bin are at its lower edge.

    The longest stays are cut; least squares on the cut column has a slope that is larger by 3 %.
    """

    def days(rng):
        return np.minimum(rng.geometric(0.25, 20_000), 20).astype(float)

    ranges, slopes = fits(days, lambda x: 650.0 / 800.0 * x, schema=schema)
    assert (ranges[:, 0] <= 1.0).all()
    assert (ranges[:, 1] >= 13.0).all()
    clipped, plain = slopes.mean(axis=0)
    assert clipped == pytest.approx(1.0, abs=0.03)
    assert plain == pytest.approx(1.0, abs=0.05)


AMOUNTS = {
    "one": lambda rng, rows: np.ones(rows),
    "uniform": lambda rng, rows: rng.uniform(100.0, 1000.0, rows),
    "log-normal": lambda rng, rows: rng.lognormal(0.0, 1.0, rows),
    "negative": lambda rng, rows: -rng.uniform(100.0, 1000.0, rows),
}


def rare(name, share):
    """Return how to draw a column that is zero but for a share of amounts; and a relation.

    An amount changes the target by two standard deviations of its errors on average.
    """

    def draw(rng):
        amounts = AMOUNTS[name](rng, 100_000)
        return np.where(rng.random(100_000) < share, amounts, 0.0)

    size = np.abs(AMOUNTS[name](np.random.default_rng(0), 100_000)).mean()
    return draw, lambda x: 2.0 * x / size


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_in_5_percent_of_rows_have_their_slope(name):
    """It is between that of least squares and that of least squares on the cut column.

    Where amounts end, these differ by 5 % or less. Log-normal amounts are cut at a value that a
    fifth of them exceeds: on the cut column, the slope of least squares is larger by half.
    """
    draw, truth = rare(name, 0.05)
    ranges, slopes = fits(draw, truth)
    typical = np.median(np.abs(AMOUNTS[name](np.random.default_rng(0), 1000)))
    # One line of five may end early, by the noise of the look at its bends.
    assert (np.ptp(ranges, axis=1) >= typical).sum() >= 4
    clipped, plain = slopes.mean(axis=0)
    assert plain > 0.85
    assert clipped < 1.1
    if name != "log-normal":
        assert plain == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("name", AMOUNTS)
@pytest.mark.parametrize("share", [0.006, 0.01])
def test_amounts_in_1_percent_of_rows_are_not_taken_for_nothing(name, share):
    """The range is at least a bin of 64, and what amounts change has the right sign and size.

    The noise makes such effects smaller, but it does not make them larger.
    """
    draw, truth = rare(name, share)
    typical = np.median(np.abs(AMOUNTS[name](np.random.default_rng(0), 1000)))
    effects = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = draw(rng)
        y = truth(x) + rng.normal(size=len(x))
        model = seeded(PrivateLinearRegression, x[:, None], y, epsilon=1.0, seed=seed)
        assert np.ptp(model.feature_range_[0]) > typical / 64
        predicted, amounts = model.predict(x[:, None]), x != 0.0
        found = predicted[amounts].mean() - predicted[~amounts].mean()
        effects.append(found / (y[amounts].mean() - y[~amounts].mean()))
    assert 0.1 < np.median(effects) < 1.1
    assert min(effects) > -0.1
    assert max(effects) < 1.3
