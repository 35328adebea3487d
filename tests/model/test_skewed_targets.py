"""Targets with many zeros, few ones, or a long tail: slopes and means are those of least squares.

Rows and noise have seeds, so nothing here fails by chance. The targets are those of
``benches/python/skewed_targets.py``.
"""

import numpy as np
import pytest

from dpfit import (
    HiddenTargetWarning,
    Numeric,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)

from .tables import CLASSES, every, seeded
from .test_fuzz import load_bench

bench = load_bench("skewed_targets")
ROWS = 100_000


def shares(target, model, seeds=10):
    """Return slope / least squares and mean prediction / mean, averaged over fits at epsilon 1."""
    cases = [(target, "linear", ROWS, 1.0, model, seed) for seed in range(seeds)]
    slope, _, mean = np.mean([bench.shares(case) for case in cases], axis=0)
    return slope, mean


@pytest.mark.parametrize("target", bench.TARGETS)
def test_slopes_are_those_of_least_squares_and_the_mean_is_kept(target):
    """On the column clipped to its range; single fits are off by up to twice as much.

    Amounts in 5 % of rows have such long tails that more is clipped than of other targets.
    """
    slope, mean = shares(target, "linear")
    rare = target == "95 % zeros"
    assert slope == pytest.approx(1.0, abs=0.15 if rare else 0.05)
    assert mean == pytest.approx(1.0, abs=0.1 if rare else 0.02)


@pytest.mark.parametrize("target", bench.TARGETS)
def test_curves_keep_the_mean(target):
    slope, mean = shares(target, "additive", seeds=5)
    assert mean == pytest.approx(1.0, abs=0.12 if target == "95 % zeros" else 0.05)
    assert 0.7 < slope < 1.1


def flags(share, seed, rows=20_000):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 2)), (rng.random(rows) < share).astype(float)


@every
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("share", "most"), [(0.05, 0.1), (0.3, 0.03), (0.5, 0.03), (0.95, 0.02)])
def test_flags_of_either_sign_keep_their_mean(cls, sign, share, most):
    """Zeros of a target that is never positive must not be lost: they are at the end of a bin."""
    for seed in range(5):
        X, y = flags(share, seed)
        model = seeded(cls, X, sign * y, epsilon=1.0, seed=seed)
        assert model.predict(X).mean() == pytest.approx(sign * y.mean(), rel=most)
        low, high = model.target_range_
        # Both values are within a bin of the range.
        assert low == pytest.approx(min(sign, 0.0), abs=0.05)
        assert high == pytest.approx(max(sign, 0.0), abs=0.05)


@every
def test_a_target_and_its_negative_have_opposite_predictions(cls):
    """Up to the noise: the same seed is another draw for other bins."""
    X, y = flags(0.3, 0)
    y = y + 0.2 * X[:, 0]
    plus, minus = (seeded(cls, X, part, epsilon=5.0).predict(X) for part in (y, -y))
    assert np.abs(plus + minus).max() < 0.05
    assert plus.mean() == pytest.approx(y.mean(), rel=0.02)


def rare_amounts(share, seed):
    """Draw two columns, and a target that is zero but for amounts from 0.01 to 448."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 2))
    amounts = np.minimum(rng.lognormal(2.0, 2.0, ROWS), 448.0)
    return X, np.where(rng.random(ROWS) < share, amounts, 0.0)


@pytest.mark.parametrize("bounds", [None, (0.0, 448.0)], ids=["found", "bounds"])
@pytest.mark.parametrize(("share", "least", "most"), [(0.05, 0.95, 1.05), (0.01, 0.5, 2.0)])
def test_amounts_among_zeros_are_not_taken_for_nothing(share, least, most, bounds):
    """5,000 or 1,000 amounts, 900 or 180 times the noise in a count, are there in every fit."""
    schema = None if bounds is None else Schema(target=Numeric(*bounds))
    for seed in range(10):
        X, y = rare_amounts(share, seed)
        model = seeded(PrivateLinearRegression, X, y, epsilon=10.0, seed=seed, schema=schema)
        assert least < model.predict(X).mean() / y.mean() < most
        assert model.target_range_[1] > 1.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")
def test_a_target_that_is_zero_is_predicted_as_zero(seed):
    X, _ = flags(0.5, seed, 2000)
    for cls in CLASSES:
        found = seeded(cls, X, np.zeros(len(X)), epsilon=1.0, seed=seed).predict(X)
        assert np.abs(found).max() < 1e-9


@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
def test_zeros_that_may_hide_other_values_have_no_slopes(cls):
    """Too few ones to be seen among zeros: the slope of zeros, 1e-18, would be nobody's answer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (rng.random(2000) < 0.03).astype(float)
    model = seeded(cls, X, y, epsilon=0.5)
    with pytest.warns(HiddenTargetWarning):
        assert not model.predict(X[:3]).any()
    bounded = seeded(cls, X, y, epsilon=0.5, schema=Schema(target=Numeric(0, 1)))
    assert bounded.predict(X).mean() == pytest.approx(0.03, abs=0.1)


@every
@pytest.mark.parametrize(("rows", "epsilon"), [(2_000, 1.0), (5_000, 0.5)])
@pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")
def test_ones_that_the_noise_hides_do_not_make_intervals_narrow(cls, rows, epsilon):
    """Residuals of zeros alone would give errors of next to nothing."""
    hidden = 0
    for seed in range(10):
        X, y = flags(0.05, seed, rows)
        model = seeded(cls, X, y, epsilon=epsilon, seed=seed)
        _, low, high = model.predict(X.mean(axis=0, keepdims=True), interval=0.95)[0]
        hidden += np.isnan(low)
        # Least squares has a standard error of y.std() / sqrt(rows) there.
        assert np.isnan(low) or high - low > 2.0 * y.std() / np.sqrt(rows)
        if model.status_ == "full" and np.isnan(low):
            assert "Nothing is known of the effects" in " ".join(str(model.summary()).split())
    assert hidden > 0
