"""Rows mapped to rows by a public matrix, joint bounds and residual counts against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import ParameterError, _native

from . import oracle
from .oracle import Map
from .stored import stored_rows
from .tables import numbers, tables, taus, thetas, ways

quick = settings(max_examples=100, deadline=None)
reaches = st.sampled_from([1, 2**15, 2**35]) | st.integers(1, 2**35) | st.integers(1, 10**6)
edges = st.lists(st.integers(1, 2**20), min_size=1, max_size=64, unique=True).map(sorted)


@st.composite
def matrices(draw, q):
    """Draw a matrix for rows q: of any size, with columns of any length, or along the rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = q.shape[1], draw(st.integers(1, 9))
    kind = draw(st.sampled_from(["ordinary", "columns", "mixed", "rows", "zeros", "identity"]))
    matrix = rng.normal(size=shape)
    if kind == "columns":
        matrix *= 10.0 ** rng.uniform(-8, 8, size=shape[1])
    elif kind == "mixed":
        matrix *= 10.0 ** rng.uniform(-320, 300, size=shape)
    elif kind == "rows" and len(q):
        matrix = q[rng.integers(len(q), size=shape[1])].T / 2.0**15
    elif kind == "zeros":
        matrix = rng.choice([0.0, -0.0, 1.0], size=shape)
    elif kind == "identity":
        matrix = np.eye(shape[0])
    return matrix * draw(st.just(1.0) | numbers(1e-6, 1e6))


def stored(row_map, x, y, **way):
    rows = _native.Rows(row_map.native)
    rows.extend(x, y, **way)
    return rows


@quick
@given(tables(), ways, st.data())
def test_any_table_and_matrix(table, way, data):
    q, targets = table.integers
    matrix = data.draw(matrices(q))
    rows = stored(table.map, table.x, table.y, **way)
    expected, weighted = oracle.mapped(q, targets, matrix)
    mapped = rows.mapped(matrix, **way)
    found, found_targets = stored_rows(mapped, matrix.shape[1])
    np.testing.assert_array_equal(found[: len(q)], expected)
    np.testing.assert_array_equal(found_targets[: len(q)], weighted)
    # The rows that fill the last tile.
    assert not found[len(q) :].any()
    assert not found_targets[len(q) :].any()
    gram = _native.Gram.of_mapped(rows, matrix, **way)
    assert gram.features == mapped.features == matrix.shape[1]
    assert gram.insecure_exact() == oracle.gram(expected)
    np.testing.assert_array_equal(_native.round_matrix(matrix), oracle.rounded_matrix(matrix))


@quick
@given(tables(), taus, reaches, edges, ways, st.data())
def test_sums_over_mapped_rows(table, tau, reach, edges, way, data):
    integers = table.integers
    matrix = data.draw(matrices(integers[0]))
    rows = stored(table.map, table.x, table.y)
    for part, (q, targets) in (
        (rows, integers),
        (rows.mapped(matrix), oracle.mapped(*integers, matrix)),
    ):
        theta = data.draw(thetas(q))
        model = theta, table.map.step
        found = _native.Gradient.of(part, theta, tau, reach, **way).insecure_exact()
        assert found == oracle.joint_gradient(q, targets, *model, tau, reach)
        found = _native.Gradient.of(part, theta, tau, **way).insecure_exact()
        assert found == oracle.gradient(q, targets, *model, tau)
        found = _native.Energy.of(part, theta, tau, **way).insecure_exact()
        assert found == oracle.energy(q, targets, *model, tau)
        found = _native.ResidualCounts.of(part, theta, edges, **way).insecure_exact()
        assert found == oracle.residual_counts(q, targets, *model, edges)
        pieces = [[-7000, -1, 0, 1, 300][i % 3 :] for i in range(q.shape[1])]
        found = _native.ResidualSums.of(part, theta, tau, pieces, **way).insecure_exact()
        assert found == oracle.residual_sums(q, targets, *model, tau, pieces)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("shape", [(31, 32), (32, 31), (1, 100), (333, 2), (2, 8192), (8192, 3)])
