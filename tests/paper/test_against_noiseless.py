"""With a budget so large that noise vanishes, the algorithms are the paper's.

Each estimator is compared with a plain NumPy version, written from the paper: to quantisation
(rows are kept to 2^-15 of their bound, gradients to 2^-24), and, on the integers that the core
keeps, to rounding.
"""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from dpfit import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent
from dpfit.engine.solve import inverse
from dpfit.theory import huber_fixed_point

from ..core import oracle

MU = 1e12
ROW = 2.0**-15
"""The step of the grid of the rows, as a share of their bound."""
# Truncation takes half a step off every entry, on average, and entries are of the order of a
# quarter of the bound: a share of 2^-14 of what is estimated. The rest is for condition numbers.
QUANTISATION = 8 * ROW


def table(seed=0, rows=400, columns=3, scale=1.0, noise=0.1):
    """Return rows of which about a fifth are longer than `scale`."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * scale * 0.45
    y = X @ rng.normal(size=columns) / scale + 0.3 + noise * rng.normal(size=rows)
    assert 0.05 < np.mean(np.linalg.norm(X, axis=1) > scale) < 0.4
    return X, y


def clipped(X, bound):
    return X * np.minimum(1.0, bound / np.linalg.norm(X, axis=1, keepdims=True))


def design(X, bound, fit_intercept):
    """Clip rows; the constant, if there is one, has the size of the bound."""
    Z = clipped(X, bound)
    return np.column_stack([Z, np.full(len(Z), bound)]) if fit_intercept else Z


RATES = {"constant": lambda t: 1.0, "1/t": lambda t: 1.0 / t, "1/sqrt(t)": lambda t: t**-0.5}


def algorithm_1(Z, y, tau, n_rounds, rate, averaging=0.0, ridge=0.0):
    """Return theta after boosting without noise, or the mean of its last rounds."""
    gamma = np.linalg.inv(Z.T @ Z + ridge * np.eye(Z.shape[1]))
    theta, path = np.zeros(Z.shape[1]), []
    for t in range(1, n_rounds + 1):
        theta = theta + RATES[rate](t) * gamma @ (Z.T @ np.clip(y - Z @ theta, -tau, tau))
        path.append(theta)
    return np.mean(path[-max(1, math.ceil(averaging * n_rounds)) :], axis=0)


def coefficients(model):
    return np.append(model.coef_, model.intercept_)


def expected_coefficients(theta, bound, fit_intercept):
    return np.append(theta[:-1], theta[-1] * bound) if fit_intercept else np.append(theta, 0.0)


# ------------------------------------------------------------------------------------------ AdaSSP


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("x_bound", [1.0, 0.02, 50.0])
@pytest.mark.parametrize("y_bound", [10.0, 0.4])
def test_adassp_is_least_squares_on_clipped_rows(neighbors, fit_intercept, x_bound, y_bound):
    X, y = table(scale=x_bound)
    model = AdaSSP(
        mu=MU, x_bound=x_bound, y_bound=y_bound, neighbors=neighbors, fit_intercept=fit_intercept
    ).fit(X, y)
    least = LinearRegression(fit_intercept=fit_intercept)
    least.fit(clipped(X, x_bound), np.clip(y, -y_bound, y_bound))
    size = np.linalg.norm(least.coef_) * x_bound + abs(least.intercept_)
    assert np.abs(model.coef_ - least.coef_).max() * x_bound < QUANTISATION * size
    assert abs(model.intercept_ - least.intercept_) < QUANTISATION * size


def test_adassp_literal_is_ridge_regression():
    """The text taken at its word: the smallest eigenvalue itself is the ridge."""
    X, y = table(columns=2)
    X[:, 1] = 0.2 * X[:, 1] + 0.5 * X[:, 0]
    Z = clipped(X, 1.0)
    smallest = np.linalg.eigvalsh(Z.T @ Z)[0]
    model = AdaSSP(mu=MU, y_bound=10.0, ridge="literal").fit(X, y)
    # The eigenvalue is found to a thousandth of a row.
    expected = Ridge(alpha=smallest, fit_intercept=False).fit(Z, y).coef_
    np.testing.assert_allclose(model.coef_, expected, atol=4 * QUANTISATION)
    plain = LinearRegression(fit_intercept=False).fit(Z, y).coef_
    assert np.abs(model.coef_ - plain).max() > 0.01


@pytest.mark.parametrize("eigenvalue", [-3.0, 1.0, 4.0, 8.0, 100.0])
def test_the_ridge_is_what_the_eigenvalue_leaves_of_the_noise(eigenvalue):
    """The ridge is max(0, sqrt(2 d) sigma - max(0, noisy - 1.96 sigma_eigenvalue))."""
    X, y = table(columns=2)
    Z = clipped(X, 1.0)
    sigma, sigma_eigenvalue = 5.0, 1.5
    alpha = max(0.0, math.sqrt(4.0) * sigma - max(0.0, eigenvalue - 1.96 * sigma_eigenvalue))
    assert (alpha > 0) == (eigenvalue < 10)
    gamma = inverse(Z.T @ Z, sigma, (eigenvalue, sigma_eigenvalue), "adassp")
    expected = Ridge(alpha, fit_intercept=False, solver="cholesky")
    np.testing.assert_allclose(gamma @ (Z.T @ y), expected.fit(Z, y).coef_, rtol=1e-9)


def test_no_direction_that_noise_has_emptied_is_inverted():
    """Noise of either sign can leave eigenvalues near nought, or below, even with the ridge."""
    sigma = 5.0
    gram = np.diag([300.0, -12.0])
    gamma = inverse(gram, sigma, (0.0, 1.0), "adassp")
    np.testing.assert_allclose(np.linalg.eigvalsh(gamma), [1 / 310.0, 1 / (0.3 * 10.0)])


def test_adassp_is_the_first_round_of_boosting():
    X, y = table()
    single = AdaSSP(mu=MU, y_bound=0.5).fit(X, y)
    boosted = BoostedAdaSSP(mu=MU, tau=0.5, n_rounds=1).fit(X, y)
    np.testing.assert_array_equal(single.coef_, boosted.coef_)


# ----------------------------------------------------------------------------------- BoostedAdaSSP


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("x_bound", [1.0, 0.3, 20.0])
@pytest.mark.parametrize(("tau", "n_rounds", "averaging"), [(0.05, 25, 0.0), (0.3, 8, 0.5)])
def test_boosting_is_algorithm_1(rate, fit_intercept, x_bound, tau, n_rounds, averaging):
    X, y = table(seed=1, scale=x_bound)
    y[::7] += 2.0  # more than a threshold away, round after round
    model = BoostedAdaSSP(
        mu=MU,
        x_bound=x_bound,
        tau=tau,
        n_rounds=n_rounds,
        learning_rate=rate,
        averaging=averaging,
        fit_intercept=fit_intercept,
    ).fit(X, y)
    Z = design(X, x_bound, fit_intercept)
    theta = algorithm_1(Z, y, tau, n_rounds, rate, averaging)
    expected = expected_coefficients(theta, x_bound, fit_intercept)
    scale = np.append(np.full(X.shape[1], x_bound), 1.0)
    difference = np.abs(coefficients(model) - expected) * scale
    assert difference.max() < QUANTISATION * np.linalg.norm(expected * scale)
    # Clipping is at work, and so are the rounds: without either the answer is far away.
    for other in (algorithm_1(Z, y, 1e9, n_rounds, rate), algorithm_1(Z, y, tau, 1, rate)):
        assert np.linalg.norm(other - theta) > 0.05 * np.linalg.norm(theta)


@pytest.mark.parametrize("averaging", [0.0, 0.01, 0.3, 1.0])
def test_averaging_takes_the_last_share_of_the_rounds(averaging):
    X, y = table(seed=2)
    model = BoostedAdaSSP(mu=MU, tau=0.1, n_rounds=10, averaging=averaging).fit(X, y)
    expected = algorithm_1(clipped(X, 1.0), y, 0.1, 10, "constant", averaging)
    np.testing.assert_allclose(model.coef_, expected, atol=QUANTISATION)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("x_bound", [1.0, 0.3])
@pytest.mark.parametrize("rate", RATES)
def test_boosting_on_the_integers_of_the_core_is_exact(fit_intercept, x_bound, rate):
    """The same loop on quantised rows, with residuals in integers: only the solver rounds."""
    X, y = table(seed=3, scale=x_bound)
    tau, n_rounds = 0.2, 12
    bound = x_bound * (math.sqrt(2.0) if fit_intercept else 1.0)
    step = tau / 2**18
    row_map = oracle.Map(
        ((0.0, 1.0, ((-math.inf, math.inf, 1.0 / bound),)),) * X.shape[1],
        step=step,
        intercept=0.5 if fit_intercept else None,
    )
    q, targets = row_map.rows(X, y)
    Z = q * (bound * ROW)
    gamma = np.linalg.inv(Z.T @ Z)
    theta = np.zeros(q.shape[1])
    for t in range(1, n_rounds + 1):
        exact = oracle.gradient(q, targets, theta * bound, step, 2**18)
        noiseless = np.array(exact, dtype=np.float64) * (bound * ROW * step)
        theta = theta + RATES[rate](t) * gamma @ noiseless
    model = BoostedAdaSSP(
        mu=MU,
        x_bound=x_bound,
        tau=tau,
        n_rounds=n_rounds,
        learning_rate=rate,
        fit_intercept=fit_intercept,
    ).fit(X, y)
    # Noise has a standard deviation of a twentieth of a step in X'g: now and then it rounds to one.
    step = np.linalg.norm(gamma, 2) * bound * ROW * step
    np.testing.assert_allclose(
        coefficients(model),
        expected_coefficients(theta, x_bound, fit_intercept),
        rtol=1e-9,
        atol=10 * n_rounds * step * max(1.0, x_bound),
    )


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("split", [(1.0, 1.0, 1.0), (1.0, 5.0, 0.2)])
def test_what_only_noise_depends_on_does_not_matter_without_it(neighbors, split):
    X, y = table(seed=4)
    model = BoostedAdaSSP(mu=MU, tau=0.1, n_rounds=15, neighbors=neighbors, split=split).fit(X, y)
    expected = algorithm_1(clipped(X, 1.0), y, 0.1, 15, "constant")
    np.testing.assert_allclose(model.coef_, expected, atol=QUANTISATION)


def test_many_rounds_reach_the_clipped_equation():
    """Where boosting ends, X' clip(y - X theta) is nought: Huber's regression."""
    X, y = table(seed=5)
    y[::10] += 50.0  # outliers, which least squares would follow
    model = BoostedAdaSSP(mu=MU, tau=0.2, n_rounds=400).fit(X, y)
    Z = clipped(X, 1.0)
    remaining = Z.T @ np.clip(y - Z @ model.coef_, -0.2, 0.2)
    assert np.abs(remaining).max() < len(y) * 0.2 * QUANTISATION


# ------------------------------------------------------------------------------- DPGradientDescent


def descent(X, y, clip_norm, n_rounds, rate):
    """Return theta after gradient descent with every row's gradient clipped."""
    theta = np.zeros(X.shape[1])
    for t in range(1, n_rounds + 1):
        gradients = (y - X @ theta)[:, None] * X
        norms = np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 1e-300)
        theta = theta + RATES[rate](t) * np.mean(
            gradients * np.minimum(1.0, clip_norm / norms), axis=0
        )
    return theta


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("clip_norm", [0.05, 100.0])
def test_descent_clips_every_gradient(neighbors, rate, fit_intercept, clip_norm):
    X, y = table(seed=6)
    n_rounds = 30
    model = DPGradientDescent(
        mu=MU,
        clip_norm=clip_norm,
        n_rounds=n_rounds,
        learning_rate=rate,
        neighbors=neighbors,
        fit_intercept=fit_intercept,
    ).fit(X, y)
    Z = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    expected = expected_coefficients(descent(Z, y, clip_norm, n_rounds, rate), 1.0, fit_intercept)
    # Every entry of every row's gradient is truncated by less than a step.
    np.testing.assert_allclose(
        coefficients(model), expected, atol=2 * n_rounds * clip_norm * 2.0**-24, rtol=1e-9
    )


