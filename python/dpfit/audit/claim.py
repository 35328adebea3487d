"""What an estimator claims about its privacy."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

from dpfit.accounting import PrivacyRecord
from dpfit.audit.bounds import epsilon_of_mu
from dpfit.exceptions import ParameterError

__all__ = ["Claim", "claim_of"]

# Where epsilon is stated if neither the estimator nor the caller says it.
_DELTA = 1e-6


@dataclass(frozen=True)
class Claim:
    """The guarantee that is audited.

    Parameters
    ----------
    mu : float or None
        The parameter of Gaussian DP; None if the guarantee is not Gaussian.
    epsilon : float or None
        At `delta`; None if nothing is claimed.
    delta : float
        Where epsilon is stated, also that of the lower bound.
    """

    mu: float | None
    epsilon: float | None
    delta: float


def claim_of(fitted: Any, *, epsilon: float | None, delta: float | None, mu: float | None) -> Claim:
    """Return what a fitted object claims, unless the caller says what to compare with.

    Parameters
    ----------
    fitted : object
        With a privacy record, or with attributes `mu`, or `epsilon` and `delta`.
    epsilon, delta, mu : float or None
        The caller's claim.
    """
    delta = None if delta is None else _number("delta", delta, 0.0, 1.0)
    if mu is not None and epsilon is not None:
        raise ParameterError("epsilon and mu must not both be given", subject="mu")
    if mu is None and epsilon is None:
        record = getattr(fitted, "privacy_", None)
        if isinstance(record, PrivacyRecord):
            mu, epsilon = record.mu, record.epsilon
            if delta is None:
                delta = record.delta
            elif delta != record.delta:
                epsilon = None
        else:
            mu, epsilon = _attribute(fitted, "mu"), _attribute(fitted, "epsilon")
            if delta is None:
                delta = _attribute(fitted, "delta")
            if delta is None and epsilon is not None:
                # Mechanisms without a delta are purely private.
                delta = 0.0
    elif mu is not None:
        mu = _number("mu", mu, 0.0, math.inf)
    else:
        epsilon = _number("epsilon", epsilon, 0.0, math.inf)
    delta = _DELTA if delta is None else delta
    if epsilon is None and mu is not None:
        found = epsilon_of_mu(mu, delta)
        epsilon = found if math.isfinite(found) else None
    return Claim(mu, epsilon, delta)


def _attribute(fitted: Any, name: str) -> float | None:
    value = getattr(fitted, name, None)
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]


def _number(name: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if low <= number < high:
            return number
    raise ParameterError(
        f"{name} must be a number from {low:g} to {high:g}, got {value!r}", subject=name
    )
