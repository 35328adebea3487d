"""One row more, one row less, one row changed: how far statistics of mapped rows move.

12,000 neighbouring pairs of small tables, compared in integers.
"""

from fractions import Fraction

import numpy as np
import pytest

import dpfit.release
from dpfit import _native
from dpfit.release import Releaser
from dpfit.statistics import Gradient, MappedGram, ResidualCounts, ResidualSums, Scale, Table

from .exact import case
from .neighbours import ROWS, with_row
from .test_sensitivity_of_statistics import plain_map

CASES = 400
GRAM_ONE = 2**30


def matrices(rng, features, base, row):
    """Draw a public matrix: of any size, along rows, or one that hardly tells rows apart."""
    shape = features, int(rng.integers(1, 6))
    matrix = rng.normal(size=shape)
    kind = rng.integers(8)
    if kind == 0:
        return np.eye(features)
    if kind == 1:
        return matrix * 10.0 ** rng.uniform(-320, 300, size=shape)
    if kind == 2:
        return matrix * 10.0 ** rng.uniform(-8, 8, size=shape[1])
    if kind == 3:
        # A column along the row, where its product is largest.
        matrix[:, 0] = np.resize(np.clip(row, -1e100, 1e100), features)
        return matrix * rng.choice([1.0, 1e5])
    if kind == 4:
        return np.outer(rng.normal(size=features), rng.normal(size=shape[1])) * 1e3
    if kind == 5:
        return rng.choice([0.0, 1.0, -1.0, 1.0 + 2.0**-52], size=shape)
    return matrix * rng.choice([1e-3, 1.0, 1.0, 1e3])


def integer_statistics(X, y, row_map, matrix, theta, bounds):
    """Return every statistic as Python's integers."""
    tau, reach, edges = bounds
    rows = _native.Rows(row_map)
    rows.extend(X, y, n_jobs=1)
    found = {"gram": _native.Gram.of_mapped(rows, matrix, n_jobs=1)}
    for name, part in (("stored", rows), ("mapped", rows.mapped(matrix, n_jobs=1))):
        model = np.resize(theta, part.features)
        found[name, "gradient"] = _native.Gradient.of(part, model, tau, n_jobs=1)
        found[name, "joint"] = _native.Gradient.of(part, model, tau, reach, n_jobs=1)
        found[name, "counts"] = _native.ResidualCounts.of(part, model, edges, n_jobs=1)
        pieces = [[-3000, 0, 10_000]] * part.features
        found[name, "sums"] = _native.ResidualSums.of(part, model, tau, pieces, n_jobs=1)
        found[name, "energy"] = _native.Energy.of(part, model, tau, n_jobs=1)
    return {name: np.ravel(total.insecure_exact()).tolist() for name, total in found.items()}


def claims(relation, bounds):
    """Return the squares of the sensitivities."""
    tau, reach, _ = bounds
    twice = 2 if relation == "replace" else 1
    found = {"gram": twice * GRAM_ONE**2}
    for name in ("stored", "mapped"):
        found[name, "gradient"] = (2**15 * tau * twice) ** 2
        found[name, "joint"] = (min(reach, 2**15 * tau) * twice) ** 2
        found[name, "counts"] = twice
        found[name, "energy"] = tau**4
        # For one feature; each has four sums.
        found[name, "sums"] = (tau * twice) ** 2
    return found


def moved(first, second, relation, bounds, outputs):
    """Return how far every statistic moved, as a share of what is claimed, squared."""
    upper = zip(*np.triu_indices(outputs), strict=True)
    triangle = [1 if i == j else 2 for i, j in upper]
    shares = {}
    for name, allowed in claims(relation, bounds).items():
        weights = triangle if name == "gram" else [1] * len(first[name])
        pairs = zip(weights, first[name], second[name], strict=True)
        if name[1] == "sums":
            allowed *= len(first[name]) // 4
        shares[name] = Fraction(sum(w * (a - b) ** 2 for w, a, b in pairs), allowed)
    return shares


def pairs(rng, kind):
    """Yield (relation, shares): two pairs with a row more, one with a row replaced."""
    base, targets, (row, other), row_map, theta, tau, _ = case(rng, kind)
    row_map = row_map.native()
    matrix = matrices(rng, row_map.features, base, row)
    reach = int(rng.choice([1, 2**15, 2**15 * tau, rng.integers(1, 2**15 * tau + 1), 2**35]))
    edges = np.unique(rng.integers(1, 2**20, size=rng.integers(1, 9))).tolist()
    place, y = rng.integers(len(base) + 1), targets[:-2]
    bounds = tau, reach, edges
    less, more, changed = (
        integer_statistics(*table, row_map, matrix, theta, bounds)
        for table in (
            (base, y),
            with_row(base, y, place, row, targets[-2]),
            with_row(base, y, place, other, targets[-1]),
        )
    )
    for relation, first, second in (
        ("add_remove", less, more),
        ("add_remove", less, changed),
        ("replace", more, changed),
    ):
        yield relation, moved(first, second, relation, bounds, matrix.shape[1])


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_integers_of_neighbours_differ_by_at_most_the_sensitivity(kind):
    for seed in range(CASES):
        rng = np.random.default_rng([17, ROWS.index(kind), seed])
        for relation, shares in pairs(rng, kind):
            assert max(shares.values()) <= 1, (kind.__name__, seed, relation, shares)


