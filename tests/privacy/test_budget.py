"""What a fit spends is what was asked for: to 1e-12 and never above, for every option.

Events are composed here with code of its own, in 60 digits.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpfit import (
    AdaSSP,
    BoostedAdaSSP,
    BoostedMean,
    DPGradientDescent,
    InsecureSeedWarning,
    TukeyEM,
)
from dpfit.accounting import ApproximateRelease, PrivacyRecord, Release

from .transcript import COUNT, EIGENVALUE, EXAMPLES, GRADIENT, GRAM, fitted

X = np.array([[0.3, -0.2], [0.5, 0.1], [-2.0, 0.7], [0.0, 0.4]])
y = np.array([0.1, -0.5, 3.0, 0.2])

quick = settings(max_examples=120, deadline=None)
relations = st.sampled_from(["add_remove", "replace"])
rates = st.sampled_from(["constant", "1/t", "1/sqrt(t)"])
n_rounds = st.sampled_from([1, 2, 1000]) | st.integers(1, 60)


def magnitudes(low, high):
    """Draw numbers of every size between two, and the two."""
    exponents = st.floats(math.log(low), math.log(high))
    inside = exponents.map(math.exp).map(lambda number: min(max(number, low), high))
    return st.sampled_from([low, high]) | inside


budgets = st.one_of(
    st.fixed_dictionaries({"epsilon": magnitudes(1e-6, 1e3), "delta": magnitudes(1e-300, 0.5)}),
    st.fixed_dictionaries({"epsilon": magnitudes(1e-3, 30.0)}),
    st.fixed_dictionaries({"delta": magnitudes(1e-12, 0.1)}),
    st.fixed_dictionaries({"mu": magnitudes(1e-9, 1e12)}),
    st.fixed_dictionaries({"mu": magnitudes(1e-9, 10.0), "delta": magnitudes(1e-300, 0.5)}),
    st.just({}),
)
shares = magnitudes(1e-4, 1e4) | st.integers(1, 9)
sufficient = {
    "x_bound": magnitudes(1e-3, 1e3),
    "split": st.tuples(shares, shares, shares),
    "ridge": st.sampled_from(["adassp", "literal"]),
    "fit_intercept": st.booleans(),
    "neighbors": relations,
}
OPTIONS = {
    BoostedAdaSSP: {
        **sufficient,
        "tau": magnitudes(1e-3, 1e3),
        "n_rounds": n_rounds,
        "learning_rate": rates,
        "averaging": st.floats(0.0, 1.0),
    },
    AdaSSP: {**sufficient, "y_bound": magnitudes(1e-3, 1e3)},
    DPGradientDescent: {
        "clip_norm": magnitudes(1e-3, 1e3),
        "n_rounds": n_rounds,
        "learning_rate": rates,
        "fit_intercept": st.booleans(),
        "neighbors": relations,
    },
    BoostedMean: {"tau": magnitudes(1e-3, 1e3), "n_rounds": n_rounds, "neighbors": relations},
}


def composed(events):
    """Return the mu of Gaussian releases together, twice: in doubles and in 60 digits."""
    assert all(type(event) is Release for event in events)
    doubles = math.sqrt(math.fsum(event.count * event.mu**2 for event in events))
    with mp.workdps(60):
        digits = mp.sqrt(mp.fsum(event.count * mpf(event.mu) ** 2 for event in events))
        assert abs(doubles - digits) <= 1e-12 * digits
        return +digits


def delta_of(epsilon, mu):
    """Return the delta that mu-GDP has at an epsilon; of 60 digits at most ten cancel."""
    with mp.workdps(60):
        epsilon, mu = mpf(epsilon), mpf(mu)

        def above(t):
            return mp.erfc(t / mp.sqrt(2)) / 2

        return above(epsilon / mu - mu / 2) - mp.exp(epsilon) * above(epsilon / mu + mu / 2)


def check_spent(record, asked):
    """Assert that events compose to the budget that was asked for."""
    spent = composed(record.events)
    with mp.workdps(60):
        if "mu" in asked:
            assert spent <= mpf(asked["mu"]) <= spent * (1 + mpf("1e-12"))
            return
        epsilon, delta = asked.get("epsilon", 1.0), asked.get("delta", 1e-6)
        assert delta_of(epsilon, spent) <= delta < delta_of(epsilon, spent * (1 + mpf("1e-12")))


@pytest.mark.parametrize("cls", OPTIONS, ids=lambda cls: cls.__name__)
def test_events_compose_to_the_budget(cls):
    @quick
    @given(budgets, st.fixed_dictionaries(OPTIONS[cls]))
    def check(asked, options):
        record = cls(**asked, **options, n_jobs=1).fit(X, y).privacy_
        check_spent(record, asked)
        check_record(record, asked, options)

    check()


def check_record(record, asked, options):
    """Assert that the record says what was asked, in every form that it has."""
    assert record.neighbors == options["neighbors"]
    assert all(event.neighbors == options["neighbors"] for event in record.events)
    assert not record.insecure_seed
    assert record.notes == ()
    if "mu" not in asked:
        assert (record.epsilon, record.delta) == (
            asked.get("epsilon", 1.0),
            asked.get("delta", 1e-6),
        )
    else:
        assert record.mu == asked["mu"]
        if record.epsilon is None:
            # Only mu was given, or no epsilon up to 1000 would be true.
            assert record.delta is None
            assert "delta" not in asked or delta_of(1e3, record.mu) > asked["delta"]
        else:
            assert record.delta == asked["delta"]
            assert delta_of(record.epsilon, record.mu) <= record.delta
    assert PrivacyRecord.from_json(record.to_json()) == record
    statement = record.statement()
    for event in record.events:
        assert event.statistic in statement
    change = "a replaced" if options["neighbors"] == "replace" else "an included"
    assert f"detects {change} " in statement
    assert "NOT PRIVATE" not in statement


def test_the_checks_would_see_a_budget_that_is_missed():
    record = AdaSSP(mu=1.0).fit(X, y).privacy_
    check_spent(record, {"mu": 1.0})
    for wrong in (1.0 + 2e-12, 1.0 - 1e-15):
        with pytest.raises(AssertionError):
            check_spent(record, {"mu": wrong})
    record = AdaSSP(epsilon=1.0, delta=1e-6).fit(X, y).privacy_
    check_spent(record, {})
    for wrong in (1.0 + 1e-11, 1.0 - 1e-11):
        with pytest.raises(AssertionError):
            check_spent(record, {"epsilon": wrong})


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (BoostedAdaSSP(n_rounds=7), {GRAM: 1, EIGENVALUE: 1, GRADIENT: 7}),
        (AdaSSP(), {GRAM: 1, EIGENVALUE: 1, GRADIENT: 1}),
        (DPGradientDescent(n_rounds=7), {COUNT: 1, EXAMPLES: 7}),
        (BoostedMean(n_rounds=7), {COUNT: 1, GRADIENT: 7}),
    ],
    ids=str,
)
def test_every_release_is_an_event(estimator, expected, relation):
    released = fitted(estimator.set_params(neighbors=relation), X, y)
    if relation == "replace":
        expected = {name: count for name, count in expected.items() if name != COUNT}
    events = estimator.privacy_.events
    assert {event.statistic: event.count for event in events} == expected
    assert len(released) == sum(expected.values())
    for name, count in expected.items():
        assert sum(release.statistic == name for release in released) == count


def test_102_equal_releases_need_the_noise_that_is_known():
    """sigma = sqrt(102) / mu = 42.667165306, where mu is that of epsilon 1 and delta 1e-6."""
    # A split in which each of 102 releases has the same mu.
    model = BoostedAdaSSP(epsilon=1.0, delta=1e-6, split=(1.0, 10.0, 1.0), n_rounds=100).fit(X, y)
    for event in model.privacy_.events:
        assert event.sigma / event.sensitivity == pytest.approx(42.667165306, abs=5e-10)


@pytest.mark.parametrize("cls", OPTIONS, ids=lambda cls: cls.__name__)
def test_a_seed_is_said_first(cls):
    with pytest.warns(InsecureSeedWarning):
        record = cls(random_state=1).fit(X, y).privacy_
    assert record.insecure_seed
    assert record.statement().startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in str(record)
    assert '"insecure_seed": true' in record.to_json()
    assert PrivacyRecord.from_json(record.to_json()) == record
    check_spent(record, {})


@pytest.mark.parametrize("cls", [BoostedAdaSSP, BoostedMean], ids=lambda cls: cls.__name__)
def test_the_statement_says_what_it_costs(cls):
    statement = cls(epsilon=0.5, delta=1e-7, n_rounds=12).fit(X, y).privacy_.statement()
    assert "epsilon = 0.5" in statement
    assert "1e-07 (delta)" in statement
    assert "X'g x 12" in statement


@pytest.mark.parametrize("epsilon", [11.0, 709.0, 710.0, 1000.0])
@pytest.mark.parametrize("cls", [*OPTIONS, TukeyEM], ids=lambda cls: cls.__name__)
def test_every_epsilon_can_be_put_in_words(cls, epsilon):
    record = cls(epsilon).fit(X, y).privacy_
    assert "weak protection" in record.statement()
    assert PrivacyRecord.from_json(record.to_json()) == record


@quick
@given(
    magnitudes(1e-6, 1e3),
    magnitudes(1e-300, 0.5),
    relations,
    st.booleans(),
    st.integers(1, 12),
)
def test_tukey_em_spends_what_was_asked(epsilon, delta, relation, fit_intercept, n_models):
    model = TukeyEM(
        epsilon, delta, neighbors=relation, fit_intercept=fit_intercept, n_models=n_models
    ).fit(X, y)
    record = model.privacy_
    events = record.events
    assert all(type(event) is ApproximateRelease for event in events)
    assert all(event.neighbors == relation for event in events)
    for name, asked in (("epsilon", epsilon), ("delta", delta)):
        spent = sum((Fraction(getattr(event, name)) for event in events), Fraction())
        assert spent <= Fraction(asked) <= spent * (1 + Fraction(1, 10**12))
    assert (record.epsilon, record.delta, record.mu) == (epsilon, delta, None)
    assert record.neighbors == relation
    assert PrivacyRecord.from_json(record.to_json()) == record
    # What the check said is part of what is released, and is in the record word for word.
    assert bool(record.notes) is not model.passed_


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_failed_check_is_said_and_the_coefficients_are_zeros(fit_intercept):
    """Five models cannot pass at epsilon 1, but for a probability below delta."""
    model = TukeyEM(1.0, 1e-12, n_models=5, fit_intercept=fit_intercept).fit(X, y)
    assert model.passed_ is False
    assert model.coef_.tolist() == [0.0, 0.0]
    assert model.intercept_ == 0.0
    (note,) = model.privacy_.notes
    assert "are zero" in note
    assert note in model.privacy_.statement()
    assert note in str(model.privacy_)
    # Failing costs as much as passing.
    assert model.privacy_.epsilon == 1.0
    assert sum(event.epsilon for event in model.privacy_.events) == 1.0


def test_a_passed_check_needs_no_note():
    rows = np.tile([[1.0, 0.0], [0.0, 1.0]], (2000, 1))
    model = TukeyEM(20.0, 1e-3, n_models=100).fit(rows, rows @ [1.0, -2.0])
    assert model.passed_ is True
    assert model.privacy_.notes == ()
    np.testing.assert_allclose(model.coef_, [1.0, -2.0], atol=1e-9)


def test_tukey_em_says_that_a_seed_is_not_private():
    with pytest.warns(InsecureSeedWarning):
        record = TukeyEM(random_state=0, n_models=3).fit(X, y).privacy_
    assert record.insecure_seed
    assert record.statement().startswith("NOT PRIVATE")
