"""Random row maps on random rows: integers below their bound, each row independent of the others.

``make test-slow`` tries more than a million rows; the default suite a small part of them. Seeds
are fixed, so nothing fails by chance.
"""

import math

import numpy as np
import pytest
from tests.core.oracle import BOUND, LARGEST_TARGET, Map
from tests.core.stored import stored_rows

from dpfit import _native

ROWS = 2000


def random_map(rng):
    """Return a map with columns of every kind, norms and targets."""
    columns = []
    for _ in range(rng.integers(1, 9)):
        if rng.random() < 0.25:
            columns.append((int(rng.integers(1, 7)), float(10.0 ** rng.uniform(-3, 3))))
            continue
        centre = float(rng.normal() * 10.0 ** rng.uniform(-6, 6))
        scale = float(10.0 ** rng.uniform(-8, 8))
        columns.append((centre, scale, tuple(random_ramp(rng) for _ in range(rng.integers(1, 5)))))
    return Map(
        tuple(columns),
        target=(
            float(rng.normal() * 10.0 ** rng.uniform(-6, 6)),
            float(10.0 ** rng.uniform(-6, 6)),
        ),
        step=float(2.0 ** rng.integers(-20, -4)),
        norm=str(rng.choice(["clip", "weight"])),
        intercept=None if rng.random() < 0.5 else float(rng.uniform(0.01, 0.99)),
    )


def random_ramp(rng):
    low, high = np.sort(rng.normal(size=2) * 3)
    ends = [(-math.inf, math.inf), (-math.inf, high), (low, math.inf), (low, high)]
    low, high = ends[rng.integers(4)]
    return float(low), float(high), float(10.0 ** rng.uniform(-2, 2))


def random_rows(rng, row_map):
    """Return finite values of every size, among them those at which maps change."""
    values = []
    for column in row_map.columns:
        if len(column) == 2:
            x = rng.integers(-2, column[0] + 2, size=ROWS).astype(float)
            x = np.where(rng.random(ROWS) < 0.1, rng.normal(size=ROWS), x)
        else:
            centre, scale, ramps = column
            ends = [end for ramp in ramps for end in ramp[:2] if math.isfinite(end)]
            edges = centre + scale * np.array([0.0, *ends])
            kinds = [
                centre + scale * rng.normal(size=ROWS),
                np.nextafter(rng.choice(edges, size=ROWS), rng.choice([-np.inf, np.inf], ROWS)),
                rng.choice([-1.0, 1.0], ROWS) * 10.0 ** rng.uniform(-320, 308, ROWS),
                rng.choice([0.0, -0.0, 5e-324, np.finfo(float).max, np.finfo(float).min], ROWS),
                rng.integers(0, 2**64, ROWS, dtype=np.uint64).view(float),
            ]
            x = np.choose(rng.integers(0, len(kinds), ROWS), kinds)
        values.append(np.where(np.isfinite(x), x, 1.0))
    return np.stack(values, axis=1), np.where(
        rng.random(ROWS) < 0.5, rng.normal(size=ROWS), 10.0 ** rng.uniform(-300, 300, ROWS)
    )


def integers(row_map, x, y, **options):
    rows = _native.Rows(row_map.native)
    rows.extend(x, y, **options)
    found, targets = stored_rows(rows, row_map.features)
    return found[: len(y)], targets[: len(y)]


def check(seed):
    rng = np.random.default_rng([7, seed])
    row_map = random_map(rng)
    with np.errstate(all="ignore"):
        x, y = random_rows(rng, row_map)
    found, targets = integers(row_map, x, y)
    assert (found**2).sum(axis=1).max() <= BOUND
    assert np.abs(targets).max() <= LARGEST_TARGET
    # The same as the oracle's, which maps one row at a time.
    expected, expected_targets = row_map.rows(x, y)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(targets, expected_targets)
    # No row sees another: in another order, and in parts, each is mapped to the same integers.
    order = rng.permutation(ROWS)
    cut = int(rng.integers(1, ROWS))
    for part in (order[:cut], order[cut:]):
        again, again_targets = integers(row_map, x[part], y[part], n_jobs=1)
        np.testing.assert_array_equal(again, found[part])
        np.testing.assert_array_equal(again_targets, targets[part])


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_random_maps(first):
    for seed in range(first, first + 10):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20, 640, 62))
def test_a_million_rows(first):
    """620 maps of 2,000 rows each."""
    for seed in range(first, first + 62):
        check(seed)
