"""One row more, one row less, one row changed: how far exact statistics move.

15,000 neighbouring pairs of small tables, compared in integers, and 1,200 pairs of fits, compared
round by round under the same transcript.
"""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

import dpfit.release
from dpfit import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, _native
from dpfit.release import Releaser
from dpfit.statistics import (
    ClippedGradients,
    Gradient,
    Gram,
    Histograms,
    MappedGram,
    ResidualCounts,
    RowCount,
    RowMap,
    Scale,
    SmallestEigenvalue,
    SquaredResiduals,
    Table,
)

from .exact import BINS, case, integer_statistics, squares
from .neighbours import ROWS, ordinary, target, with_row
from .transcript import GRAM, features_histogram, fitted, isometric, replayed

CASES = 500
GRAM_ONE, EXAMPLE_ONE = 2**30, 2**24


def plain_map(features, scale):
    column = (0.0, 1.0, [(-math.inf, math.inf, 1.0)])
    return RowMap([column] * features, (0.0, 1.0), scale, None, norm="clip")


def claims(relation, features, columns, tau, reach):
    """Return the squares of the claimed sensitivities, in steps of the core's integers.

    A row of norm one moves X'X by 1, X'g and the sum of clipped gradients by their bounds, the sum
    of squared residuals by tau**2, and one bin of every column by 1. Replacing a row doubles X'g
    and clipped gradients, and multiplies X'X and histograms by sqrt(2).
    """
    replace = relation == "replace"
    plain = plain_map(features, Scale(1.0)).native()
    eigenvalue = Fraction(_native.Gram(plain).eigenvalue_sensitivity)
    return {
        "gram": (2 if replace else 1) * GRAM_ONE**2,
        "eigenvalue": eigenvalue**2,
        "gradient": (2**15 * tau * (2 if replace else 1)) ** 2,
        "examples": (EXAMPLE_ONE * (2 if replace else 1)) ** 2,
        "energy": (tau**2) ** 2,
        "histogram": (2 if replace else 1) * (columns + 1),
        "mapped gram": (2 if replace else 1) * GRAM_ONE**2,
        "mapped gradient": (min(reach, 2**15 * tau) * (2 if replace else 1)) ** 2,
        "residuals": 2 if replace else 1,
        "scores": 2 if replace else 1,
        "score products": (2 if replace else 1) * GRAM_ONE**2,
    }


def within(first, second, relation, *public):
    """Whether no statistic moved further than is claimed; and how far, of what is claimed."""
    moved = squares(first, second)
    allowed = claims(relation, *public)
    return {name: float(moved[name] / Fraction(allowed[name])) for name in moved}, all(
        moved[name] <= allowed[name] for name in moved
    )


def pairs(rng, kind):
    """Yield (relation, statistics, statistics, public numbers): two pairs of one, one of the other.

    The row stands at any place.
    """
    base, targets, (row, other), row_map, theta, tau, example = case(rng, kind)
    place = rng.integers(len(base) + 1)
    y = targets[:-2]
    tables = [
        (base, y),
        with_row(base, y, place, row, targets[-2]),
        with_row(base, y, place, other, targets[-1]),
    ]
    less, more, changed = (
        integer_statistics(*table, row_map, theta, tau, example) for table in tables
    )
    public = (row_map.native().features, base.shape[1], tau, example["reach"])
    yield "add_remove", less, more, public
    yield "add_remove", less, changed, public
    yield "replace", more, changed, public


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_integers_of_neighbours_differ_by_at_most_the_sensitivity(kind):
    for seed in range(CASES):
        rng = np.random.default_rng([ROWS.index(kind), seed])
        for relation, first, second, public in pairs(rng, kind):
            ratios, fine = within(first, second, relation, *public)
            assert fine, (kind.__name__, seed, relation, ratios)


