"""What the store holds, row by row."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import _native
from dpfit.exceptions import NotFiniteError

from .oracle import BOUND, ONE, PLAIN, Map
from .stored import stored_rows
from .tables import ramps, tables, ways

quick = settings(max_examples=100, deadline=None)


def fill(row_map, x, y, **options):
    rows = _native.Rows(row_map.native)
    rows.extend(x, y, **options)
    return rows


@quick
@given(tables(), ways)
def test_rows_are_those_of_the_oracle(table, way):
    q, targets = table.integers
    found_q, found_targets = stored_rows(
        fill(table.map, table.x, table.y, **way), table.map.features
    )
    n = len(q)
    assert np.array_equal(found_q[:n], q)
    assert np.array_equal(found_targets[:n], targets)
    assert not found_q[n:].any()
    assert not found_targets[n:].any()
    assert (found_q**2).sum(axis=1).max(initial=0) <= BOUND


@quick
@given(tables(), st.sampled_from([1, 3, 7, 16, 64]))
def test_batches_lie_one_after_the_other(table, size):
    whole = fill(table.map, table.x, table.y)
    parts = _native.Rows(table.map.native)
    for start in range(0, len(table.y), size):
        parts.extend(table.x[start : start + size], table.y[start : start + size])
    assert parts.to_bytes() == whole.to_bytes()


@quick
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9), st.booleans())
def test_rows_are_scaled_to_the_bound_and_cut_toward_zero(row, huge):
    # Against exact arithmetic: |q| is below 2^15·|x|·min(1, 1/‖x‖), and by less than one.
    row = np.array(row) * (1e140 if huge else 1.0)
    q, _ = stored_rows(fill(Map.plain(len(row)), row[None], np.zeros(1)), len(row))
    squares = sum(Fraction(x) ** 2 for x in row)
    slack = 1 + Fraction(1, 2**40)
    for x, integer in zip(row, q[0].tolist(), strict=True):
        exact_square = BOUND * Fraction(x) ** 2 / max(squares, 1)
        assert integer * x >= 0
        assert integer**2 <= exact_square * slack
        # An entry of one would be 2^15, for which 16 bits have no room.
        assert (abs(integer) + 1) ** 2 * slack >= exact_square


def feature(z, low, high, gain):
    """Return the formula of a ramp, as the documentation has it."""
    return gain * (min(max(z, low), high) - min(max(0.0, low), high))


@quick
@given(
    st.floats(-50.0, 50.0), st.lists(ramps(), min_size=1, max_size=3), st.sampled_from([1.0, 0.01])
)
def test_features_of_a_column(x, basis, gain):
    basis = [(low, high, gain * own) for low, high, own in basis]
    row_map = Map(((0.5, 4.0, tuple(basis)),), step=1.0)
    q, _ = stored_rows(fill(row_map, np.array([[x]]), np.zeros(1)), len(basis))
    features = np.array([feature((x - 0.5) / 4.0, *ramp) for ramp in basis])
    features /= max(1.0, np.linalg.norm(features))
    assert np.abs(q[0] / ONE - features).max() <= 1.001 / ONE


@quick
@given(tables(), st.integers(-200, 200))
def test_powers_of_two_in_a_column_change_no_bit(table, power):
    # Within the range in which no product is subnormal or infinite.
    x = np.clip(table.x.astype(np.float64), -1e100, 1e100)
    x[np.abs(x) < 1e-100] = 0.0
    factor = 2.0**power
    # Levels have no units.
    columns = tuple(
        c if len(c) == 2 else (factor * c[0], factor * c[1], c[2]) for c in table.map.columns
    )
    factors = [1.0 if len(c) == 2 else factor for c in columns]
    other = replace(table.map, columns=columns)
    found, _ = stored_rows(fill(other, factors * x, table.y), other.features)
    expected, _ = stored_rows(fill(table.map, x, table.y), other.features)
    assert np.array_equal(found, expected)


def test_a_column_without_ramps_is_left_out():
    x, y = np.arange(12.0).reshape(4, 3), np.arange(4.0)
    some = Map(((0.0, 9.0, PLAIN), (0.0, 1.0, ()), (1.0, 9.0, PLAIN)))
    kept = Map((some.columns[0], some.columns[2]))
    assert (some.native.columns, some.native.features) == (3, 2)
    found = stored_rows(fill(some, x, y), 2)
    expected = stored_rows(fill(kept, x[:, ::2], y), 2)
    assert np.array_equal(found[0], expected[0])
    # It is still a column of the row: what is missing there is missing.
    x[2, 1] = math.nan
    with pytest.raises(NotFiniteError):
        fill(some, x, y)


def test_clip_leaves_the_target_and_weight_scales_it():
    x, y = np.array([[3.0, 4.0], [0.3, 0.4]]), np.array([10.0, 10.0])
    for norm, expected in (("clip", [10_000, 10_000]), ("weight", [2_000, 10_000])):
        row_map = Map.plain(2, step=1e-3, norm=norm)
        _, targets = stored_rows(fill(row_map, x, y), 2)
        assert targets[:2].tolist() == expected


def test_the_intercept_has_its_share():
    x, y = np.array([[1e9], [1e-9]]), np.array([1.0, 1.0])
    q, _ = stored_rows(fill(Map.plain(1, intercept=0.25, step=1.0), x, y), 2)
    assert q[:2].tolist() == [[math.floor(math.sqrt(0.75) * ONE), ONE // 2], [0, ONE // 2]]
    q, _ = stored_rows(fill(Map.plain(1, intercept=0.25, step=1.0, norm="weight"), x, y), 2)
    # Scaled together, the constant of a long row all but vanishes.
    assert q[:2].tolist() == [[ONE - 1, 0], [0, ONE // 2]]


@quick
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([1.0, 1e-3, 2.0**-18]))
def test_targets_are_rounded_to_the_nearest_and_cut(y, step):
    _, targets = stored_rows(fill(Map.plain(1, step=step), np.zeros((1, 1)), np.array([y])), 1)
    found = int(targets[0])
    assert abs(found) <= 2**30
    exact = Fraction(y) / Fraction(step)
    if abs(exact) < 2**30:
        assert abs(found - exact) <= Fraction(1, 2) + abs(exact) * Fraction(1, 2**50)
    else:
        assert found == int(math.copysign(2**30, y))


def test_a_map_knows_its_shape():
    native = Map(((0.0, 1.0, 3 * PLAIN),) * 3, intercept=0.5, step=0.125).native
    assert (native.columns, native.features, native.step) == (3, 10, 0.125)
    assert _native.Gram(native).features == 10
