"""Algebra of the conversions, of composition and of splitting, on drawn parameters."""

import math
import threading
from decimal import getcontext, localcontext
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpfit.accounting import (
    DELTA_RANGE,
    EPSILON_RANGE,
    compose,
    gaussian_sigma,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    per_round,
    split,
)
from dpfit.exceptions import DpfitError, ParameterError


def log_uniform(low, high):
    """Draw numbers whose logarithm is spread over a range."""
    return st.floats(math.log(low), math.log(high)).map(lambda x: min(max(math.exp(x), low), high))


EPSILON = log_uniform(*EPSILON_RANGE)
DELTA = st.one_of(log_uniform(*DELTA_RANGE), log_uniform(1e-12, 0.5))
MU = log_uniform(1e-8, 40.0)
ANY_MU = st.floats(0.0, 1e300, allow_subnormal=True)
SHARE = log_uniform(1e-20, 1e20)

quick = settings(max_examples=150, deadline=None)


def square_sum(values):
    """Return the exact sum of squares."""
    return sum((Fraction(value) ** 2 for value in values), Fraction())


@quick
@given(EPSILON, DELTA)
def test_converting_there_and_back(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    assert gdp_delta(mu, epsilon) <= delta
    assert gdp_epsilon(mu, delta) <= epsilon
    assert gdp_mu(gdp_epsilon(mu, delta), delta) >= mu


@quick
@given(MU, EPSILON)
def test_delta_and_back(mu, epsilon):
    delta = gdp_delta(mu, epsilon)
    assume(DELTA_RANGE[0] < delta <= DELTA_RANGE[1])
    assert gdp_mu(epsilon, delta) >= mu
    assert gdp_epsilon(mu, delta) <= epsilon


@quick
@given(EPSILON, EPSILON, DELTA, DELTA)
def test_mu_grows_with_epsilon_and_delta(epsilon1, epsilon2, delta1, delta2):
    low = gdp_mu(min(epsilon1, epsilon2), min(delta1, delta2))
    assert low <= gdp_mu(max(epsilon1, epsilon2), min(delta1, delta2))
    assert low <= gdp_mu(min(epsilon1, epsilon2), max(delta1, delta2))


@quick
@given(MU, MU, DELTA, DELTA)
def test_epsilon_grows_with_mu_and_falls_with_delta(mu1, mu2, delta1, delta2):
    assume(max(mu1, mu2) <= gdp_mu(EPSILON_RANGE[1], min(delta1, delta2)))
    low = gdp_epsilon(min(mu1, mu2), max(delta1, delta2))
    assert low <= gdp_epsilon(max(mu1, mu2), max(delta1, delta2))
    assert low <= gdp_epsilon(min(mu1, mu2), min(delta1, delta2))


@quick
@given(MU, MU, EPSILON, EPSILON)
def test_delta_grows_with_mu_and_falls_with_epsilon(mu1, mu2, epsilon1, epsilon2):
    low = gdp_delta(min(mu1, mu2), max(epsilon1, epsilon2))
    assert low <= gdp_delta(max(mu1, mu2), max(epsilon1, epsilon2))
    assert low <= gdp_delta(min(mu1, mu2), min(epsilon1, epsilon2))


@quick
@given(EPSILON, DELTA)
def test_neighbouring_doubles_keep_the_order(epsilon, delta):
    assume(epsilon < EPSILON_RANGE[1])
    above = math.nextafter(epsilon, math.inf)
    assert gdp_mu(epsilon, delta) <= gdp_mu(above, delta)


@quick
@given(st.lists(ANY_MU, max_size=8))
def test_compose_is_the_smallest_double_above_the_exact_root(mus):
    total = compose(*mus)
    exact = square_sum(mus)
    assert Fraction(total) ** 2 >= exact
    if total > 0.0:
        assert Fraction(math.nextafter(total, 0.0)) ** 2 < exact


@quick
@given(st.lists(ANY_MU, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_compose_does_not_depend_on_the_order(mus, random):
    shuffled = list(mus)
    random.shuffle(shuffled)
    assert compose(*mus) == compose(*shuffled)


@quick
@given(st.lists(MU, max_size=4), st.lists(MU, max_size=4))
def test_compose_is_associative_up_to_rounding(first, second):
    at_once = compose(*first, *second)
    in_steps = compose(compose(*first), compose(*second))
    assert at_once <= in_steps <= at_once * (1 + 4e-16)


@quick
@given(log_uniform(1e-200, 1e200), st.lists(SHARE, min_size=1, max_size=12))
def test_split_then_compose(mu, ratio):
    parts = split(mu, ratio)
    assert len(parts) == len(ratio)
    exact = square_sum(parts)
    assert exact <= Fraction(mu) ** 2
    assert exact >= (Fraction(mu) * (1 - Fraction(1, 10**12))) ** 2
    assert compose(*parts) <= mu
    assert compose(*parts) >= mu * (1 - 1e-12)


@quick
@given(MU, st.lists(SHARE, min_size=1, max_size=6))
def test_split_gives_the_largest_doubles(mu, ratio):
    total = square_sum(ratio)
    for share, part in zip(ratio, split(mu, ratio), strict=True):
        exact = (Fraction(mu) * Fraction(share)) ** 2 / total
        assert Fraction(part) ** 2 <= exact
        assert Fraction(math.nextafter(part, math.inf)) ** 2 > exact


@quick
@given(MU, st.integers(1, 10**9))
def test_per_round_is_an_equal_split(mu, count):
    part = per_round(mu, count)
    assert count * Fraction(part) ** 2 <= Fraction(mu) ** 2
    assert count * Fraction(math.nextafter(part, math.inf)) ** 2 > Fraction(mu) ** 2
    if count <= 50:
        assert split(mu, [1.0] * count) == (part,) * count


@quick
@given(log_uniform(1e-100, 1e100), MU)
def test_sigma_is_the_smallest_double_that_is_enough(sensitivity, mu):
    sigma = gaussian_sigma(sensitivity, mu)
    assert Fraction(sigma) * Fraction(mu) >= Fraction(sensitivity)
    assert Fraction(math.nextafter(sigma, 0.0)) * Fraction(mu) < Fraction(sensitivity)


def test_a_split_rounded_to_nearest_would_be_caught():
    # With plain floating point the parts of some budgets compose to more than the budget.
    mus = [gdp_mu(epsilon, 1e-6) for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0)]
    assert any(3 * Fraction(mu / math.sqrt(3.0)) ** 2 > Fraction(mu) ** 2 for mu in mus)
    assert all(square_sum(split(mu, (1, 1, 1))) <= Fraction(mu) ** 2 for mu in mus)


def test_compose_extremes():
    assert compose() == 0.0
    assert compose(0.0) == 0.0
    assert compose(5e-324) == 5e-324
    assert compose(5e-324, 5e-324) == 1e-323
    assert compose(1e-200, 1e-200) == math.nextafter(1e-200 * math.sqrt(2.0), math.inf)
    assert compose(1e300, 1e-300) == math.nextafter(1e300, math.inf)
    with pytest.raises(ParameterError, match="largest double"):
        compose(1.5e308, 1.5e308)


BAD = [None, "1", True, 1j, [1.0], math.nan]


@pytest.mark.parametrize(
    "bad", [*BAD, 0, 0.0, -1.0, math.inf, 9e-7, 1000.1, Fraction(1, 3), 10**400]
)
def test_bad_epsilon(bad):
    for call in (lambda: gdp_mu(bad, 1e-6), lambda: gdp_delta(1.0, bad)):
        with pytest.raises(ParameterError, match="epsilon") as caught:
            call()
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, DpfitError)


@pytest.mark.parametrize("bad", [*BAD, 0, 0.0, -1e-6, 9e-301, 5e-324, 0.51, 1.0, math.inf])
def test_bad_delta(bad):
    for call in (lambda: gdp_mu(1.0, bad), lambda: gdp_epsilon(1.0, bad)):
        with pytest.raises(ParameterError, match="delta"):
            call()


@pytest.mark.parametrize("bad", [*BAD, 0.0, -1.0, math.inf])
def test_bad_mu(bad):
    calls = (
        lambda: gdp_delta(bad, 1.0),
        lambda: gdp_epsilon(bad, 1e-6),
        lambda: split(bad, (1, 1)),
        lambda: per_round(bad, 2),
        lambda: gaussian_sigma(1.0, bad),
    )
    for call in calls:
        with pytest.raises(ParameterError, match="mu"):
            call()


@pytest.mark.parametrize("bad", [*BAD, -1.0, math.inf])
def test_bad_part_of_a_composition(bad):
    with pytest.raises(ParameterError, match=r"mus\[1\]"):
        compose(1.0, bad)


@pytest.mark.parametrize("bad", [(), 1.0, None, (1.0, 0.0), (1.0, -1.0), (math.nan,), "12"])
def test_bad_ratio(bad):
    with pytest.raises(ParameterError, match="ratio"):
        split(1.0, bad)


def test_parts_below_the_smallest_normal_double_are_refused():
    with pytest.raises(ParameterError, match=r"ratio\[0\]"):
        split(1e-10, (1e-300, 1.0))
    with pytest.raises(ParameterError, match="count"):
        per_round(1e-307, 10**9)
    with pytest.raises(ParameterError, match="largest double"):
        gaussian_sigma(1e300, 1e-300)


@pytest.mark.parametrize("bad", [0, -1, 1.0, True, None, "2"])
def test_bad_count(bad):
    with pytest.raises(ParameterError, match="count"):
        per_round(1.0, bad)


def test_messages_name_value_and_range():
    with pytest.raises(
        ParameterError, match=r"epsilon must be between 1e-06 and 1000\.0, got 0\.0"
    ):
        gdp_mu(0, 1e-6)
    with pytest.raises(ParameterError, match=r"delta must be between 1e-300 and 0\.5, got 0\.6"):
        gdp_mu(1.0, 0.6)
    with pytest.raises(ParameterError, match=r"mu must be > 0 and <= 40\.24085489753.*, got 50\.0"):
        gdp_epsilon(50.0, 1e-6)


def test_numpy_numbers_are_numbers():
    np = pytest.importorskip("numpy", reason="numpy scalars are the subject")
    assert gdp_mu(np.float64(1.0), np.float64(1e-6)) == gdp_mu(1, 1e-6)
    assert type(gdp_mu(np.int64(1), np.float64(1e-6))) is float
    assert split(np.float64(5.0), np.array([3.0, 4.0])) == (3.0, 4.0)
    assert per_round(1.0, np.int64(4)) == 0.5


def test_the_callers_decimal_context_does_not_matter():
    expected = gdp_mu(1.0, 1e-6), gdp_epsilon(1.0, 1e-6), gdp_delta(1.0, 1.0)
    with localcontext() as context:
        context.prec = 3
        for trap in context.traps:
            context.traps[trap] = True
        found = gdp_mu(1.0, 1e-6), gdp_epsilon(1.0, 1e-6), gdp_delta(1.0, 1.0)
        assert getcontext().prec == 3
    assert found == expected


def test_threads_do_not_disturb_each_other():
    epsilons = [10.0 ** (k / 4) for k in range(-12, 9)]
    expected = [gdp_mu(epsilon, 1e-6) for epsilon in epsilons]
    found = {}

    def work(name):
        found[name] = [gdp_mu(epsilon, 1e-6) for epsilon in epsilons]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [expected] * 4
