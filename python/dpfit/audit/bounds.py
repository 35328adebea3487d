"""Lower bounds on mu and epsilon from the errors of a test."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from scipy import special, stats

from dpfit._typing import Floats
from dpfit.accounting import gdp_epsilon
from dpfit.exceptions import ParameterError

__all__ = ["epsilon_of_mu", "lower_epsilon", "lower_mu", "upper_rate"]


def upper_rate(errors: Any, trials: int, risk: float) -> Floats:
    """Return upper confidence limits of error rates (Clopper and Pearson 1934).

    Parameters
    ----------
    errors : array-like of int
        How many trials went wrong.
    trials : int
        The number of independent trials.
    risk : float
        The probability with which a limit may be below the rate.

    Returns
    -------
    array
        The limits; 1 if all trials went wrong.

    Examples
    --------
    >>> float(upper_rate(0, 1000, 0.05).round(5))
    0.00299
    """
    errors = np.asarray(errors, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        limits = stats.beta.ppf(1.0 - risk, errors + 1.0, trials - errors)
    return cast(Floats, np.where(errors >= trials, 1.0, limits))


def lower_mu(false_positives: Any, false_negatives: Any) -> Floats:
    """Return the largest mu that the error rates of a test refute, or 0.

    Privacy
    -------
    A release is mu-GDP only if every test has ``beta >= Phi(Phi^-1(1 - alpha) - mu)``. So error
    rates of at most alpha and beta imply ``mu >= Phi^-1(1 - alpha) - Phi^-1(beta)``.

    Examples
    --------
    >>> float(lower_mu(0.05, 0.05).round(3))
    3.29
    """
    # At a rate of 1, nothing is known; then one of the terms is minus infinity.
    with np.errstate(invalid="ignore"):
        found = -special.ndtri(false_positives) - special.ndtri(false_negatives)
    return cast(Floats, np.maximum(np.nan_to_num(found, nan=0.0, neginf=0.0), 0.0))


def lower_epsilon(false_positives: Any, false_negatives: Any, delta: float) -> Floats:
    """Return the largest epsilon that the error rates of a test refute at delta, or 0.

    Privacy
    -------
    A release is (epsilon, delta)-DP only if every test has ``1 - beta <= exp(epsilon) * alpha +
    delta``, and the same with alpha and beta exchanged.

    Examples
    --------
    >>> float(lower_epsilon(0.01, 0.5, 1e-6).round(3))
    3.912
    """
    alpha, beta = np.asarray(false_positives), np.asarray(false_negatives)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.log(np.maximum(1.0 - beta - delta, 0.0) / alpha)
        other = np.log(np.maximum(1.0 - alpha - delta, 0.0) / beta)
    found = np.fmax(one, other)
    return cast(Floats, np.maximum(np.nan_to_num(found, nan=0.0, neginf=0.0), 0.0))


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the epsilon of a Gaussian mechanism at delta; infinity where none can be stated."""
    if mu <= 0.0:
        return 0.0
    if delta <= 0.0:
        return math.inf
    try:
        return gdp_epsilon(mu, delta)
    except ParameterError:
        return math.inf
