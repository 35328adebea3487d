"""X'X against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpfit import _native

from . import oracle
from .oracle import Map
from .tables import DTYPES, LAYOUTS, tables, ways

quick = settings(max_examples=100, deadline=None)


def core_gram(row_map, x, y, **way):
    gram = _native.Gram(row_map.native)
    gram.extend(row_map.native, x, y, **way)
    return gram.insecure_exact()


@quick
@given(tables(), ways)
def test_any_table(table, way):
    q, _ = table.integers
    assert core_gram(table.map, table.x, table.y, **way) == oracle.gram(q)


finite = st.floats(allow_nan=False, allow_infinity=False)


@quick
@given(
    hnp.arrays(np.float64, (5, 3), elements=finite),
    st.sampled_from(["clip", "weight"]),
    st.none() | st.floats(1e-9, 0.999),
)
def test_any_doubles(x, norm, intercept):
    row_map = Map.plain(3, norm=norm, intercept=intercept)
    q, _ = row_map.rows(x, np.zeros(5))
    assert core_gram(row_map, x, np.zeros(5)) == oracle.gram(q)
    assert (q**2).sum(axis=1).max() <= oracle.BOUND


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type_in_every_layout(dtype, layout):
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, 2, size=shape).astype(dtype) for shape in ((130, 5), (130,)))
    row_map = Map.plain(5, norm="weight", intercept=0.1)
    assert core_gram(row_map, layout(x), layout(y)) == oracle.gram(row_map.rows(x, y)[0])


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("width", [1, 2, 31, 127, 128, 129, 300])
def test_any_width(width, portable):
    rng = np.random.default_rng(width)
    x, y = rng.normal(size=(700, width)), np.zeros(700)
    row_map = Map.plain(width)
    expected = oracle.gram(row_map.rows(x, y)[0])
    assert core_gram(row_map, x, y, portable=portable) == expected


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_the_largest_sums(value):
    # All of the norm in one entry, always of one sign: the largest that 32-bit parts must hold.
    x = np.broadcast_to(np.array([value, 0.0, 0.0]), (100_000, 3))
    found = core_gram(Map.plain(3), x, np.zeros(100_000))
    assert found == [100_000 * 32767**2, 0, 0, 0, 0, 0]


def test_more_rows_than_there_is_memory_for():
    # One row, seen a million times through a stride of zero.
    row = np.random.default_rng(2).normal(size=9)
    row_map = Map.plain(9)
    once = core_gram(row_map, row[None], np.zeros(1))
    many = core_gram(row_map, np.broadcast_to(row, (1_000_000, 9)), np.broadcast_to(0.0, 1_000_000))
    assert many == [1_000_000 * value for value in once]


def test_overlapping_rows():
    series = np.random.default_rng(3).normal(size=400)
    windows = np.lib.stride_tricks.sliding_window_view(series, 6)
    y = np.zeros(len(windows))
    assert core_gram(Map.plain(6), windows, y) == core_gram(Map.plain(6), windows.copy(), y)


def test_a_file_as_an_array(tmp_path):
    x = np.random.default_rng(4).normal(size=(300, 4))
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    y = np.zeros(300)
    assert core_gram(Map.plain(4), mapped, y) == core_gram(Map.plain(4), x, y)


def test_a_constant_alone():
    row_map = Map((), intercept=0.25)
    assert row_map.native.features == 1
    assert core_gram(row_map, np.empty((50, 0)), np.zeros(50)) == [50 * 2**28]


def test_no_rows():
    assert core_gram(Map.plain(3), np.empty((0, 3)), np.empty(0)) == [0] * 6