def test_any_width(shape, portable):
    rng = np.random.default_rng(shape[0])
    x, y, matrix = rng.normal(size=(50, shape[0])), rng.normal(size=50), rng.normal(size=shape)
    row_map = Map.plain(shape[0], norm="weight")
    expected, targets = oracle.mapped(*row_map.rows(x, y), matrix)
    rows = stored(row_map, x, y).mapped(matrix, portable=portable)
    found, found_targets = stored_rows(rows, shape[1])
    np.testing.assert_array_equal(found[:50], expected)
    np.testing.assert_array_equal(found_targets[:50], targets)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_widest_products(sign):
    # As in `Theta`: the low ten bits of every entry are −512, the sum of their products is largest.
    width = 8192
    x, y = np.broadcast_to(np.ones(width), (20, width)), np.arange(20.0)
    matrix = np.full((width, 1), sign * (180 * 1024 + 512))
    row_map = Map.plain(width)
    expected = oracle.mapped(*row_map.rows(x, y), matrix)
    for portable in (False, True):
        rows = stored(row_map, x, y).mapped(matrix, portable=portable)
        np.testing.assert_array_equal(stored_rows(rows, 1)[0][:20], expected[0])


def test_threads_and_files_change_no_bit(tmp_path):
    rng = np.random.default_rng(2)
    x, y, matrix = rng.normal(size=(30_011, 8)), rng.normal(size=30_011), rng.normal(size=(8, 12))
    rows = stored(Map.plain(8), x, y)
    expected = rows.mapped(matrix, n_jobs=1)
    gram = _native.Gram.of_mapped(rows, matrix, n_jobs=1)
    theta = rng.normal(size=12)
    for n_jobs in (2, 4, None):
        for directory in (None, str(tmp_path)):
            found = rows.mapped(matrix, n_jobs=n_jobs, directory=directory)
            assert found.to_bytes() == expected.to_bytes()
            one, other = (
                _native.Gradient.of(part, theta, 2**17, 2**30, n_jobs=n_jobs).to_bytes()
                for part in (found, expected)
            )
            assert one == other
        again = _native.Gram.of_mapped(rows, matrix, n_jobs=n_jobs)
        assert again.to_bytes() == gram.to_bytes()
    assert list(tmp_path.iterdir()) == []


def test_parts_merge():
    rng = np.random.default_rng(3)
    x, y, matrix = rng.normal(size=(500, 3)), rng.normal(size=500), rng.normal(size=(3, 4))
    theta = rng.normal(size=4)

    def sums(some):
        rows = stored(Map.plain(3), x[some], y[some])
        part = rows.mapped(matrix)
        return (
            _native.Gram.of_mapped(rows, matrix),
            _native.Gradient.of(part, theta, 9_000, 10**8),
            _native.ResidualCounts.of(part, theta, [10, 1000]),
        )

    whole, first, second = sums(slice(None)), sums(slice(0, 123)), sums(slice(123, 500))
    for total, part, other in zip(whole, first, second, strict=True):
        part.merge(type(other).from_bytes(other.to_bytes()))
        assert part.to_bytes() == total.to_bytes()


def test_bytes_need_the_matrices():
    rng = np.random.default_rng(4)
    row_map = Map.plain(3).native
    rows = stored(Map.plain(3), rng.normal(size=(40, 3)), rng.normal(size=40))
    first, second = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    packed = rows.mapped(first).mapped(second).to_bytes()
    assert _native.Rows.from_bytes(row_map, packed, [first, second]).to_bytes() == packed
    for wrong in ([], [first], [first, -second], [first, second, np.eye(2)]):
        with pytest.raises(ValueError, match="differ"):
            _native.Rows.from_bytes(row_map, packed, wrong)
    with pytest.raises(ParameterError):
        _native.Rows.from_bytes(row_map, packed, [second])


def test_mapped_rows_cannot_be_extended():
    rows = stored(Map.plain(2), np.ones((5, 2)), np.ones(5)).mapped(np.eye(2))
    with pytest.raises(ValueError, match="row maps"):
        rows.extend(np.ones((1, 2)), np.ones(1))


