"""Coordinates: white without noise, as the marginals say where the noise hides all else."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.engine.features.gram import ScaledGram
from dpfit.engine.seen import Seen
from dpfit.engine.shrinkage import Prior, water_filling
from dpfit.engine.solve import noise_norm
from dpfit.engine.whitening import Coordinates, first_scales, room, wide_room
from dpfit.release import Released

quick = settings(max_examples=80, deadline=None)
ROWS = 1000.0
TINY = 1e-9
# Noise so small, in coefficients, that all directions are worth it.
CHEAP = 1e-6


def drawn_moments(rng, p):
    """Draw a matrix of second moments of functions with variance one."""
    mixed = rng.normal(size=(p, p)) @ np.diag(rng.uniform(0.3, 1.0, p))
    found = mixed @ mixed.T / p + 0.05 * np.eye(p)
    size = np.sqrt(np.diag(found))
    return found / np.outer(size, size)


def drawn_bends(rng, p):
    """Draw which functions are bends; the first one is the constant."""
    return (rng.random(p) < 0.4) & (np.arange(p) > 0)


def noisy(rng, matrix, sigma):
    noise = np.triu(rng.normal(0.0, sigma / np.sqrt(2.0), matrix.shape), 1)
    return matrix + noise + noise.T + np.diag(rng.normal(0.0, sigma, len(matrix)))


def prior_of(p):
    return Prior(np.concatenate([[1.0], np.full(p - 1, 0.5 / p)]))


def start(p, is_bend=None, noise=CHEAP):
    scales = first_scales(np.ones(p), prior_of(p), noise)
    is_bend = np.zeros(p, dtype=bool) if is_bend is None else is_bend
    return Coordinates.start(np.maximum(scales, 1e-2 * scales.max()), np.ones(p), is_bend)


def exact_gram(coordinates, truth):
    """Return X'X of rows z divided by the bound, without noise."""
    return ROWS * coordinates.matrix.T @ truth @ coordinates.matrix / coordinates.bound**2


def again(rng, coordinates, truth, sigma, noise=CHEAP):
    """Return the coordinates that follow from one more X'X with its noise."""
    gram = noisy(rng, exact_gram(coordinates, truth), sigma)
    return coordinates.again(Released(gram, (sigma,)), ROWS, prior_of(len(truth)), noise)


def relative(coordinates, truth, squares):
    """Return the true second moments of coordinates, relative to `squares` on their diagonal."""
    size = np.sqrt(squares)
    return coordinates.matrix.T @ truth @ coordinates.matrix / np.outer(size, size)


def edge(coordinates, share):
    """Return the noise whose spectral norm is a share of the mean square of a coordinate."""
    p = len(coordinates.variances)
    return share / p * ROWS / coordinates.bound**2 / noise_norm(p, 1.0)


# ------------------------------------------------------------------------------ before any X'X


@quick
@given(st.integers(1, 12), st.integers(0, 1000))
def test_at_the_start_coordinates_are_functions_bends_last(p, seed):
    rng = np.random.default_rng(seed)
    scales, variances = rng.uniform(0.1, 2.0, p), rng.uniform(0.1, 2.0, p)
    is_bend = drawn_bends(rng, p)
    found = Coordinates.start(scales, variances, is_bend)
    order = np.concatenate([np.flatnonzero(~is_bend), np.flatnonzero(is_bend)])
    assert found.before == (~is_bend).sum()
    assert np.count_nonzero(found.matrix) == p
    shares = (found.matrix[order].diagonal() ** 2) * variances[order]
    assert shares == pytest.approx(found.variances)
    assert found.matrix[order].diagonal() / scales[order] == pytest.approx(
        np.full(p, found.matrix[order[0], 0] / scales[order[0]])
    )
    assert found.variances.sum() == pytest.approx(1.0)
    assert found.moments == pytest.approx(np.diag(variances))
    assert found.norm == pytest.approx(1.0)
    assert found.bound == room(p)
    assert not found.slack.any()


