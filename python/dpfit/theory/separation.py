"""One round against two: the separation theorem for bounded rows with small spread.

The rows lie in [-bound, bound], and their deviation from the mean is sigma**2-subgaussian. One
round of AdaSSP releases the row count with noise of variance 1/rho and the clipped sum with noise
of variance tau**2/rho, and divides the sum by the count. A second round does the same for the
residuals, with another threshold ``tau_2``, and adds the result to the first.

Privacy
-------
``rho`` has the meaning of the paper's proof: each release is sqrt(rho)-GDP for adding or removing
one row. One round makes two releases, which compose to sqrt(2 rho)-GDP (rho-zCDP). Two rounds make
three releases, which compose to sqrt(3 rho)-GDP.
"""

from __future__ import annotations

import math

from dpfit.accounting._checks import check_within
from dpfit.theory._checks import check_non_negative, check_positive, check_signal

__all__ = [
    "one_round_lower_bound",
    "two_round_error_order",
    "two_round_thresholds",
    "two_round_upper_bound",
]

_ONE_ROUND_SIGNAL = 2.0
_TWO_ROUND_SIGNAL = 9.0


def one_round_lower_bound(tau: float, bound: float, mean: float, n: int, rho: float) -> float:
    """Return a lower bound on the worst-case mean squared error of one round.

    Parameters
    ----------
    tau : float
        Clipping threshold; positive.
    bound : float
        Rows lie in [-bound, bound]; positive.
    mean : float
        A possible mean of the rows, from -bound to bound.
    n : int
        Number of rows; at least 2.
    rho : float
        Privacy parameter; positive, with ``n * sqrt(rho) >= 2``.

    Returns
    -------
    float
        ``(tau**2 + mean**2) / (18 n**2 rho) + 2/9 max(bound - tau, 0)**2``. For some distribution
        on [-bound, bound], the expected squared distance between the estimate and the mean of the
        rows is at least this: if all rows equal ``mean`` (``tau >= bound``) or all rows equal
        ``bound`` (``tau < bound``).

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    The paper takes the maximum over distributions with the given ``mean``; the bound holds for the
    maximum over all distributions on [-bound, bound]. The paper's condition on n, which has an
    unspecified constant, becomes n sqrt(rho) >= 2. ``docs/explanation/theory.md`` has a
    counter-example and the proof.

    Examples
    --------
    >>> from dpfit.theory import one_round_lower_bound
    >>> round(one_round_lower_bound(tau=10.0, bound=10.0, mean=0.0, n=1000, rho=0.01), 9)
    0.000555556
    >>> round(one_round_lower_bound(tau=7.0, bound=10.0, mean=0.0, n=1000, rho=0.01), 9)
    2.000272222
    """
    tau = check_positive("tau", tau)
    bound = check_positive("bound", bound)
    mean = check_within("mean", mean, (-bound, bound))
    n, rho = check_signal(n, rho, _ONE_ROUND_SIGNAL)
    scale = n * math.sqrt(rho)
    noise = (tau / scale) * (tau / scale) + (mean / scale) * (mean / scale)
    missed = max(bound - tau, 0.0)
    return noise / 18.0 + 2.0 / 9.0 * missed * missed


def two_round_thresholds(bound: float, sigma: float, n: int, rho: float) -> tuple[float, float]:
    """Return thresholds for two rounds that clip no row with high probability.

    Parameters
    ----------
    bound : float
        Rows lie in [-bound, bound]; positive.
    sigma : float
        Rows minus their mean are sigma**2-subgaussian; >= 0.
    n : int
        Number of rows; at least 2.
    rho : float
        Privacy parameter; positive, with ``n * sqrt(rho) >= 9``.

    Returns
    -------
    tau_1 : float
        ``bound``.
    tau_2 : float
        With delta = 1/(n**4 rho**2)::

            4 bound sqrt(log(2/delta)) / (n sqrt(rho))
                + sigma sqrt(2 log(2/delta) / n) + sigma sqrt(2 log(2 n/delta))

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    The paper's proof has tau_2 = O(max(bound / (n sqrt(rho)), sigma) sqrt(log n)). The three terms
    bound the events of that proof, with constants: the error of the first round, the distance
    between the mean of the rows and the mean, and the largest distance between a row and the mean.
    With probability at least 1 - 4 delta, no row is clipped in either round and the noisy row count
    is at least n/2.

    Examples
    --------
    >>> from dpfit.theory import two_round_thresholds
    >>> tau_1, tau_2 = two_round_thresholds(bound=1000.0, sigma=1.0, n=10_000, rho=1.0)
    >>> tau_1, round(tau_2, 6)
    (1000.0, 12.206266)
    """
    bound = check_positive("bound", bound)
    sigma = check_non_negative("sigma", sigma)
    n, rho = check_signal(n, rho, _TWO_ROUND_SIGNAL)
    log_any, log_every = _logarithms(n, rho)
    first_round = 4.0 * math.sqrt(log_any) * (bound / (n * math.sqrt(rho)))
    sample_mean = sigma * math.sqrt(2.0 * log_any / n)
    farthest_row = sigma * math.sqrt(2.0 * log_every)
    return bound, first_round + sample_mean + farthest_row


