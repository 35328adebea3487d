"""The law of the noise that stays in the mean of the last rounds.

Rows are left out: the gradient is that of a known X'X with known noise. Everything is linear then:
the covariance follows from what a push in each round does to the mean, and 2,000 simulated fits,
whitened by the covariance that is claimed, have squares that are χ² in every direction. Each of
their 9 directions has false alarms of 1e-9, for any seed; the seed is fixed.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpfit.engine.rounds import Boosting
from dpfit.release import Released

RUNS = 2000
ROUNDS, WARM_UP, AVERAGED = 14, 4, 9
FALSE_ALARMS = 1e-9
GRAM = np.array(
    [
        [90.0, 20.0, -5.0, 8.0, 10.0],
        [20.0, 60.0, 12.0, 0.0, -15.0],
        [-5.0, 12.0, 40.0, 6.0, 3.0],
        [8.0, 0.0, 6.0, 25.0, 2.0],
        [10.0, -15.0, 3.0, 2.0, 300.0],
    ]
)
TRUTH = np.array([5.0, -8.0, 6.0, 4.0, 3.0])
# So little noise in X'X that it is known.
KNOWN = Released(GRAM, (1e-12,))


def normal(rng):
    """Yield noise for one round after the other."""
    while True:
        yield rng.normal(size=5)


def simulate(noises, sigmas, *, held_back=None, directions=None, restricted=None, truth=TRUTH):
    """Boost once, with noises times these standard deviations; return the mean."""
    rounds = iter(sigmas)

    def gradient(theta):
        sigma = next(rounds)
        noise = 0.0 if noises is None else sigma * next(noises)
        return Released(GRAM @ (truth - theta) + noise, (sigma,))

    engine = Boosting(KNOWN, np.eye(5) if directions is None else directions, held_back)
    for _ in range(WARM_UP):
        engine.round(gradient)
    if restricted is not None:
        engine.restrict(restricted)
    for _ in range(ROUNDS - WARM_UP - AVERAGED):
        engine.round(gradient)
    return engine.average(gradient, AVERAGED, variance=0.0)


def whitened(rng, **options):
    """Return the errors of many means, in units of the covariance that is claimed for them."""
    still = simulate(None, **options)
    means = np.array([simulate(normal(rng), **options).theta for _ in range(RUNS)])
    errors = (means - still.theta) @ still.directions
    # What is outside the directions does not move.
    np.testing.assert_allclose(means, still.theta + errors @ still.directions.T, atol=1e-9)
    return errors @ np.linalg.inv(np.linalg.cholesky(still.noise)).T


def has_covariance_one(values):
    """Whether squares are χ² along the axes and between any two of them."""
    width = values.shape[1]
    directions = [*np.eye(width)]
    for i, j in itertools.combinations(range(width), 2):
        directions += [
            (np.eye(width)[i] + sign * np.eye(width)[j]) / math.sqrt(2) for sign in (1, -1)
        ]
    for direction in directions:
        total = float(np.square(values @ direction).sum())
        less, more = stats.chi2.cdf(total, len(values)), stats.chi2.sf(total, len(values))
        if min(less, more) < FALSE_ALARMS / 2:
            return False
    return True


EQUAL = [2.0] * ROUNDS
# The threshold, and with it the noise, changes after the first rounds.
CHANGING = [6.0] * WARM_UP + [1.5] * (ROUNDS - WARM_UP)
SLOW = np.diag([400.0, 50.0, 90.0, 200.0, 300.0])
LINES = np.linalg.qr(np.array([[1.0, 0, 0], [2, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]]))[0]
OTHERS = np.linalg.qr(np.array([[1.0, 0, 0], [0, 0, 0], [0, 1, 0], [0, -3, 0], [0, 0, 1]]))[0]
CASES = {
    "at once": {"sigmas": EQUAL},
    "slowly": {"sigmas": EQUAL, "held_back": SLOW},
    "lines": {"sigmas": CHANGING, "directions": LINES, "held_back": SLOW},
    "other noise later": {"sigmas": CHANGING, "held_back": SLOW},
    "other lines later": {
        "sigmas": CHANGING,
        "directions": LINES,
        "held_back": SLOW,
        "restricted": OTHERS,
    },
    "fewer lines later": {"sigmas": CHANGING, "held_back": SLOW, "restricted": LINES},
}


def covariance(**options):
    """Return the covariance of the mean, from what a small push in each round does to it."""
    still = simulate(None, **options)
    total = np.zeros((5, 5))
    for place, push in itertools.product(range(ROUNDS), 1e-3 * np.eye(5)):
        noises = (push * (place == round) for round in range(ROUNDS))
        moved = (simulate(noises, **options).theta - still.theta) / 1e-3
        total += np.outer(moved, moved)
    return still.directions.T @ total @ still.directions, still.noise


@pytest.mark.parametrize("name", CASES)
def test_the_covariance_is_what_pushes_add_up_to(name):
    found, claimed = covariance(**CASES[name])
    np.testing.assert_allclose(claimed, found, rtol=1e-3, atol=1e-4 * np.abs(found).max())


def test_the_noise_of_the_mean_is_what_is_claimed():
    values = whitened(np.random.default_rng(0), **CASES["other lines later"])
    assert has_covariance_one(values)
    # It would see a covariance that is a third too small, or too large.
    assert not has_covariance_one(values * math.sqrt(1.35))
    assert not has_covariance_one(values / math.sqrt(1.35))


def test_the_mean_converges_to_the_truth():
    np.testing.assert_allclose(simulate(None, EQUAL).theta, TRUTH, rtol=1e-4)
    # Held back, a direction is behind by a power of its decay.
    np.testing.assert_allclose(simulate(None, EQUAL, held_back=SLOW).theta, TRUTH, atol=2.0)


def test_averaging_independent_rounds_is_worth_their_number():
    """X'X is known, so every round is its own estimate: nine have a ninth of the variance."""
    found = simulate(None, sigmas=EQUAL)
    single = 4.0 * np.linalg.inv(GRAM) @ np.linalg.inv(GRAM)
    np.testing.assert_allclose(found.noise, single / AVERAGED, rtol=1e-6, atol=1e-12)


