"""One round against two: the bounds on exact errors, and the schemes in simulation."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.theory import (
    one_round_lower_bound,
    two_round_error_order,
    two_round_thresholds,
    two_round_upper_bound,
)

integrate = pytest.importorskip("scipy.integrate", reason="scipy integrates over the noise")

COUNT = st.integers(2, 10**5)
SIGMA = st.floats(math.log(1e-4), math.log(1.0)).map(math.exp)


def log_uniform(low, high):
    """Draw numbers whose logarithm is spread over a range."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def clip(value, tau):
    """Return the value of [-tau, tau] that is nearest."""
    return np.minimum(np.maximum(value, -tau), tau)


def one_round_error(value, tau, n, rho):
    """Return the mean squared error of one round on n rows equal to ``value``."""

    def integrand(z):
        count = max(1.0, n + z / math.sqrt(rho))
        bias = n * clip(value, tau) / count - value
        return (bias**2 + tau**2 / rho / count**2) * math.exp(-0.5 * z * z)

    kink = max((1 - n) * math.sqrt(rho), -12.0)
    ends = sorted({-12.0, kink, 0.5 * kink, 12.0})
    parts = [integrate.quad(integrand, a, b, limit=200)[0] for a, b in pairwise(ends)]
    return sum(parts) / math.sqrt(2 * math.pi)


@settings(max_examples=40, deadline=None)
@given(COUNT, log_uniform(2.0, 1e3), log_uniform(1e-2, 10.0), st.floats(-1.0, 1.0))
def test_the_lower_bound_is_met_by_equal_rows(n, signal, tau, mean):
    rho = (signal / n) ** 2 * (1 + 1e-12)
    lower = one_round_lower_bound(tau, 1.0, mean, n, rho)
    assert one_round_error(mean if tau >= 1.0 else 1.0, tau, n, rho) >= lower


@settings(max_examples=40, deadline=None)
@given(COUNT, log_uniform(2.0, 1e3), log_uniform(1e-2, 1e2), log_uniform(1e-2, 1e2))
def test_the_lower_bound_as_printed(n, signal, tau, bound):
    rho = (signal / n) ** 2 * (1 + 1e-12)
    mean = 0.3 * bound
    printed = (tau**2 + mean**2) / (18 * n**2 * rho) + 2 * max(bound - tau, 0) ** 2 / 9
    assert one_round_lower_bound(tau, bound, mean, n, rho) == pytest.approx(printed, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(COUNT, log_uniform(9.0, 1e6), log_uniform(1.0, 1e6), SIGMA)
def test_thresholds_have_the_order_of_the_paper(n, signal, bound, sigma):
    rho = (signal / n) ** 2 * (1 + 1e-12)
    tau_1, tau_2 = two_round_thresholds(bound, sigma, n, rho)
    order = max(bound / (n * math.sqrt(rho)), sigma) * math.sqrt(math.log(2 * n * signal**4))
    assert tau_1 == bound
    assert math.sqrt(2.0) * 0.999 * sigma * math.sqrt(math.log(2 * n * signal**4)) <= tau_2
    assert tau_2 <= (4 + 2 * math.sqrt(2.0)) * order * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(COUNT, log_uniform(9.0, 1e6), log_uniform(1.0, 1e6), SIGMA)
def test_the_upper_bound_has_the_stated_order(n, signal, bound, sigma):
    rho = (signal / n) ** 2 * (1 + 1e-12)
    order = two_round_error_order(bound, sigma, n, rho)
    assert order > 0.0
    assert order <= two_round_upper_bound(bound, sigma, n, rho) <= 250 * order


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(10, 10**5), log_uniform(9.0, 1e4), SIGMA, st.floats(-1.0, 1.0))
def test_the_upper_bound_on_equal_rows(n, signal, sigma, mean):
    # The expectation over the three noises, two of them by quadrature, without the last clipping.
    rho = (signal / n) ** 2 * (1 + 1e-12)
    tau_1, tau_2 = two_round_thresholds(1.0, sigma, n, rho)
    z_1, z_2 = (NODES[:, None] / math.sqrt(rho), tau_1 * NODES[None, :] / math.sqrt(rho))
    count = np.maximum(1.0, n + z_1)
    first = (n * mean + z_2) / count
    second = first + n * clip(mean - first, tau_2) / count
    error = (second - mean) ** 2 + tau_2**2 / rho / count**2
    weights = WEIGHTS[:, None] * WEIGHTS[None, :] * (np.abs(NODES) <= signal / 2)[:, None]
    # Left out is |Z_1| > n/2, which the bound charges with 4 bound**2 times its probability.
    assert (weights * error).sum() <= two_round_upper_bound(1.0, sigma, n, rho)


