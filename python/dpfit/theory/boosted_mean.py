"""Boosting the mean with a fixed clipping threshold: what the paper proves, as numbers.

The paper's "Theoretical Analysis" estimates the mean of N(mean, 1) by adding clipped residual means
round after round. With infinitely many rows (Algorithm 4) the iteration is deterministic and has a
closed form; the propositions bound its error and its distance to the private, finite-sample
iteration (Algorithm 3).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import ParameterError
from dpfit.theory._checks import LARGEST_COUNT, check_finite, check_integer, check_positive
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

FloatArray = npt.NDArray[np.float64]

_MEAN_ABSOLUTE_NORMAL = math.sqrt(2.0 / math.pi)


def clipped_mean(mean: float, tau: float) -> float:
    """Return the mean of a normal variable of variance 1 that is clipped to [-tau, tau].

    Parameters
    ----------
    mean : float
        Mean of the variable before clipping.
    tau : float
        Clipping threshold; positive.

    Returns
    -------
    float
        ``E[min(max(Y, -tau), tau)]`` for Y ~ N(mean, 1), with a relative error of a few units in
        the last place for every ``mean`` and ``tau``.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    With G(x) = x (Phi(x) - 1/2) + phi(x) the answer is G(mean + tau) - G(mean - tau), which is the
    integral of Phi(t) - 1/2 between the two arguments. It is odd in ``mean`` and does not change
    when a positive ``mean`` and ``tau`` trade places. Where the two terms would cancel, the
    integral is taken by a quadrature rule instead.

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


def infinite_sample_path(mean: float, tau: float, rounds: int) -> FloatArray:
    """Return the iterates of the paper's infinite-sample algorithm (Algorithm 4).

    Parameters
    ----------
    mean : float
        Mean of the normal distribution of variance 1.
    tau : float
        Clipping threshold; positive.
    rounds : int
        Number of rounds; not negative.

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
    infinite_sample_errors : What is still missing, accurate even where theta rounds to the mean.

    Examples
    --------
    >>> from dpfit.theory import infinite_sample_path
    >>> infinite_sample_path(3.0, 1.0, rounds=5).round(6)
    array([0.      , 0.991516, 1.909909, 2.561042, 2.854022, 2.953429])
    """
    mean = check_finite("mean", mean)
    tau = check_positive("tau", tau)
    path = np.zeros(check_integer("rounds", rounds, 0) + 1)
    theta, error = 0.0, mean
    for j in range(1, path.size):
        theta += _step(error, tau)
        error = _next_error(error, tau)
        path[j] = theta
    return path


