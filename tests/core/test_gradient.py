"""X'g against the oracle."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import _native

from . import oracle
from .oracle import Map
from .tables import numbers, tables, taus, thetas, ways

quick = settings(max_examples=100, deadline=None)


def core_gradient(row_map, x, y, theta, tau, **way):
    rows = _native.Rows(row_map.native)
    rows.extend(x, y, **way)
    return _native.Gradient.of(rows, theta, tau, **way).insecure_exact()


@quick
@given(tables(), taus, ways, st.data())
def test_any_table(table, tau, way, data):
    q, targets = table.integers
    theta = data.draw(thetas(q))
    found = core_gradient(table.map, table.x, table.y, theta, tau, **way)
    assert found == oracle.gradient(q, targets, theta, table.map.step, tau)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("width", [1, 2, 31, 128, 333])
def test_any_width(width, portable):
    rng = np.random.default_rng(width)
    x, y, theta = rng.normal(size=(700, width)), rng.normal(size=700), rng.normal(size=width)
    row_map = Map.plain(width, step=2.0**-18)
    expected = oracle.gradient(*row_map.rows(x, y), theta, row_map.step, 2**18)
    assert core_gradient(row_map, x, y, theta, 2**18, portable=portable) == expected


@pytest.mark.parametrize("portable", [False, True])
def test_the_widest_row(portable):
    width = 8192
    x, y = np.broadcast_to(np.ones(width), (40, width)), np.linspace(-5e3, 5e3, 40)
    row_map = Map.plain(width, step=2.0**-18)
    q, targets = row_map.rows(x, y)
    # The low ten bits of this one are −512 in every place, as far from zero as they can be: the sum
    # of their products comes as close to leaving 32 bits as it can.
    worst = (180 * 1024 + 512) * row_map.step
    assert _native.round_theta(np.full(width, worst), row_map.step) == ([184832] * width, 0)
    for scale in (worst, -worst, 1.0, 1e3, 1e300):
        theta = np.full(width, scale)
        expected = oracle.gradient(q, targets, theta, row_map.step, 2**20)
        assert core_gradient(row_map, x, y, theta, 2**20, portable=portable) == expected


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_largest_sums(sign, portable):
    # Every residual is ±tau and every entry ±32767: the largest that 32-bit parts must hold.
    x = np.broadcast_to(np.array([sign, 0.0]), (100_000, 2))
    y = np.broadcast_to(1e9, 100_000)
    for tau in (1, 1023, 1024, 2**20 - 1, 2**20):
        found = core_gradient(Map.plain(2), x, y, np.zeros(2), tau, portable=portable)
        assert found == [int(sign) * 100_000 * 32767 * tau, 0]
        found = core_gradient(Map.plain(2), x, -y, np.zeros(2), tau, portable=portable)
        assert found == [-int(sign) * 100_000 * 32767 * tau, 0]


@quick
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20),
    st.just(1.0) | numbers(1e-9, 1e9),
    st.sampled_from([2.0**-18, 1.0, 1e-6]),
)
def test_theta_is_rounded_to_its_own_grid(theta, scale, step):
    theta = np.array(theta) * scale
    integers, exponent = _native.round_theta(theta, step)
    norm = math.sqrt(sum(t * t for t in integers))
    assert norm <= 2**24 + math.sqrt(len(theta))
    assert -5 <= exponent <= 16
    exact = theta / step
    length = np.linalg.norm(exact)
    # Longer than 2^29 units: shortened, in the same direction.
    exact = exact * min(1.0, 2.0**29 / length) if length else exact
    error = np.array(integers) * 2.0**-exponent - exact
    assert np.abs(error).max() <= 0.5 * 2.0**-exponent * (1 + 1e-9)
    # No finer grid would have held it.
    assert exponent == 16 or np.linalg.norm(exact) * 2.0 ** (exponent + 1) > 2**24 * (1 - 1e-9)


def test_theta_may_have_any_stride():
    rng = np.random.default_rng(0)
    x, y, wide = rng.normal(size=(50, 3)), rng.normal(size=50), rng.normal(size=9)
    rows = _native.Rows(Map.plain(3).native)
    rows.extend(x, y)
    for theta in (wide[::3], wide[::-3]):
        found = _native.Gradient.of(rows, theta, 1000).insecure_exact()
        assert found == _native.Gradient.of(rows, theta.copy(), 1000).insecure_exact()


def test_the_sum_is_the_gradient():
    # Not only what the oracle has: X'(y − Xθ) in doubles, where nothing is clipped.
    rng = np.random.default_rng(5)
    x, theta = rng.normal(size=(2_000, 4)) / 10, np.array([1.0, -2.0, 0.5, 0.0])
    y = x @ theta + rng.normal(size=2_000) / 10
    row_map = Map.plain(4, step=2.0**-18)
    found = np.array(core_gradient(row_map, x, y, np.ones(4), 2**20)) * 2.0**-15 * row_map.step
    np.testing.assert_allclose(found, x.T @ (y - x @ np.ones(4)), atol=2_000 * 3e-5)


def test_no_rows():
    assert core_gradient(Map.plain(2), np.empty((0, 2)), np.empty(0), np.ones(2), 5) == [0, 0]
