"""The counter-examples of docs/explanation/theory.md: printed formulas fail, and ours hold."""

import math

import numpy as np
import pytest

from dpfit.accounting import compose
from dpfit.theory import (
    contraction,
    huber_fixed_point,
    infinite_sample_bound,
    infinite_sample_errors,
    one_round_lower_bound,
    two_round_error_order,
    warm_up_rounds,
)


def phi(x):
    """Return the normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def test_clipping_operator():
    def printed(a, tau):
        return a * min(1.0, abs(a) / tau)

    assert printed(5.0, 1.0) == 5.0
    assert printed(0.5, 1.0) == 0.25


def test_interval_operator():
    def printed(x, a, b):
        return min(max(x, b), a)

    assert all(printed(x, -1.0, 1.0) == -1.0 for x in (-2.0, -0.5, 0.0, 0.5, 2.0))


def test_the_privacy_parameter_is_the_root():
    # One round with rho = 1/4 is 1/2-GDP, not 1/4-GDP.
    n, tau, rho = 100, 1.0, 0.25
    deviation = math.sqrt(4 * tau**2 / (n**2 * rho))
    assert compose(2 * tau / n / deviation) == pytest.approx(0.5)


def test_the_lemmas_alone_do_not_give_the_proposition():
    # Half a warm-up step above tau, one round: what the lemma promises, what the proposition
    # claims, and what happens.
    tau = 3.0
    step = (phi(2 * tau) - 0.5) * tau
    mean = tau + 0.5 * step
    promised = mean - step
    claimed = infinite_sample_bound(mean, tau, 1)
    assert warm_up_rounds(mean, tau) == pytest.approx(0.5)
    assert promised > 1.05 * claimed
    assert infinite_sample_errors(mean, tau, 1)[1] < claimed


def test_the_chain_that_closes_the_gap():
    slack = 1 + 1e-9
    for tau in np.geomspace(1e-6, 30.0, 300).tolist():
        kappa = phi(tau) - 0.5
        gain = (tau - infinite_sample_errors(tau, tau, 1)[1]) / tau
        assert gain * slack >= 1.5 * kappa
        assert 2 * math.log(2.0) * kappa * slack >= -math.log(contraction(tau))
        assert gain * slack >= phi(2 * tau) - 0.5


def test_exceeding_the_warm_up_is_not_enough():
    assert warm_up_rounds(1.0, 1.0) == 0.0
    assert infinite_sample_errors(1.0, 1.0, 1)[1] > 0.39


def test_the_lower_bound_fails_for_a_fixed_mean():
    # Rows of +1 and -1 have mean 0 and are 1-subgaussian; no row is clipped.
    n, rho, tau, bound = 1000, 1.0, 10.0, 1000.0
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(300):
        rows = rng.choice([-1.0, 1.0], n)
        estimate = (rows.sum() + tau * rng.normal()) / (n + rng.normal())
        errors.append((estimate - rows.mean()) ** 2)
    assert max(errors) < 0.1
    assert one_round_lower_bound(tau, bound, 0.0, n, rho) > 2e5


def test_the_second_round_s_algebra():
    rng = np.random.default_rng(4)
    rows = rng.normal(50.0, 1.0, 30)
    n, average = rows.size, rows.mean()
    z_1, z_2, z_3 = rng.normal(size=3)
    first = (rows.sum() + z_2) / (n + z_1)
    second = first + ((rows - first).sum() + z_3) / (n + z_1)
    ours = (z_1 * (first - average) + z_3) / (n + z_1)
    printed = (z_1 * (first - average) + z_3 + 2 * z_1 * average) / (n + z_1)
    assert second - average == pytest.approx(ours, rel=1e-9)
    assert abs(second - average - printed) > 1.0


def least_two_round_error(signal):
    """Return the least error over tau_2 on rows equal to 0, times n**4 rho**2 / bound**2.

    With tau_2 = c bound / (n sqrt(rho)) the second noise contributes c**2, and clipping the first
    error, a normal variable, contributes n**2 rho times twice its squared excess over c.
    """
    c = np.linspace(0.01, 12.0, 4000)
    upper_tail = np.array([phi(-x) for x in c])
    density = np.exp(-0.5 * c**2) / math.sqrt(2 * math.pi)
    excess = 2 * ((1 + c**2) * upper_tail - c * density)
    return (c**2 + signal**2 * excess).min()


def test_the_bound_term_needs_the_logarithm():
    found = {signal: least_two_round_error(signal) for signal in (1e1, 1e2, 1e3, 1e4)}
    assert found[1e4] > 28.0
    assert 5.0 < found[1e1] < 5.3
    growth = [value / math.log(signal**2) for signal, value in found.items()]
    assert 1.0 < min(growth) < max(growth) < 2.0


def test_the_printed_order_can_be_negative():
    n, rho, sigma, bound, mean = 10**4, 1e-5, 1.0, 1.0, 0.0
    printed = (sigma**2 * math.log(n * rho) + mean**2) / (n**2 * rho)
    printed += (bound**2 + mean**2) / (n**4 * rho**2)
    assert printed < 0.0
    assert two_round_error_order(bound, sigma, n, rho) > 0.0


def contaminated(rng, inliers, outliers):
    """Return rows that are +1 or -1, mean 0, and outliers at 100."""
    return np.append(rng.choice([-1.0, 1.0], inliers), np.full(outliers, 100.0))


def mean_squared(inliers, outliers, tau, seed):
    """Return the mean squared Huber fixed point over many contaminated tables."""
    rng = np.random.default_rng(seed)
    found = [huber_fixed_point(contaminated(rng, inliers, outliers), tau) for _ in range(100)]
    return np.mean(np.square(found))


def test_the_outlier_bound_needs_a_larger_tau():
    inliers, outliers = 1000, 950

    def printed_bound(tau):
        return 2 * outliers**2 * tau**2 / inliers**2 + 2 / inliers

    # 2 sigma < tau holds, and yet the bound fails: inliers are clipped at the fixed point.
    assert mean_squared(inliers, outliers, 2.01, 8) > 1.05 * printed_bound(2.01)
    enough = 2 * inliers / (inliers - outliers)
    assert mean_squared(inliers, outliers, enough, 9) <= printed_bound(enough)


def test_the_variance_of_the_contaminated_mean():
    # Rows +1 and -1 have variance sigma**2, not sigma**2 / 2.
    rng = np.random.default_rng(10)
    means = rng.choice([-1.0, 1.0], (4000, 50)).mean(axis=1)
    assert np.mean(means**2) > 0.8 / 50
