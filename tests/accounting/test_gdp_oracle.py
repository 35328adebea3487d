"""The conversions against mpmath at 50 digits, over the whole domain."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from dpfit.accounting import (
    DELTA_RANGE,
    EPSILON_RANGE,
    gaussian_sigma,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    per_round,
)
from dpfit.accounting import _privacy_profile as profile
from dpfit.exceptions import ParameterError

mp = pytest.importorskip("mpmath", reason="mpmath is the oracle")

TOLERANCE = 1e-9


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def oracle(epsilon, mu):
    """Return the profile at exact doubles."""
    epsilon, mu = mp.mpf(epsilon), mp.mpf(mu)
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return (mp.erfc(a / mp.sqrt(2)) - mp.exp(epsilon) * mp.erfc(b / mp.sqrt(2))) / 2


def spaced(low, high, count):
    """Return numbers in geometric progression, with both ends exact."""
    inner = (low * (high / low) ** (i / (count - 1)) for i in range(1, count - 1))
    return [low, *inner, high]


EPSILONS = spaced(*EPSILON_RANGE, 48)
DELTAS = spaced(1e-300, 1e-20, 20) + spaced(1e-15, 0.5, 28)
GRID = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]
MUS = spaced(1e-8, 45.0, 48)


def check_mu(epsilon, delta, mu):
    """Fail unless mu is on the private side and within 1e-9 of the exact answer."""
    assert oracle(epsilon, mu) <= delta
    assert oracle(epsilon, mp.mpf(mu) * (1 + TOLERANCE)) > delta


def check_epsilon(mu, delta, epsilon):
    """Fail unless epsilon is on the private side and within 1e-9 of the exact answer."""
    assert oracle(epsilon, mu) <= delta
    if epsilon > EPSILON_RANGE[0]:
        assert oracle(mp.mpf(epsilon) / (1 + TOLERANCE), mu) > delta


def check_delta(mu, epsilon, delta):
    """Fail unless delta is on the private side and within 1e-9 of the exact answer."""
    exact = oracle(epsilon, mu)
    assert delta >= exact
    if delta > DELTA_RANGE[0]:
        assert delta <= exact * (1 + TOLERANCE)


def test_the_grid_is_large_enough():
    assert len(GRID) >= 2000
    assert len(set(GRID)) == len(GRID)


def test_mu_on_the_grid():
    for epsilon, delta in GRID:
        check_mu(epsilon, delta, gdp_mu(epsilon, delta))


def test_answers_are_the_best_doubles():
    # Far stronger than 1e-9: the next double on the other side would break the promise.
    for epsilon, delta in GRID[::2]:
        mu = gdp_mu(epsilon, delta)
        assert oracle(epsilon, math.nextafter(mu, math.inf)) > delta
        back = gdp_epsilon(mu, delta)
        if back > EPSILON_RANGE[0]:
            assert oracle(math.nextafter(back, 0.0), mu) > delta
        there = gdp_delta(mu, epsilon)
        if there > DELTA_RANGE[0]:
            assert math.nextafter(there, 0.0) < oracle(epsilon, mu)


def test_epsilon_back_from_mu_on_the_grid():
    # Includes epsilon far below delta, where epsilon moves delta only beyond its 16th digit.
    for epsilon, delta in GRID:
        mu = gdp_mu(epsilon, delta)
        back = gdp_epsilon(mu, delta)
        check_epsilon(mu, delta, back)
        assert back <= epsilon


def test_epsilon_on_a_grid_of_mu():
    answers = 0
    for mu in MUS:
        for delta in DELTAS:
            if oracle(EPSILON_RANGE[1], mu) > delta:
                with pytest.raises(ParameterError, match="mu must be > 0 and <= "):
                    gdp_epsilon(mu, delta)
            else:
                check_epsilon(mu, delta, gdp_epsilon(mu, delta))
                answers += 1
    assert answers >= 2000


def test_delta_on_a_grid_of_mu():
    inside = 0
    for mu in MUS:
        for epsilon in EPSILONS:
            delta = gdp_delta(mu, epsilon)
            check_delta(mu, epsilon, delta)
            inside += DELTA_RANGE[0] < delta < 1.0
    assert inside >= 1000


def test_delta_on_the_grid():
    for epsilon, delta in GRID:
        mu = gdp_mu(epsilon, delta)
        check_delta(mu, epsilon, gdp_delta(mu, epsilon))
        assert gdp_delta(mu, epsilon) <= delta


def test_the_checks_catch_answers_on_the_wrong_side():
    for epsilon, delta in GRID[::97]:
        mu = gdp_mu(epsilon, delta)
        for wrong in (mu * (1 + 1e-6), mu * (1 + 1e-12), math.nextafter(mu, math.inf)):
            with pytest.raises(AssertionError):
                check_mu(epsilon, delta, wrong)
        answer = gdp_epsilon(mu, delta)
        if answer > EPSILON_RANGE[0]:
            for wrong in (answer * (1 - 1e-6), math.nextafter(answer, 0.0)):
                with pytest.raises(AssertionError):
                    check_epsilon(mu, delta, wrong)
        answer = gdp_delta(mu, epsilon)
        if answer > DELTA_RANGE[0]:
            for wrong in (answer * (1 - 1e-6), math.nextafter(answer, 0.0)):
                with pytest.raises(AssertionError):
                    check_delta(mu, epsilon, wrong)


def test_the_checks_catch_answers_that_waste_privacy():
    with pytest.raises(AssertionError):
        check_mu(1.0, 1e-6, gdp_mu(1.0, 1e-6) * (1 - 1e-8))
    with pytest.raises(AssertionError):
        check_epsilon(1.0, 1e-6, gdp_epsilon(1.0, 1e-6) * (1 + 1e-8))
    with pytest.raises(AssertionError):
        check_delta(1.0, 1.0, gdp_delta(1.0, 1.0) * (1 + 1e-8))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-6, 0.5])
def test_oracle_agrees_with_the_definition(epsilon, delta):
    # delta is the mean of max(0, 1 - exp(epsilon - loss)), and the privacy loss is normal with
    # mean mu**2/2 and variance mu**2 (Balle and Wang 2018).
    mu = mp.mpf(gdp_mu(epsilon, delta))
    a = epsilon / mu - mu / 2

    def integrand(u):
        return mp.exp(-a * u - u * u / 2) * -mp.expm1(-mu * u)

    scale = 1 / max(mp.mpf(1), a)
    ends = [0, scale, 4 * scale, 16 * scale, 64 * scale, 120 * scale]
    integral = mp.npdf(a) * mp.quad(integrand, ends)
    assert abs(integral / oracle(epsilon, mu) - 1) < 1e-20


def test_profile_keeps_its_error_bound():
    worst = mp.mpf(0)
    for epsilon, delta in GRID[::2]:
        for factor in (1.0, 0.999, 1.001):
            mu = gdp_mu(epsilon, delta) * factor
            with localcontext(profile.CONTEXT):
                if Decimal(epsilon) / Decimal(mu) - Decimal(mu) / 2 > profile.HIGHEST_A:
                    continue
                value = profile.evaluate(Decimal(epsilon), Decimal(mu)).delta
            worst = max(worst, abs(mp.mpf(str(value)) / oracle(epsilon, mu) - 1))
    assert worst < 1e-28


@pytest.mark.parametrize("x", [-5, 0, 5, 6, 8, 11, 16, 24])
@pytest.mark.parametrize("side", [-1, 1])
def test_profile_where_its_formulas_change(x, side):
    # Both a and b pass through every place where the evaluation switches.
    for mu in (1e-7, 1e-3, 0.5, 3.0, 12.0):
        for offset in (mu / 2, -mu / 2):
            epsilon = (x + side * 1e-14 + offset) * mu
            if not EPSILON_RANGE[0] <= epsilon <= EPSILON_RANGE[1]:
                continue
            check_delta(mu, epsilon, gdp_delta(mu, epsilon))


def test_continued_fraction_is_long_enough():
    # Neighbouring convergents enclose the limit; n!/(B_n B_{n+1}) is their distance and falls
    # with x, so the left end of each interval is the worst.
    for start, numerators in profile._LEVELS:
        x = Fraction(start)
        levels = len(numerators)
        previous, current = Fraction(1), x
        for k in range(1, levels + 1):
            previous, current = current, x * current + k * previous
        following = x * current + (levels + 1) * previous
        distance = Fraction(math.factorial(levels + 1)) / (current * following)
        assert distance * (x + 1 / x) < Fraction(1, 10**38)


def test_series_is_long_enough():
    # Terms grow with x, so the right end of each interval is the worst. From the last term on
    # each is less than half the one before, so that what is left out is less than the last.
    for end, inverses in profile._TERMS:
        x = Fraction(end)
        last = x
        for k in range(1, len(inverses) + 1):
            last *= x**2 / (2 * k + 1)
        assert last < Fraction(1, 10**46)
        assert x**2 / (2 * len(inverses) + 3) < Fraction(1, 2)


def test_limits_of_a_are_safe():
    assert 1 - mp.ncdf(-profile.LOWEST_A) < 1e-18
    assert mp.ncdf(-mp.mpf(str(profile.HIGHEST_A))) < mp.mpf(10) ** -300


@pytest.mark.parametrize(
    ("mu", "epsilon", "delta"),
    [(5e-324, 1e-6, 1e-300), (1e-9, 1e-6, 1e-300), (1e3, 1e3, 1.0), (1.7e308, 1e-6, 1.0)],
)
def test_delta_for_extreme_mu(mu, epsilon, delta):
    assert gdp_delta(mu, epsilon) == delta


def test_epsilon_for_extreme_mu():
    assert gdp_epsilon(5e-324, 1e-300) == EPSILON_RANGE[0]
    assert gdp_epsilon(1e-9, 1e-300) == EPSILON_RANGE[0]
    for delta in DELTAS:
        largest = gdp_mu(EPSILON_RANGE[1], delta)
        assert gdp_epsilon(largest, delta) <= EPSILON_RANGE[1]
        with pytest.raises(ParameterError, match=r"for an epsilon up to 1000\.0"):
            gdp_epsilon(math.nextafter(largest, math.inf), delta)


def test_102_equal_gaussians_at_epsilon_1():
    sigma = gaussian_sigma(1.0, per_round(gdp_mu(1.0, 1e-6), 102))
    exact_mu = mp.findroot(lambda mu: mp.log(oracle(1.0, mu)) - mp.log(mp.mpf(1e-6)), 0.2367)
    exact = mp.sqrt(102) / exact_mu
    assert sigma >= exact
    assert sigma <= exact * (1 + TOLERANCE)
    assert sigma == pytest.approx(42.667165306, rel=1e-9)
