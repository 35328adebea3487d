"""The number of rows, against len()."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import _native
from dpfit.exceptions import NotFiniteError, ParameterError

from .tables import tables, ways

quick = settings(max_examples=100, deadline=None)


def count(x, y, **options):
    counted = _native.Count(x.shape[1])
    counted.extend(x, y, **options)
    return counted


@quick
@given(tables(), ways)
def test_any_table(table, way):
    counted = count(table.x, table.y, **way)
    assert counted.rows == counted.insecure_exact() == len(table.y)


@quick
@given(st.integers(1, 2000), st.integers(1, 5), st.data(), ways)
def test_missing_values_of_any_column(n, width, data, way):
    rows = np.zeros((n, width + 1))
    places = st.tuples(st.integers(0, n - 1), st.integers(0, width))
    bad = data.draw(st.lists(places, max_size=5))
    for place in bad:
        rows[place] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    x, y = rows[:, :-1], rows[:, -1]
    assert count(x, y, missing="drop", **way).rows == n - len({row for row, _ in bad})
    if bad:
        counted = _native.Count(width)
        with pytest.raises(NotFiniteError):
            counted.extend(x, y, **way)
        assert counted.rows == 0


def test_columns_may_come_one_by_one():
    x, y = np.ones((70, 3)), np.ones(70)
    counted = _native.Count(3)
    counted.extend([x[:, 0], x[:, 1].astype(np.int8), x[:, 2]], y)
    counted.extend(x[:0], y[:0])
    assert counted.rows == 70


def test_parts_merge():
    x, y = np.ones((70, 3)), np.ones(70)
    whole, part = count(x, y), count(x[:20], y[:20])
    part.merge(_native.Count.from_bytes(count(x[20:], y[20:]).to_bytes()))
    assert part.to_bytes() == whole.to_bytes()
    with pytest.raises(ValueError, match="columns differ"):
        part.merge(count(x[:, :2], y))


@pytest.mark.parametrize("sigma", [2.0**-10, 1.0, 7.3, 1e20])
def test_the_noise_is_that_of_one_draw(sigma):
    x, y = np.ones((70, 3)), np.ones(70)
    noise = _native.rounded_gaussian(sigma, 1, _native.Entropy.insecure_seed(5))
    released = count(x, y).release(sigma, _native.Entropy.insecure_seed(5))
    assert released == float(70 + noise[0])


def test_columns_are_checked():
    with pytest.raises(ParameterError, match="columns"):
        _native.Count(-1)
    with pytest.raises(ParameterError, match="columns"):
        _native.Count(2).extend(np.ones((3, 3)), np.ones(3))
    with pytest.raises(AttributeError):
        _native.Count(2).rows = 3


def test_the_count_is_not_printed():
    shown = {repr(count(np.ones((n, 3)), np.ones(n))).split(" at ")[0] for n in (1, 70)}
    assert len(shown) == 1


def test_constants():
    assert _native.ROW_SCALE == 2**15
    assert _native.EXAMPLE_SCALE == 2**24
    assert _native.MOST_FEATURES == 8192
    assert (_native.FEATURE_BYTES, _native.TARGET_BYTES) == (2, 4)
    assert _native.MOST_TAU == 2**20
    assert _native.SMALLEST_SIGMA == 2.0**-10
