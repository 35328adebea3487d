"""The accountant: composition, refusal, and agreement with privacy loss distributions."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.accounting import (
    GDPAccountant,
    Release,
    compose,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    per_round,
    split,
)
from dpfit.exceptions import ParameterError

from .events import approximate, gaussian


def test_an_empty_account_costs_nothing():
    accountant = GDPAccountant()
    assert accountant.events == ()
    assert accountant.neighbors == "add_remove"
    assert accountant.mu == 0.0
    assert accountant.epsilon(0.0) == 0.0
    assert accountant.epsilon(1e-6) == 0.0
    assert accountant.delta(1.0) == 0.0


def test_gaussian_events_compose():
    mu = gdp_mu(1.0, 1e-6)
    gram, gradient, eigenvalue = split(mu, (1, 1, 1))
    rounds = gaussian(per_round(gradient, 100), count=100)
    accountant = GDPAccountant().compose([gaussian(gram), rounds]).add(gaussian(eigenvalue))
    assert mu * (1 - 1e-12) <= accountant.mu <= mu
    assert accountant.epsilon(1e-6) <= 1.0
    assert accountant.epsilon(1e-6) == pytest.approx(1.0, rel=1e-9)
    assert accountant.delta(1.0) <= 1e-6
    assert len(accountant.events) == 3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(1e-6, 10.0), st.integers(1, 1000)), min_size=1, max_size=6))
def test_mu_is_never_below_the_exact_composition(rounds):
    accountant = GDPAccountant().compose(gaussian(mu, count=count) for mu, count in rounds)
    exact = sum((count * Fraction(mu) ** 2 for mu, count in rounds), Fraction())
    assert Fraction(accountant.mu) ** 2 >= exact
    assert Fraction(math.nextafter(accountant.mu, 0.0)) ** 2 < exact


def test_count_equals_repetition():
    once = GDPAccountant().add(gaussian(0.1, count=5))
    repeated = GDPAccountant().compose([gaussian(0.1)] * 5)
    assert once.mu == repeated.mu == compose(*[0.1] * 5)


class Stranger:
    neighbors = "add_remove"
    mu = 0.0


class Pretender(Release):
    """A subclass may redefine what the fields mean."""


@pytest.mark.parametrize(
    "bad",
    [
        Stranger(),
        None,
        0.1,
        Pretender(statistic="gram", sensitivity=1.0, mu=0.1, neighbors="add_remove"),
        gaussian(0.1, neighbors="replace"),
        approximate(0.1, neighbors="replace"),
    ],
)
def test_a_bad_event_changes_nothing(bad):
    accountant = GDPAccountant().add(gaussian(0.1))
    before = accountant.events, accountant.mu
    with pytest.raises(ParameterError, match=r"events\[0\]"):
        accountant.add(bad)
    with pytest.raises(ParameterError, match=r"events\[1\]"):
        accountant.compose([gaussian(0.2), bad, gaussian(0.3)])
    assert (accountant.events, accountant.mu) == before


def test_an_iterator_that_fails_changes_nothing():
    def events():
        yield gaussian(0.1)
        raise RuntimeError

    accountant = GDPAccountant()
    with pytest.raises(RuntimeError):
        accountant.compose(events())
    assert accountant.events == ()


def test_unknown_relation():
    with pytest.raises(ParameterError, match="neighbors"):
        GDPAccountant("bounded")


def test_approximate_events_add_up():
    accountant = GDPAccountant().compose([approximate(0.1, 1e-7), approximate(0.2)])
    assert accountant.mu == 0.0
    assert Fraction(accountant.epsilon(1e-6)) >= Fraction(0.1) + Fraction(0.2)
    assert accountant.epsilon(1e-6) == pytest.approx(0.3)
    assert accountant.epsilon(1e-7) == accountant.epsilon(0.5)
    assert accountant.delta(1.0) == 1e-7
    with pytest.raises(ParameterError, match=r"delta must be between 1e-07 and .*, got 1e-08"):
        accountant.epsilon(1e-8)
    with pytest.raises(ParameterError, match=r"epsilon must be between .*, got 0\.1"):
        accountant.delta(0.1)


def test_mixed_events_are_added_conservatively():
    events = [gaussian(0.2), approximate(0.25, 2.0**-24)]
    accountant = GDPAccountant().compose(events)
    delta = 2.0**-20
    rest = delta - 2.0**-24
    assert accountant.mu == 0.2
    assert accountant.epsilon(delta) >= gdp_epsilon(0.2, rest) + 0.25
    assert accountant.epsilon(delta) == pytest.approx(gdp_epsilon(0.2, rest) + 0.25, rel=1e-15)
    assert accountant.delta(1.0) >= gdp_delta(0.2, 0.75) + 2.0**-24
    assert accountant.delta(1.0) == pytest.approx(gdp_delta(0.2, 0.75) + 2.0**-24, rel=1e-15)
    assert accountant.gaussian_budget(1.0, delta) == gdp_mu(0.75, rest)


@pytest.mark.parametrize("delta", [0.0, 1e-9, 2.0**-24])
def test_delta_that_leaves_nothing_for_the_gaussian_part(delta):
    accountant = GDPAccountant().compose([gaussian(0.2), approximate(0.25, 2.0**-24)])
    with pytest.raises(ParameterError, match=r"delta must be between .* for these events"):
        accountant.epsilon(delta)


def test_requests_that_no_value_can_meet():
    accountant = GDPAccountant().compose([approximate(900.0), approximate(200.0, 0.4)])
    with pytest.raises(ParameterError, match=r"cannot exceed 1000\.0"):
        accountant.delta(1000.0)
    accountant.add(approximate(0.1, 0.4))
    with pytest.raises(ParameterError, match=r"cannot exceed 0\.5"):
        accountant.epsilon(0.5)
    with pytest.raises(ParameterError, match="the events need epsilon"):
        accountant.gaussian_budget(1.0, 1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (1e-5, 1e-9), (100.0, 1e-12)])
def test_a_mixed_budget_is_met_and_not_exceeded(epsilon, delta):
    other = approximate(epsilon / 3, delta / 7)
    mu = GDPAccountant().add(other).gaussian_budget(epsilon, delta)
    accountant = GDPAccountant().compose([other, gaussian(mu)])
    assert accountant.epsilon(delta) <= epsilon
    assert accountant.epsilon(delta) == pytest.approx(epsilon, rel=1e-9)
    assert accountant.delta(epsilon) <= delta * (1 + 1e-15)


def test_delta_is_at_most_one():
    accountant = GDPAccountant().compose([gaussian(99.0), approximate(0.1, 0.4)])
    assert accountant.delta(1.0) == 1.0


def test_account_as_json():
    accountant = GDPAccountant("replace").add(gaussian(0.2, neighbors="replace"))
    written = json.loads(accountant.to_json())
    assert written == accountant.to_dict()
    assert written["neighbors"] == "replace"
    assert written["mu"] == 0.2
    assert written["events"][0]["statistic"] == "gram"
    assert "events=1" in repr(accountant)


@pytest.mark.parametrize(
    "rounds",
    [
        [(1.0, 0.5, 1)],
        [(1.0, 0.05, 102)],
        [(1.0, 0.3, 1), (2.0, 0.2, 1), (0.5, 0.1, 10)],
    ],
)
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
def test_privacy_loss_distributions_agree(rounds, delta):
    pld = pytest.importorskip(
        "dp_accounting.pld.privacy_loss_distribution",
        reason="dp_accounting computes the same composition numerically",
    )
    accountant = GDPAccountant().compose(
        Release(statistic="s", sensitivity=size, mu=mu, neighbors="add_remove", count=count)
        for size, mu, count in rounds
    )
    bounds = []
    for pessimistic in (False, True):
        total = None
        for size, mu, count in rounds:
            one = pld.from_gaussian_mechanism(
                size / mu,
                sensitivity=size,
                pessimistic_estimate=pessimistic,
                value_discretization_interval=1e-3,
            ).self_compose(count)
            total = one if total is None else total.compose(one)
        bounds.append(total.get_epsilon_for_delta(delta))
    low, high = bounds
    epsilon = accountant.epsilon(delta)
    assert low - 1e-9 <= epsilon <= high + 1e-9
    assert high == pytest.approx(epsilon, rel=1e-2, abs=1e-3)
