"""The sum of squared clipped residuals against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import _native
from dpfit.exceptions import ParameterError

from . import oracle
from .oracle import Map
from .tables import tables, taus, thetas, ways

quick = settings(max_examples=100, deadline=None)


def filled(row_map, x, y, **way):
    rows = _native.Rows(row_map.native)
    rows.extend(x, y, **way)
    return rows


def core_energy(row_map, x, y, theta, tau, **way):
    return _native.Energy.of(filled(row_map, x, y, **way), theta, tau, **way).insecure_exact()


@quick
@given(tables(), taus, ways, st.data())
def test_any_table(table, tau, way, data):
    q, targets = table.integers
    theta = data.draw(thetas(q))
    found = core_energy(table.map, table.x, table.y, theta, tau, **way)
    assert found == oracle.energy(q, targets, theta, table.map.step, tau)
    assert 0 <= found <= len(q) * tau**2


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("width", [1, 2, 31, 128, 333])
def test_any_width(width, portable):
    rng = np.random.default_rng(width)
    x, y, theta = rng.normal(size=(700, width)), rng.normal(size=700), rng.normal(size=width)
    row_map = Map.plain(width, step=2.0**-18)
    expected = oracle.energy(*row_map.rows(x, y), theta, row_map.step, 2**18)
    assert core_energy(row_map, x, y, theta, 2**18, portable=portable) == expected


@pytest.mark.parametrize("tau", [1, 1023, 1024, 2**20 - 1, 2**20])
def test_residuals_are_those_of_the_gradient(tau):
    # With an entry of 2^14 in every row, X'g is that times g: one row at a time gives its g.
    rng = np.random.default_rng(tau)
    x, y, theta = np.full((200, 1), 0.5), rng.normal(size=200) * 3, np.array([0.3])
    row_map = Map.plain(1, step=2.0**-18)
    total = 0
    for i in range(200):
        (product,) = _native.Gradient.of(
            filled(row_map, x[i : i + 1], y[i : i + 1]), theta, tau
        ).insecure_exact()
        assert product % 2**14 == 0
        total += (product // 2**14) ** 2
    assert core_energy(row_map, x, y, theta, tau) == total


@pytest.mark.parametrize("y", [1e9, -1e9])
def test_the_largest_sum(y):
    # More than 63 bits in one pass of one thread.
    count = 9_000_000
    x, y = np.broadcast_to(0.0, (count, 1)), np.broadcast_to(y, count)
    rows = filled(Map.plain(1), x, y)
    for way in ({"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": 1, "portable": True}):
        assert (
            _native.Energy.of(rows, np.zeros(1), 2**20, **way).insecure_exact()
            == count * 2**40
            > 2**63
        )


def test_the_sum_is_that_of_least_squares():
    # Not only what the oracle has: in doubles, where nothing is clipped.
    rng = np.random.default_rng(5)
    x, theta = rng.normal(size=(2_000, 4)) / 10, np.array([1.0, -2.0, 0.5, 0.0])
    y = x @ theta + rng.normal(size=2_000) / 10
    row_map = Map.plain(4, step=2.0**-18)
    found = core_energy(row_map, x, y, np.ones(4), 2**20) * row_map.step**2
    assert found == pytest.approx(((y - x @ np.ones(4)) ** 2).sum(), rel=1e-3)


@pytest.mark.parametrize("norm", ["clip", "weight"])
def test_rows_that_are_left_out_add_nothing(norm):
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(100, 3)), rng.normal(size=100) + 5
    theta = np.array([1.0, -1.0, 0.5, 2.0])
    row_map = Map.plain(3, norm=norm, intercept=0.3)
    kept = np.arange(100) % 7 != 0
    expected = core_energy(row_map, x[kept], y[kept], theta, 2**18)
    x[~kept, 1] = np.nan
    rows = filled(row_map, x, y, missing="drop")
    assert _native.Energy.of(rows, theta, 2**18).insecure_exact() == expected > 0


def test_no_rows():
    assert core_energy(Map.plain(2), np.empty((0, 2)), np.empty(0), np.ones(2), 5) == 0


def made():
    rng = np.random.default_rng(0)
    return filled(Map.plain(3), rng.normal(size=(500, 3)), rng.normal(size=500))


def test_a_release_is_the_sum_and_the_noise():
    energy = _native.Energy.of(made(), np.ones(3), 2**16)
    exact = energy.insecure_exact()
    entropy, other = (_native.Entropy.insecure_seed(5) for _ in range(2))
    for sigma in (2.0**-10, 1, 7.5, np.float64(1e6), 2.0**60, 2.0**100):
        (noise,) = _native.rounded_gaussian(sigma, 1, other)
        found = energy.release(sigma, entropy)
        assert type(found) is float
        assert found == float(exact + noise)
    assert energy.insecure_exact() == exact


def test_a_refused_release_draws_nothing():
    energy, entropy = _native.Energy.of(made(), np.ones(3), 2**16), _native.Entropy.insecure_seed(6)
    for sigma in (0.0, -1.0, np.nan, np.inf, 2.0**-11, 2.0**101, np.ones(2), np.ones(0)):
        with pytest.raises(ParameterError, match="sigma"):
            energy.release(sigma, entropy)
    for sigma in ("1", None, [1.0]):
        with pytest.raises(TypeError):
            energy.release(sigma, entropy)
    first = energy.release(1e6, _native.Entropy.insecure_seed(6))
    assert energy.release(1e6, entropy) == first


def test_what_does_not_belong_together_is_not_merged():
    rows = made()
    energy = _native.Energy.of(rows, np.ones(3), 5)
    others = [
        _native.Energy.of(rows, np.ones(3), 6),
        _native.Energy.of(rows, np.zeros(3), 5),
        _native.Energy.of(_native.Rows(Map.plain(3, step=0.5).native), np.ones(3), 5),
    ]
    before = energy.insecure_exact()
    for other in others:
        with pytest.raises(ValueError, match="differ"):
            energy.merge(other)
    with pytest.raises(TypeError):
        energy.merge(_native.Gradient.of(rows, np.ones(3), 5))
    assert energy.insecure_exact() == before


@pytest.mark.parametrize("tau", [0, -1, 2**20 + 1, 2**40, -(2**70)])
def test_bad_tau(tau):
    with pytest.raises(ParameterError, match="tau"):
        _native.Energy.of(made(), np.ones(3), tau)


def test_bad_theta():
    rows = made()
    for theta in (np.ones(2), np.ones(4), np.array([0.0, np.nan, 0.0])):
        with pytest.raises(ParameterError, match=r"theta|coefficients"):
            _native.Energy.of(rows, theta, 5)
    for theta in (np.ones((3, 1)), [1.0] * 3, np.ones(3, dtype=int)):
        with pytest.raises(TypeError):
            _native.Energy.of(rows, theta, 5)


def test_nothing_of_the_sum_is_shown():
    energy = _native.Energy.of(made(), np.ones(3), 2**16)
    assert str(energy.insecure_exact())[:4] not in f"{energy!r}".split(" at ")[0]
