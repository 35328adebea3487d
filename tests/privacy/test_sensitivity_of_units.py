"""All rows of one unit appear, go or change: how far what is released moves.

1,600 neighbouring pairs of small tables, compared in integers with what the releaser records;
and pairs of fits, compared release by release under the same transcript.
"""

import dataclasses
import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression, _native
from dpfit.release import Releaser
from dpfit.schema import Numeric, Schema
from dpfit.statistics import (
    ClippedGradients,
    Gradient,
    Gram,
    Histograms,
    MappedGram,
    ResidualCounts,
    RowCount,
    Scale,
    ScoreCounts,
    ScoreProducts,
    SmallestEigenvalue,
    SquaredResiduals,
    Table,
)

from .exact import BINS, case, integer_statistics, squares
from .neighbours import ROWS, target
from .transcript import claims, features_histogram, fitted, largest_share, replayed

CASES = 40
MU = 0.7
NAMES = {
    "X'X": "gram",
    "smallest eigenvalue of X'X": "eigenvalue",
    "X'X of mapped rows": "mapped gram",
    "histogram of residuals": "residuals",
    "histogram of scores": "scores",
    "sum of clipped gradients": "examples",
    "sum of squared residuals": "energy",
    "number of rows": "count",
    "histogram of the target": "target",
}


def statistics(X, y, public):
    """Return every statistic that can be released, as integers."""
    found = integer_statistics(X, y, *public)
    end = len(BINS[X.shape[1] % 2].native())
    counts = found.pop("histogram")
    return {**found, "features": counts[:-end], "target": counts[-end:], "count": [len(y)]}


def recorded(X, y, public, relation, rows_per_unit):
    """Return the events of every release, in steps of the integers."""
    row_map, theta, tau, example = public
    width = X.shape[1]
    # Of length 2^15 and targets of one: a step is one in public numbers. What is released is not
    # looked at here.
    plain = dataclasses.replace(row_map, scale=dataclasses.replace(row_map.scale, bound=2.0**15))
    scale = Scale(1.0, 2.0**15)
    constant = width + example["constant"]
    releaser = Releaser(_native.Entropy(), relation, n_jobs=1, rows_per_unit=rows_per_unit)
    table = Table.of(X, y, 1)
    bins = tuple(BINS[i % 2] for i in range(width + 1))
    releaser.release(table, Histograms(bins), MU, MU)
    releaser.release(table, RowCount(), MU)
    releaser.release(table, ClippedGradients(theta[:constant], 2.0**24), MU)
    stored = table.store(plain)
    theta = theta[: row_map.native().features]
    releaser.release(stored, Gram(plain), MU)
    releaser.release(stored, SmallestEigenvalue(plain), MU)
    releaser.release(stored, Gradient(theta, tau, scale), MU)
    found = {"gradient": releaser.events[-1]}
    releaser.release(stored, SquaredResiduals(theta, tau, scale), MU)
    releaser.release(stored, MappedGram(example["matrix"]), MU)
    mapped = stored.mapped(example["matrix"])
    theta = np.resize(public[1], example["matrix"].shape[1])
    releaser.release(mapped, ResidualCounts(theta, tuple(example["edges"]), scale), MU)
    releaser.release(mapped, Gradient(theta, tau, scale, example["reach"]), MU)
    found["mapped gradient"] = releaser.events[-1]
    releaser.release(mapped, ScoreCounts(theta, tuple(example["score edges"]), scale), MU)
    products = ScoreProducts(theta, tau, scale, example["reach"])
    releaser.release(mapped, products, MU)
    event = releaser.events[-1]
    found["score products"] = dataclasses.replace(
        event,
        sensitivity=event.sensitivity / products.resolution,
        sigma=event.sigma / products.resolution,
    )
    names = {**NAMES, features_histogram(width): "features"}
    for event in releaser.events:
        if event.statistic in names:
            found[names[event.statistic]] = event
    # X'X of mapped rows has a norm of one, of 2**30 steps.
    event, one = found["mapped gram"], 2.0**30
    found["mapped gram"] = dataclasses.replace(
        event, sensitivity=event.sensitivity * one, sigma=event.sigma * one
    )
    return found


def unit_rows(rng, kind, count, base, theta, bound, tau):
    """Draw rows of a unit: one row as often as may be, or rows of any kind."""
    if rng.random() < 0.5:
        row = kind(rng, base, theta, bound)
        return np.repeat(row[None, :], count, axis=0), np.repeat(
            target(rng, row, theta, tau), count
        )
    rows = [ROWS[rng.integers(len(ROWS))](rng, base, theta, bound) for _ in range(count)]
    return np.array(rows), np.array([target(rng, row, theta, tau) for row in rows])


