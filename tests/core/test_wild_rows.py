"""A hundred thousand rows of every wild kind: no integer norm is above its bound."""

import numpy as np
import pytest

from dpfit import _native

from . import oracle
from .oracle import BOUND, Map
from .stored import stored_rows

ROWS, WIDTH = 100_000, 16


def signs(rng):
    return rng.choice([-1.0, 1.0], size=(ROWS, WIDTH))


def subnormal(rng):
    bits = rng.integers(1, 2**52, size=(ROWS, WIDTH), dtype=np.uint64)
    return signs(rng) * (bits >> rng.integers(0, 52, size=bits.shape, dtype=np.uint64)).view(float)


def huge(rng):
    return rng.normal(size=(ROWS, WIDTH)) * 1e300


def small(rng):
    return rng.normal(size=(ROWS, WIDTH)) * 1e-300


def one_huge_column(rng):
    x = rng.normal(size=(ROWS, WIDTH)) / 10
    x[np.arange(ROWS), rng.integers(0, WIDTH, size=ROWS)] *= 10.0 ** rng.uniform(0, 308, size=ROWS)
    return x


def all_equal(rng):
    return np.repeat(10.0 ** rng.uniform(-3, 3, size=(ROWS, 1)), WIDTH, axis=1)


def alternating_signs(rng):
    x = all_equal(rng)
    x[:, 1::2] *= -1.0
    return x


def mixed_magnitudes(rng):
    return signs(rng) * 10.0 ** rng.uniform(-308, 308, size=(ROWS, WIDTH))


def similar_magnitudes(rng):
    return signs(rng) * 10.0 ** rng.uniform(-6, 3, size=(ROWS, WIDTH))


def any_bits(rng):
    x = rng.integers(0, 2**64, size=(ROWS, WIDTH), dtype=np.uint64).view(float)
    return np.where(np.isfinite(x), x, np.finfo(float).max)


def about_one(rng):
    """Norms of one, but for a few roundings up or down."""
    x = rng.normal(size=(ROWS, WIDTH))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x * (1.0 + rng.integers(-4, 5, size=(ROWS, 1)) * 2.0**-53)


def on_the_grid(rng):
    """Multiples of one row whose integers have squares that sum to the bound itself."""
    x = 0.25 * signs(rng)
    steps = rng.integers(-3, 4, size=(ROWS, 1)) * 2.0**-52
    return x * (1.0 + steps) * 2.0 ** rng.integers(0, 400, size=(ROWS, 1))


KINDS = [
    subnormal,
    huge,
    small,
    one_huge_column,
    all_equal,
    alternating_signs,
    mixed_magnitudes,
    similar_magnitudes,
    any_bits,
    about_one,
    on_the_grid,
]
MAPS = [
    Map.plain(WIDTH, norm=norm, intercept=intercept)
    for norm in ("clip", "weight")
    for intercept in (None, 0.3)
]
BASIS = ((-np.inf, np.inf, 1e100), (-1.0, 0.5, 0.9), (0.5, 3.0, 0.9), (-np.inf, -1.0, 7.0))
# Everything that a column can have, and a share that is not a round number.
BUSY = Map(
    tuple((0.01 * j, 0.7 + j, BASIS[j % 4 :]) for j in range(WIDTH)),
    norm="weight",
    intercept=1 / 3,
)


@pytest.mark.parametrize(
    "row_map", [*MAPS, BUSY], ids=lambda m: f"{m.norm}-{m.intercept}-{m.features}"
)
@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_longer_than_its_bound(kind, row_map):
    x, y = kind(np.random.default_rng(7)), np.zeros(ROWS)
    rows, gram = _native.Rows(row_map.native), _native.Gram(row_map.native)
    rows.extend(x, y, gram)
    found, _ = stored_rows(rows, row_map.features)
    assert (found**2).sum(axis=1).max() <= BOUND
    # The oracle has the same integers, and the sums are theirs.
    q, _ = row_map.rows(x, y)
    assert (q**2).sum(axis=1).max() <= BOUND
    assert np.array_equal(found[:ROWS], q)
    trace = oracle.trace(gram.insecure_exact(), row_map.features)
    assert trace == int((q**2).sum()) <= ROWS * BOUND


def test_the_bound_is_reached():
    # Otherwise the test above would hold for a map that is merely too short.
    row_map = Map.plain(WIDTH)
    rows = _native.Rows(row_map.native)
    rows.extend(on_the_grid(np.random.default_rng(7)), np.zeros(ROWS))
    found, _ = stored_rows(rows, WIDTH)
    assert (found**2).sum(axis=1).max() == BOUND
