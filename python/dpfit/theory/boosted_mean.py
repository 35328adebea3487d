"""Boosting the mean with a fixed clipping threshold: the paper's bounds as functions.

In the paper's "Theoretical Analysis", each round adds the mean of the clipped residuals to an
estimate of the mean of N(mean, 1). With infinitely many rows (Algorithm 4), the iteration is
deterministic and has a closed form. The propositions bound its error and its distance from the
private, finite-sample iteration (Algorithm 3).
"""

from __future__ import annotations

import math

import numpy as np

from dpfit._typing import Floats
from dpfit.exceptions import ParameterError
from dpfit.theory._checks import (
    LARGEST_COUNT,
    check_finite,
    check_integer,
    check_non_negative,
    check_positive,
)
from dpfit.theory._normal import SQRT_TWO, sign_integral, tail_integral

__all__ = [
    "clipped_mean",
    "contraction",
    "finite_sample_bound",
    "infinite_sample_bound",
    "infinite_sample_errors",
    "infinite_sample_path",
    "suggested_rounds",
    "warm_up_rounds",
]

_MEAN_ABSOLUTE_NORMAL = math.sqrt(2.0 / math.pi)


def clipped_mean(mean: float, tau: float) -> float:
    """Return the mean of a normal variable with variance 1, clipped to [-tau, tau].

    Parameters
    ----------
    mean : float
        Mean of the variable before clipping.
    tau : float
        Clipping threshold; positive.

    Returns
    -------
    float
        ``E[min(max(Y, -tau), tau)]`` for Y ~ N(mean, 1), with a relative error of a few ulps for
        every ``mean`` and ``tau``.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    With G(x) = x (Phi(x) - 1/2) + phi(x), the result is G(mean + tau) - G(mean - tau), the integral
    of Phi(t) - 1/2 between the two arguments. It is odd in ``mean``, and symmetric in ``mean`` and
    ``tau`` for positive ``mean``. If the two terms would cancel, a quadrature rule computes the
    integral instead.

    Examples
    --------
    >>> from dpfit.theory import clipped_mean
    >>> round(clipped_mean(1.0, 1.0), 12)
    0.609548422215
    >>> clipped_mean(50.0, 1.0)
    1.0
    >>> round(clipped_mean(1e-12, 1e-9) / 1e-21, 12)
    0.797884560803
    """
    mean = check_finite("mean", mean)
    tau = check_positive("tau", tau)
    return _step(mean, tau)


def infinite_sample_path(mean: float, tau: float, rounds: int) -> Floats:
    """Return the iterates of the paper's infinite-sample algorithm (Algorithm 4).

    Parameters
    ----------
    mean : float
        Mean of the normal distribution with variance 1.
    tau : float
        Clipping threshold; positive.
    rounds : int
        Number of rounds; >= 0.

    Returns
    -------
    ndarray of shape (rounds + 1,)
        theta_0 = 0 and theta_j = theta_(j-1) + E C_tau(Y - theta_(j-1)) for j = 1, ..., rounds.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    See Also
    --------
    infinite_sample_errors : The errors, accurate even where theta rounds to the mean.

    Examples
    --------
    >>> from dpfit.theory import infinite_sample_path
    >>> infinite_sample_path(3.0, 1.0, rounds=5).round(6)
    array([0.      , 0.991516, 1.909909, 2.561042, 2.854022, 2.953429])
    """
    mean = check_finite("mean", mean)
    tau = check_positive("tau", tau)
    path = np.zeros(check_integer("rounds", rounds, 0, LARGEST_COUNT) + 1)
    theta, error = 0.0, mean
    for j in range(1, path.size):
        theta += _step(error, tau)
        error = _next_error(error, tau)
        path[j] = theta
    return path


