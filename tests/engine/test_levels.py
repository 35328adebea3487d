"""Which levels, and rows without a listed level, released X'X shows."""

import numpy as np
import pytest

from dpfit import Categorical, Numeric
from dpfit.engine.features.basis import Basis, Column
from dpfit.engine.features.gram import ScaledGram
from dpfit.engine.features.levels import SeenLevels, empty_directions
from dpfit.release import Released

ROWS = 10_000.0


def basis_of(*numbers):
    """Return a basis with columns that have so many levels each."""
    kinds = [Categorical([f"{level}" for level in range(number)]) for number in numbers]
    return Basis.curves([Column(kind) for kind in kinds])


def gram_of(basis, shares, sigma=10.0):
    """Return X'X of rows whose columns are independent and have levels with these shares."""
    flat = np.concatenate([[1.0], *shares])
    values = np.outer(flat, flat)
    start = 1
    for own in shares:
        places = slice(start, start + len(own))
        values[places, places] = np.diag(own)
        start += len(own)
    return ScaledGram(Released(ROWS * values, (sigma,)), np.ones(len(flat)))


def test_levels_of_all_rows_are_one_combination_without_rows():
    basis = basis_of(2, 3)
    gram = gram_of(basis, [[0.4, 0.6], [0.2, 0.3, 0.5]])
    expected = np.array([[1, -1, -1, 0, 0, 0], [1, 0, 0, -1, -1, -1]]).T
    assert np.array_equal(empty_directions(basis, gram), expected)
    assert SeenLevels.of(basis, gram).unlisted == frozenset()


def test_a_column_with_unlisted_rows_has_no_such_combination():
    basis = basis_of(2, 3)
    gram = gram_of(basis, [[0.4, 0.6], [0.2, 0.3, 0.3]])
    assert np.array_equal(empty_directions(basis, gram), [[1], [-1], [-1], [0], [0], [0]])
    assert SeenLevels.of(basis, gram).unlisted == {1}


@pytest.mark.parametrize("hidden", [0, 2])
def test_levels_that_the_noise_hides_are_no_part_of_it(hidden):
    shares = np.roll([0.3, 0.7, 0.0], hidden + 1)
    basis = basis_of(3)
    found = empty_directions(basis, gram_of(basis, [shares]))
    assert np.array_equal(found[:, 0], [1.0, *np.where(shares > 0.0, -1.0, 0.0)])


def test_a_column_whose_levels_are_all_hidden_has_no_combination():
    """Otherwise the constant itself would be left out."""
    basis = basis_of(2)
    gram = gram_of(basis, [[0.5, 0.5]], sigma=1e6)
    assert empty_directions(basis, gram).shape == (3, 0)


def test_columns_of_numbers_have_no_combinations():
    basis = Basis.curves([Column(Numeric())])
    gram = ScaledGram(Released(np.eye(1) * ROWS, (1.0,)), np.ones(1))
    assert empty_directions(basis, gram).shape == (1, 0)