def test_the_sensitivities_are_attained():
    most = {}
    for kind in ROWS:
        for seed in range(100):
            rng = np.random.default_rng([17, ROWS.index(kind), seed])
            for relation, shares in pairs(rng, kind):
                for name, share in shares.items():
                    most[relation, name] = max(most.get((relation, name), 0.0), float(share))
    assert len(most) == 22
    assert min(most.values()) > 0.98, most


@pytest.mark.parametrize("unit", [1, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_noise_is_drawn_for_these_sensitivities(relation, unit, monkeypatch):
    asked = []

    def sigma(sensitivity, mu):
        asked.append(sensitivity)
        return original(sensitivity, mu)

    original = dpfit.release._sigma
    monkeypatch.setattr(dpfit.release, "_sigma", sigma)
    rng = np.random.default_rng(3)
    tau, reach, scale, edges = 1000, 2**20, Scale(2.0**-12), (10, 200)
    table = Table.of(rng.normal(size=(7, 3)), rng.normal(size=7))
    stored = table.store(plain_map(3, scale))
    matrix = rng.normal(size=(3, 2))
    mapped = stored.mapped(matrix)
    releaser = Releaser(_native.Entropy(), relation, rows_per_unit=unit)
    released = [
        releaser.release(stored, MappedGram(matrix), 0.7),
        releaser.release(mapped, Gradient(np.zeros(2), tau, scale, reach), 0.7),
        releaser.release(mapped, Gradient(np.zeros(2), tau, scale, 2**35), 0.7),
        releaser.release(mapped, ResidualCounts(np.zeros(2), edges, scale), 0.7),
        releaser.release(mapped, ResidualSums(np.zeros(2), tau, ((0,), (1, 2)), scale), 0.7),
    ]
    allowed = claims(relation, (tau, reach, edges))
    expected = [
        allowed["gram"],
        allowed["mapped", "joint"],
        allowed["mapped", "gradient"],
        allowed["mapped", "counts"],
        2 * allowed["mapped", "sums"],
    ]
    for value, square in zip(asked, expected, strict=True):
        exact = square * unit**2
        assert exact <= Fraction(value) ** 2 <= exact * (1 + Fraction(1, 2**50))
    assert [event.statistic for event in releaser.events] == [
        "X'X of mapped rows",
        "X'g",
        "X'g",
        "histogram of residuals",
        "sums of residuals",
    ]
    for event, found in zip(releaser.events, released, strict=True):
        assert found.sigma == pytest.approx(event.sensitivity / 0.7)
    *others, sums = released
    assert [np.shape(found.value) for found in others] == [(2, 2), (2,), (2,), (5,)]
    assert [len(part) for part in sums.value] == [2, 3]


def test_values_are_in_public_numbers():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(400, 3)) / 4, rng.normal(size=400)
    scale, matrix, theta = Scale(2.0**-14), rng.normal(size=(3, 2)), np.array([0.3, -0.2])
    stored = Table.of(X, y).store(plain_map(3, scale))
    Z = X / np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None] @ matrix
    weight = 1.0 / np.maximum(np.linalg.norm(Z, axis=1), 1.0)
    Z, t = Z * weight[:, None], y * weight
    tau, reach = 2**20, 2**28
    releaser = Releaser(_native.Entropy(), "add_remove")
    found = releaser.release(stored, MappedGram(matrix), 1e12).value
    np.testing.assert_allclose(found, Z.T @ Z, atol=0.05)
    mapped = stored.mapped(matrix, free=True)
    statistic = Gradient(theta, tau, scale, reach)
    found = releaser.release(mapped, statistic, 1e12).value
    bound = reach * statistic.resolution / np.linalg.norm(Z, axis=1)
    expected = Z.T @ np.clip(t - Z @ theta, -bound, bound)
    assert (np.abs(t - Z @ theta) > bound).any()
    np.testing.assert_allclose(found, expected, atol=0.05)
    edges = (2**12, 2**14)
    found = releaser.release(mapped, ResidualCounts(theta, edges, scale), 1e12).value
    at = np.array([-np.inf, -1.0, -0.25, 0.25, 1.0, np.inf])
    expected = np.histogram(t - Z @ theta, at)[0]
    assert np.abs(found - expected).sum() <= 4
    assert found.sum() == 400
    edges = ((-(2**13), 2**13), ())
    found = releaser.release(mapped, ResidualSums(theta, 2**13, edges, scale), 1e12).value
    clipped = np.clip(t - Z @ theta, -0.5, 0.5)
    at = np.digitize(Z[:, 0], [-0.25, 0.25])
    np.testing.assert_allclose(found[0], [clipped[at == i].sum() for i in range(3)], atol=0.6)
    assert len(found[1]) == 0
