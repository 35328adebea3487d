"""Coordinates: white without noise, corrected by a second X'X, errors as the rounds have them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.engine.covariance import Path, plain_covariance
from dpfit.engine.features.gram import ScaledGram
from dpfit.engine.shrinkage import Prior
from dpfit.engine.whitening import Coordinates, first_scales, room
from dpfit.release import Released

quick = settings(max_examples=80, deadline=None)
ROWS = 1000.0
TINY = 1e-9


def moments(rng, p):
    """Draw a matrix of second moments: the constant is first, some columns are nearly the same."""
    mixed = rng.normal(size=(p, p)) @ np.diag(rng.uniform(0.3, 1.0, p))
    found = mixed @ mixed.T / p + 0.05 * np.eye(p)
    size = np.sqrt(np.diag(found))
    return found / np.outer(size, size)


def noisy(rng, matrix, sigma):
    noise = rng.normal(0.0, sigma / np.sqrt(2.0), matrix.shape)
    noise = np.triu(noise, 1)
    return matrix + noise + noise.T + np.diag(rng.normal(0.0, sigma, len(matrix)))


def first(rng, p, *, noise=1e-6, sigma=TINY, truth=None):
    truth = moments(rng, p) if truth is None else truth
    prior = Prior(np.concatenate([[1.0], np.full(p - 1, 0.5 / p)]))
    scales = np.maximum(first_scales(np.ones(p), prior, noise), 1e-3)
    gram = ROWS * np.outer(scales, scales) * truth
    released = Released(noisy(rng, gram, sigma), (sigma,))
    return Coordinates.first(ScaledGram(released, scales), ROWS, prior, noise), truth


@quick
@given(st.integers(1, 12), st.integers(0, 1000))
def test_coordinates_are_white_if_nothing_is_noisy(p, seed):
    found, truth = first(np.random.default_rng(seed), p)
    second = found.matrix.T @ truth @ found.matrix
    assert second == pytest.approx(np.diag(found.variances), abs=1e-5)
    assert found.variances.sum() == pytest.approx(1.0)
    assert found.bound == pytest.approx(room(p), rel=1e-4)
    # Nothing matters less than the noise here, so all directions are used, nearly equally.
    assert len(found.variances) == p
    assert found.inverse @ found.matrix == pytest.approx(np.eye(p), abs=1e-6)


@quick
@given(st.integers(2, 12), st.integers(0, 1000), st.floats(1e-4, 1e3))
def test_directions_that_are_not_worth_the_noise_are_left_out(p, seed, noise):
    found, truth = first(np.random.default_rng(seed), p, noise=noise)
    second = found.matrix.T @ truth @ found.matrix
    assert 1 <= len(found.variances) <= p
    assert second == pytest.approx(np.diag(found.variances), abs=1e-5)
    if noise > 100.0:
        assert len(found.variances) < p


@quick
@given(st.integers(2, 10), st.integers(0, 1000), st.floats(0.5, 20.0))
def test_a_second_gram_corrects_what_noise_did_to_the_first(p, seed, sigma):
    rng = np.random.default_rng(seed)
    found, truth = first(rng, p, sigma=sigma)
    gram = ROWS * found.matrix.T @ truth @ found.matrix / found.bound**2
    again = found.again(Released(gram, (TINY,)), ROWS)
    second = again.matrix.T @ truth @ again.matrix
    size = np.sqrt(again.variances)
    whitened = second / np.outer(size, size)
    # The first coordinates were wrong; the second ones are white but for what `left` says.
    assert whitened == pytest.approx(np.eye(len(size)) - again.left, abs=1e-6)
    assert np.abs(again.left).max() < 1e-3


@quick
@given(st.integers(2, 10), st.integers(0, 1000), st.floats(0.1, 5.0))
def test_steps_hardly_ever_overshoot(p, seed, sigma):
    rng = np.random.default_rng(seed)
    found, truth = first(rng, p, sigma=sigma)
    gram = ROWS * found.matrix.T @ truth @ found.matrix / found.bound**2
    again = found.again(Released(noisy(rng, gram, sigma), (sigma,)), ROWS)
    second = again.matrix.T @ truth @ again.matrix
    size = np.sqrt(again.variances)
    # The rounds converge if no eigenvalue is above two.
    assert np.linalg.eigvalsh(second / np.outer(size, size)).max() < 2.0
    assert np.all(np.linalg.eigvalsh(again.left) > -1e-9)


def left_over(rng, q, values):
    """Return coordinates with a given share left by each round, in random directions."""
    vectors, _ = np.linalg.qr(rng.normal(size=(q, q)))
    variances = rng.uniform(0.5, 1.5, q)
    left = (vectors * values) @ vectors.T
    return Coordinates(np.eye(q), variances / variances.sum(), room(q), left)


def iterate(coordinates, truth, rounds, averaged, noises):
    """Run the rounds on rows whose second moments are as `left` says; return the average."""
    size = np.sqrt(coordinates.variances)
    second = (np.eye(len(size)) - coordinates.left) * np.outer(size, size)
    theta, total = np.zeros(len(size)), np.zeros(len(size))
    for t in range(rounds):
        gradient = second @ (truth - theta) + noises[t]
        theta = theta + gradient / coordinates.variances
        if t >= rounds - averaged:
            total += theta / averaged
    return total


@quick
@given(st.integers(1, 6), st.integers(0, 1000), st.integers(2, 12), st.data())
def test_missing_is_what_the_rounds_do_not_reach(q, seed, rounds, data):
    averaged = data.draw(st.integers(1, rounds))
    rng = np.random.default_rng(seed)
    coordinates = left_over(rng, q, rng.uniform(0.0, 1.0, q))
    truth = rng.normal(size=q)
    reached = iterate(coordinates, truth, rounds, averaged, np.zeros((rounds, q)))
    assert truth - reached == pytest.approx(coordinates.missing(rounds, averaged) @ truth, abs=1e-9)


@pytest.mark.parametrize("most", [0.0, 0.3, 0.6])
def test_the_noise_of_averaged_rounds_is_what_is_claimed(most):
    """To 15 %: 4,000 fits show a variance to 2.2 %."""
    rng = np.random.default_rng(0)
    q, rounds, averaged, fits = 4, 10, 6, 4000
    coordinates = left_over(rng, q, np.linspace(0.0, most, q))
    noises = 0.1 * rng.normal(size=(fits, rounds, q))
    found = np.array([iterate(coordinates, np.zeros(q), rounds, averaged, n) for n in noises])
    sigmas = (0.1 * ROWS,) * rounds
    path = Path(coordinates.left, sigmas, averaged)
    claimed = plain_covariance(1.0, path, coordinates.variances, ROWS).noise
    root = np.linalg.inv(np.linalg.cholesky(claimed))
    ratios = np.linalg.eigvalsh(root @ np.cov(found.T) @ root.T)
    assert np.all(np.abs(ratios - 1.0) < 0.15)


def test_sampling_errors_are_those_of_least_squares():
    rng = np.random.default_rng(1)
    q = 3
    coordinates = left_over(rng, q, np.linspace(0.0, 0.5, q))
    size = np.sqrt(coordinates.variances)
    second = (np.eye(q) - coordinates.left) * np.outer(size, size)
    # So many rounds that nothing is left of the way to go.
    path = Path(coordinates.left, (0.0,) * 80, 5)
    sampling = plain_covariance(0.7, path, coordinates.variances, ROWS).sampling
    inverse = np.linalg.inv(second)
    expected = 0.7 / ROWS * inverse @ np.diag(coordinates.variances) @ inverse
    assert sampling == pytest.approx(expected, rel=1e-6)


def test_the_first_scales_give_rows_the_norm_that_leaves_room():
    prior = Prior(np.array([1.0, 0.1, 0.1, 1e-12]))
    variances = np.array([1.0, 1.0, 0.15, 1.0])
    scales = first_scales(variances, prior, 1e-4)
    # Three of the four are used.
    assert np.sum(scales**2 * variances) == pytest.approx(1.0 / room(3) ** 2)
    assert scales[-1] == 0.0
    assert scales[0] ** 2 == pytest.approx(np.max(scales**2 * variances))


@pytest.mark.parametrize("number", [2, 3, 5, 20, 100])
def test_one_row_in_a_hundred_of_normal_coordinates_is_longer_than_the_bound(number):
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(100_000), rng.normal(size=(100_000, number - 1))])
    size = np.sqrt(np.mean(np.square(rows).sum(axis=1)))
    longer = np.mean(np.linalg.norm(rows, axis=1) > room(number) * size)
    assert longer == pytest.approx(0.01, abs=0.002)


def test_more_coordinates_need_less_room():
    rooms = [room(number) for number in range(2, 300)]
    assert np.all(np.diff(rooms) < 0.0)
    assert rooms[-1] > 1.0
    # The constant alone is as long in all rows: no other coordinate, no less room than for one.
    assert room(1) == room(2)


@quick
@given(st.integers(2, 8), st.integers(0, 1000), st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 10.0]))
def test_coordinates_that_are_sure_are_white_to_2_percent(p, seed, sigma):
    """Then X'X is not released again, and steps converge without it."""
    found, truth = first(np.random.default_rng(seed), p, sigma=sigma)
    size = np.sqrt(found.variances)
    second = found.matrix.T @ truth @ found.matrix / np.outer(size, size)
    if found.is_sure:
        # The noise in a direction may be 1 / 0.7 times what is added for it, and a little more.
        assert np.linalg.norm(second - np.eye(len(size)), 2) < 0.06
    if sigma == 1e-6:
        assert found.is_sure
    if sigma == 10.0:
        assert not found.is_sure
    assert not found.again(Released(np.eye(len(size)), (TINY,)), ROWS).is_sure