@quick
@given(st.integers(1, 12), st.integers(0, 1000))
def test_the_released_gram_is_told_in_the_order_of_the_functions(p, seed):
    rng = np.random.default_rng(seed)
    truth, found = drawn_moments(rng, p), start(p, drawn_bends(rng, p))
    gram = ScaledGram.of(Released(exact_gram(found, truth), (2.0,)), found.matrix / found.bound)
    assert gram.value == pytest.approx(ROWS * truth * np.outer(gram.scales, gram.scales))
    assert gram.sigma == 2.0
    assert np.all(gram.scales > 0.0)


# ------------------------------------------------------------------------------- without noise


@quick
@given(st.integers(1, 12), st.integers(0, 1000))
def test_coordinates_are_white_if_nothing_is_noisy(p, seed):
    rng = np.random.default_rng(seed)
    truth, first = drawn_moments(rng, p), start(p, drawn_bends(rng, p))
    found = again(rng, first, truth, TINY)
    # Nothing matters less than the noise here, so all directions are used.
    assert len(found.variances) == p
    assert found.variances.sum() == pytest.approx(1.0)
    assert found.inverse @ found.matrix == pytest.approx(np.eye(p), abs=1e-6)
    assert relative(found, truth, found.variances) == pytest.approx(np.eye(p), abs=1e-6)
    assert found.known == pytest.approx(np.eye(p), abs=1e-6)
    assert found.left == pytest.approx(np.zeros((p, p)), abs=1e-6)
    assert found.steps == pytest.approx(found.variances, rel=1e-6)
    assert found.moments == pytest.approx(truth, abs=1e-6)
    assert found.norm == pytest.approx(1.0)
    assert found.bound == pytest.approx(room(p))
    assert found.is_sure


@quick
@given(st.integers(2, 12), st.integers(0, 1000), st.sampled_from([TINY, 0.5, 5.0, 50.0]))
def test_lines_and_levels_have_coordinates_of_their_own(p, seed, sigma):
    rng = np.random.default_rng(seed)
    truth, is_bend = drawn_moments(rng, p), drawn_bends(rng, p)
    found = again(rng, start(p, is_bend), truth, sigma)
    twice = again(rng, found, truth, sigma)
    for each in (found, twice):
        assert each.before <= (~is_bend).sum()
        assert not each.matrix[is_bend, : each.before].any()
        assert len(each.variances) - each.before <= is_bend.sum()


@quick
@given(st.integers(3, 12), st.integers(0, 1000), st.sampled_from([TINY, 0.5, 5.0]))
def test_what_is_seen_of_lines_does_not_depend_on_bends(p, seed, sigma):
    """Their directions of variance one are those that a linear model would have."""
    rng = np.random.default_rng(seed)
    truth, is_bend = drawn_moments(rng, p), np.arange(p) >= 2
    first = start(p, is_bend)
    gram = noisy(rng, exact_gram(first, truth), sigma)
    other = gram.copy()
    other[2:, 2:] *= 1.5
    other[:2, 2:] *= 0.5
    other[2:, :2] *= 0.5

    def squared(value):
        found = first.again(Released(value, (sigma,)), ROWS, prior_of(p), CHEAP)
        lines = found.matrix[:2, : found.before]
        return (lines / found.variances[: found.before]) @ lines.T

    assert squared(gram) == pytest.approx(squared(other), rel=1e-6, abs=1e-9)


@quick
@given(st.integers(1, 12), st.integers(0, 1000), st.sampled_from([TINY, 0.1, 1.0]))
def test_coefficients_are_mapped_as_directions_are(p, seed, sigma):
    """One matrix is the inverse of the other, whatever the noise hides."""
    rng = np.random.default_rng(seed)
    expected = rng.uniform(0.5, 2.0, p)
    moments = noisy(rng, drawn_moments(rng, p) * np.sqrt(np.outer(expected, expected)), sigma)
    seen = Seen.of(moments, sigma, expected, int(rng.integers(1, p + 1)))
    nothing = np.zeros((seen.before, 0))
    parts, lacks = seen.whitened(expected, nothing)
    directions, coefficients = zip(*parts, strict=True)
    both = np.vstack(coefficients) @ np.hstack(directions)
    assert both == pytest.approx(np.eye(p), abs=1e-6)
    lack, axes = np.vstack(lacks), np.hstack(directions)
    assert axes.T @ seen.moments @ axes == pytest.approx(np.eye(p) - lack @ lack.T, abs=1e-6)


