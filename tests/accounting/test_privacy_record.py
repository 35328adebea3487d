"""Records: true of their events, readable, and lossless on paper."""

import dataclasses
import json
import math
import pickle
import re

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import AdaSSP, PrivateLinearRegression, TukeyEM
from dpfit.accounting import (
    ApproximateRelease,
    GDPAccountant,
    PrivacyRecord,
    Release,
    gdp_epsilon,
    gdp_mu,
    per_round,
    split,
)
from dpfit.accounting.statement import advantage_percent
from dpfit.exceptions import BudgetExceeded, ParameterError


def gaussian(mu, *, statistic="gram", count=1, neighbors="add_remove"):
    return Release(statistic=statistic, sensitivity=1.0, mu=mu, neighbors=neighbors, count=count)


def approximate(epsilon, delta=0.0, *, neighbors="add_remove"):
    return ApproximateRelease(
        mechanism="exponential",
        statistic="model",
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
    )


def boosted(mu, rounds=100, neighbors="add_remove"):
    """Return the events of a boosted fit."""
    gram, gradient, eigenvalue = split(mu, (1, 1, 1))
    return [
        gaussian(gram, neighbors=neighbors),
        gaussian(eigenvalue, statistic="lambda_min", neighbors=neighbors),
        gaussian(
            per_round(gradient, rounds), statistic="gradient", count=rounds, neighbors=neighbors
        ),
    ]


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
    assert "at most 100 % of cases" in huge.statement()
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


def test_statement_of_a_boosted_fit():
    assert RECORD.statement() == (
        "This model protects each row: adding or removing any one row changes the probability of "
        "any result by at most a factor of 2.72 (epsilon = 1), plus 1e-06 (delta). Someone who "
        "knows all other rows and accepts a 5 % false-positive rate detects in at most 8 % of "
        "cases that the row was included. Whatever false-positive rate is accepted, the detection "
        "rate exceeds it by at most 9.43 percentage points (the attacker's advantage). The data "
        "were used only through 102 noisy releases. Everything else was computed from the released "
        "numbers, at no further privacy cost. This holds if bounds and other settings were chosen "
        "without looking at the data. The privacy cost adds to the cost of everything else "
        "released from the same data.\n\nAppendix: the releases were gram, lambda_min, gradient x "
        "100, which together cost mu = 0.236705 in Gaussian differential privacy."
    )


@pytest.mark.parametrize("mu", [1e-6, 0.2367, 0.5, 1.0, 3.0, 20.0])
def test_the_advantage_is_the_largest_gap_between_detections_and_false_positives(mu):
    """It is 2 Phi(mu / 2) - 1, rounded up."""
    with mpmath.workdps(50):
        exact = 2 * mpmath.ncdf(mpmath.mpf(mu) / 2) - 1
        shown = mpmath.mpf(advantage_percent(mu)) / 100
        assert exact <= shown <= min(exact * 1.01, 1)
        rates = [mpmath.mpf(i) / 200 for i in range(1, 200)]
        gaps = [
            mpmath.ncdf(mu + mpmath.sqrt(2) * mpmath.erfinv(2 * rate - 1)) - rate for rate in rates
        ]
        assert max(gaps) <= shown


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(math.log(3.0), 0.0), (0.0, 0.25), (1.0, 1e-6), (1e-4, 0.0), (800.0, 0.1)],
)
def test_the_advantage_that_epsilon_and_delta_allow(epsilon, delta):
    record = PrivacyRecord.from_events([approximate(epsilon, delta)], epsilon=epsilon, delta=delta)
    (points,) = re.findall(r"at most (\S+) percentage points", record.statement())
    with mpmath.workdps(50):
        factor = mpmath.exp(mpmath.mpf(epsilon))
        exact = (factor - 1 + 2 * mpmath.mpf(delta)) / (factor + 1)
        assert exact <= mpmath.mpf(points) / 100 <= min(exact * 1.01, 1)