def infinite_sample_errors(mean: float, tau: float, rounds: int) -> FloatArray:
    """Return how far the iterates of the infinite-sample algorithm are below the mean.

    Parameters
    ----------
    mean : float
        Mean of the normal distribution of variance 1.
    tau : float
        Clipping threshold; positive.
    rounds : int
        Number of rounds; not negative.

    Returns
    -------
    ndarray of shape (rounds + 1,)
        ``mean - theta_j`` for j = 0, ..., rounds. The errors have the sign of ``mean``: the
        iteration never passes its target.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    An error e > 0 becomes max(e - tau, 0) plus the integral of 1 - Phi from ``|e - tau|`` to
    e + tau. Nothing is subtracted, so small errors keep their digits, which differences of
    `infinite_sample_path` do not.

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
    errors = np.empty(check_integer("rounds", rounds, 0) + 1)
    errors[0] = error = mean
    for j in range(1, errors.size):
        errors[j] = error = _next_error(error, tau)
    return errors


def warm_up_rounds(mean: float, tau: float) -> float:
    """Return the rounds after which the infinite-sample error is certainly at most tau.

    Parameters
    ----------
    mean : float
        Mean of the normal distribution of variance 1.
    tau : float
        Clipping threshold; positive.

    Returns
    -------
    float
        ``max(0, |mean| - tau) / ((Phi(2 tau) - 1/2) tau)``, the warm-up of the paper's proposition
        on infinite-sample convergence. Not an integer in general, and infinite if it exceeds the
        largest double.

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
    """Return the factor by which a round shrinks an infinite-sample error of at most tau.

    Parameters
    ----------
    tau : float
        Clipping threshold; positive.

    Returns
    -------
    float
        ``3/2 - Phi(tau)``, from 1/2 to 1. It is less than 1 for every ``tau``, but the nearest
        double is 1 where ``tau`` is below 1e-16.

    Raises
    ------
    ParameterError
        If ``tau`` is not a positive number.

    Notes
    -----
    The paper's lemma promises no more than this. The actual factor at error e is smaller: at most
    1 - 3/2 (Phi(tau) - 1/2) for ``|e| <= tau``, and close to 2 - 2 Phi(tau) near 0.

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
    mean : float
        Mean of the normal distribution of variance 1.
    tau : float
        Clipping threshold; positive.
    rounds : int
        Number of rounds; not negative.

    Returns
    -------
    float
        ``tau * contraction(tau) ** (rounds - warm_up_rounds(mean, tau))``. Infinity if ``rounds``
        does not exceed the warm-up, about which the proposition says nothing. Never NaN.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

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
    spare = check_integer("rounds", rounds, 0) - warm_up_rounds(mean, tau)
    return tau * math.exp(-spare * _rate(tau)) if spare > 0.0 else math.inf


def finite_sample_bound(rounds: int, tau: float, n: int, rho: float) -> float:
    """Bound the expected distance between the private and the infinite-sample iterates.

    Parameters
    ----------
    rounds : int
        Number of rounds R of both algorithms; not negative.
    tau : float
        Clipping threshold; positive.
    n : int
        Number of rows; positive.
    rho : float
        Privacy parameter of Algorithm 3, which adds noise of variance ``4 R tau**2 / (n**2 rho)``
        in every round; positive. The whole is then sqrt(rho)-GDP if a row may be replaced.

    Returns
    -------
    float
        An upper bound of ``E|muhat_R - theta_R|`` for n rows from N(mean, 1), for any mean::

            R min(tau, 1) / sqrt(n)  +  sqrt(8 / pi) R**(3/2) tau / (n sqrt(rho))

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    The paper states the order of this bound; the constants come from its proof. Clipping is
    monotone and does not expand distances, so each round adds at most ``|A| + |Z|``. A is the error
    of a mean of n clipped rows: ``E|A|`` is at most their standard deviation over sqrt(n), and that
    deviation is at most tau, as the values lie in [-tau, tau], and at most 1, as clipping does not
    expand. Z is normal: ``E|Z|`` is sqrt(2/pi) standard deviations. There are R terms of each kind;
    the paper's last display drops one A.

    Examples
    --------
    >>> from dpfit.theory import finite_sample_bound
    >>> round(finite_sample_bound(rounds=20, tau=1.0, n=10_000, rho=0.1), 6)
    0.245135
    """
    rounds = check_integer("rounds", rounds, 0)
    tau = check_positive("tau", tau)
    n = check_integer("n", n, 1)
    rho = check_positive("rho", rho)
    sampling = min(tau, 1.0) / math.sqrt(n)
    noise_deviation = 2.0 * math.sqrt(rounds) / n / math.sqrt(rho) * tau
    return rounds * (sampling + _MEAN_ABSOLUTE_NORMAL * noise_deviation)


def suggested_rounds(n: int, tau: float, mean_bound: float) -> int:
    """Return a number of rounds, chosen without the data, that the paper's theorem asks for.

    Parameters
    ----------
    n : int
        Number of rows; positive.
    tau : float
        Clipping threshold; positive.
    mean_bound : float
        A bound on ``|mean|`` that is known beforehand; not negative. Looking it up in the data
        would cost privacy that nothing accounts for.

    Returns
    -------
    int
        The smallest integer above ``warm_up_rounds(mean_bound, tau) - log(n) /
        log(contraction(tau))``. After that many rounds the infinite-sample error is below
        ``tau / n`` for every mean within the bound. It grows as log(n).

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or ``tau`` is so small that more than 2**53
        rounds would be needed.

    Notes
    -----
    The theorem needs R = O(log n) rounds that exceed the warm-up by a multiple of log n; exceeding
    it is not enough. Both are settled here. ``tau / n + finite_sample_bound(R, tau, n, rho)`` then
    bounds the expected error of the private iteration.

    Examples
    --------
    >>> from dpfit.theory import suggested_rounds
    >>> suggested_rounds(10_000, tau=1.0, mean_bound=3.0)
    27
    >>> suggested_rounds(1_000_000, tau=1.0, mean_bound=3.0)
    38
    """
    n = check_integer("n", n, 1)
    tau = check_positive("tau", tau)
    mean_bound = check_finite("mean_bound", mean_bound)
    if mean_bound < 0.0:
        raise ParameterError(f"mean_bound={mean_bound!r} is out of range: 0 <= mean_bound < inf")
    rate = _rate(tau)
    to_shrink = math.log(n) / rate if rate > 0.0 else math.inf
    rounds = warm_up_rounds(mean_bound, tau) + to_shrink
    if not rounds < LARGEST_COUNT:
        raise ParameterError(
            f"tau={tau!r} is out of range: with mean_bound={mean_bound!r} and n={n} more than "
            "2**53 rounds would be needed; tau must be larger"
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