def infinite_sample_errors(mean: float, tau: float, rounds: int) -> Floats:
    """Return the errors of the iterates of the infinite-sample algorithm.

    Parameters
    ----------
    mean, tau, rounds
        As for `infinite_sample_path`.

    Returns
    -------
    ndarray of shape (rounds + 1,)
        ``mean - theta_j`` for j = 0, ..., rounds. The errors have the sign of ``mean``: the
        iteration never overshoots.

    Notes
    -----
    One round maps an error e > 0 to max(e - tau, 0) plus the integral of 1 - Phi from ``|e - tau|``
    to e + tau. Nothing is subtracted, so small errors keep their relative accuracy, unlike
    differences of `infinite_sample_path`.

    Examples
    --------
    >>> from dpfit.theory import infinite_sample_errors
    >>> infinite_sample_errors(3.0, 1.0, rounds=2).round(6)
    array([3.      , 2.008484, 1.090091])
    >>> f"{infinite_sample_errors(3.0, 1.0, rounds=60)[-1]:.3e}"
    '1.778e-29'
    """
    mean = check_finite("mean", mean)
    tau = check_positive("tau", tau)
    errors = np.empty(check_integer("rounds", rounds, 0, LARGEST_COUNT) + 1)
    errors[0] = error = mean
    for j in range(1, errors.size):
        errors[j] = error = _next_error(error, tau)
    return errors


def warm_up_rounds(mean: float, tau: float) -> float:
    """Return the number of rounds after which the infinite-sample error is at most tau.

    Parameters
    ----------
    mean, tau
        As for `infinite_sample_path`.

    Returns
    -------
    float
        ``max(0, |mean| - tau) / ((Phi(2 tau) - 1/2) tau)``, the warm-up in the paper's proposition
        on infinite-sample convergence. In general it is not an integer. It is infinite if it
        exceeds the largest double.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Examples
    --------
    >>> from dpfit.theory import warm_up_rounds
    >>> round(warm_up_rounds(3.0, 1.0), 6)
    4.190677
    >>> warm_up_rounds(0.5, 1.0)
    0.0
    """
    mean = check_finite("mean", mean)
    tau = check_positive("tau", tau)
    excess = max(0.0, abs(mean) - tau)
    return 2.0 * excess / tau / math.erf(SQRT_TWO * tau)


def contraction(tau: float) -> float:
    """Return a bound on the factor by which one round multiplies an error of at most tau.

    Parameters
    ----------
    tau : float
        Clipping threshold; positive.

    Returns
    -------
    float
        ``3/2 - Phi(tau)``, between 1/2 and 1. It is less than 1 for every ``tau``, but rounds to 1
        if ``tau`` is below 1e-16.

    Raises
    ------
    ParameterError
        If ``tau`` is not a positive number.

    Notes
    -----
    This is the factor of the paper's lemma. The actual factor at error e is smaller: at most
    1 - 3/2 (Phi(tau) - 1/2) for ``|e| <= tau``, and it tends to 2 - 2 Phi(tau) as e tends to 0.

    Examples
    --------
    >>> from dpfit.theory import contraction
    >>> round(contraction(1.0), 6)
    0.658655
    """
    return 0.5 + 0.5 * math.erfc(check_positive("tau", tau) / SQRT_TWO)


def infinite_sample_bound(mean: float, tau: float, rounds: int) -> float:
    """Return the paper's bound on the error of the infinite-sample algorithm.

    Parameters
    ----------
    mean, tau, rounds
        As for `infinite_sample_path`.

    Returns
    -------
    float
        ``tau * contraction(tau) ** (rounds - warm_up_rounds(mean, tau))``. Infinity if ``rounds``
        does not exceed the warm-up, where the proposition claims nothing. Never NaN.

    Examples
    --------
    >>> from dpfit.theory import infinite_sample_bound, infinite_sample_errors
    >>> f"{infinite_sample_bound(3.0, 1.0, rounds=20):.3e}"
    '1.359e-03'
    >>> f"{infinite_sample_errors(3.0, 1.0, rounds=20)[-1]:.3e}"
    '1.551e-09'
    >>> infinite_sample_bound(3.0, 1.0, rounds=4)
    inf
    """
    spare = check_integer("rounds", rounds, 0, LARGEST_COUNT) - warm_up_rounds(mean, tau)
    return tau * math.exp(-spare * _rate(tau)) if spare > 0.0 else math.inf


