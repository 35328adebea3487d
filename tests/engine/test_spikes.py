"""What noisy matrices show beyond their noise: the laws of large random matrices.

A direction of size t in symmetric noise, whose spectral norm is e, is seen if t > e / 2. Its
eigenvalue is then t + e^2 / 4t, and its eigenvector has the squared cosine 1 - e^2 / 4t^2 with the
direction (Benaych-Georges and Nadakuditi 2011). The best that can be said of it is the product of
its size and that squared cosine. For rectangular noise, see Gavish and Donoho (2017).

Matrices are large and draws have seeds; tolerances are several times the deviation of the means.
"""

import math

import numpy as np
import pytest

from dpfit.engine.seen import Seen, _denoised, _denoised_rectangle
from dpfit.engine.solve import noise_norm

DIMENSION = 200
SHAPE = (100, 300)
DRAWS = 8
# Mean squares, far above the noise.
EXPECTED = 100.0


def unit(rng, d):
    found = rng.normal(size=d)
    return found / np.linalg.norm(found)


def symmetric_noise(rng, d):
    noise = np.triu(rng.normal(0.0, math.sqrt(0.5), (d, d)), 1)
    return noise + noise.T + np.diag(rng.normal(size=d))


def symmetric(rng, ratio):
    """Return the outermost eigenvalues that are found, and the one that would be best.

    All are relative to the norm of the noise, and without the expected mean squares.
    """
    edge = noise_norm(DIMENSION, 1.0)
    direction = unit(rng, DIMENSION)
    signal = ratio * edge * np.outer(direction, direction)
    expected = np.full(DIMENSION, EXPECTED)
    noise = symmetric_noise(rng, DIMENSION)
    found = _denoised(np.diag(expected) + signal + noise, 1.0, expected)
    values, vectors = np.linalg.eigh(found - np.diag(expected))
    place = int(np.abs(values).argmax())
    best = vectors[:, place] @ signal @ vectors[:, place]
    others = np.delete(values, place)
    return np.array([values[place], best, np.abs(others).max()]) / edge


@pytest.mark.parametrize("ratio", [1.0, 1.5, 3.0, -1.5])
def test_directions_beyond_the_edge_have_the_size_that_is_best(ratio):
    rng = np.random.default_rng(0)
    found, best, others = np.mean([symmetric(rng, ratio) for _ in range(DRAWS)], axis=0)
    law = ratio - 0.25 / ratio
    assert found == pytest.approx(law, abs=0.08)
    assert found == pytest.approx(best, abs=0.08)
    # What is left of the noise is that of the diagonal: three deviations, or 0.15 of the norm.
    assert others < 0.2


@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.4])
def test_directions_within_the_noise_are_hidden(ratio):
    rng = np.random.default_rng(1)
    found = np.array([symmetric(rng, ratio) for _ in range(DRAWS)])
    assert np.abs(found[:, 0]).max() < 0.25


def test_without_noise_symmetric_matrices_are_left_alone():
    rng = np.random.default_rng(2)
    mixed = rng.normal(size=(20, 20))
    truth = mixed @ mixed.T
    assert _denoised(truth, 1e-9, np.full(20, 15.0)) == pytest.approx(truth, abs=1e-6)
    assert _denoised(np.zeros((0, 0)), 1.0, np.zeros(0)).shape == (0, 0)


@pytest.mark.parametrize(("change", "seen"), [(0.5, 0.0), (-0.9, 0.0), (2.0, 1.5), (-10.0, -9.9)])
def test_each_mean_square_is_seen_beyond_its_own_noise(change, seen):
    """A change of c deviations is shrunk by 1 / c^2 of it: James and Stein, for one number."""
    expected = np.full(100, EXPECTED)
    moments = np.diag(expected)
    moments[3, 3] += change
    found = _denoised(moments, 1.0, expected)
    assert found[3, 3] - EXPECTED == pytest.approx(seen)
    assert np.delete(np.diag(found), 3) == pytest.approx(np.delete(expected, 3))