def test_descent_that_clips_nothing_reaches_least_squares():
    X, y = table(seed=7)
    model = DPGradientDescent(mu=MU, clip_norm=100.0, n_rounds=2000, fit_intercept=True).fit(X, y)
    least = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, least.coef_, atol=1e-4)
    assert model.intercept_ == pytest.approx(least.intercept_, abs=1e-4)


# ------------------------------------------------------------------------------------- BoostedMean


def mean(y, tau, n_rounds, neighbors="add_remove"):
    """Return what is fitted to y, beside features that are not looked at."""
    estimator = BoostedMean(mu=MU, tau=tau, n_rounds=n_rounds, neighbors=neighbors)
    return estimator.fit(np.full((len(y), 2), np.nan), y).mean_


def skewed(rows=801):
    return np.random.default_rng(8).gamma(2.0, size=rows)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("tau", [0.1, 0.7, 3.0])
def test_boosted_mean_is_algorithm_3(tau, neighbors):
    y = skewed()
    m = 0.0
    for _ in range(9):
        m += np.mean(np.clip(y - m, -tau, tau))
    # A residual is kept to tau / 2^18, and a weight of 1 - 2^-15 cancels.
    assert mean(y, tau, 9, neighbors) == pytest.approx(m, abs=9 * tau * 2.0**-17)


