"""One round against two: the separation theorem for bounded rows of small spread.

The rows lie in [-bound, bound] and their distance from the mean is sigma**2-subgaussian. One round
of AdaSSP releases the row count with noise of variance 1/rho and the clipped sum with noise of
variance tau**2/rho, and divides. A second round does the same for the residuals with a threshold of
its own, ``tau_2``, and adds.

Privacy
-------
``rho`` is used here as in the paper's proof: each release is sqrt(rho)-GDP if a row may be added or
removed. One round makes two releases, which compose to sqrt(2 rho)-GDP (rho-zCDP); two rounds make
three, sqrt(3 rho)-GDP.
"""

from __future__ import annotations

import math

from dpfit.exceptions import ParameterError
from dpfit.theory._checks import (
    check_finite,
    check_non_negative,
    check_positive,
    check_signal,
)

__all__ = [
    "one_round_lower_bound",
    "two_round_error_order",
    "two_round_thresholds",
    "two_round_upper_bound",
]

_ONE_ROUND_SIGNAL = 2.0
_TWO_ROUND_SIGNAL = 9.0


def one_round_lower_bound(tau: float, bound: float, mean: float, n: int, rho: float) -> float:
    """Return a mean squared error that one round cannot undercut on every distribution.

    Parameters
    ----------
    tau : float
        Clipping threshold; positive.
    bound : float
        Rows lie in [-bound, bound]; positive.
    mean : float
        A mean that the rows may have, from -bound to bound.
    n : int
        Number of rows; at least 2.
    rho : float
        Privacy parameter; positive, with ``n * sqrt(rho) >= 2``.

    Returns
    -------
    float
        ``(tau**2 + mean**2) / (18 n**2 rho) + 2/9 max(bound - tau, 0)**2``. Some distribution on
        [-bound, bound] gives one round an expected squared distance to the mean of the rows that is
        at least this: all rows equal to ``mean`` if ``tau >= bound``, all equal to ``bound`` else.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    The paper takes the maximum over distributions with the given ``mean``; it must be taken over
    all on [-bound, bound]. Its condition on n with an unnamed constant becomes n sqrt(rho) >= 2.
    ``docs/theory.md`` has a counter-example and the proof.

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
    mean = check_finite("mean", mean)
    if abs(mean) > bound:
        raise ParameterError(f"mean={mean!r} is out of range: {-bound!r} <= mean <= {bound!r}")
    n, rho = check_signal(n, rho, _ONE_ROUND_SIGNAL)
    scale = n * math.sqrt(rho)
    noise = (tau / scale) * (tau / scale) + (mean / scale) * (mean / scale)
    missed = max(bound - tau, 0.0)
    return noise / 18.0 + 2.0 / 9.0 * missed * missed


def two_round_thresholds(bound: float, sigma: float, n: int, rho: float) -> tuple[float, float]:
    """Return thresholds for two rounds with which, most likely, nothing is clipped.

    Parameters
    ----------
    bound : float
        Rows lie in [-bound, bound]; positive.
    sigma : float
        Rows less their mean are sigma**2-subgaussian; not negative.
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
    are the events of that proof with their constants: the error of the first round, the distance
    from the mean of the rows to the mean, and that of the farthest row. With probability at least
    1 - 4 delta no row is clipped in either round and the noisy row count is at least n/2.

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
    """Bound the mean squared error of two rounds on every distribution.

    Parameters
    ----------
    bound : float
        Rows lie in [-bound, bound]; positive.
    sigma : float
        Rows less their mean are sigma**2-subgaussian; not negative.
    n : int
        Number of rows; at least 2.
    rho : float
        Privacy parameter; positive, with ``n * sqrt(rho) >= 9``.

    Returns
    -------
    float
        ``4 tau_2**2 / (n**2 rho) + 80 bound**2 / (n**4 rho**2)``, at least the expected squared
        distance from the estimate of two rounds with `two_round_thresholds`, clipped to
        [-bound, bound], to the mean of the rows.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    The paper's upper bound with its constants worked out and two steps of the proof corrected;
    ``docs/theory.md`` has the derivation.

    Examples
    --------
    Two rounds beat one, whatever the threshold of the one, when ``bound`` is far above ``sigma``:

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
    bound : float
        Rows lie in [-bound, bound]; positive.
    sigma : float
        Rows less their mean are sigma**2-subgaussian; not negative.
    n : int
        Number of rows; at least 2.
    rho : float
        Privacy parameter; positive, with ``n * sqrt(rho) >= 9``.

    Returns
    -------
    float
        ``(sigma**2 + bound**2 / (n**2 rho)) log(n**5 rho**2) / (n**2 rho)``. This is the expression
        inside O(...): good for comparing settings, not an error and not a bound. The bound is
        `two_round_upper_bound`.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Notes
    -----
    The paper prints ``(sigma**2 log(n rho) + mean**2) / (n**2 rho) + (bound**2 + mean**2) /
    (n**4 rho**2)``. The mean drops out when the proof's algebra is corrected, the logarithm belongs
    to both terms, and its argument must be n/delta, as log(n rho) is negative for rho < 1/n.

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
