"""A private evaluation: what it releases moves by no more than its record claims, and no more."""

import dataclasses

import numpy as np
import pytest

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.accounting import compose
from dpfit.statistics import RowCount

from .transcript import caught, claims, largest_share, replayed, variance_is

RELATIONS = ["add_remove", "replace"]
WILD = [0.0, 1e-320, 3.0, -3.0, 1e6, -1e6, 1e300, -1.7e308]


def table(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    return X, X @ [1.0, 2.0] + rng.normal(size=rows)


def model(relation, cls=PrivateLinearRegression, **options):
    return cls(mu=5.0, neighbors=relation, n_jobs=1, **options).fit(*table(2000))


def public(found):
    """Return everything that an evaluation shows, as data."""
    return dataclasses.asdict(found)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
@pytest.mark.parametrize("mu", [0.2, 30.0])
def test_neighbours_are_as_close_as_the_record_says(relation, cls, mu):
    fitted = model(relation, cls)
    rng = np.random.default_rng(3)
    X, y = table()
    # Rows whose residual is anything, also with predictions at the ends of their range.
    rows = [(rng.normal(size=2) * scale, value) for value in WILD for scale in (0.1, 1.0, 1e200)]
    largest = 0.0
    for row, value in rows:
        other = np.vstack([X, row]), np.append(y, value)
        first = other if relation == "add_remove" else (X, y)
        second = (X, y) if relation == "add_remove" else (other[0][1:], other[1][1:])
        with caught() as transcript:
            found = fitted.evaluate(*first, mu=mu)
        with replayed(transcript) as neighbour:
            assert public(fitted.evaluate(*second, mu=mu)) == public(found)
        largest = max(largest, largest_share(transcript, neighbour, found.privacy))
    # The bound is attained: the counts of any row change by one.
    assert largest > 0.99


@pytest.mark.parametrize("relation", RELATIONS)
def test_an_evaluation_is_a_function_of_its_releases(relation):
    fitted = model(relation)
    with caught() as transcript:
        expected = public(fitted.evaluate(*table(), mu=1.0))
    rng = np.random.default_rng(2)
    for rows in (400,) if relation == "replace" else (400, 1, 777):
        for other in (
            (rng.normal(size=(rows, 2)) * 1e200, rng.normal(size=rows) * 1e300),
            (np.zeros((rows, 2)), np.zeros(rows)),
        ):
            with replayed(transcript):
                assert public(fitted.evaluate(*other, mu=1.0)) == expected


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mu", [1e-3, 0.24, 50.0])
def test_the_releases_compose_to_the_budget(relation, missing, mu):
    fitted = model(relation, missing=missing)
    found = fitted.evaluate(*table(), mu=mu)
    mus = [event.mu for event in claims(found.privacy)]
    assert compose(*mus) <= mu
    assert compose(*mus) > mu * (1.0 - 1e-12)
    # The number of rows is public if no row can be dropped.
    counted = relation == "add_remove" or missing == "drop"
    names = [event.statistic for event in claims(found.privacy)]
    assert (RowCount.name in names) == counted
    assert len(names) == 9 + counted


def test_a_budget_as_epsilon_and_delta():
    found = model("add_remove").evaluate(*table(), epsilon=2.0, delta=1e-7)
    assert (found.privacy.epsilon, found.privacy.delta) == (2.0, 1e-7)
    assert not found.privacy.insecure_seed


def test_the_noise_is_as_large_as_it_should_be():
    """False alarms: 2e-9 for each of ten releases."""
    fitted, rows = model("add_remove"), table()
    runs = []
    for _ in range(60):
        with caught() as transcript:
            record = fitted.evaluate(*rows, mu=0.5).privacy
        runs.append(transcript)
    for place, event in enumerate(claims(record)):
        noise = np.concatenate([run[place].noise / run[place].sigma for run in runs])
        assert variance_is(noise, 1.0)
        assert event.sensitivity > 0.0


@pytest.mark.parametrize("relation", RELATIONS)
def test_units(relation):
    fitted, (X, y) = model(relation), table()
    owners = np.arange(400) // 4
    one = fitted.evaluate(X, y, mu=1.0, unit=owners, max_rows=3)
    rows = fitted.evaluate(X, y, mu=1.0)
    assert one.privacy.max_rows == 3
    three = {event.statistic: event.sensitivity for event in claims(one.privacy)}
    plain = {event.statistic: event.sensitivity for event in claims(rows.privacy)}
    assert three["histogram of predictions"] == pytest.approx(3 * plain["histogram of predictions"])
    # All rows of a unit, more than are kept, move the releases by what the record says.
    kept = owners > 0
    if relation == "add_remove":
        with caught() as transcript:
            found = fitted.evaluate(X, y, mu=1.0, unit=owners, max_rows=3)
        with replayed(transcript) as neighbour:
            fitted.evaluate(X[kept], y[kept], mu=1.0, unit=owners[kept], max_rows=3)
        assert 0.0 < largest_share(transcript, neighbour, found.privacy) <= 1.0
