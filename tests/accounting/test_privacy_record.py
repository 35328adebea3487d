"""Records: true of their events, readable, and lossless on paper."""

import dataclasses
import json
import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.accounting import (
    GDPAccountant,
    PrivacyRecord,
    gdp_epsilon,
    gdp_mu,
)
from dpfit.exceptions import BudgetExceeded, ParameterError

from .events import approximate, boosted, gaussian

RECORD = PrivacyRecord.from_events(boosted(gdp_mu(1.0, 1e-6)), epsilon=1.0, delta=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-6.0, 3.0).map(lambda x: min(max(10.0**x, 1e-6), 1e3)),
    st.floats(-300.0, -0.31).map(lambda x: max(10.0**x, 1e-300)),
    st.integers(1, 500),
)
def test_a_split_budget_makes_a_record(epsilon, delta, rounds):
    mu = gdp_mu(epsilon, delta)
    record = PrivacyRecord.from_events(boosted(mu, rounds), epsilon=epsilon, delta=delta)
    assert (record.epsilon, record.delta, record.mu) == (epsilon, delta, mu)
    spent = GDPAccountant().compose(record.events).mu
    assert mu * (1 - 1e-12) <= spent <= mu
    by_mu = PrivacyRecord.from_events(boosted(mu, rounds), mu=mu, delta=delta)
    assert by_mu.mu == mu
    assert by_mu.epsilon == gdp_epsilon(mu, delta)
    assert by_mu.epsilon <= epsilon


def test_events_above_the_budget_are_refused():
    mu = gdp_mu(1.0, 1e-6)
    with pytest.raises(BudgetExceeded, match="exceeds the budget of mu="):
        PrivacyRecord.from_events([gaussian(math.nextafter(mu, 1.0))], epsilon=1.0, delta=1e-6)
    with pytest.raises(BudgetExceeded):
        PrivacyRecord.from_events([gaussian(0.3)], mu=math.nextafter(0.3, 0.0))
    with pytest.raises(BudgetExceeded):
        PrivacyRecord.from_events([approximate(1.0, 1e-7)], epsilon=0.999, delta=1e-7)
    with pytest.raises(BudgetExceeded):
        PrivacyRecord.from_events([approximate(1.0, 1e-6)], epsilon=1.0, delta=1e-7)


def test_events_below_the_budget_are_refused():
    mu = gdp_mu(1.0, 1e-6)
    with pytest.raises(ParameterError, match="must spend all of it"):
        PrivacyRecord.from_events([gaussian(mu * (1 - 1e-11))], epsilon=1.0, delta=1e-6)
    with pytest.raises(ParameterError, match="must spend all of it"):
        PrivacyRecord.from_events([approximate(0.9, 1e-6)], epsilon=1.0, delta=1e-6)


def test_rounds_that_are_not_composed_are_refused():
    # Every release with the whole budget, as if there were no other.
    mu = gdp_mu(1.0, 1e-6)
    with pytest.raises(BudgetExceeded):
        PrivacyRecord.from_events([gaussian(mu, count=102)], epsilon=1.0, delta=1e-6)


def test_a_promise_that_mu_does_not_imply_is_refused():
    mu = gdp_mu(1.0, 1e-6)
    fields = {"mu": mu, "neighbors": "add_remove", "events": (gaussian(mu),)}
    assert PrivacyRecord(epsilon=1.0, delta=1e-6, **fields).mu == mu
    with pytest.raises(BudgetExceeded):
        PrivacyRecord(epsilon=0.99, delta=1e-6, **fields)
    with pytest.raises(BudgetExceeded):
        PrivacyRecord(epsilon=1.0, delta=0.99e-6, **fields)
    with pytest.raises(ParameterError, match="must spend all of it"):
        PrivacyRecord(epsilon=1.01, delta=1e-6, **fields)


def test_mixed_events():
    other = approximate(0.5, 5e-7)
    mu = GDPAccountant().add(other).gaussian_budget(1.0, 1e-6)
    record = PrivacyRecord.from_events([other, gaussian(mu)], epsilon=1.0, delta=1e-6)
    assert record.mu == mu
    assert PrivacyRecord.from_json(record.to_json()) == record
    by_mu = PrivacyRecord.from_events([other, gaussian(mu)], mu=mu, delta=1e-6)
    assert by_mu.epsilon == pytest.approx(1.0, rel=1e-9)
    assert by_mu.epsilon <= 1.0
    with pytest.raises(ParameterError, match="not Gaussian"):
        PrivacyRecord.from_events([other, gaussian(mu)], mu=mu)


