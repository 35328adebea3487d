"""Bounds from error rates: against exact binomials, the Gaussian trade-off, and other packages."""

import numpy as np
import pytest
from scipy import stats

from dpfit.accounting import gdp_delta, gdp_epsilon
from dpfit.audit.bounds import epsilon_of_mu, lower_epsilon, lower_mu, upper_rate
from dpfit.audit.distinguish import _best, _Table, distinguish

CASES = [(0, 50), (3, 50), (25, 50), (49, 50), (1, 2000), (700, 2000)]
COUNTS = [(10, 40, 500, 500), (0, 0, 200, 200), (3, 250, 500, 500), (100, 5, 1000, 1000)]


@pytest.mark.parametrize(("errors", "trials"), CASES)
@pytest.mark.parametrize("risk", [0.05, 2.5e-4])
def test_the_limit_is_where_so_few_errors_become_improbable(errors, trials, risk):
    limit = float(upper_rate(errors, trials, risk))
    assert stats.binom.cdf(errors, trials, limit) == pytest.approx(risk, rel=1e-9)


def test_the_limit_is_one_if_all_trials_went_wrong():
    assert upper_rate(7, 7, 0.01) == 1.0


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [0.001, 0.3, 0.9])
def test_errors_of_the_best_test_give_mu_back(mu, alpha):
    beta = stats.norm.cdf(stats.norm.ppf(1.0 - alpha) - mu)
    assert float(lower_mu(alpha, beta)) == pytest.approx(mu, rel=1e-9)
    # For mu-GDP, no test refutes the epsilon that mu implies.
    for delta in (1e-6, 0.01):
        assert float(lower_epsilon(alpha, beta, delta)) <= gdp_epsilon(mu, delta) * (1 + 1e-12)


def test_the_best_threshold_attains_epsilon():
    mu, epsilon = 1.0, 2.0
    delta = gdp_delta(mu, epsilon)
    threshold = epsilon / mu + mu / 2
    alpha, beta = stats.norm.sf(threshold), stats.norm.cdf(threshold - mu)
    assert float(lower_epsilon(alpha, beta, delta)) == pytest.approx(epsilon, rel=1e-6)


def test_a_test_that_is_always_wrong_shows_nothing():
    for rates in ((1.0, 1.0), (0.5, 0.5), (1.0, 0.0), (0.9, 0.6)):
        assert lower_mu(*rates) == 0.0
        assert lower_epsilon(*rates, 1e-6) == 0.0


def test_epsilon_of_mu():
    assert epsilon_of_mu(0.0, 1e-6) == 0.0
    assert epsilon_of_mu(1.0, 0.0) == np.inf
    assert epsilon_of_mu(1.0, 1e-6) == gdp_epsilon(1.0, 1e-6)


@pytest.mark.parametrize(("positives", "negatives", "trials", "others"), COUNTS)
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01])
def test_privacy_estimates_agrees(positives, negatives, trials, others, delta):
    """The package of Zanella-Béguelin et al. 2023, with its Clopper–Pearson method."""
    package = pytest.importorskip(
        "privacy_estimates", reason="privacy-estimates is not installed: pip install --group test"
    )
    count = package.AttackResults(
        FP=positives, FN=negatives, TP=others - negatives, TN=trials - positives
    )
    theirs = package.compute_eps_lo(count, delta=delta, alpha=0.01, method="beta")
    rates = upper_rate(positives, trials, 0.005), upper_rate(negatives, others, 0.005)
    assert float(lower_epsilon(*rates, delta)) == pytest.approx(max(theirs, 0.0), rel=1e-6)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01])
def test_jax_privacy_agrees(delta):
    auditing = pytest.importorskip(
        "jax_privacy.auditing", reason="jax-privacy is too large to install for every test run"
    )
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=400), 2.0 + rng.normal(size=400)
    auditor = auditing.CanaryScoreAuditor(second, first)
    theirs = auditor.epsilon_clopper_pearson(
        0.01, delta, one_sided=False, threshold_strategy=auditing.Explicit(1.0)
    )
    rates = (
        upper_rate((first >= 1.0).sum(), 400, 0.005),
        upper_rate((second < 1.0).sum(), 400, 0.005),
    )
    assert float(lower_epsilon(*rates, delta)) == pytest.approx(theirs, rel=1e-9)


def gaussian(rng, mu, fits, outputs=3):
    first, second = rng.standard_normal((2, fits, outputs))
    return first, second + np.array([mu, *[0.0] * (outputs - 1)])


AUDITS, CONFIDENCE = 300, 0.9
NAMES = ["a", "b", "c"]


def test_false_alarms_are_as_rare_as_they_should_be():
    """At most one audit in ten may be wrong.

    The test fails by chance with a probability of 1e-6. With small samples and the best threshold
    of the same sample, half of all audits would be wrong.
    """
    rng = np.random.default_rng()
    alarms = 0
    for _ in range(AUDITS):
        found = distinguish(*gaussian(rng, 1.0, 64), NAMES, delta=1e-6, risk=1.0 - CONFIDENCE)
        epsilon = gdp_epsilon(1.0, 1e-6)
        alarms += found.mu.value > 1.0 or found.epsilon.value > epsilon
    assert alarms <= stats.binom.ppf(1.0 - 1e-6, AUDITS, 1.0 - CONFIDENCE)


def test_bounds_approach_mu():
    rng = np.random.default_rng()
    found = distinguish(*gaussian(rng, 2.0, 8000), NAMES, delta=1e-6, risk=1e-3)
    # On average 1.83; 1.54 was the least of 200.
    assert 1.3 < found.mu.value < 2.0
    assert found.mu.trials == 4800
    # Ranks of normal outputs show as much.
    assert found.mu.score in ("a", "linear combination", "linear combination of ranks")


def test_thresholds_are_not_lucky_ones():
    """Those of the best bound have a standard deviation of 0.6, and are often useless."""
    table, found = _Table(1200, 2.5e-4), []
    for seed in range(100):
        scores = np.random.default_rng(seed).standard_normal((2, 1200))
        scores[1] += 1.0
        best = _best(scores, table, 1e-6)
        found.append(best["mu"][1])
        # A threshold between two samples that do not overlap is kept.
        scores[1] += 1e6
        assert 1e3 < _best(scores, table, 1e-6)["epsilon"][1] < 1e6
    assert np.std(found) < 0.4
    assert abs(np.mean(found) - 0.5) < 0.1


def test_noise_that_cancels_in_a_combination_is_found():
    rng = np.random.default_rng()
    noise = rng.standard_normal((2, 400, 1))
    first = noise[0] * [1.0, 1.0]
    second = noise[1] * [1.0, 1.0] + [0.0, 1e-3]
    found = distinguish(first, second, NAMES[:2], delta=1e-6, risk=1e-3)
    assert found.mu.score == "linear combination"
    assert found.mu.false_positives == found.mu.false_negatives == 0


def test_a_change_of_spread_is_found():
    rng = np.random.default_rng()
    first, second = rng.standard_normal((2, 4000, 1))
    found = distinguish(first, 20.0 * second, NAMES[:1], delta=1e-6, risk=1e-3)
    assert found.mu.score == "distance of a from its median"
    assert found.mu.value > 2.0


def test_values_that_are_not_finite_are_outputs_too():
    first, second = np.full((64, 1), np.nan), np.zeros((64, 1))
    for other in (second, np.full((64, 1), np.inf)):
        found = distinguish(first, other, NAMES[:1], delta=1e-6, risk=1e-3)
        assert found.mu.false_positives == found.mu.false_negatives == 0