def test_the_sensitivities_are_attained():
    """So that they are neither larger than need be nor too large for the checks to see a fault."""
    most = {}
    for kind in ROWS:
        for seed in range(100):
            rng = np.random.default_rng([ROWS.index(kind), seed])
            for relation, first, second, public in pairs(rng, kind):
                for name, ratio in within(first, second, relation, *public)[0].items():
                    most[relation, name] = max(most.get((relation, name), 0.0), ratio)
    assert len(most) == 22
    # Scores are divided by powers of two, so that few bounds C fill their integers.
    products = [most.pop((relation, "score products")) for relation in ("add_remove", "replace")]
    assert min(products) > 0.7
    assert min(most.values()) > 0.98, most


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_noise_is_drawn_for_these_sensitivities(relation, monkeypatch):
    asked = []

    def sigma(sensitivity, mu):
        asked.append(sensitivity)
        return original(sensitivity, mu)

    original = dpfit.release._sigma
    monkeypatch.setattr(dpfit.release, "_sigma", sigma)
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(7, 3)), rng.normal(size=7)
    row_map, table = plain_map(3, Scale(2.0**-12)), Table.of(X, y)
    releaser = Releaser(_native.Entropy(), relation)
    releaser.release(table, ClippedGradients(np.zeros(3), 0.1), 0.7)
    releaser.release(table, Histograms((BINS[0],) * 4), 0.7, 0.7)
    releaser.release(table, RowCount(), 0.7)
    stored = table.store(row_map)
    releaser.release(stored, Gram(row_map), 0.7)
    releaser.release(stored, SmallestEigenvalue(row_map), 0.7)
    releaser.release(stored, Gradient(np.zeros(3), 1000, row_map.scale), 0.7)
    releaser.release(stored, SquaredResiduals(np.zeros(3), 1000, row_map.scale), 0.7)
    releaser.release(stored, MappedGram(np.eye(3)), 0.7)
    mapped = stored.mapped(np.eye(3))
    releaser.release(mapped, Gradient(np.zeros(3), 1000, row_map.scale, 777), 0.7)
    releaser.release(mapped, ResidualCounts(np.zeros(3), (5, 900), row_map.scale), 0.7)
    allowed = claims(relation, 3, 3, 1000, 777)
    # Three features and the target, which has noise of its own.
    allowed["features"], allowed["target"] = (
        allowed["histogram"] * 3 // 4,
        allowed["histogram"] // 4,
    )
    allowed["count"] = 1
    names = (
        *("examples", "features", "target", "count", "gram", "eigenvalue", "gradient", "energy"),
        *("mapped gram", "mapped gradient", "residuals"),
    )
    for name, value in zip(names, asked, strict=True):
        square = Fraction(value) ** 2
        assert allowed[name] <= square <= allowed[name] * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("unit", [1, 3])
@pytest.mark.parametrize(("relation", "rows"), [("add_remove", 1), ("replace", 2)])
def test_histograms_are_released_for_the_columns_that_are_counted(relation, rows, unit):
    for counted in range(12):
        for last in ([BINS[1]], [None]) if counted else ([BINS[1]],):
            bins = [BINS[1]] * counted + [None] * 2 + last
            lengths = [0 if part is None else 10 for part in bins]
            releaser = Releaser(_native.Entropy(), relation, rows_per_unit=unit)
            statistic = Histograms(tuple(bins))
            mus = ([0.5] if counted else []) + ([0.25] if last[0] else [])
            table = Table.of(np.zeros((1, counted + 2)), np.zeros(1))
            found = releaser.release(table, statistic, *mus)
            assert [0 if part is None else part.size for part in found.value] == lengths
            assert found.sigmas == releaser.sigmas(statistic, *mus)
            # Every histogram that is made has to be paid for, and no other.
            for wrong in (mus[:-1], [*mus, 1.0]):
                with pytest.raises(ValueError, match="zip"):
                    releaser.release(table, statistic, *wrong)
            # One event for the features together, one for the target; none for what is not made.
            expected = [(features_histogram(counted), counted, 2.0)] if counted else []
            expected += [("histogram of the target", 1, 4.0)] if last[0] else []
            for event, (name, columns, factor) in zip(releaser.events, expected, strict=True):
                assert event.statistic == name
                allowed = rows * columns * unit**2
                square = Fraction(event.sensitivity) ** 2
                assert allowed <= square <= allowed * (1 + Fraction(1, 2**51))
                assert event.sigma == factor * event.sensitivity
            assert found.sigmas == tuple(event.sigma for event in releaser.events)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_sum_of_squared_residuals_is_in_the_scale_of_the_target(relation):
    step, tau = 2.0**-10, 1 << 20
    table = Table.of(np.zeros((3, 1)), np.array([1.0, -2.0, 1e9]))
    stored = table.store(plain_map(1, Scale(step)))
    releaser = Releaser(_native.Entropy(), relation)
    found = releaser.release(stored, SquaredResiduals(np.zeros(1), tau, Scale(step)), 1e12)
    (event,) = releaser.events
    assert event.statistic == "sum of squared residuals"
    assert event.sensitivity == (tau * step) ** 2
    assert found.sigma == pytest.approx(event.sensitivity / 1e12)
    assert found.value == pytest.approx(1.0 + 4.0 + (tau * step) ** 2, abs=40 * found.sigma)