def test_approximate_events_alone():
    record = PrivacyRecord.from_events(
        [approximate(0.5), approximate(0.5, 1e-6)], epsilon=1.0, delta=1e-6
    )
    assert record.mu is None
    pure = PrivacyRecord.from_events([approximate(0.5)], epsilon=0.5, delta=0.0)
    assert "delta" not in pure.statement()
    with pytest.raises(ParameterError, match="mu must be None"):
        PrivacyRecord(
            epsilon=0.5, delta=0.0, mu=0.1, neighbors="add_remove", events=(approximate(0.5),)
        )


def test_mu_beyond_what_epsilon_can_express():
    huge = PrivacyRecord.from_events([gaussian(1e6)], mu=1e6, delta=1e-6)
    assert (huge.epsilon, huge.delta) == (None, None)
    assert "probability of at most 100 %" in huge.statement()
    tiny = PrivacyRecord.from_events([gaussian(1e-12)], mu=1e-12, delta=1e-6)
    assert tiny.epsilon == 1e-6


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": None},
        {"delta": None},
        {"epsilon": -1.0},
        {"epsilon": 1001.0},
        {"delta": 0.6},
        {"mu": None},
        {"mu": math.nan},
        {"neighbors": "replace"},
        {"neighbors": "both"},
        {"events": ()},
        {"events": (1,)},
        {"insecure_seed": 0},
        {"max_rows": 0},
        {"max_rows": "5"},
        {"unit_name": "patient"},
        {"max_rows": 5, "unit_name": 3},
        {"notes": "a string"},
        {"notes": (1,)},
        {"epsilon": None, "delta": None, "mu": None},
    ],
)
def test_bad_fields(change):
    fields = {name: getattr(RECORD, name) for name in RECORD.__dataclass_fields__}
    with pytest.raises(ParameterError):
        PrivacyRecord(**{**fields, **change})


def test_bad_requests():
    with pytest.raises(ParameterError, match="exclude each other"):
        PrivacyRecord.from_events([gaussian(0.3)], epsilon=1.0, mu=0.3)
    with pytest.raises(ParameterError, match="at least one release"):
        PrivacyRecord.from_events([], mu=0.3)
    with pytest.raises(ParameterError, match="together"):
        PrivacyRecord.from_events([gaussian(0.3)], epsilon=1.0)
    with pytest.raises(ParameterError, match="events"):
        PrivacyRecord.from_events(["gram"], mu=0.3)
    with pytest.raises(ParameterError, match=r"events\[1\]\.neighbors"):
        PrivacyRecord.from_events([gaussian(0.3), gaussian(0.3, neighbors="replace")], mu=0.5)


def test_json_is_lossless():
    record = PrivacyRecord.from_events(
        boosted(gdp_mu(1.0, 1e-6), neighbors="replace"),
        epsilon=1.0,
        delta=1e-6,
        insecure_seed=True,
        max_rows=3,
        unit_name="patient",
        notes=["The test failed; all coefficients are zero"],
    )
    text = record.to_json()
    assert PrivacyRecord.from_json(text) == record
    assert PrivacyRecord.from_json(text).to_json() == text
    assert json.loads(text)["statement"] == record.statement()
    assert pickle.loads(pickle.dumps(record)) == record
    assert hash(PrivacyRecord.from_json(text)) == hash(record)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 1},
        {"version": 3},
        {"extra": 1},
        {"events": None},
        {"events": [{}]},
        {"notes": None},
        {"epsilon": "1"},
        {"insecure_seed": None},
        {"max_rows": "3"},
    ],
)
def test_damaged_json(change):
    with pytest.raises(ParameterError):
        PrivacyRecord.from_dict({**RECORD.to_dict(), **change})


def test_changed_json_cannot_promise_more():
    with pytest.raises(BudgetExceeded):
        PrivacyRecord.from_dict({**RECORD.to_dict(), "epsilon": 0.5})
    read = PrivacyRecord.from_dict({**RECORD.to_dict(), "statement": "Perfectly safe."})
    assert read.statement() == RECORD.statement()
    for text in ("", "{", "[]", "1"):
        with pytest.raises(ParameterError):
            PrivacyRecord.from_json(text)


def test_html_is_escaped():
    record = PrivacyRecord.from_events([gaussian(0.5, statistic="<b>gram</b>")], mu=0.5)
    markup = record._repr_html_()
    assert "<b>" not in markup
    assert "&lt;b&gt;gram" in markup
    assert markup.startswith("<table>")


def test_text_is_short():
    assert str(RECORD).splitlines()[0].split() == ["epsilon", "1"]
    assert len(str(RECORD).splitlines()) == 6


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"])
def test_bad_max_rows(bad):
    with pytest.raises(ParameterError, match="max_rows must be an integer"):
        dataclasses.replace(RECORD, max_rows=bad)