@quick
@given(st.integers(3, 9), st.integers(0, 1000), st.sampled_from([TINY, 0.01]))
def test_combinations_that_are_zero_in_all_rows_have_no_coordinate(p, seed, sigma):
    """The constant is the sum of the next functions, as it is of levels."""
    rng = np.random.default_rng(seed)
    levels = int(rng.integers(2, p))
    shares = rng.dirichlet(np.full(levels, 5.0))
    # Levels, with mean squares as coordinates expect them, and lines without correlations.
    truth = np.eye(p)
    truth[1 : levels + 1, 1 : levels + 1] = np.diag(shares)
    truth[0, 1 : levels + 1] = truth[1 : levels + 1, 0] = shares
    empty = np.concatenate([[1.0], np.full(levels, -1.0), np.zeros(p - levels - 1)])[:, None]
    first = start(p)
    gram = noisy(rng, exact_gram(first, truth), sigma)
    found = first.again(Released(gram, (sigma,)), ROWS, prior_of(p), CHEAP, empty)
    assert len(found.variances) == p - 1
    assert found.matrix.T @ empty == pytest.approx(0.0, abs=1e-9)
    assert found.inverse @ empty == pytest.approx(0.0, abs=1e-6)
    assert found.inverse @ found.matrix == pytest.approx(np.eye(p - 1), abs=1e-6)
    if sigma == TINY:
        assert relative(found, truth, found.variances) == pytest.approx(np.eye(p - 1), abs=1e-4)


def test_doubt_is_what_the_noise_may_hide_given_all_that_is_seen():
    """Twenty functions: without correlations there is hardly any doubt, with strong ones much."""
    rng = np.random.default_rng(0)
    expected = np.ones(20)
    doubts = [Seen.of(noisy(rng, np.eye(20), 0.05), 0.05, expected, 20).doubt for _ in range(50)]
    # The sum of 210 squares has a relative standard deviation of 10 %.
    assert np.mean(doubts) < 0.1
    correlated = np.eye(20)
    correlated[:6, :6] = 0.9 + 0.1 * np.eye(6)
    assert Seen.of(noisy(rng, correlated, 0.05), 0.05, expected, 20).doubt > 0.9


# --------------------------------------------------------------------------------- water-filling


@quick
@given(st.integers(2, 12), st.integers(0, 1000), st.floats(1e-4, 1e3))
def test_directions_that_are_not_worth_the_noise_are_left_out(p, seed, noise):
    rng = np.random.default_rng(seed)
    truth = drawn_moments(rng, p)
    found = again(rng, start(p, noise=noise), truth, TINY, noise)
    assert 1 <= len(found.variances) <= p
    assert relative(found, truth, found.variances) == pytest.approx(
        np.eye(len(found.variances)), abs=1e-5
    )
    assert found.variances.sum() == pytest.approx(1.0)
    if noise > 100.0:
        assert len(found.variances) < p


@pytest.mark.parametrize("noise", [1e-6, 0.01, 0.1, 1.0])
def test_uncorrelated_functions_get_the_shares_of_water_filling(noise):
    prior = Prior(np.array([1.0, 0.3, 0.1, 0.03, 1e-9]))
    first = Coordinates.start(np.ones(5), np.ones(5), np.zeros(5, dtype=bool))
    gram = exact_gram(first, np.eye(5))
    found = first.again(Released(gram, (TINY,)), ROWS, prior, noise)
    expected = water_filling(prior.variances, noise)
    assert np.sort(found.variances) == pytest.approx(np.sort(expected[expected > 0]), rel=1e-5)
    # A function that is left out has no part in any coordinate.
    squares = np.square(found.matrix).sum(axis=1)
    assert squares == pytest.approx(expected, abs=1e-6)


def test_lines_and_bends_that_are_left_out_are_not_counted():
    prior = Prior(np.array([1.0, 0.1, 1e-12, 0.1, 1e-12]))
    is_bend = np.array([False, True, False, False, True])
    first = Coordinates.start(np.ones(5), np.ones(5), is_bend)
    assert first.before == 3
    found = first.again(Released(exact_gram(first, np.eye(5)), (TINY,)), ROWS, prior, 1e-4)
    assert (found.before, len(found.variances)) == (2, 3)
    assert not found.matrix[is_bend, :2].any()
    assert found.matrix[1, 2] ** 2 == pytest.approx(found.variances[2])