def pairs(rng, kind):
    """Yield (relation, table, table, rows of a unit, public numbers)."""
    base, targets, (row, other), *public = case(rng, kind)
    y, most = targets[:-2], int(rng.integers(1, 5))
    theta, size = public[1][: base.shape[1]], public[3]["bound"]
    few = int(rng.integers(1, most + 1))

    def joined(rows, values):
        order = rng.permutation(len(y) + len(values))
        return np.vstack([base, rows])[order], np.append(y, values)[order]

    many = np.repeat(row[None, :], most, axis=0), np.full(most, targets[-2])
    changed = np.repeat(other[None, :], most, axis=0), np.full(most, targets[-1])
    some = unit_rows(rng, kind, few, base, theta, 1.0, size)
    yield "add_remove", (base, y), joined(*many), most, public
    yield "add_remove", (base, y), joined(*some), most, public
    yield "replace", joined(*many), joined(*changed), most, public
    # Changed for a unit with fewer rows.
    yield "replace", joined(*many), joined(*some), most, public


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_a_unit_moves_no_statistic_further_than_its_event_says(kind):
    for seed in range(CASES):
        rng = np.random.default_rng([ROWS.index(kind), seed, 1])
        for relation, first, second, most, public in pairs(rng, kind):
            events = recorded(*second, public, relation, most)
            a, b = statistics(*first, public), statistics(*second, public)
            assert a.keys() == b.keys() == events.keys()
            for name, moved in squares(a, b).items():
                event = events[name]
                said = Fraction(event.sensitivity) ** 2
                assert moved <= said, (seed, relation, name, most)
                # And the noise is enough for what is said.
                assert (Fraction(event.sigma) * Fraction(event.mu)) ** 2 >= said
                assert event.mu == MU


def test_what_events_say_is_attained():
    most_seen = {}
    for kind in ROWS:
        for seed in range(20):
            rng = np.random.default_rng([ROWS.index(kind), seed, 1])
            for relation, first, second, most, public in pairs(rng, kind):
                if most < 2:
                    continue
                events = recorded(*second, public, relation, most)
                a, b = statistics(*first, public), statistics(*second, public)
                for name, moved in squares(a, b).items():
                    share = math.sqrt(moved / Fraction(events[name].sensitivity) ** 2)
                    key = relation, name
                    most_seen[key] = max(most_seen.get(key, 0.0), share)
    # How many rows there are changes by fewer than a unit has when it is replaced.
    assert most_seen.pop(("replace", "count")) >= 0.5
    # Scores are divided by powers of two, so that few bounds fill their integers.
    products = [
        most_seen.pop((relation, "score products")) for relation in ("add_remove", "replace")
    ]
    assert min(products) > 0.6
    assert len(most_seen) == 23
    assert min(most_seen.values()) > 0.97, most_seen


PUBLIC = Schema({0: Numeric(-1, 1), 2: Numeric(0, 2)}, target=Numeric(-3, 3))
MODELS = {
    "linear": functools.partial(PrivateLinearRegression, mu=3.0),
    "additive": functools.partial(PrivateAdditiveRegression, mu=3.0, knots=2),
    "few rows": functools.partial(PrivateLinearRegression, mu=0.5),
    "public": functools.partial(PrivateLinearRegression, mu=3.0, schema=PUBLIC),
}


def neighbouring(rng, relation, most):
    """Draw a table with a unit and one without it, or with other rows of it; each with owners."""
    count = int(rng.integers(60, 90))
    X, y = rng.normal(size=(count, 3)), rng.normal(size=count)
    owners = np.arange(count) // most

    def joined(few):
        row = ROWS[rng.integers(len(ROWS))](rng, X, np.ones(3), 1.0)
        value = target(rng, row, np.ones(3), 1.0)
        order = rng.permutation(count + few)
        whole = np.vstack([X, np.repeat(row[None, :], few, axis=0)])
        return (
            whole[order],
            np.append(y, np.full(few, value))[order],
            np.append(owners, np.full(few, -1))[order],
        )

    # More rows than are kept, too.
    first = joined(most + int(rng.integers(0, 3)) * (most > 1))
    return first, joined(int(rng.integers(1, most + 1))) if relation == "replace" else (
        X,
        y,
        owners,
    )


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", MODELS)
def test_fits_of_neighbours_differ_by_at_most_what_the_record_claims(name, relation, most):
    """Given what was released before: the same rounds are walked through with either table."""
    assert check_fits(name, relation, most) > 0.9


def check_fits(name, relation, most):
    """Assert that fits of neighbours are as near as claimed; return the largest share of that."""
    estimator = MODELS[name](neighbors=relation, n_jobs=1, max_rows=most if most > 1 else None)
    largest = 0.0
    for seed in range(5):
        rng = np.random.default_rng([seed, len(name), most])
        *first, owners = (tables := neighbouring(rng, relation, most))[0]
        options = {"unit": owners} if most > 1 else {}
        transcript = fitted(estimator, *first, **options)
        claimed = claims(estimator.privacy_)
        *second, owners = tables[1]
        options = {"unit": owners} if most > 1 else {}
        with replayed(transcript) as again:
            estimator.fit(*second, **options)
        assert claims(estimator.privacy_) == claimed
        largest = max(largest, largest_share(transcript, again, estimator.privacy_))
    return largest


@pytest.mark.parametrize("fault", ["rows are longer than claimed", "the reach is not kept"])
def test_a_fit_with_a_wrong_claim_is_seen(fault, monkeypatch):
    if fault == "the reach is not kept":
        original = Gradient.sum
        monkeypatch.setattr(
            Gradient,
            "sum",
            lambda self, part: original(dataclasses.replace(self, reach=None), part),
        )
    else:
        original = MappedGram.sensitivity
        monkeypatch.setattr(
            MappedGram, "sensitivity", lambda self, relation: original(self, relation) / 8
        )
    with pytest.raises(AssertionError, match=r"X'g|X'X of mapped rows"):
        check_fits("additive", "replace", 1)