@pytest.mark.parametrize("ratio", [0.6, 1.0, 4.0, -1.0])
def test_the_eigenvalue_that_the_law_predicts_is_shrunk_as_the_law_says(ratio):
    """A matrix with that eigenvalue and no noise; its direction is spread over the diagonal."""
    edge = noise_norm(DIMENSION, 1.0)
    direction = np.ones(DIMENSION) / math.sqrt(DIMENSION)
    seen = edge * (ratio + 0.25 / ratio) * np.outer(direction, direction)
    expected = np.full(DIMENSION, EXPECTED)
    found = direction @ (_denoised(np.diag(expected) + seen, 1.0, expected) @ direction)
    assert (found - EXPECTED) / edge == pytest.approx(ratio - 0.25 / ratio)


def law_of_rectangles(square):
    """Return what is best, relative to a signal with this squared size."""
    one, two = SHAPE
    return (square**2 - one * two) / (square * math.sqrt((square + one) * (square + two)))


@pytest.mark.parametrize("ratio", [1.05, 1.5, 3.0])
def test_the_singular_value_that_the_law_predicts_is_shrunk_as_the_law_says(ratio):
    one, two = SHAPE
    square = ratio**2 * math.sqrt(one * two)
    rng = np.random.default_rng(6)
    axes = np.outer(unit(rng, one), unit(rng, two))
    seen = math.sqrt((square + one) * (square + two) / square)
    found = np.linalg.norm(_denoised_rectangle(seen * axes, 1.0), 2)
    assert found / math.sqrt(square) == pytest.approx(law_of_rectangles(square))


def test_what_lines_and_bends_have_in_common_has_the_noise_beside_the_diagonal():
    """Its deviation is that of the diagonal divided by the root of two."""
    one, two = SHAPE
    square = 2.0**2 * math.sqrt(one * two)
    rng, found = np.random.default_rng(7), []
    expected = np.full(one + two, EXPECTED)
    for _ in range(DRAWS):
        moments = np.diag(expected) + symmetric_noise(rng, one + two)
        shared = math.sqrt(square / 2.0) * np.outer(unit(rng, one), unit(rng, two))
        moments[:one, one:] += shared
        moments[one:, :one] += shared.T
        seen = Seen.of(moments, 1.0, expected, one).moments
        assert seen == pytest.approx(seen.T)
        found.append(np.linalg.norm(seen[:one, one:], 2) / math.sqrt(square / 2.0))
    assert np.mean(found) == pytest.approx(law_of_rectangles(square), abs=0.1)


def rectangle(rng, ratio):
    """Return the two largest singular values that are found, and the one that would be best.

    The signal is `ratio` times the least that can be seen.
    """
    one, two = SHAPE
    size = ratio * (one * two) ** 0.25
    left, right = unit(rng, one), unit(rng, two)
    signal = size * np.outer(left, right)
    found = _denoised_rectangle(signal + rng.normal(size=SHAPE), 1.0)
    axes, values, others = np.linalg.svd(found, full_matrices=False)
    return np.array([values[0], values[1], abs(axes[:, 0] @ signal @ others[0])]) / size


@pytest.mark.parametrize("ratio", [2.0, 3.0, 6.0])
def test_singular_values_beyond_the_edge_have_the_size_that_is_best(ratio):
    rng = np.random.default_rng(3)
    found, others, best = np.mean([rectangle(rng, ratio) for _ in range(DRAWS)], axis=0)
    law = law_of_rectangles(ratio**2 * math.sqrt(SHAPE[0] * SHAPE[1]))
    assert found == pytest.approx(law, abs=0.06)
    assert found == pytest.approx(best, abs=0.06)
    assert others < 0.1


@pytest.mark.parametrize("ratio", [1e-9, 0.5])
def test_singular_values_within_the_noise_are_hidden(ratio):
    rng = np.random.default_rng(4)
    one, two = SHAPE
    for _ in range(DRAWS):
        left, right = unit(rng, one), unit(rng, two)
        signal = ratio * (one * two) ** 0.25 * np.outer(left, right)
        found = _denoised_rectangle(signal + rng.normal(size=SHAPE), 1.0)
        # Single values may be just beyond the edge.
        assert np.linalg.norm(found, 2) < 0.35 * (math.sqrt(one) + math.sqrt(two))


def test_without_noise_rectangles_are_left_alone():
    products = np.random.default_rng(5).normal(size=(4, 7))
    assert _denoised_rectangle(products, 1e-9) == pytest.approx(products, abs=1e-9)
    assert _denoised_rectangle(np.zeros((4, 7)), 1.0).tolist() == np.zeros((4, 7)).tolist()
    assert _denoised_rectangle(np.zeros((4, 0)), 1.0).shape == (4, 0)
