"""The propositions on boosting the mean: on drawn parameters and in simulation."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.accounting import compose
from dpfit.theory import (
    clipped_mean,
    contraction,
    finite_sample_bound,
    infinite_sample_bound,
    infinite_sample_errors,
    infinite_sample_path,
    suggested_rounds,
    warm_up_rounds,
)

SLACK = 1 + 1e-9
TAU = st.floats(math.log(1e-2), math.log(30.0)).map(math.exp)
# Smaller numbers lose their digits.
MEAN = st.floats(-60.0, 60.0).filter(lambda mean: mean == 0.0 or abs(mean) > 1e-200)
ROUNDS = st.integers(0, 150)

quick = settings(max_examples=60, deadline=None)


def phi(x):
    """Return the normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def warm_up_step(tau):
    """Return what the warm-up lemma takes off a large error in every round."""
    return (phi(2 * tau) - 0.5) * tau


@quick
@given(MEAN, TAU, ROUNDS)
def test_each_round_obeys_its_lemma(mean, tau, rounds):
    errors = np.abs(infinite_sample_errors(mean, tau, rounds))
    for before, after in pairwise(errors):
        if before <= tau:
            assert after <= contraction(tau) * before * SLACK
        else:
            assert after <= (before - warm_up_step(tau)) * SLACK


@quick
@given(TAU, st.floats(0.0, 1.0))
def test_the_sharper_factor(tau, share):
    error = share * tau
    after = abs(infinite_sample_errors(error, tau, 1)[1])
    assert after <= (1 - 1.5 * (phi(tau) - 0.5)) * error * SLACK


@quick
@given(MEAN, TAU, ROUNDS)
def test_the_infinite_sample_proposition(mean, tau, rounds):
    bound = infinite_sample_bound(mean, tau, rounds)
    assert abs(infinite_sample_errors(mean, tau, rounds)[-1]) <= bound * SLACK
    assert not math.isnan(bound)
    assert math.isinf(bound) == (rounds <= warm_up_rounds(mean, tau))


@quick
@given(TAU, st.floats(0.0, 40.0), st.floats(0.0, 1.0))
def test_the_proposition_just_after_the_warm_up(tau, warm_up, share):
    # Here the bound is tightest and its exponent is a fraction of a round.
    mean = tau + math.floor(warm_up) * warm_up_step(tau) + share * warm_up_step(tau)
    rounds = math.floor(warm_up_rounds(mean, tau)) + 1
    errors = np.abs(infinite_sample_errors(mean, tau, rounds + 3))
    for j in range(rounds, rounds + 4):
        assert errors[j] <= infinite_sample_bound(mean, tau, j) * SLACK


@quick
@given(MEAN, TAU, ROUNDS)
def test_the_path_approaches_the_mean_from_one_side(mean, tau, rounds):
    path = infinite_sample_path(mean, tau, rounds)
    errors = infinite_sample_errors(mean, tau, rounds)
    assert path.shape == errors.shape == (rounds + 1,)
    assert path[0] == 0.0
    assert errors[0] == mean
    assert (np.diff(np.abs(path)) >= 0.0).all()
    assert (np.diff(np.abs(errors)) <= 0.0).all()
    assert (errors * mean >= 0.0).all()
    np.testing.assert_allclose(path + errors, mean, rtol=1e-13, atol=1e-300)


def test_the_first_iterate_is_the_clipped_mean():
    assert infinite_sample_path(2.0, 0.7, 1)[1] == clipped_mean(2.0, 0.7)


@quick
@given(TAU)
def test_contraction(tau):
    assert contraction(tau) == pytest.approx(1.5 - phi(tau), rel=1e-14)
    assert 0.5 <= contraction(tau) < 1.0


@quick
@given(MEAN, st.floats(0.1, 5.0), ROUNDS)
def test_the_bound_is_the_paper_s(mean, tau, rounds):
    warm_up = max(0.0, abs(mean) - tau) / warm_up_step(tau)
    assert warm_up_rounds(mean, tau) == pytest.approx(warm_up, rel=1e-12)
    if rounds > warm_up * (1 + 1e-9):
        printed = tau * (1.5 - phi(tau)) ** (rounds - warm_up)
        assert infinite_sample_bound(mean, tau, rounds) == pytest.approx(printed, rel=1e-9)


def test_extreme_thresholds_give_no_nan():
    assert contraction(5e-324) == 1.0
    assert contraction(1e300) == 0.5
    assert warm_up_rounds(1.0, 5e-324) == math.inf
    assert infinite_sample_bound(1.0, 5e-324, 10) == math.inf
    assert infinite_sample_bound(0.0, 5e-324, 10) == 5e-324
    assert warm_up_rounds(1.7e308, 1e308) == pytest.approx(1.4)
    assert 0.0 < infinite_sample_bound(1e-9, 1e-12, 13 * 10**14) < 1e-12
    assert infinite_sample_bound(0.0, 1.0, 0) == math.inf


@quick
@given(st.integers(1, 10**9), TAU, st.floats(0.0, 60.0), st.floats(-1.0, 1.0))
def test_suggested_rounds_reach_one_nth_of_tau(n, tau, mean_bound, share):
    rounds = suggested_rounds(n, tau, mean_bound)
    assert infinite_sample_bound(share * mean_bound, tau, rounds) <= tau / n * SLACK
    fewer = rounds - 1
    assert infinite_sample_bound(mean_bound, tau, fewer) >= tau / n / SLACK
    if rounds < 2000:
        error = abs(infinite_sample_errors(share * mean_bound, tau, rounds)[-1])
        assert error <= tau / n * SLACK


