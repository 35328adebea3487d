"""A caller who changes the rows while they are read cannot break a bound."""

import threading

import numpy as np
import pytest

from dpfit import _native

from . import oracle
from .oracle import BOUND, Map
from .stored import stored_rows

ROWS, WIDTH = 100_000, 8


@pytest.fixture
def changing():
    """Rows into which a thread writes any bits whatsoever, NaN and infinities included."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(ROWS, WIDTH)), rng.normal(size=ROWS)
    wild = rng.integers(0, 2**64, size=(ROWS // 10, WIDTH), dtype=np.uint64).view(float)
    large = rng.normal(size=(ROWS // 10, WIDTH)) * 10.0 ** rng.uniform(-9, 9, size=(ROWS // 10, 1))
    done = threading.Event()

    def scribble():
        turn = 0
        while not done.is_set():
            at = turn % 10 * len(wild)
            x[at : at + len(wild)] = wild if turn % 3 else large
            y[at : at + len(wild)] = wild[:, turn % WIDTH]
            turn += 1

    thread = threading.Thread(target=scribble)
    thread.start()
    yield x, y
    done.set()
    thread.join()


@pytest.mark.parametrize(
    "row_map", [Map.plain(WIDTH), Map.plain(WIDTH, norm="weight", intercept=0.2)]
)
def test_bounds_hold(changing, row_map):
    x, y = changing
    theta = np.ones(row_map.features)
    for _ in range(20):
        rows, gram = _native.Rows(row_map.native), _native.Gram(row_map.native)
        rows.extend(x, y, gram, missing="drop")
        q, targets = stored_rows(rows, row_map.features)
        assert (q**2).sum(axis=1).max() <= BOUND
        assert np.abs(targets).max() <= 2**30
        # The store and the sums saw the same rows.
        assert gram.insecure_exact() == oracle.gram(q)
        expected = oracle.gradient(q, targets, theta, row_map.step, 1000)
        assert _native.Gradient.of(rows, theta, 1000).insecure_exact() == expected


def test_every_row_is_counted_once_or_dropped(changing):
    x, y = changing
    for _ in range(20):
        counts = _native.Histogram([_native.Bins.powers(-9, 9)] * (WIDTH + 1))
        counts.extend(x, y, missing="drop")
        totals = np.array(counts.insecure_exact()).reshape(WIDTH + 1, -1).sum(axis=1)
        assert totals.min() == totals.max() <= ROWS