@pytest.mark.parametrize("estimator", [PrivateLinearRegression(), AdaSSP(), TukeyEM()])
def test_the_paragraph_for_readers_has_no_internal_words(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    record = estimator.fit(X, X[:, 0]).privacy_
    paragraph, appendix = record.statement().split("\n\n")
    assert "mu" not in re.findall(r"\w+", paragraph)
    for event in record.events:
        assert event.statistic not in paragraph
        assert event.statistic in appendix
    if record.mu is not None:
        assert "mu = " in appendix


def test_statement_of_replaced_units_with_notes_and_a_seed():
    events = boosted(0.5, neighbors="replace")
    record = PrivacyRecord.from_events(
        events, mu=0.5, insecure_seed=True, max_rows=4, notes=["The test failed"]
    )
    statement = record.statement()
    assert statement.startswith(
        "NOT PRIVATE: the noise came from a fixed seed, so anyone who knows or guesses the seed "
        "can remove the noise. With a random seed, the following would hold. This model protects "
        "each unit (at most 4 rows of each are used): deciding from the result whether any one "
        "unit was replaced is at least as hard as deciding whether a single random number was "
        "drawn from a normal distribution with mean 0 or with mean 0.5, both with variance 1 "
        "(Gaussian differential privacy). The number of units is treated as public."
    )
    assert "that the unit was replaced." in statement
    assert statement.split("\n\n")[0].endswith("The test failed.")
    assert "NOT PRIVATE" in str(record)
    stated = PrivacyRecord.from_events(events, mu=0.5, delta=1e-6, max_rows=4).statement()
    assert "replacing all rows of any one unit with any other rows changes" in stated
    rows = PrivacyRecord.from_events(events, mu=0.5, delta=1e-6).statement()
    assert "replacing any one row with any other row changes" in rows
    assert "The number of rows is treated as public." in rows


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("patient_id", "patient_id"),
        ("who is it", "'who is it'"),
        ("a\x1b[2J", "'a\\x1b[2J'"),
        # Not what a record without names protects.
        ("row", "'row'"),
        ("unit", "'unit'"),
        (None, "unit"),
    ],
)
def test_statement_says_who_is_protected(name, label):
    mu = gdp_mu(1.0, 1e-6)
    record = PrivacyRecord.from_events(
        [gaussian(mu)], epsilon=1.0, delta=1e-6, max_rows=1, unit_name=name
    )
    assert record.statement().startswith(
        f"This model protects each {label} (at most 1 row of each is used): adding or removing all "
        f"rows of any one {label} changes the probability"
    )
    assert f"that the {label} was included." in record.statement()
    assert "through 1 noisy release." in record.statement()
    assert "Appendix: the release was gram, which costs mu = 0.236705 in" in record.statement()
    assert f"each {label} (at most 1 row each)" in str(record)
    assert record.unit_label == label
    # The number of rows that are used makes no other promise; a row is another thing.
    more = dataclasses.replace(record, max_rows=9)
    assert more.unit_label == label
    assert more.protects == f"each {label} (at most 9 rows each)"
    assert dataclasses.replace(record, max_rows=None, unit_name=None).unit_label == "row"


def test_statement_of_mixed_releases():
    other = approximate(0.5, 5e-7)
    mu = GDPAccountant().add(other).gaussian_budget(1.0, 1e-6)
    record = PrivacyRecord.from_events([other, gaussian(mu)], epsilon=1.0, delta=1e-6)
    assert "were model, gram. The Gaussian ones together cost mu" in record.statement()


@pytest.mark.parametrize(
    ("epsilon", "factor"),
    [(1e-6, "1.0000011"), (0.001, "1.0011"), (0.1, "1.11"), (0.5, "1.65"), (1.0, "2.72")],
)
def test_a_factor_is_rounded_up_at_a_digit_that_matters(epsilon, factor):
    record = PrivacyRecord.from_events([approximate(epsilon)], epsilon=epsilon, delta=0.0)
    assert f"a factor of {factor} (" in record.statement()
    assert float(factor) >= math.exp(epsilon)


def test_large_epsilon_is_called_weak():
    record = PrivacyRecord.from_events([approximate(20.0, 1e-6)], epsilon=20.0, delta=1e-6)
    assert "weak protection" in record.statement()
    assert "e^20" in record.statement()
    assert "weak protection" not in RECORD.statement()


@pytest.mark.parametrize(
    ("epsilon", "delta", "percent"),
    [(0.0, 0.0123, "6.3"), (math.log(2.0), 0.0, "10.1"), (9.0, 0.5, "100")],
)
def test_detection_at_most_what_epsilon_and_delta_allow(epsilon, delta, percent):
    record = PrivacyRecord.from_events([approximate(epsilon, delta)], epsilon=epsilon, delta=delta)
    assert f"in at most {percent} % of cases" in record.statement()


def test_shown_numbers_are_rounded_up():
    epsilon = 1.0000001
    record = PrivacyRecord.from_events([approximate(epsilon)], epsilon=epsilon, delta=0.0)
    assert "epsilon = 1.00001" in record.statement()


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
