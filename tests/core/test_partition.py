"""The same bits for any number of threads, chunks, order of rows, path and tree of merges."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import _native

from . import oracle
from .oracle import Map
from .tables import tables, taus, thetas

# Enough values for the core to use its threads: it leaves fewer than 200,000 to one.
ROWS, WIDTH = 30_011, 6
TAU = 2**17
RAMPS = ((-2.5, 2.5, 0.6), (0.25, math.inf, 0.4), (-3.0, -0.5, 0.8))
MAP = Map(
    tuple((0.1 * j, 1.5, RAMPS[: 1 + j % 3]) for j in range(WIDTH)),
    target=(0.3, 2.0),
    norm="weight",
    intercept=0.2,
)
BINS = [
    *[_native.Bins.powers(-30, 30), _native.Bins.equal(-1.0, 1.0, 64), None] * 2,
    _native.Bins.equal(-1, 4, 7),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(11)
    x = rng.normal(size=(ROWS, WIDTH)) * 10.0 ** rng.integers(-3, 4, size=(ROWS, 1))
    return x, 3 * rng.normal(size=ROWS), rng.normal(size=MAP.features)


@pytest.fixture(scope="module")
def expected(table):
    x, y, theta = table
    q, targets = MAP.rows(x, y)
    counts = []
    for j, values in enumerate([*x.T, y]):
        if j == WIDTH:
            counts += oracle.equal_counts(values, -1, 4, 7)
        elif j % 3 == 0:
            counts += oracle.power_counts(values, -30, 30)
        elif j % 3 == 1:
            counts += oracle.equal_counts(values, -1.0, 1.0, 64)
    gradient = oracle.gradient(q, targets, theta, MAP.step, TAU)
    return oracle.gram(q), gradient, counts, oracle.energy(q, targets, theta, MAP.step, TAU)


def sums(x, y, theta, chunk, **way):
    """Return Gram, gradient, counts and energy of rows given in chunks."""
    native = MAP.native
    rows, gram, alone = _native.Rows(native), _native.Gram(native), _native.Gram(native)
    histogram = _native.Histogram(BINS)
    for start in range(0, len(y), chunk):
        part = x[start : start + chunk], y[start : start + chunk]
        rows.extend(*part, gram, **way)
        alone.extend(native, *part, **way)
        histogram.extend(*part, **way)
    assert alone.insecure_exact() == gram.insecure_exact()
    found = (
        gram,
        _native.Gradient.of(rows, theta, TAU, **way),
        histogram,
        _native.Energy.of(rows, theta, TAU, **way),
    )
    return tuple(statistic.insecure_exact() for statistic in found)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2, 4])
@pytest.mark.parametrize("chunk", [7, 1000, ROWS])
def test_threads_chunks_and_paths(table, expected, chunk, n_jobs, portable):
    assert sums(*table, chunk, n_jobs=n_jobs, portable=portable) == expected


def test_one_row_at_a_time(table, expected):
    assert sums(*table, 1) == expected


@pytest.mark.parametrize("seed", [0, 1])
def test_rows_in_another_order(table, expected, seed):
    x, y, theta = table
    order = np.random.default_rng(seed).permutation(ROWS)
    assert sums(x[order], y[order], theta, 4_999) == expected
    assert sums(x[::-1], y[::-1], theta, ROWS) == expected


def test_callers_side_by_side(table, expected):
    with ThreadPoolExecutor(4) as callers:
        found = list(callers.map(lambda _: sums(*table, 10_007, n_jobs=2), range(8)))
    assert found == [expected] * 8


def test_one_store_for_many_readers(table, expected):
    x, y, theta = table
    rows = _native.Rows(MAP.native)
    rows.extend(x, y)
    with ThreadPoolExecutor(4) as callers:
        found = callers.map(lambda _: _native.Gradient.of(rows, theta, TAU, n_jobs=2), range(40))
        assert all(gradient.insecure_exact() == expected[1] for gradient in found)


@settings(max_examples=60, deadline=None)
@given(tables(), taus, st.data())
def test_any_tree_of_merges(table, tau, data):
    native = table.map.native
    q, targets = table.integers
    theta = data.draw(thetas(q))
    bins = [_native.Bins.powers(-5, 5)] * (table.x.shape[1] + 1)
    cuts = data.draw(st.lists(st.integers(0, len(q)), max_size=6).map(sorted))
    parts = []
    for start, end in zip([0, *cuts], [*cuts, len(q)], strict=True):
        gram, rows, counts = _native.Gram(native), _native.Rows(native), _native.Histogram(bins)
        rows.extend(table.x[start:end], table.y[start:end], gram)
        counts.extend(table.x[start:end], table.y[start:end])
        parts.append(
            (
                gram,
                _native.Gradient.of(rows, theta, tau),
                counts,
                _native.Energy.of(rows, theta, tau),
            )
        )
    while len(parts) > 1:
        other = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        into = parts[data.draw(st.integers(0, len(parts) - 1))]
        if data.draw(st.booleans()):
            gram, gradient, counts, energy = other
            other = (
                _native.Gram.from_bytes(gram.to_bytes()),
                _native.Gradient.from_bytes(gradient.to_bytes()),
                _native.Histogram.from_bytes(bins, counts.to_bytes()),
                _native.Energy.from_bytes(energy.to_bytes()),
            )
        for a, b in zip(into, other, strict=True):
            before = b.insecure_exact()
            a.merge(b)
            assert b.insecure_exact() == before
    gram, gradient, counts, energy = parts[0]
    assert gram.insecure_exact() == oracle.gram(q)
    assert gradient.insecure_exact() == oracle.gradient(q, targets, theta, table.map.step, tau)
    assert energy.insecure_exact() == oracle.energy(q, targets, theta, table.map.step, tau)
    columns = [*table.x.T, table.y]
    assert counts.insecure_exact() == [n for c in columns for n in oracle.power_counts(c, -5, 5)]


def test_what_does_not_belong_together_is_not_merged():
    rows = _native.Rows(MAP.native)
    gradient = _native.Gradient.of(rows, np.zeros(MAP.features), 5)
    others = [
        (_native.Gram(MAP.native), _native.Gram(Map.plain(WIDTH).native)),
        (gradient, _native.Gradient.of(rows, np.zeros(MAP.features), 6)),
        (gradient, _native.Gradient.of(rows, np.ones(MAP.features), 5)),
        (_native.Histogram(BINS), _native.Histogram(BINS[::-1])),
    ]
    for a, b in others:
        with pytest.raises(ValueError, match="differ"):
            a.merge(b)
