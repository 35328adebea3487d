"""A tracker never gives out more than there is, in exact arithmetic, and leaves nothing behind."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpfit.accounting import BudgetTracker, compose, gdp_mu, per_round
from dpfit.exceptions import BudgetExceeded, ParameterError

quick = settings(max_examples=100, deadline=None)
magnitudes = st.floats(math.log(1e-12), math.log(1e12)).map(math.exp)
shares = st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.01, 0.055, 0.25, 1 / 3, 1.0, 5e-324])
# What is taken: a share of the whole, or of what is left.
steps = st.lists(st.tuples(st.booleans(), shares), max_size=30)


def squares(mus):
    return sum((Fraction(mu) ** 2 for mu in mus), Fraction(0))


def spent(budget, mu, chosen):
    """Take in steps, as long as there is enough; return what was given."""
    found = []
    for of_whole, share in chosen:
        if not of_whole:
            found.append(budget.spend_rest(share))
        elif squares(found) + Fraction(mu) ** 2 * Fraction(share) <= Fraction(mu) ** 2:
            found.append(budget.spend(share))
        else:
            with pytest.raises(BudgetExceeded):
                budget.spend(share)
    return found


@quick
@given(magnitudes, steps)
def test_it_never_gives_more_than_there_was(mu, chosen):
    found = spent(BudgetTracker(mu), mu, chosen)
    assert squares(found) <= Fraction(mu) ** 2


@quick
@given(magnitudes, steps)
def test_the_rest_is_all_that_is_left(mu, chosen):
    budget = BudgetTracker(mu)
    found = spent(budget, mu, chosen)
    left = Fraction(mu) ** 2 - squares(found)
    last = Fraction(budget.spend_rest())
    assert last**2 <= left
    # The next double would be too much.
    assert Fraction(math.nextafter(float(last), math.inf)) ** 2 > left
    total = squares(found) + last**2
    assert total <= Fraction(mu) ** 2
    if left > Fraction(mu) ** 2 / 10**6:
        assert total >= Fraction(mu) ** 2 * (1 - Fraction(1, 10**15))
    assert compose(*found, float(last)) <= mu


@quick
@given(magnitudes, st.lists(shares, max_size=9), st.integers(1, 1000))
def test_rounds_of_the_rest_are_within_the_budget(mu, chosen, rounds):
    """As a fit spends it: shares first, then equal rounds of what is left."""
    budget = BudgetTracker(mu)
    assume(sum(map(Fraction, chosen)) <= 1)
    found = [budget.spend(share) for share in chosen]
    last = budget.spend_rest()
    assume(last > 1e-300)
    each = per_round(last, rounds)
    total = squares(found) + rounds * Fraction(each) ** 2
    assert total <= Fraction(mu) ** 2
    assert total >= (squares(found) + Fraction(last) ** 2) * (1 - Fraction(1, 10**15))


@quick
@given(magnitudes, shares)
def test_a_share_is_rounded_down_by_less_than_a_double(mu, share):
    found = BudgetTracker(mu).spend(share)
    exact = Fraction(mu) ** 2 * Fraction(share)
    assert Fraction(found) ** 2 <= exact < Fraction(math.nextafter(found, math.inf)) ** 2


@given(magnitudes)
def test_everything_at_once_is_the_budget(mu):
    assert BudgetTracker(mu).spend_rest() == mu
    assert BudgetTracker(mu).spend(1.0) == mu


def test_a_refusal_takes_nothing():
    budget = BudgetTracker(gdp_mu(1.0, 1e-6))
    first = budget.spend(0.75)
    with pytest.raises(BudgetExceeded):
        budget.spend(0.5)
    with pytest.raises(BudgetExceeded):
        budget.spend_rest(1.0 + 1e-15)
    assert squares([first, budget.spend_rest()]) >= Fraction(gdp_mu(1.0, 1e-6)) ** 2 * (
        1 - Fraction(1, 10**15)
    )
    assert budget.spend_rest() < 1e-6


def test_a_spent_budget_gives_nothing():
    budget = BudgetTracker(1.0)
    assert budget.spend_rest() == 1.0
    assert budget.spend_rest() == 0.0
    assert budget.spend(0.0) == 0.0
    with pytest.raises(BudgetExceeded):
        budget.spend(1e-300)


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan, math.inf, "1", None, True])
def test_the_budget_is_checked(mu):
    with pytest.raises(ParameterError):
        BudgetTracker(mu)


@pytest.mark.parametrize("share", [-0.1, -1.0, -5e-324])
def test_nothing_can_be_put_back(share):
    """A negative share would make room for more than the budget."""
    budget = BudgetTracker(1.0)
    with pytest.raises((ParameterError, ValueError)):
        budget.spend(share)
    with pytest.raises((ParameterError, ValueError)):
        budget.spend_rest(share)
    assert budget.spend_rest() == 1.0