def simulate_two_rounds(rng, rows, bound, sigma, rho):
    """Return the two-round estimate, and whether a row was clipped on the way."""
    n = rows.size
    tau_1, tau_2 = two_round_thresholds(bound, sigma, n, rho)
    noise = rng.normal(0.0, 1.0 / math.sqrt(rho), 3)
    count = max(1.0, n + noise[0])
    first = (clip(rows, tau_1).sum() + tau_1 * noise[1]) / count
    residuals = rows - first
    second = first + (clip(residuals, tau_2).sum() + tau_2 * noise[2]) / count
    clipped = np.abs(rows).max() > tau_1 or np.abs(residuals).max() > tau_2
    return float(clip(second, bound)), bool(clipped)


@pytest.mark.parametrize("mean", [0.0, 700.0, 999.0])
def test_two_rounds_beat_the_best_single_round(mean):
    # On the event of the proof, which fails with probability 4 delta per table, the squared error
    # is at most (8/n**2) (e**2 Z_1**2 + Z_3**2), where e bounds the first round's error. So the
    # average over m tables is at most a sum of two chi-square averages, each at most q = 1 +
    # 2 sqrt(x/m) + 2 x/m times its mean but for a probability of exp(-x) (Laurent and Massart
    # 2000). With x = 18 the three cases raise a false alarm with probability below 1e-7.
    n, rho, bound, sigma, tables = 2000, 0.2, 1000.0, 1.0, 400
    delta = 1 / (n**4 * rho**2)
    assert 3 * (4 * tables * delta + 2 * math.exp(-18)) < 1e-7
    rng = np.random.default_rng(97)
    errors = []
    for _ in range(tables):
        rows = mean + sigma * rng.choice([-1.0, 1.0], n)
        estimate, clipped = simulate_two_rounds(rng, rows, bound, sigma, rho)
        assert not clipped
        errors.append((estimate - rows.mean()) ** 2)
    best = min(
        one_round_lower_bound(tau, bound, mean, n, rho) for tau in np.linspace(1.0, 1100.0, 5000)
    )
    _, tau_2 = two_round_thresholds(bound, sigma, n, rho)
    first_round = 4 * bound * math.sqrt(math.log(2 / delta)) / (n * math.sqrt(rho))
    q = 1 + 2 * math.sqrt(18 / tables) + 2 * 18 / tables
    assert 8 / (n**2 * rho) * (first_round**2 + tau_2**2) * q < best
    assert np.mean(errors) < best


def test_the_separation_grows_with_the_bound():
    n, rho, sigma = 10**5, 0.1, 1.0
    ratios = [
        one_round_lower_bound(bound, bound, 0.0, n, rho)
        / two_round_upper_bound(bound, sigma, n, rho)
        for bound in (1e1, 1e3, 1e4)
    ]
    assert ratios[0] < 1.0 < ratios[1] < ratios[2]


def test_a_single_round_pays_for_every_threshold_below_the_bound():
    lower = [one_round_lower_bound(10.0, 20.0, 0.0, n, 1.0) for n in (10**2, 10**4, 10**8)]
    assert min(lower) >= 2 / 9 * 10.0**2
