"""Rounds in coordinates: what they do not reach, and the errors of what they do reach."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.engine.covariance import Covariance, Path, Scores, way_after
from dpfit.engine.whitening import Coordinates, room

quick = settings(max_examples=80, deadline=None)
ROWS = 1000.0


def drawn_coordinates(rng, q, values=None, slack=0.5):
    """Draw coordinates whose known products have given eigenvalues, in random directions."""
    vectors, _ = np.linalg.qr(rng.normal(size=(q, q)))
    values = rng.uniform(0.0, 1.0, q) if values is None else values
    variances = rng.uniform(0.5, 1.5, q)
    variances /= variances.sum()
    known = (vectors * values) @ vectors.T
    hidden = slack * rng.uniform(0.0, 1.0, q) * variances
    return Coordinates(np.eye(q), variances, room(q), hidden, known, np.zeros(q), q)


def second_moments(coordinates):
    size = np.sqrt(coordinates.variances)
    return coordinates.known * np.outer(size, size)


def iterate(coordinates, truth, rounds, averaged, noises):
    """Run the rounds on rows whose second moments are as known; return the average."""
    second = second_moments(coordinates)
    theta, total = np.zeros(len(truth)), np.zeros(len(truth))
    for t in range(rounds):
        gradient = second @ (truth - theta) + noises[t]
        theta = theta + gradient / coordinates.steps
        if t >= rounds - averaged:
            total += theta / averaged
    return total


@quick
@given(st.integers(1, 6), st.integers(0, 1000), st.integers(2, 12), st.data())
def test_missing_is_what_the_rounds_do_not_reach(q, seed, rounds, data):
    averaged = data.draw(st.integers(1, rounds))
    rng = np.random.default_rng(seed)
    coordinates = drawn_coordinates(rng, q)
    truth = rng.normal(size=q)
    reached = iterate(coordinates, truth, rounds, averaged, np.zeros((rounds, q)))
    size = np.sqrt(coordinates.steps)
    path = Path(coordinates.left, (0.0,) * rounds, averaged, np.zeros(q))
    noise, missed = path.errors(coordinates.steps, ROWS, (size * truth)[:, None])
    assert not noise.any()
    left = size * (truth - reached)
    assert missed == pytest.approx(np.outer(left, left), abs=1e-9)
    values = np.linalg.eigvalsh(coordinates.left)
    assert values.min() > -1e-9
    assert values.max() < 1.0 + 1e-9


@pytest.mark.parametrize("most", [0.0, 0.3, 0.6])
def test_the_noise_of_averaged_rounds_is_what_is_claimed(most):
    """To 15 %: 4,000 fits show a variance to 2.2 %."""
    rng = np.random.default_rng(0)
    q, rounds, averaged, fits = 4, 10, 6, 4000
    coordinates = drawn_coordinates(rng, q, np.linspace(1.0, 1.0 - most, q), slack=most)
    noises = 0.1 * rng.normal(size=(fits, rounds, q))
    found = np.array([iterate(coordinates, np.zeros(q), rounds, averaged, n) for n in noises])
    sigmas = (0.1 * ROWS,) * rounds
    path = Path(coordinates.left, sigmas, averaged, np.zeros(q))
    size = np.sqrt(coordinates.steps)
    claimed = noise_of(path, coordinates.steps) / np.outer(size, size)
    root = np.linalg.inv(np.linalg.cholesky(claimed))
    ratios = np.linalg.eigvalsh(root @ np.cov(found.T) @ root.T)
    assert np.all(np.abs(ratios - 1.0) < 0.15)


def noise_of(path, variances):
    """Return the covariance of noise alone."""
    return path.errors(variances, ROWS, np.zeros((len(variances), 0)))[0]


def test_noise_is_larger_where_the_moments_are_not_known():
    """To 12 %: the variances of 5,000 fits have a standard error of 2 %, the draws one of 3 %."""
    rng = np.random.default_rng(0)
    q, rounds, averaged, fits = 6, 8, 5, 5000
    sizes, left = np.linspace(0.05, 0.15, q), 0.3 * np.eye(q)
    variances, sigmas = np.full(q, 1.0 / q), (1.0,) * rounds
    path = Path(left, sigmas, averaged, sizes)
    found = []
    for _ in range(fits):
        noise = rng.normal(size=(q, q))
        noise = (noise + noise.T) / 2.0 * np.sqrt(np.outer(sizes, sizes))
        theta, total = np.zeros(q), np.zeros(q)
        for done in range(rounds):
            theta = (left + noise) @ theta + rng.normal(size=q) / ROWS / np.sqrt(variances)
            total += theta / averaged * (done >= rounds - averaged)
        found.append(total)
    actual = np.cov(np.array(found).T).diagonal()
    assert noise_of(path, variances).diagonal() == pytest.approx(actual, rel=0.12)
    known = path.variances(Scores.alike(0.0, q), variances, ROWS) * variances
    assert known.sum() < 0.9 * actual.sum()


def test_more_is_missed_where_the_moments_are_not_known():
    """To 15 %: the variances of 5,000 fits have a standard error of 2 %, the draws one of 4 %."""
    rng = np.random.default_rng(0)
    q, rounds, averaged, fits = 6, 8, 5, 5000
    sizes, left, way = np.linspace(0.02, 0.06, q), 0.7 * np.eye(q), np.linspace(1.0, 4.0, q)
    path = Path(left, (0.0,) * rounds, averaged, sizes)
    found = []
    for _ in range(fits):
        noise = rng.normal(size=(q, q))
        noise = (noise + noise.T) / 2.0 * np.sqrt(np.outer(sizes, sizes))
        values, vectors = np.linalg.eigh(left + noise)
        values = np.clip(values, 0.0, 1.0)
        times = np.arange(rounds - averaged + 1, rounds + 1)
        shares = np.mean(values[:, None] ** times, axis=1)
        found.append(vectors @ (shares * (vectors.T @ (np.sqrt(way) * rng.normal(size=q)))))
    actual = np.mean(np.square(found), axis=0)
    variances, way = np.ones(q), np.diag(np.sqrt(way))
    missed = path.errors(variances, ROWS, way)[1]
    assert missed.diagonal() == pytest.approx(actual, rel=0.15)
    sure = dataclasses.replace(path, unsure=np.zeros(q))
    assert np.trace(sure.errors(variances, ROWS, way)[1]) < 0.8 * actual.sum()


def test_after_another_model_only_its_errors_are_left_to_go():
    """To 8 %: 20,000 draws show a variance to 1 %, and its sum over directions to less."""
    rng = np.random.default_rng(0)
    q, p, draws = 3, 4, 20_000
    matrix, expected, root = (rng.normal(size=shape) for shape in ((q, p), (q, q), (p, p)))
    noise, missed = 0.3 * root @ root.T, np.diag([0.1, 0.0, 0.2, 0.0])
    way = rng.normal(size=(draws, q)) @ expected.T
    errors = rng.multivariate_normal(np.zeros(p), noise, draws) @ matrix.T
    # The best linear estimate of the way, given the noisy one.
    start, own = expected @ expected.T, matrix @ noise @ matrix.T
    estimates = (way + errors) @ np.linalg.solve(start + own, start)
    left = way - estimates + rng.multivariate_normal(np.zeros(p), missed, draws) @ matrix.T
    found = way_after(expected, matrix, Covariance(noise, missed, 0.0 * noise, noise, noise))
    assert found @ found.T == pytest.approx(np.cov(left.T), rel=0.08, abs=0.03)
    # Nothing is left of what was seen without noise, and all of what was hidden.
    nothing = np.zeros((p, p))
    sure = way_after(expected, matrix, Covariance(nothing, nothing, nothing, noise, noise))
    assert np.abs(sure @ sure.T).max() < 1e-6 * np.trace(start)
    hidden = way_after(expected, matrix, Covariance(1e12 * noise, nothing, nothing, noise, noise))
    assert hidden @ hidden.T == pytest.approx(start, rel=1e-3, abs=1e-3)


def sampling(coordinates):
    """Return sampling errors after so many rounds that nothing is left of the way to go."""
    q, size = len(coordinates.left), np.sqrt(coordinates.steps)
    path, scores = Path(coordinates.left, (0.0,) * 80, 5, np.zeros(q)), Scores.alike(0.7, q)
    nothing = np.zeros((q, 0))
    found = path.covariance(scores, coordinates.steps, ROWS, nothing, np.diag(1.0 / size), 0.0)
    each = path.variances(scores, coordinates.steps, ROWS)
    assert found.sampling.diagonal() == pytest.approx(each)
    return found.sampling


def test_what_clipping_loses_of_scores_moves_coefficients_as_a_mean_of_scores_would():
    white = drawn_coordinates(np.random.default_rng(3), 3, np.ones(3), slack=0.0)
    path, scores = Path(white.left, (0.0,) * 80, 5, np.zeros(3)), Scores.alike(0.7, 3)
    given = scores, white.steps, ROWS, np.zeros((3, 0)), np.diag(1.0 / np.sqrt(white.steps))
    without, found = (path.covariance(*given, clipped) for clipped in (0.0, 0.01))
    # As noise that is 0.01 in every coordinate of variance one.
    moved = 0.01**2 * np.linalg.inv(second_moments(white))
    assert found.clipped == pytest.approx(moved, rel=1e-6, abs=1e-12)
    assert found.private - without.private == pytest.approx(moved, rel=1e-6, abs=1e-12)
    assert not without.clipped.any()


def test_sampling_errors_of_white_coordinates_are_those_of_least_squares():
    white = drawn_coordinates(np.random.default_rng(1), 3, np.ones(3), slack=0.0)
    expected = 0.7 / ROWS * np.linalg.inv(second_moments(white))
    assert sampling(white) == pytest.approx(expected, rel=1e-6)


@quick
@given(st.integers(1, 6), st.integers(0, 1000))
def test_sampling_errors_are_at_least_those_of_least_squares(q, seed):
    rng = np.random.default_rng(seed)
    coordinates = drawn_coordinates(rng, q, rng.uniform(0.5, 1.0, q))
    least = 0.7 / ROWS * np.linalg.inv(second_moments(coordinates))
    more = sampling(coordinates) - least
    assert np.linalg.eigvalsh(more).min() > -1e-6 * np.abs(least).max()


def test_rows_that_are_shorter_than_expected_have_a_narrower_bound():
    """The bound follows what is known of the norm, but never by more than the root of 20."""
    found = drawn_coordinates(np.random.default_rng(7), 4, np.full(4, 0.25))
    assert found.norm == pytest.approx(0.5)
    nothing = dataclasses.replace(found, known=np.zeros((4, 4)))
    assert nothing.norm == pytest.approx(math.sqrt(0.05))