def test_a_matrix_may_have_any_layout():
    rng = np.random.default_rng(5)
    rows = stored(Map.plain(4), rng.normal(size=(40, 4)), rng.normal(size=40))
    wide = rng.normal(size=(8, 9))
    for matrix in (wide[::2, ::3], wide[:4].T[:4], np.asfortranarray(wide[:4]), wide[3::-1]):
        copy = np.ascontiguousarray(matrix)
        assert rows.mapped(matrix).to_bytes() == rows.mapped(copy).to_bytes()


@pytest.mark.parametrize(
    "matrix",
    [
        np.full((2, 2), np.nan),
        np.array([[1.0, np.inf], [0.0, 1.0]]),
        np.array([[1.0, 0.0], [0.0, -np.inf]]),
        np.ones((3, 2)),
        np.ones((1, 2)),
        np.ones((2, 0)),
        np.ones((0, 2)),
        np.ones((2, 8193)),
    ],
    ids=["nan", "inf", "-inf", "tall", "flat", "no columns", "no rows", "wide"],
)
def test_bad_matrices_are_parameter_errors(matrix):
    rows = stored(Map.plain(2), np.ones((5, 2)), np.ones(5))
    for act in (rows.mapped, lambda matrix: _native.Gram.of_mapped(rows, matrix)):
        with pytest.raises(ParameterError):
            act(matrix)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324, 0.0])
def test_extreme_matrices(scale):
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    q, targets = Map.plain(3).rows(x, y)
    matrix = rng.choice([-1.0, 1.0], size=(3, 4)) * scale
    rows = stored(Map.plain(3), x, y)
    expected, weighted = oracle.mapped(q, targets, matrix)
    for portable in (False, True):
        found, found_targets = stored_rows(rows.mapped(matrix, portable=portable), 4)
        np.testing.assert_array_equal(found[:50], expected)
        np.testing.assert_array_equal(found_targets[:50], weighted)
    # Rows of full length, or rows of zeros with their own targets.
    assert (scale < 1.0) == (not found.any())
    if scale < 1.0:
        np.testing.assert_array_equal(found_targets[:50], targets)


def test_an_identity_changes_nothing():
    rng = np.random.default_rng(7)
    rows = stored(Map.plain(5), rng.normal(size=(99, 5)), rng.normal(size=99))
    for one, other in zip(
        stored_rows(rows, 5), stored_rows(rows.mapped(np.eye(5)), 5), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("reach", [0, -1, 2**35 + 1, 2**80])
def test_reaches_out_of_range(reach):
    rows = stored(Map.plain(1), np.ones((5, 1)), np.ones(5))
    with pytest.raises(ParameterError, match="reach"):
        _native.Gradient.of(rows, np.ones(1), 5, reach)


@pytest.mark.parametrize(
    "edges", [[], [0], [-1, 2], [2, 2], [3, 2], [2**20 + 1], [2**90], list(range(1, 66))], ids=str
)
def test_bad_edges(edges):
    rows = stored(Map.plain(1), np.ones((5, 1)), np.ones(5))
    with pytest.raises(ParameterError, match="edges"):
        _native.ResidualCounts.of(rows, np.ones(1), edges)


def test_dropped_rows_are_not_counted():
    x = np.array([[0.5, np.nan, 0.25, np.inf, 0.0]]).T
    y = np.array([1.0, 1.0, np.nan, 1.0, -2.0])
    rows = stored(Map.plain(1), x, y, missing="drop")
    counts = _native.ResidualCounts.of(rows, np.zeros(1), [1000])
    assert counts.insecure_exact() == [1, 0, 1]
    assert _native.ResidualCounts.of(rows, np.zeros(1), [2**20]).insecure_exact() == [0, 2, 0]
    # Neither are rows that a matrix maps to zero together with their target: they add nothing.
    x, y = np.array([[1.0], [1.0]]), np.array([0.0, 1.0])
    rows = stored(Map.plain(1), x, y).mapped(np.zeros((1, 1)))
    assert _native.ResidualCounts.of(rows, np.zeros(1), [1]).insecure_exact() == [0, 0, 1]
