"""What fits into the budget of a ledger."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfit import BudgetExceeded, Ledger, ParameterError
from dpfit.accounting import Charge, GDPAccountant, gdp_mu
from dpfit.accounting._ledger_budget import fits, remaining

from .settings import whole

BUDGET = {"epsilon": 2.0, "delta": 1e-6, "dataset": "NHANES 2017"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.dpl"


def test_the_budget_is_used_to_the_last_bit(path):
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    for _ in range(4):
        ledger.add("a quarter", mu=0.5)
    assert ledger.remaining().mu == 0.0
    assert ledger.remaining().epsilon == 0.0
    with pytest.raises(BudgetExceeded):
        ledger.add("a little", mu=1e-150)
    assert len(ledger.history()) == 4


def test_costs_that_doubles_would_lose_are_counted(path):
    """In doubles, 1 + 1e-20 is 1."""
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    ledger.add("a little", mu=1e-10)
    with pytest.raises(BudgetExceeded):
        ledger.add("all", mu=1.0)
    ledger.add("almost all", mu=math.nextafter(1.0, 0.0))


@settings(deadline=None, max_examples=200)
@given(
    st.floats(1e-6, 100.0),
    st.lists(st.tuples(st.floats(1e-9, 1.0), st.integers(1, 1000)), max_size=10),
)
def test_what_remains_can_be_spent_and_nothing_more(mu, costs):
    entries = []
    for cost, times in costs:
        charge = Charge(what="x", mu=cost * mu, times=times)
        within = sum(Fraction(c.mu) ** 2 * c.times for c in [*entries, charge]) <= Fraction(mu) ** 2
        assert fits(whole(mu), [*entries, charge]) == within
        if within:
            entries.append(charge)
    left = remaining(whole(mu), entries)
    if left.mu > 0.0:
        assert fits(whole(mu), [*entries, Charge(what="x", mu=left.mu)])
    above = math.nextafter(left.mu, math.inf)
    assert not fits(whole(mu), [*entries, Charge(what="x", mu=above)])
    if left.epsilon:
        asked = gdp_mu(left.epsilon, left.delta)
        assert fits(whole(mu), [*entries, Charge(what="x", mu=asked)])
        # And hardly more: epsilon is not rounded down by more than it has to be.
        more = min(left.epsilon * (1 + 1e-9), 1000.0)
        assert more == 1000.0 or gdp_mu(more, left.delta) > left.mu


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.floats(1e-3, 0.5), st.floats(1e-9, 4e-7)), min_size=1, max_size=5),
    st.lists(st.floats(0.01, 0.3), max_size=5),
)
def test_other_mechanisms_are_added_as_the_accountant_adds_them(others, mus):
    settings = whole(gdp_mu(3.0, 1e-6), epsilon=3.0)
    accountant = GDPAccountant()
    costs = [Charge(what="x", epsilon=epsilon, delta=delta) for epsilon, delta in others]
    costs += [Charge(what="x", mu=mu) for mu in mus]
    from dpfit.accounting import ApproximateRelease, Release

    for epsilon, delta in others:
        accountant.add(
            ApproximateRelease(
                mechanism="m",
                statistic="s",
                epsilon=epsilon,
                delta=delta,
                neighbors="add_remove",
            )
        )
    for mu in mus:
        accountant.add(Release(statistic="s", sensitivity=1.0, mu=mu, neighbors="add_remove"))
    try:
        within = accountant.epsilon(1e-6) <= 3.0
    except ParameterError:
        within = False
    assert fits(settings, costs) == within


def test_a_budget_in_mu_pays_for_gaussian_releases_only(path):
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    with pytest.raises(BudgetExceeded, match="not Gaussian"):
        ledger.add("table", epsilon=0.01)
    assert ledger.epsilon is None


def test_other_releases_may_use_up_epsilon_and_delta(path):
    ledger = Ledger.create(path, epsilon=1.0, delta=1e-6, dataset="x")
    ledger.add("first", epsilon=0.5, delta=1e-6)
    with pytest.raises(BudgetExceeded, match=r"has epsilon = 0\.5, delta = 0 left"):
        ledger.add("second", epsilon=0.1, delta=1e-9)
    ledger.add("third", epsilon=0.5)
    assert ledger.remaining().mu == 0.0


def test_after_a_gaussian_cost_others_are_paid_from_what_was_set_aside(path):
    ledger = Ledger.create(
        path, epsilon=2.0, delta=1e-6, dataset="x", other_epsilon=0.5, other_delta=1e-7
    )
    assert ledger.set_aside == Ledger(path).set_aside == (0.5, 1e-7)
    assert ledger.mu == gdp_mu(1.5, 9e-7) == ledger.remaining().mu
    ledger.add("fit", mu=0.1)
    left = ledger.remaining()
    ledger.add("table", epsilon=0.25, delta=1e-7)
    # It was set aside, whether or not it is used.
    assert ledger.remaining() == left
    with pytest.raises(BudgetExceeded, match=r"epsilon = 0\.25, delta = 0 for .*other_epsilon="):
        ledger.add("table", epsilon=0.5)
    ledger.add("fit", mu=left.mu)
    ledger.add("table", epsilon=0.25)


def test_before_the_first_gaussian_cost_others_may_have_more_than_was_set_aside(path):
    ledger = Ledger.create(path, epsilon=2.0, delta=1e-6, dataset="x", other_epsilon=0.5)
    ledger.add("table", epsilon=0.75)
    assert ledger.remaining().mu == gdp_mu(1.25, 1e-6)
    ledger.add("fit", mu=0.1)
    with pytest.raises(BudgetExceeded):
        ledger.add("table", epsilon=1e-6)
    ledger.add("fit", mu=ledger.remaining().mu)


def largest_delta(budget, first, other):
    """Return the delta of whoever sees a Gaussian release and then chooses how to go on.

    One choice is to spend the rest on Gaussian noise, the other one randomised response with
    epsilon = `other`, if the ledger allows it. The table is guessed by the likelihood ratio, whose
    logarithm is a on the first release and b on both.
    """

    def hidden(excess, variance):
        # The mean of max(0, 1 - exp(excess - b)) for normal b with mean variance / 2.
        deviation = math.sqrt(variance)
        above, below = -excess / deviation + deviation / 2, -excess / deviation - deviation / 2
        return stats.norm.cdf(above) - np.exp(excess) * stats.norm.cdf(below)

    epsilon, delta, gaussian = budget.epsilon, budget.delta, Charge(what="x", mu=first)
    a = np.linspace(first**2 / 2 - 9 * first, first**2 / 2 + 9 * first, 100_001)
    density = stats.norm.pdf(a, first**2 / 2, first) * (a[1] - a[0])
    rest = remaining(budget, [gaussian]).mu
    found = hidden(epsilon - a, rest**2)
    if fits(budget, [gaussian, Charge(what="x", epsilon=other)]):
        right = 1.0 / (1.0 + math.exp(-other))
        response = sum(
            share * -np.expm1(np.minimum(epsilon - a - step, 0.0))
            for share, step in ((right, other), (1.0 - right, -other))
        )
        found = np.maximum(found, response)
    return float(density @ found) / delta


@pytest.mark.parametrize(("epsilon", "other"), [(10.0, 5.0), (2.0, 1.0), (1.0, 0.5)])
def test_who_chooses_the_next_release_by_results_stays_within_delta(epsilon, other, monkeypatch):
    budget = whole(gdp_mu(epsilon, 1e-6), epsilon=epsilon)
    first = gdp_mu(epsilon - other, 1e-6)
    assert largest_delta(budget, first, other) <= 1.0 + 1e-6
    aside = whole(first, epsilon=epsilon, other_epsilon=other)
    assert largest_delta(aside, 0.9 * first, other) <= 1.0 + 1e-6

    def always(settings, costs):
        """The same sums, divided anew with each cost."""
        used = sum(cost.epsilon or 0.0 for cost in costs)
        return math.fsum((c.mu or 0.0) ** 2 for c in costs) <= gdp_mu(epsilon - used, 1e-6) ** 2

    # The test would see a ledger that allows the choice.
    monkeypatch.setitem(globals(), "fits", always)
    assert largest_delta(budget, first, other) > 1.5


@pytest.mark.parametrize(
    "cost",
    [
        {},
        {"mu": 1.0, "epsilon": 1.0},
        {"mu": 1.0, "delta": 1e-6},
        {"mu": math.inf},
        {"mu": 0.0},
        {"epsilon": 0.0},
        {"epsilon": 1.0, "delta": -1.0},
        {"mu": 0.1, "times": 0},
    ],
)
def test_wrong_costs_are_refused(path, cost):
    ledger = Ledger.create(path, **BUDGET)
    with pytest.raises(ParameterError):
        ledger.add("table", **cost)
    with pytest.raises(ParameterError):
        ledger.add("", mu=0.1)
    assert ledger.history() == ()


def test_numbers_of_numpy_are_numbers(path):
    budget = {"epsilon": np.float64(2.0), "delta": np.float64(1e-6), "dataset": "x"}
    ledger = Ledger.create(path, **budget, other_epsilon=np.float32(0.5))
    assert ledger.set_aside == (0.5, 0.0)
    ledger.reserve(Charge(what="a", mu=np.float32(0.125), times=np.int64(2)))
    ledger.reserve(Charge(what="b", epsilon=np.float32(0.25)))
    assert [(e.mu, e.epsilon, e.times) for e in ledger.history()] == [
        (0.125, None, 2),
        (None, 0.25, 1),
    ]


def test_a_path_with_a_null_character_is_refused(path):
    for act in (Ledger, lambda name: Ledger.create(name, **BUDGET)):
        with pytest.raises(ParameterError, match="without null characters"):
            act(f"{path}\0")


def test_several_charges_are_all_written_or_none(path):
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Charge(what="a", mu=0.5), Charge(what="b", mu=0.9))
    assert ledger.history() == ()
    first, second = ledger.reserve(Charge(what="a", mu=0.5), Charge(what="b", mu=0.5, times=3))
    assert ledger.history() == (first, second)
    assert (first.number, second.number) == (1, 2)


@pytest.mark.parametrize(
    "cost",
    [
        {"mu": 0.5, "times": -4},
        {"mu": 0.5, "times": 0},
        {"mu": 1e-150, "times": 2**63},
        {"mu": -0.5},
        {"mu": math.nan},
        {"mu": math.inf},
        {"epsilon": -1.0},
        {"epsilon": 0.1, "delta": -1e-7},
        {},
    ],
)
def test_no_charge_gives_back_budget(path, cost):
    ledger = Ledger.create(path, epsilon=1.0, delta=1e-6, dataset="x")
    ledger.reserve(Charge(what="all", mu=ledger.mu))
    with pytest.raises(ParameterError):
        ledger.reserve(Charge(what="less than nothing", **cost))
    assert ledger.remaining().mu == 0.0
    assert len(ledger.history()) == 1


def test_to_check_is_not_to_spend(path):
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    ledger.check(Charge(what="a", mu=1.0))
    with pytest.raises(BudgetExceeded):
        ledger.check(Charge(what="a", mu=1.1))
    assert ledger.history() == ()