def test_errors_of_the_rows_pass_as_least_squares_has_them():
    found = simulate(None, sigmas=EQUAL)
    np.testing.assert_allclose(found.sampling, np.linalg.inv(GRAM), rtol=1e-6, atol=1e-12)
    # What has not converged has seen less of the rows' errors, too.
    slow = simulate(None, sigmas=EQUAL, held_back=SLOW)
    assert np.linalg.eigvalsh(found.sampling - slow.sampling).min() > -1e-9


def test_slopes_that_are_noise_are_made_small():
    """Without a signal, James and Stein's factor is near zero, and the constant is found again."""
    truth = np.array([0.0, 0.0, 0.0, 0.0, 3.0])
    rng = np.random.default_rng(1)
    sigmas = [40.0] * ROUNDS
    found = [simulate(normal(rng), sigmas, truth=truth) for _ in range(400)]
    slopes = np.array([mean.theta[:-1] for mean in found])
    plain = 40.0**2 / AVERAGED * np.diag(np.linalg.inv(GRAM) @ np.linalg.inv(GRAM))[:-1]
    assert (np.mean(slopes**2, axis=0) < 0.35 * plain).all()
    constants = np.array([mean.theta[-1] for mean in found])
    claimed = np.mean([mean.noise[-1, -1] for mean in found])
    assert abs(constants.mean() - 3.0) < 6 * math.sqrt(claimed / 400)
    assert 0.7 < np.mean(np.square(constants - 3.0)) / claimed < 1.5


def test_slopes_that_are_signal_are_left_alone():
    rng = np.random.default_rng(2)
    found = np.mean([simulate(normal(rng), EQUAL).theta for _ in range(50)], axis=0)
    np.testing.assert_allclose(found, TRUTH, rtol=0.01, atol=0.02)


def test_a_wild_gradient_stays_finite():
    def gradient(theta):
        return Released(np.full(5, 1e308), (1.0,))

    engine = Boosting(KNOWN, np.eye(5))
    with np.errstate(all="ignore"):
        mean = engine.average(gradient, AVERAGED, variance=0.0)
    assert np.isfinite(mean.theta).all()