def test_a_small_threshold_and_many_rounds_give_the_median():
    y, tau = skewed(), 0.002
    found = mean(y, tau, 8000)
    # Of 801 draws, a distance of tau from the median is that of one or two in rank.
    assert abs(found - np.median(y)) < 2 * tau
    assert abs(found - np.mean(y)) > 50 * tau


@pytest.mark.parametrize("tau", [0.05, 0.2, 1.0, 4.0, 50.0])
def test_any_threshold_gives_hubers_estimate(tau):
    """The fixed point of the paper: clipped residuals sum to nought."""
    y = skewed()
    y[::20] += 30.0
    found = mean(y, tau, 3000)
    assert found == pytest.approx(huber_fixed_point(y, tau), abs=tau * 2.0**-13)


def test_a_large_threshold_gives_the_mean():
    y = skewed()
    assert mean(y, 100.0, 3) == pytest.approx(np.mean(y), abs=100.0 * 2.0**-17)


def test_a_symmetric_law_has_the_same_centre_for_every_threshold():
    """The theorem on which boosting rests: clipping does not move the fixed point."""
    deviations = np.random.default_rng(9).normal(size=500)
    y = 2.5 + np.concatenate([deviations, -deviations])
    for tau in (0.1, 1.0, 10.0):
        assert mean(y, tau, 500) == pytest.approx(2.5, abs=tau * 2.0**-13)


def test_one_round_with_clipping_is_biased_and_boosting_is_not():
    """The paper's point: 2.5 lies beyond the threshold of one."""
    y = 2.5 + np.random.default_rng(10).normal(size=2000)
    assert mean(y, 1.0, 1) < 1.0
    assert mean(y, 1.0, 60) == pytest.approx(2.5, abs=0.1)
