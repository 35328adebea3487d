"""Gaussian differential privacy: conversions and composition with directed rounding.

A release is mu-GDP if distinguishing two neighbouring tables by it is at least as hard as
distinguishing N(0, 1) from N(mu, 1) by one draw (Dong, Roth and Su 2022, arXiv:1905.02383). These
functions convert between mu and (epsilon, delta), and compose and split mu. Results are rounded to
the private side: no function promises more privacy than there is.

The module needs only the standard library. ``docs/privacy/gdp.md`` explains the evaluation and its
error bound.
"""

from __future__ import annotations

import functools
import math
from decimal import Decimal, localcontext

from dpfit._rounding import decimal_down, decimal_up, ratio_up
from dpfit.accounting._checks import (
    DELTA_RANGE,
    EPSILON_RANGE,
    check_positive,
    check_within,
    must_be,
)
from dpfit.accounting._composition import compose, per_round, split
from dpfit.accounting._initial_guess import initial_epsilon, initial_mu
from dpfit.accounting._privacy_profile import (
    CONTEXT,
    HIGHEST_A,
    LOWEST_A,
    RELATIVE_ERROR,
    Profile,
    evaluate,
)
from dpfit.exceptions import ParameterError

__all__ = ["compose", "gaussian_sigma", "gdp_delta", "gdp_epsilon", "gdp_mu", "per_round", "split"]

# For every (epsilon, delta) in range, mu is between these two.
_SMALLEST_MU = 1e-9
_LARGEST_MU = 100.0

_SAFETY = 1 + RELATIVE_ERROR
# Roots are moved by this much, so that a root that is a double is not rounded away from it.
_NUDGE = Decimal("1e-18")
_CONVERGED = Decimal("1e-10")
_NEWTON_STEPS = 20
_NEAR = 1e-6


def gdp_delta(mu: float, epsilon: float) -> float:
    """Return the smallest delta for which mu-GDP implies (epsilon, delta)-DP.

    Parameters
    ----------
    mu : float
        Privacy parameter of the release; positive.
    epsilon : float
        From 1e-6 to 1e3.

    Returns
    -------
    float
        ``Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2)``, rounded up; at least
        1e-300 and at most 1.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Privacy
    -------
    A mu-GDP release is (epsilon, delta)-DP with the returned delta. The computed value is increased
    by the bound on its error and rounded up to a double.

    Examples
    --------
    >>> gdp_delta(1.0, 1.0)
    0.12693673750664397
    """
    mu = check_positive("mu", mu)
    epsilon = check_within("epsilon", epsilon, EPSILON_RANGE)
    if mu < _SMALLEST_MU:
        return DELTA_RANGE[0]
    if mu > _LARGEST_MU:
        return 1.0
    exact_mu, exact_epsilon = Decimal.from_float(mu), Decimal.from_float(epsilon)
    with localcontext(CONTEXT):
        a = exact_epsilon / exact_mu - exact_mu / 2
        if a > HIGHEST_A:
            return DELTA_RANGE[0]
        if a < LOWEST_A:
            return 1.0
        delta = decimal_up(_upper_delta(evaluate(exact_epsilon, exact_mu)))
    return min(max(delta, DELTA_RANGE[0]), 1.0)


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : float
        From 1e-6 to 1e3.
    delta : float
        From 1e-300 to 0.5.

    Returns
    -------
    float
        The largest double mu for which ``delta(epsilon; mu) <= delta`` can be certified.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range.

    Privacy
    -------
    Releases that compose to at most the returned mu are together (epsilon, delta)-DP. A starting
    point is refined with 50 digits, rounded to a double and then checked: while the profile plus
    its error bound exceeds delta, the next smaller double is taken.

    Examples
    --------
    >>> gdp_mu(1.0, 1e-6)
    0.2367043806634357

    The noise of 102 equal releases of sensitivity 1:

    >>> gaussian_sigma(1.0, per_round(gdp_mu(1.0, 1e-6), 102))
    42.6671653057504
    """
    return _largest_mu(
        check_within("epsilon", epsilon, EPSILON_RANGE), check_within("delta", delta, DELTA_RANGE)
    )


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon for which mu-GDP implies (epsilon, delta)-DP.

    Parameters
    ----------
    mu : float
        Privacy parameter of the release; positive, and at most ``gdp_mu(1000.0, delta)``.
    delta : float
        From 1e-300 to 0.5.

    Returns
    -------
    float
        The smallest double epsilon >= 1e-6 for which ``delta(epsilon; mu) <= delta`` can be
        certified.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or if mu implies no epsilon up to 1000.

    Privacy
    -------
    A mu-GDP release is (epsilon, delta)-DP with the returned epsilon. The result is checked as in
    :func:`gdp_mu`, and increased until the check succeeds.

    Examples
    --------
    >>> gdp_epsilon(1.0, 1e-6)
    4.886554117462213
    >>> gdp_epsilon(50.0, 1e-6)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dpfit.exceptions.ParameterError: mu must be > 0 and <= 40.2...
    """
    mu = check_positive("mu", mu)
    delta = check_within("delta", delta, DELTA_RANGE)
    low, high = EPSILON_RANGE
    if mu < _SMALLEST_MU:
        return low
    if mu > _LARGEST_MU:
        raise _mu_too_large(mu, delta)
    exact_mu, target = Decimal.from_float(mu), Decimal.from_float(delta)
    guess = initial_epsilon(mu, delta, low, high)
    with localcontext(CONTEXT):
        if guess < low * (1 + _NEAR) and _holds(low, exact_mu, target):
            return low
        if guess > high * (1 - _NEAR) and not _holds(high, exact_mu, target):
            raise _mu_too_large(mu, delta)
        root = Decimal.from_float(guess)
        for _ in range(_NEWTON_STEPS):
            profile = evaluate(root, exact_mu)
            step = _log_excess(profile, target) * profile.delta / -profile.slope_epsilon
            root += step
            if abs(step) < _CONVERGED * root:
                break
        epsilon = decimal_up(root * (1 - _NUDGE))
        while not _holds(epsilon, exact_mu, target):
            epsilon = math.nextafter(epsilon, math.inf)
    return epsilon


