"""A private evaluation: what it releases moves by no more than its record claims, and no more."""

import dataclasses

import numpy as np
import pytest

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.accounting import compose
from dpfit.statistics import (
    RowCount,
    RowMap,
    Scale,
    WeightedCounts,
    WeightedPredictions,
    WeightedSquares,
    WeightedSums,
    WeightedTotal,
)
from dpfit.statistics.statistic import Relation
from dpfit.statistics.table import LocalBatches, Table

from .transcript import caught, claims, largest_share, replayed, variance_is

RELATIONS = ["add_remove", "replace"]
WEIGHTS = [0.0, 1e-300, 1e-3, 0.5, 1.9999, 2.0, 1e300]
MOST = 2.0
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
@pytest.mark.parametrize("mu", [0.2, 30.0])
def test_neighbours_with_weights_are_as_close_as_the_record_says(relation, mu):
    fitted = model(relation, missing="drop")
    rng = np.random.default_rng(3)
    X, y = table()
    weight = rng.choice(WEIGHTS, size=len(y))
    largest = 0.0
    for value in WILD:
        for own in (*WEIGHTS, -1.0, np.nan, np.inf):
            row = rng.normal(size=2) * rng.choice([0.1, 1.0, 1e200, np.nan])
            more = np.vstack([X, row]), np.append(y, value), np.append(weight, own)
            first = more if relation == "add_remove" else (X, y, weight)
            second = (X, y, weight) if relation == "add_remove" else [each[1:] for each in more]
            with caught() as transcript:
                found = weighted(fitted, *first, mu)
            with replayed(transcript) as neighbour:
                shown = weighted(fitted, *second, mu)
            assert public(shown) == public(found)
            largest = max(largest, largest_share(transcript, neighbour, found.privacy))
    # The bound is attained by rows of the largest weight.
    assert 0.99 < largest <= 1.0 + 1e-12  # rounding of the replay


def weighted(fitted, X, y, weight, mu):
    return fitted.evaluate(X, y, mu=mu, sample_weight=weight, max_weight=MOST)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_releases_of_weighted_rows_compose_to_the_budget(relation):
    X, y = table()
    found = weighted(model(relation), X, y, np.ones(len(y)), 0.7)
    mus = [event.mu for event in claims(found.privacy)]
    assert 0.7 * (1.0 - 1e-12) < compose(*mus) <= 0.7
    names = [event.statistic for event in claims(found.privacy)]
    assert len(names) == 10 + (relation == "add_remove")
    # No exact or unweighted sum of residuals is released besides.
    assert all("weight" in name for name in names if name != RowCount.name)


def test_weights_in_the_core():
    """By brute force: a row adds its weight, at most the largest, to one count or sum."""
    scale, tau, edges = Scale(2.0**-10), 700, (3, 90, 2000)
    columns = [(0.0, 1.0, [(-1.0, 1.0, 0.4)]), (0.0, MOST, [(0.0, 1.0, 0.8)])]
    theta = np.array([1.0, 0.0, 0.5])
    most = int(0.8 * 2**15)
    statistics = [
        WeightedCounts(theta, scale, (1, most), edges),
        WeightedPredictions(theta, scale, (1, most), (-5000, 0, 7000)),
        WeightedTotal(theta, scale, (1, most)),
        WeightedSums(theta, scale, (1, most), tau, (-5000, 0, 7000)),
        WeightedSquares(theta, scale, (1, most), tau),
    ]
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 1)) * rng.choice([0.1, 1.0, 1e9], size=(200, 1))
    y = rng.normal(size=200) * rng.choice([0.1, 1.0, 1e9], size=200)
    weight = rng.choice([*WEIGHTS, 1e300], size=200)
    for statistic in statistics:
        vectors = []
        for i in range(200):
            x, own = [rows[i], weight[i : i + 1]], y[i : i + 1]
            part = Table(LocalBatches(lambda x=x, own=own: [(x, own)], "error", 1))
            stored = part.store(RowMap(columns, (0.0, 1.0), scale, 0.04), gram=False)
            vectors.append(np.array(stored.sum(statistic).insecure_exact(), dtype=object))
        added = max(float((vector**2).sum()) ** 0.5 for vector in vectors)
        replaced = max(float(((one - two) ** 2).sum()) ** 0.5 for one in vectors for two in vectors)
        for relation, largest in (("add_remove", added), ("replace", replaced)):
            claimed = statistic.sensitivity(Relation(relation))
            assert 0.99 * claimed < largest <= claimed
        # A weight that a caller claims to be smaller is clamped to that.
        small = dataclasses.replace(statistic, weights=(1, 5))
        clamped = np.array(stored.sum(small).insecure_exact(), dtype=float)
        assert np.linalg.norm(clamped) <= small.sensitivity(Relation("add_remove"))


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