# ------------------------------------------------------------------------------------ with noise


@pytest.mark.parametrize("p", [40, 100])
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_noise_alone_leaves_functions_as_they_are(p, share):
    """Inverting the noisy matrix would make directions of variance up to 1 / (1 - share)."""
    rng = np.random.default_rng(0)
    first = start(p)
    for _ in range(5):
        found = again(rng, first, np.eye(p), edge(first, share))
        values = np.linalg.eigvalsh(relative(found, np.eye(p), found.variances))
        assert len(values) == p
        # The diagonal shows more: single mean squares are off by a few of their own deviations.
        off = 5.0 * share / math.sqrt(2.0 * p)
        assert values.min() > 1.0 / (1.0 + off)
        assert values.max() < 1.0 / (1.0 - off)
        # What is hidden is half of the noise's norm, and steps are shorter by as much.
        hidden = found.slack / found.variances / (share / 2.0)
        assert hidden.mean() == pytest.approx(1.0, abs=0.05)
        assert hidden.min() > 1.0 / (1.0 + off)
        assert hidden.max() < 1.0 / (1.0 - off)
        assert np.linalg.eigvalsh(relative(found, np.eye(p), found.steps)).max() < 1.05
        assert found.moments == pytest.approx(np.eye(p), abs=off)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_directions_that_noise_hides_are_covered_by_slack(share):
    """One with 0.9 of the variance that would show: it is not seen, and steps do not overshoot."""
    rng = np.random.default_rng(1)
    p = 60
    direction = rng.normal(size=p)
    direction /= np.linalg.norm(direction)
    truth = np.eye(p) + 0.9 * share / 2.0 * np.outer(direction, direction)
    first = start(p)
    for _ in range(5):
        found = again(rng, first, truth, edge(first, share))
        assert np.linalg.eigvalsh(relative(found, truth, found.steps)).max() < 1.2
        along = direction @ found.moments @ direction
        assert along < 1.0 + 0.25 * share


def test_a_direction_beyond_the_noise_is_seen():
    rng = np.random.default_rng(2)
    p = 60
    direction = rng.normal(size=p)
    direction /= np.linalg.norm(direction)
    truth = np.eye(p) + 5.0 * np.outer(direction, direction)
    first = start(p)
    found = again(rng, first, truth, edge(first, 0.5))
    assert direction @ found.moments @ direction == pytest.approx(6.0, rel=0.1)
    values = np.linalg.eigvalsh(relative(found, truth, found.variances))
    assert values.max() < 1.5
    assert values.min() > 0.6


@quick
@given(st.integers(2, 10), st.integers(0, 1000), st.floats(0.5, 20.0))
def test_a_second_gram_corrects_what_noise_did_to_the_first(p, seed, sigma):
    rng = np.random.default_rng(seed)
    truth, is_bend = drawn_moments(rng, p), drawn_bends(rng, p)
    first = again(rng, start(p, is_bend), truth, sigma)
    second = again(rng, first, truth, TINY)
    assert len(second.variances) == p
    assert relative(second, truth, second.variances) == pytest.approx(np.eye(p), abs=1e-5)
    assert second.left == pytest.approx(np.zeros((p, p)), abs=1e-5)
    assert second.moments == pytest.approx(truth, abs=1e-5)


def test_a_second_gram_with_noise_sees_what_that_of_the_first_hid():
    """Two columns that are nearly the same: their difference has little variance."""
    rng = np.random.default_rng(3)
    p, wins = 8, 0
    truth = np.eye(p)
    truth[1, 2] = truth[2, 1] = 0.99
    for _ in range(50):
        first = start(p)
        sigma = edge(first, 0.2)
        one = again(rng, first, truth, sigma)
        two = again(rng, one, truth, sigma)
        least = [np.linalg.eigvalsh(relative(each, truth, each.steps)).min() for each in (one, two)]
        wins += least[1] > 2.0 * least[0]
    assert wins >= 45