def test_the_number_of_rows_is_public_only_if_one_row_is_replaced():
    table = Table.of(np.zeros((7, 1)), np.zeros(7))
    releaser = Releaser(_native.Entropy(), "replace")
    assert releaser.public_rows(table) == 7.0
    assert releaser.events == ()
    for others in (
        Releaser(_native.Entropy(), "add_remove"),
        Releaser(_native.Entropy(), "replace", rows_per_unit=2),
    ):
        with pytest.raises(ValueError, match="not public"):
            others.public_rows(table)


ESTIMATORS = {
    "boosted": functools.partial(BoostedAdaSSP, mu=1.0, n_rounds=3),
    "boosted, bounds": functools.partial(
        BoostedAdaSSP, mu=1.0, n_rounds=3, x_bound=0.01, tau=30.0, fit_intercept=True
    ),
    "adassp": functools.partial(AdaSSP, mu=1.0, x_bound=7.0, y_bound=0.1, fit_intercept=True),
    "descent": functools.partial(DPGradientDescent, mu=1.0, n_rounds=3, clip_norm=0.2),
    "descent, constant": functools.partial(
        DPGradientDescent, mu=1.0, n_rounds=3, clip_norm=5.0, fit_intercept=True
    ),
    "mean": functools.partial(BoostedMean, mu=1.0, n_rounds=3, tau=2.0),
}


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_fits_of_neighbours_differ_by_at_most_what_the_record_claims(name, relation):
    """Given what was released before: the same rounds are walked through with either table."""
    estimator = ESTIMATORS[name](neighbors=relation, n_jobs=1)
    most = 0.0
    for seed in range(100):
        rng = np.random.default_rng([seed, len(name)])
        columns = int(rng.integers(1, 4))
        theta = rng.normal(size=columns)
        base = np.array([ordinary(rng, (), theta, 1.0) for _ in range(rng.integers(1, 6))])
        y = np.array([target(rng, row, theta, 1.0) for row in base])
        row, other = (ROWS[rng.integers(len(ROWS))](rng, base, theta, 1.0) for _ in range(2))
        if rng.random() < 0.5:
            other = -row
        place = rng.integers(len(base) + 1)
        first = with_row(base, y, place, row, target(rng, row, theta, 1.0))
        second = (base, y)
        if relation == "replace":
            second = with_row(base, y, place, other, target(rng, other, theta, 1.0))
        transcript = fitted(estimator, *first)
        with replayed(transcript) as again:
            estimator.fit(*second)
        claimed = {event.statistic: event.sensitivity for event in estimator.privacy_.events}
        for a, b in zip(transcript, again, strict=True):
            moved = a.exact - b.exact
            if a.statistic == GRAM:
                moved = moved * isometric(columns + bool(estimator.get_params()["fit_intercept"]))
            ratio = float(np.linalg.norm(moved)) / claimed[a.statistic]
            assert ratio <= 1.0 + 1e-12, (seed, a.statistic)
            most = max(most, ratio)
    assert most > 0.9