def gaussian_sigma(sensitivity: float, mu: float) -> float:
    """Return the standard deviation of the noise that makes a release mu-GDP.

    Parameters
    ----------
    sensitivity : float
        Largest Euclidean distance between the statistics of two neighbouring tables; positive.
    mu : float
        Privacy parameter of the release; positive.

    Returns
    -------
    float
        The smallest double that is at least ``sensitivity / mu``.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or the quotient exceeds the largest double.

    Privacy
    -------
    Normal noise with this or a larger standard deviation makes the release mu-GDP (Dong, Roth and
    Su 2022, theorem 2.7). The quotient is exact and rounded up.

    Examples
    --------
    >>> gaussian_sigma(1.0, 0.25)
    4.0
    """
    sensitivity = check_positive("sensitivity", sensitivity)
    mu = check_positive("mu", mu)
    try:
        return _quotient_up(sensitivity, mu)
    except OverflowError:
        raise ParameterError(
            f"mu={mu!r} is too small: sensitivity / mu exceeds the largest double", subject="mu"
        ) from None


@functools.lru_cache(maxsize=256)
def _quotient_up(sensitivity: float, mu: float) -> float:
    """Return the smallest double that is at least the quotient. Rounds repeat the same ones."""
    (number, divisor), (share, of) = sensitivity.as_integer_ratio(), mu.as_integer_ratio()
    return ratio_up(number * of, divisor * share)


@functools.lru_cache(maxsize=256)
def _largest_mu(epsilon: float, delta: float) -> float:
    """Return the mu of :func:`gdp_mu`. Every fit asks for it, and its record asks again."""
    exact_epsilon, target = Decimal.from_float(epsilon), Decimal.from_float(delta)
    root = Decimal.from_float(initial_mu(epsilon, delta))
    with localcontext(CONTEXT):
        for _ in range(_NEWTON_STEPS):
            profile = evaluate(exact_epsilon, root)
            step = _log_excess(profile, target) * profile.delta / (profile.slope_mu * root)
            root *= 1 - step * (1 - step / 2)
            if abs(step) < _CONVERGED:
                break
        mu = decimal_down(root * (1 + _NUDGE))
        while _upper_delta(evaluate(exact_epsilon, Decimal.from_float(mu))) > target:
            mu = math.nextafter(mu, 0.0)
    return mu


def _upper_delta(profile: Profile) -> Decimal:
    """Return an upper bound of the exact profile."""
    return profile.delta * _SAFETY


def _holds(epsilon: float, mu: Decimal, target: Decimal) -> bool:
    """Return whether mu-GDP is certified to imply (epsilon, target)-DP."""
    exact = Decimal.from_float(epsilon)
    a = exact / mu - mu / 2
    if a > HIGHEST_A:
        return True
    return a >= LOWEST_A and _upper_delta(evaluate(exact, mu)) <= target


def _log_excess(profile: Profile, target: Decimal) -> Decimal:
    """Return the logarithm of ``profile.delta / target`` to sixteen digits, even close to 0."""
    return Decimal(math.log1p(float(profile.delta / target - 1)))


def _mu_too_large(mu: float, delta: float) -> ParameterError:
    high = EPSILON_RANGE[1]
    reason = f"for an epsilon up to {high!r} at delta={delta!r}"
    return must_be("mu", f"> 0 and <= {gdp_mu(high, delta)!r} {reason}", mu)