def test_suggested_rounds_grow_with_the_logarithm():
    counts = [suggested_rounds(10**k, 1.0, 5.0) for k in range(1, 16)]
    steps = np.diff(counts)
    assert steps.max() - steps.min() <= 1


def one_table(rng, mean, tau, rounds, n, rho):
    """Return the output of Algorithm 3 on a fresh table."""
    rows = rng.normal(mean, 1.0, n)
    deviation = math.sqrt(4 * rounds * tau**2 / (n**2 * rho))
    estimate = 0.0
    for _ in range(rounds):
        estimate += np.clip(rows - estimate, -tau, tau).mean() + rng.normal(0.0, deviation)
    return estimate


def deviations(mean, tau, rounds, n, rho, tables=1000):
    """Return |muhat_R - theta_R| of many tables, and the margin for their average.

    The distance is a function of independent standard normals (n rows, R noises) with Lipschitz
    constant at most L = sqrt(R**2 / n + R sd**2): a round does not expand what it is given, adds
    rows with a total weight of norm at most 1/sqrt(n), and one noise. So the average of m
    independent distances exceeds or undercuts its mean by t with probability at most
    exp(-m t**2 / (2 L**2)) each (concentration of Gaussian measure); t is set for 1e-8.
    """
    rng = np.random.default_rng(20230303)
    target = infinite_sample_path(mean, tau, rounds)[-1]
    found = [abs(one_table(rng, mean, tau, rounds, n, rho) - target) for _ in range(tables)]
    lipschitz = math.sqrt(rounds**2 / n + rounds * 4 * rounds * tau**2 / (n**2 * rho))
    return np.array(found), lipschitz * math.sqrt(2 * math.log(1e8) / tables)


# Each case and each test below has a false-alarm rate of at most 1e-8; together below 1e-7.
@pytest.mark.parametrize(
    ("mean", "tau", "rounds", "n", "rho"),
    [
        (3.0, 1.0, 8, 200, 0.5),
        (-2.0, 0.5, 15, 100, 1.0),
        (0.0, 5.0, 1, 200, 1e8),  # hardly any noise: the sampling term alone
        (0.0, 5.0, 1, 50, 1e-4),  # hardly anything but noise
        (10.0, 2.0, 10, 400, 0.05),
        (0.5, 0.2, 4, 100, 1e4),
    ],
)
def test_the_finite_sample_bound_in_simulation(mean, tau, rounds, n, rho):
    found, margin = deviations(mean, tau, rounds, n, rho)
    assert found.mean() <= finite_sample_bound(rounds, tau, n, rho) + margin


def test_the_noise_term_is_exact_for_one_round():
    # E|A + Z| >= E|Z|, and the sampling term is 1/1000 of the bound. False-alarm rate 1e-8.
    found, margin = deviations(0.0, 5.0, 1, 50, 1e-8)
    assert found.mean() >= 0.999 * finite_sample_bound(1, 5.0, 50, 1e-8) - margin


def test_the_rows_are_needed_in_the_first_round_already():
    # The paper's last display has R - 1 sampling terms: none for R = 1. False-alarm rate 1e-8.
    found, margin = deviations(0.0, 5.0, 1, 200, 1e8)
    without = finite_sample_bound(1, 5.0, 200, 1e8) - 1.0 / math.sqrt(200)
    assert found.mean() - margin > 100 * without


def test_the_theorem_in_simulation():
    # tau/n for the bias plus the bound on the distance. False-alarm rate 1e-8.
    n, tau, rho, mean = 400, 1.0, 1.0, -1.7
    rounds = suggested_rounds(n, tau, mean_bound=2.0)
    found, margin = deviations(mean, tau, rounds, n, rho, tables=500)
    bias = abs(infinite_sample_errors(mean, tau, rounds)[-1])
    assert bias <= tau / n
    assert found.mean() + bias <= tau / n + finite_sample_bound(rounds, tau, n, rho) + margin


@quick
@given(st.integers(1, 1000), TAU, st.integers(1, 10**7), st.floats(1e-4, 1e4))
def test_the_finite_sample_bound_is_the_paper_s_order(rounds, tau, n, rho):
    bound = finite_sample_bound(rounds, tau, n, rho)
    order = rounds * tau / math.sqrt(n) + rounds**1.5 * tau / (n * math.sqrt(rho))
    assert bound <= 1.6 * order
    if tau <= 1.0:
        assert bound >= order * (1 - 1e-12)
    assert finite_sample_bound(0, tau, n, rho) == 0.0


@quick
@given(st.integers(1, 400), TAU, st.integers(1, 10**6), st.floats(1e-4, 1e4))
def test_algorithm_3_is_root_rho_gdp(rounds, tau, n, rho):
    # Replacing a row moves the clipped mean by at most 2 tau / n.
    deviation = math.sqrt(4 * rounds * tau**2 / (n**2 * rho))
    total = compose(*[2 * tau / n / deviation] * rounds)
    assert total == pytest.approx(math.sqrt(rho), rel=1e-9)
