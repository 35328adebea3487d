"""The clipped normal mean against mpmath, and its algebra."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpfit.theory import clipped_mean, infinite_sample_errors, infinite_sample_path

mp = pytest.importorskip("mpmath", reason="mpmath is the oracle")

TOLERANCE = 2e-15
POSITIVE = st.floats(math.log(1e-150), math.log(1e150)).map(math.exp)
NEAR_ONE = st.floats(math.log(1e-3), math.log(60.0)).map(math.exp)
SIGN = st.sampled_from([-1.0, 1.0])

quick = settings(max_examples=60, deadline=None)


def clip(value, tau):
    """Return the value of [-tau, tau] that is nearest."""
    return min(max(value, -tau), tau)


def oracle(mean, tau):
    """Return the closed form with as many digits as its cancellation needs."""
    smallest, largest = min(abs(mean), tau, 1.0), max(abs(mean), tau, 1.0)
    with mp.workdps(40 + int(math.log10(largest) - 2 * math.log10(smallest))):
        mean, tau = mp.mpf(mean), mp.mpf(tau)

        def half(x):
            return x * mp.erf(x / mp.sqrt(2)) / 2 + mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)

        return half(mean + tau) - half(mean - tau)


@quick
@given(SIGN, POSITIVE, POSITIVE)
def test_digits_at_any_scale(sign, mean, tau):
    exact = oracle(sign * mean, tau)
    assert abs(clipped_mean(sign * mean, tau) - exact) <= TOLERANCE * abs(exact)


@quick
@given(NEAR_ONE, NEAR_ONE)
@example(0.5, 0.5)
@example(math.nextafter(0.5, 0.0), 0.5)
@example(40.0, 0.5)
@example(40.5, 40.0)
@example(5.9, 6.0)
def test_digits_where_the_method_changes(mean, tau):
    exact = oracle(mean, tau)
    assert abs(clipped_mean(mean, tau) - exact) <= TOLERANCE * exact


@pytest.mark.parametrize(("mean", "tau"), [(0.3, 0.2), (-1.5, 0.7), (2.0, 3.0), (4.0, 1.0)])
def test_definition(mean, tau):
    # The integral that defines the expectation, not the formula derived from it.
    with mp.workdps(30):
        pieces = sorted([-30, -tau, mean - 3, mean, mean + 3, tau, 30])
        integral = mp.quad(lambda y: clip(y, tau) * mp.npdf(y - mean), pieces)
    assert clipped_mean(mean, tau) == pytest.approx(float(integral), rel=1e-14)


@quick
@given(SIGN, POSITIVE, POSITIVE)
def test_symmetries(sign, mean, tau):
    assert clipped_mean(-sign * mean, tau) == -clipped_mean(sign * mean, tau)
    assert clipped_mean(mean, tau) == clipped_mean(tau, mean)


@quick
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(5e-324, 1.7e308))
@example(0.0, 1.0)
@example(5e-324, 5e-324)
@example(1.7e308, 1.7e308)
@example(-1.7e308, 5e-324)
def test_every_double(mean, tau):
    value = clipped_mean(mean, tau)
    assert abs(value) <= min(abs(mean), tau)
    assert value == 0.0 or math.copysign(1.0, value) == math.copysign(1.0, mean)


@quick
@given(NEAR_ONE, NEAR_ONE, NEAR_ONE)
def test_grows_with_the_mean_and_with_tau(mean, more, tau):
    slack = 1 + TOLERANCE
    assert clipped_mean(mean, tau) <= clipped_mean(mean + more, tau) * slack
    assert clipped_mean(mean, tau) <= clipped_mean(mean, tau + more) * slack


def test_limits():
    assert clipped_mean(0.0, 1.0) == 0.0
    assert clipped_mean(2.0, 1e300) == 2.0
    assert clipped_mean(1e300, 2.0) == 2.0
    # A tiny threshold leaves the sign, a tiny mean the probability of not being clipped.
    sign = math.erf(1.0 / math.sqrt(2.0))
    assert clipped_mean(1.0, 1e-200) == pytest.approx(1e-200 * sign, rel=TOLERANCE)
    assert clipped_mean(1e-200, 1.0) == pytest.approx(1e-200 * sign, rel=TOLERANCE)


@settings(max_examples=25, deadline=None)
@given(SIGN, st.floats(0.1, 12.0), st.floats(0.2, 4.0))
def test_the_iteration_against_mpmath(sign, mean, tau):
    rounds = 12
    path = infinite_sample_path(sign * mean, tau, rounds)
    errors = infinite_sample_errors(sign * mean, tau, rounds)
    theta = mp.mpf(0)
    for j in range(1, rounds + 1):
        with mp.workdps(120):
            exact_mean = mp.mpf(sign * mean)
            distance = exact_mean - theta
            root = mp.sqrt(2)
            wide, close = distance + tau, distance - tau
            theta += (wide * mp.erf(wide / root) - close * mp.erf(close / root)) / 2
            theta += mp.npdf(wide) - mp.npdf(close)
            missing = exact_mean - theta
            assert abs(path[j] - theta) <= 1e-14 * abs(theta)
            if abs(missing) > 1e-90:
                assert abs(errors[j] - missing) <= 1e-8 * abs(missing)


def test_the_path_keeps_its_digits_far_from_the_mean():
    path = infinite_sample_path(1e20, 1.0, 3)
    np.testing.assert_array_equal(path, [0.0, 1.0, 2.0, 3.0])