def largest(rng, p, sigma):
    """Return the largest eigenvalue of what a step moves, after two X'X; below two, they converge.

    And the least of what a step is said to leave.
    """
    truth, first = drawn_moments(rng, p), start(p, drawn_bends(rng, p))
    found = again(rng, again(rng, first, truth, sigma), truth, sigma)
    values = np.linalg.eigvalsh(relative(found, truth, found.steps))
    return values.max(), np.linalg.eigvalsh(found.left).min()


@pytest.mark.parametrize(("sigma", "most"), [(0.1, 0.0), (0.5, 0.0), (2.0, 0.0), (20.0, 0.04)])
def test_steps_hardly_ever_overshoot(sigma, most):
    """Not even if the noise is as large as all variances."""
    rng = np.random.default_rng(4)
    found, left = np.transpose([largest(rng, int(rng.integers(2, 11)), sigma) for _ in range(300)])
    assert np.mean(found >= 2.0) <= most
    assert found.max() < 3.0
    assert left.min() > -1e-9


@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 0.1, 1.0, 10.0])
def test_coordinates_that_are_sure_are_white_to_a_few_percent(sigma):
    """Then X'X is not released again, and steps converge without it."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        p = int(rng.integers(2, 9))
        truth = drawn_moments(rng, p)
        found = again(rng, start(p), truth, sigma)
        if found.is_sure:
            # The noise in a direction is about twice the slack.
            off = relative(found, truth, found.variances) - np.eye(p)
            assert np.linalg.norm(off, 2) < 0.1
        assert found.is_sure == bool(np.all(found.slack < 0.02 * found.variances))
        if sigma <= 1e-3:
            assert found.is_sure
        if sigma == 10.0:
            assert not found.is_sure


@quick
@given(st.integers(1, 8), st.integers(0, 1000), st.floats(1e-3, 1e6), st.floats(-1e6, 1e6))
def test_any_released_matrix_gives_usable_coordinates(p, seed, sigma, size):
    """Also one that no rows have: the noise may do anything."""
    rng = np.random.default_rng(seed)
    first = start(p, drawn_bends(rng, p))
    gram = Released(noisy(rng, size * np.eye(p), sigma), (sigma,))
    found = first.again(gram, ROWS, prior_of(p), CHEAP)
    assert np.isfinite(found.matrix).all()
    assert np.isfinite(found.moments).all()
    assert np.all(found.variances > 0.0)
    assert np.all(found.slack > 0.0)
    assert 0.0 < found.bound < math.inf
    for values in (np.linalg.eigvalsh(found.known), np.linalg.eigvalsh(found.left)):
        assert values.min() > -1e-9
        assert values.max() < 1.0 + 1e-9


# ------------------------------------------------------------------------------ lengths of rows


def test_a_wider_bound_stays_wider():
    rng = np.random.default_rng(6)
    truth = drawn_moments(rng, 5)
    found = again(rng, start(5), truth, TINY)
    wider = found.wider(500.0)
    assert 1.0 < wider.wide < 8.0
    assert wider.wide == wide_room(5, 500.0)
    assert wider.bound == pytest.approx(found.bound * wider.wide)
    # Neither a second call nor another X'X changes it.
    assert wider.wider(500.0).bound == pytest.approx(wider.bound)
    assert again(rng, wider, truth, TINY).bound == pytest.approx(wider.wide * room(5))


def test_functions_that_are_lost_in_the_noise_do_not_disturb_the_others():
    """Their products with others are noise, and relative to their own size a multiple of it."""
    rng = np.random.default_rng(0)
    expected = np.array([0.5, 0.5, 1e-6, 1e-6])
    for _ in range(200):
        noise = rng.normal(0.0, 0.05, (4, 4))
        noise = (noise + noise.T) / np.sqrt(2.0)
        seen = Seen.of(np.diag(expected) + noise, 0.05, expected, 2)
        relative = seen.moments / np.sqrt(np.outer(expected, expected))
        assert np.abs(relative - np.eye(4)).max() < 1.0
        for white, _ in seen.whitened(expected, np.zeros((2, 0)))[0]:
            true = white.T @ (expected[:, None] * white)
            assert np.linalg.eigvalsh(true).max() < 2.0