def two_round_upper_bound(bound: float, sigma: float, n: int, rho: float) -> float:
    """Return an upper bound on the worst-case mean squared error of two rounds.

    Parameters
    ----------
    bound, sigma, n, rho
        As for `two_round_thresholds`.

    Returns
    -------
    float
        ``4 tau_2**2 / (n**2 rho) + 80 bound**2 / (n**4 rho**2)``. For every distribution, the
        expected squared distance between the estimate and the mean of the rows is at most this, if
        two rounds use `two_round_thresholds` and the estimate is clipped to [-bound, bound].

    Notes
    -----
    This is the paper's upper bound with explicit constants and with two steps of the proof
    corrected; ``docs/explanation/theory.md`` has the derivation.

    Examples
    --------
    If ``bound`` is much larger than ``sigma``, two rounds have a smaller error than one round with
    any threshold:

    >>> from dpfit.theory import one_round_lower_bound, two_round_upper_bound
    >>> f"{two_round_upper_bound(bound=1000.0, sigma=1.0, n=10_000, rho=1.0):.2e}"
    '5.97e-06'
    >>> f"{one_round_lower_bound(tau=1000.0, bound=1000.0, mean=0.0, n=10_000, rho=1.0):.2e}"
    '5.56e-04'
    """
    _, tau = two_round_thresholds(bound, sigma, n, rho)
    scale = n * math.sqrt(rho)
    noise, miss = tau / scale, bound / scale / scale
    return 4.0 * noise * noise + 80.0 * miss * miss


def two_round_error_order(bound: float, sigma: float, n: int, rho: float) -> float:
    """Return the order of the mean squared error of two rounds, without its constant.

    Parameters
    ----------
    bound, sigma, n, rho
        As for `two_round_thresholds`.

    Returns
    -------
    float
        ``(sigma**2 + bound**2 / (n**2 rho)) log(n**5 rho**2) / (n**2 rho)``. This is the expression
        inside O(...): it can be used to compare settings, but is neither an error nor a bound. The
        bound is `two_round_upper_bound`.

    Notes
    -----
    The paper prints ``(sigma**2 log(n rho) + mean**2) / (n**2 rho) + (bound**2 + mean**2) /
    (n**4 rho**2)``. With the algebra of the proof corrected, the mean cancels. The logarithm
    belongs to both terms. Its argument must be n/delta, because log(n rho) is negative for
    rho < 1/n.

    Examples
    --------
    >>> from dpfit.theory import two_round_error_order
    >>> f"{two_round_error_order(bound=1000.0, sigma=1.0, n=10_000, rho=1.0):.2e}"
    '4.65e-07'
    """
    bound = check_positive("bound", bound)
    sigma = check_non_negative("sigma", sigma)
    n, rho = check_signal(n, rho, _TWO_ROUND_SIGNAL)
    scale = n * math.sqrt(rho)
    spread, miss = sigma / scale, bound / scale / scale
    return (spread * spread + miss * miss) * (math.log(n) + 4.0 * math.log(scale))


def _logarithms(n: int, rho: float) -> tuple[float, float]:
    """Return log(2/delta) and log(2 n/delta) for the proof's delta = 1/(n**4 rho**2)."""
    log_any = math.log(2.0) + 4.0 * math.log(n * math.sqrt(rho))
    return log_any, log_any + math.log(n)