def finite_sample_bound(rounds: int, tau: float, n: int, rho: float) -> float:
    """Return a bound on the expected distance between private and infinite-sample iterates.

    Parameters
    ----------
    rounds : int
        Number of rounds R of both algorithms; >= 0.
    tau : float
        Clipping threshold; positive.
    n : int
        Number of rows; positive.
    rho : float
        Privacy parameter of Algorithm 3, which adds noise with variance
        ``4 R tau**2 / (n**2 rho)`` in every round; positive. All rounds together are
        sqrt(rho)-GDP if neighbours differ by replacing one row.

    Returns
    -------
    float
        An upper bound on ``E|muhat_R - theta_R|`` for n rows from N(mean, 1) and any mean::

            R min(tau, 1) / sqrt(n)  +  sqrt(8 / pi) R**(3/2) tau / (n sqrt(rho))

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    The paper states the order of this bound; the constants come from its proof. Clipping is
    monotone and non-expansive, so each round increases the distance by at most ``|A| + |Z|``. A is
    the error of a mean of n clipped rows: ``E|A|`` is at most their standard deviation divided by
    sqrt(n). This standard deviation is at most tau, because clipped values lie in [-tau, tau], and
    at most 1, because clipping is non-expansive. Z is normal: ``E|Z|`` is sqrt(2/pi) standard
    deviations. There are R terms of each kind; the last formula of the paper's proof omits one A.

    Examples
    --------
    >>> from dpfit.theory import finite_sample_bound
    >>> round(finite_sample_bound(rounds=20, tau=1.0, n=10_000, rho=0.1), 6)
    0.245135
    """
    rounds = check_integer("rounds", rounds, 0, LARGEST_COUNT)
    tau = check_positive("tau", tau)
    n = check_integer("n", n, 1, LARGEST_COUNT)
    rho = check_positive("rho", rho)
    sampling = min(tau, 1.0) / math.sqrt(n)
    noise_deviation = 2.0 * math.sqrt(rounds) / n / math.sqrt(rho) * tau
    return rounds * (sampling + _MEAN_ABSOLUTE_NORMAL * noise_deviation)


def suggested_rounds(n: int, tau: float, mean_bound: float) -> int:
    """Return a data-independent number of rounds for the paper's theorem on the rate.

    Parameters
    ----------
    n : int
        Number of rows; positive.
    tau : float
        Clipping threshold; positive.
    mean_bound : float
        A bound on ``|mean|`` that is known in advance; >= 0. A bound computed from the data would
        cost privacy that is not accounted for.

    Returns
    -------
    int
        The smallest integer greater than ``warm_up_rounds(mean_bound, tau) - log(n) /
        log(contraction(tau))``. After this number of rounds, the infinite-sample error is less
        than ``tau / n`` for every mean within the bound. It grows as log(n).

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or ``tau`` is so small that it would take more
        than 2**53 rounds.

    Notes
    -----
    The theorem needs R = O(log n) rounds that exceed the warm-up by a multiple of log n, not just
    by any amount. With the returned R, ``tau / n + finite_sample_bound(R, tau, n, rho)`` bounds the
    expected error of the private iteration.

    Examples
    --------
    >>> from dpfit.theory import suggested_rounds
    >>> suggested_rounds(10_000, tau=1.0, mean_bound=3.0)
    27
    >>> suggested_rounds(1_000_000, tau=1.0, mean_bound=3.0)
    38
    """
    n = check_integer("n", n, 1, LARGEST_COUNT)
    tau = check_positive("tau", tau)
    mean_bound = check_non_negative("mean_bound", mean_bound)
    rate = _rate(tau)
    after_warm_up = math.log(n) / rate if rate > 0.0 else math.inf
    rounds = warm_up_rounds(mean_bound, tau) + after_warm_up
    if not rounds < LARGEST_COUNT:
        raise ParameterError(
            f"tau={tau!r} is too small: mean_bound={mean_bound!r} and n={n} would take more than "
            "2**53 rounds",
            subject="tau",
        )
    return math.floor(rounds) + 1


def _step(error: float, tau: float) -> float:
    """Return the clipped mean of N(error, 1)."""
    near, far = sorted((abs(error), tau))
    return math.copysign(sign_integral(far, near), error)


def _next_error(error: float, tau: float) -> float:
    """Return ``error - _step(error, tau)`` without cancellation."""
    size = abs(error)
    near, far = sorted((size, tau))
    return math.copysign(max(size - tau, 0.0) + tail_integral(far, near), error)


def _rate(tau: float) -> float:
    """Return minus the logarithm of ``contraction(tau)``."""
    return -math.log1p(-0.5 * math.erf(tau / SQRT_TWO))
