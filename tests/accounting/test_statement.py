"""Statements: what a record says in words, with numbers that are rounded up."""

import dataclasses
import math
import re

import mpmath
import numpy as np
import pytest

from dpfit import AdaSSP, PrivateLinearRegression, TukeyEM
from dpfit.accounting import GDPAccountant, PrivacyRecord, gdp_mu
from dpfit.accounting.statement import advantage_percent

from .events import approximate, boosted, gaussian

RECORD = PrivacyRecord.from_events(boosted(gdp_mu(1.0, 1e-6)), epsilon=1.0, delta=1e-6)


def test_statement_of_a_boosted_fit():
    assert RECORD.statement() == (
        "This model protects each row: adding or removing any one row changes the probability of "
        "any result by at most a factor of 2.72 (epsilon = 1), plus 1e-06 (delta). Someone who "
        "knows all other rows and accepts a 5 % false-positive rate detects an included row with a "
        "probability of at most 8 %. Whatever false-positive rate is accepted, the detection "
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
    assert "detects a replaced unit with" in statement
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
    assert f"detects an included {label} with" in record.statement()
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
    assert f"probability of at most {percent} %" in record.statement()


def test_shown_numbers_are_rounded_up():
    epsilon = 1.0000001
    record = PrivacyRecord.from_events([approximate(epsilon)], epsilon=epsilon, delta=0.0)
    assert "epsilon = 1.00001" in record.statement()
