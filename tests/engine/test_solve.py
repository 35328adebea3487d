"""Products and decompositions that take less time are those of NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.engine.features.basis import Basis, Column
from dpfit.engine.features.functions import Knots
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.seen import without
from dpfit.engine.solve import eigen, eigen_beyond, is_diagonal, product, sandwich
from dpfit.schema import Numeric

quick = settings(max_examples=60, deadline=None)


def symmetric(rng, q, values=None):
    vectors, _ = np.linalg.qr(rng.normal(size=(q, q)))
    values = rng.normal(size=q) if values is None else values
    return (vectors * values) @ vectors.T


@pytest.mark.parametrize("q", [3, 120])
@pytest.mark.parametrize("share", [1.0, 0.01])
def test_a_product_with_many_zeros_is_the_product(q, share):
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(q + 7, q)), rng.normal(size=(q, q))
    few = one * (rng.random(one.shape) < share)
    assert product(few, two) == pytest.approx(few @ two, abs=1e-12)
    found = product(two, few.T)
    assert found == pytest.approx(two @ few.T, abs=1e-12)
    assert found.flags.c_contiguous


@quick
@given(st.integers(1, 12), st.integers(0, 1000))
def test_eigenvalues_of_a_diagonal_matrix_are_its_entries(q, seed):
    diagonal = np.diag(np.random.default_rng(seed).integers(-2, 3, q).astype(float))
    assert is_diagonal(diagonal)
    values, vectors = eigen(diagonal)
    assert values.tolist() == sorted(diagonal.diagonal())
    assert np.array_equal((vectors * values) @ vectors.T, diagonal)
    assert np.array_equal(vectors.T @ vectors, np.eye(q))


@quick
@given(st.integers(2, 12), st.integers(0, 1000), st.sampled_from(["none", "one", "both"]))
def test_eigenvalues_beyond_an_edge_are_those_of_the_whole_decomposition(q, seed, sides):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-0.9, 0.9, q)
    sign = 1.0 if seed % 2 else -1.0
    values[0] = values[0] if sides == "none" else 2.0 * sign
    values[1] = -3.0 * sign if sides == "both" else values[1]
    matrix = symmetric(rng, q, values)
    found, vectors = eigen_beyond(matrix, 1.0)
    assert sorted(found) == pytest.approx(sorted(values[np.abs(values) > 1.0]))
    assert matrix @ vectors == pytest.approx(vectors * found, abs=1e-9)
    assert vectors.T @ vectors == pytest.approx(np.eye(len(found)), abs=1e-9)


@quick
@given(st.integers(1, 12), st.integers(0, 1000), st.booleans())
def test_a_sandwich_is_two_products(q, seed, is_positive):
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.1, 1.0, q) if is_positive else None
    matrix, middle = rng.normal(size=(q + 2, q)), symmetric(rng, q, values)
    assert sandwich(matrix, middle) == pytest.approx(matrix @ middle @ matrix.T, abs=1e-9)


@quick
@given(st.integers(1, 8), st.integers(0, 4), st.integers(0, 1000))
def test_what_is_without_directions_has_no_negative_eigenvalues(q, k, seed):
    lacks = np.random.default_rng(seed).normal(size=(q, k)) / 2.0
    values, vectors = np.linalg.eigh(np.eye(q) - lacks @ lacks.T)
    nearest = (vectors * np.clip(values, 0.0, 1.0)) @ vectors.T
    assert without(lacks) == pytest.approx(nearest, abs=1e-9)


@pytest.mark.parametrize("columns", [2, 40])
def test_a_map_of_functions_with_many_zeros_is_the_map(columns):
    """Of 40 columns, only entries other than zero are kept."""
    rng = np.random.default_rng(0)
    places = np.linspace(-1.0, 1.0, 12)
    knots = Knots.of(Marginal(np.linspace(-1.0, 1.0, 31), rng.uniform(0.5, 1.0, 30)), places)
    basis = Basis.curves([Column(Numeric(), knots)] * columns)
    coefficients = rng.normal(size=(len(basis.functions), 3))
    expected = basis.matrix() @ coefficients
    assert basis.mapped(coefficients) == pytest.approx(expected, abs=1e-12)
    assert basis.mapped(coefficients[:, 0]) == pytest.approx(expected[:, 0], abs=1e-12)
