"""The Huber fixed point: exact roots, the loss it minimises, and its two limits."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpfit.exceptions import NotFiniteError, ParameterError
from dpfit.theory import huber_fixed_point

optimize = pytest.importorskip("scipy.optimize", reason="scipy minimises the loss")

SPREAD = st.floats(-100.0, 100.0)
ROUND = st.integers(-6, 6).map(float)
VALUES = st.one_of(
    st.lists(SPREAD, min_size=1, max_size=25), st.lists(ROUND, min_size=1, max_size=25)
)
TAU = st.one_of(
    st.floats(math.log(1e-6), math.log(1e3)).map(math.exp), st.sampled_from([0.5, 1.0, 2.0, 3.0])
)

quick = settings(max_examples=60, deadline=None)


def exact_sum(values, tau, m):
    """Return the sum of clipped residuals in exact arithmetic."""
    return sum((min(max(v - m, -tau), tau) for v in values), Fraction())


def exact_root(values, tau):
    """Return the midpoint of all roots in exact arithmetic, by trying every piece."""
    values, tau = [Fraction(v) for v in values], Fraction(tau)
    kinks = sorted({v + side for v in values for side in (-tau, tau)})
    roots = [k for k in kinks if exact_sum(values, tau, k) == 0]
    for low, high in pairwise(kinks):
        above, below = exact_sum(values, tau, low), exact_sum(values, tau, high)
        if above > 0 > below:
            roots.append(low + (high - low) * above / (above - below))
    return (min(roots) + max(roots)) / 2


def huber_loss(values, tau, m):
    """Return the sum of Huber losses of radius tau."""
    size = np.abs(np.asarray(values) - m)
    return float(np.where(size <= tau, 0.5 * size**2, tau * (size - 0.5 * tau)).sum())


@quick
@given(VALUES, TAU)
@example([0.0, 4.0], 2.0)
@example([0.0, 4.0], 1.0)
@example([0.0, 0.0, 1.0], 1e-6)
@example([1.0, 2.0, 2.0, 5.0], 1.0)
@example([-0.6, -0.5, 0.5, 10.0], 0.9)
def test_the_exact_root(values, tau):
    found = huber_fixed_point(values, tau)
    scale = max(abs(v) for v in values)
    assert abs(Fraction(found) - exact_root(values, tau)) <= Fraction(1e-14) * Fraction(scale)


@settings(max_examples=60, deadline=None)
@given(VALUES, TAU)
def test_no_point_has_a_smaller_loss(values, tau):
    found = huber_fixed_point(values, tau)
    best = optimize.minimize_scalar(
        lambda m: huber_loss(values, tau, m),
        bounds=(min(values) - 1.0, max(values) + 1.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    least = huber_loss(values, tau, found)
    assert least <= best.fun + 1e-12 * (1.0 + abs(best.fun))
    for step in (1e-3, 0.1, 1.0):
        slack = 1e-12 * (1.0 + least)
        assert least <= huber_loss(values, tau, found + step) + slack
        assert least <= huber_loss(values, tau, found - step) + slack


@quick
@given(VALUES, st.floats(math.log(1e-12), math.log(10.0)).map(math.exp))
def test_within_two_tau_of_the_median(values, tau):
    distance = abs(huber_fixed_point(values, tau) - np.median(values))
    assert distance <= 2 * tau + 1e-14 * max(abs(v) for v in values)


@quick
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=25, unique=True))
def test_equal_to_the_median_for_small_tau(values):
    assert huber_fixed_point(values, 0.4) == np.median(values)


@quick
@given(VALUES)
def test_equal_to_the_mean_for_large_tau(values):
    spread = max(values) - min(values)
    for tau in (max(spread, 1e-9), 1e3 * (1.0 + spread), 1.7e308):
        expected = math.fsum(values) / len(values)
        assert huber_fixed_point(values, tau) == pytest.approx(expected, rel=1e-13, abs=1e-12)


@quick
@given(VALUES, TAU, st.integers(-8, 8))
def test_symmetries(values, tau, power):
    found = huber_fixed_point(values, tau)
    scale = max(1.0, *(abs(v) for v in values))
    mirrored = huber_fixed_point([-v for v in values], tau)
    assert mirrored == pytest.approx(-found, rel=0, abs=1e-13 * scale)
    factor = 2.0**power
    scaled = huber_fixed_point([factor * v for v in values], factor * tau)
    assert scaled == pytest.approx(factor * found, rel=0, abs=1e-13 * factor * scale)
    assert huber_fixed_point(values[::-1], tau) == found


@pytest.mark.parametrize("tau", [0.3, 1.0, 5.0])
def test_noiseless_boosting_converges_to_it(tau):
    values = np.random.default_rng(5).standard_t(2, 301) + 4.0
    estimate = 0.0
    for _ in range(2000):
        estimate += np.clip(values - estimate, -tau, tau).mean()
    assert estimate == pytest.approx(huber_fixed_point(values, tau), rel=1e-12)


def test_one_outlier_counts_no_more_than_tau():
    values = np.random.default_rng(6).normal(size=2000)
    near, far = np.append(values, 10.0), np.append(values, 1e300)
    assert huber_fixed_point(near, 1.0) == huber_fixed_point(far, 1.0)


def test_scales():
    assert huber_fixed_point([7.0], 1e-300) == 7.0
    assert huber_fixed_point([2.0, 2.0, 2.0], 5.0) == 2.0
    assert huber_fixed_point([1e300, -1e300], 1e308) == 0.0
    assert huber_fixed_point([1e-300, 2e-300, 6e-300], 1e-300) == 2e-300
    assert huber_fixed_point(np.array([1, 2, 3], dtype=np.int8), 1) == 2.0
    large = 1e9 + np.arange(5.0)
    assert huber_fixed_point(large, 100.0) == 1e9 + 2.0


@pytest.mark.parametrize("values", [[], [[1.0]], 1.0, ["a"], None, [1e301], [1j]])
def test_bad_values(values):
    with pytest.raises(ParameterError, match="values") as caught:
        huber_fixed_point(values, 1.0)
    assert "e+301" not in str(caught.value)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_must_be_finite(bad):
    with pytest.raises(NotFiniteError, match="values"):
        huber_fixed_point([1.0, bad], 1.0)
