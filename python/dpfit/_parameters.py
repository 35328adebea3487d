"""Checks of estimators' parameters, all made in `fit`."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfit import _native
from dpfit.accounting import DELTA_RANGE, gdp_mu
from dpfit.accounting._checks import check_within
from dpfit.exceptions import InsecureSeedWarning, ParameterError

__all__ = [
    "Budget",
    "budget",
    "entropy",
    "integer",
    "one_of",
    "real",
    "share",
    "shares",
    "switch",
]

DEFAULT_EPSILON = 1.0
DEFAULT_DELTA = 1e-6


@dataclass(frozen=True)
class Budget:
    """What a fit may spend."""

    mu: float
    epsilon: float | None
    delta: float | None

    def named(self) -> dict[str, float | None]:
        """Return the budget as it was asked for."""
        if self.epsilon is None:
            return {"mu": self.mu, "delta": self.delta}
        return {"epsilon": self.epsilon, "delta": self.delta}


def budget(epsilon: float | None, delta: float | None, mu: float | None) -> Budget:
    """Return the budget that epsilon and delta, or mu, stand for.

    Privacy
    -------
    mu is rounded down: what composes to it is (epsilon, delta)-DP.
    """
    if mu is not None:
        if epsilon is not None:
            raise ParameterError("give epsilon (and delta) or mu, not both")
        if delta is not None:
            delta = check_within("delta", delta, DELTA_RANGE)
        return Budget(real("mu", mu, 1e-12, 1e12), None, delta)
    epsilon = DEFAULT_EPSILON if epsilon is None else epsilon
    delta = DEFAULT_DELTA if delta is None else delta
    return Budget(gdp_mu(epsilon, delta), float(epsilon), float(delta))


def entropy(random_state: Any) -> _native.Entropy:
    """Return the source of noise; a seed warns.

    Privacy
    -------
    With anything but None the noise can be repeated by whoever knows the seed.
    """
    if random_state is None:
        return _native.Entropy()
    if isinstance(random_state, np.random.RandomState):
        seed = int(random_state.randint(0, 2**63 - 1, dtype=np.int64))
    elif isinstance(random_state, np.random.Generator):
        seed = int(random_state.integers(0, 2**63 - 1))
    else:
        seed = integer("random_state", random_state, 0, 2**64 - 1)
    warnings.warn(
        "random_state makes the noise repeatable, so the result is not private: for tests only",
        InsecureSeedWarning,
        stacklevel=4,
    )
    return _native.Entropy.insecure_seed(seed)


def real(name: str, value: Any, low: float, high: float) -> float:
    """Return a number above `low` and at most `high`."""
    number = _number(value)
    if number is not None and low < number <= high:
        return number
    raise ParameterError(
        f"{name} must be a number above {low:g} and at most {high:g}, got {value!r}"
    )


def share(name: str, value: Any) -> float:
    """Return a number from 0 to 1."""
    number = _number(value)
    if number is not None and 0.0 <= number <= 1.0:
        return number
    raise ParameterError(f"{name} must be a number from 0 to 1, got {value!r}")


def integer(name: str, value: Any, low: int, high: int) -> int:
    """Return an integer from `low` to `high`."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if whole and low <= int(value) <= high:
        return int(value)
    raise ParameterError(f"{name} must be an integer from {low} to {high}, got {value!r}")


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Return one of the words that are allowed."""
    if isinstance(value, str) and value in allowed:
        return value
    raise ParameterError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def switch(name: str, value: Any) -> bool:
    """Return True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ParameterError(f"{name} must be True or False, got {value!r}")


def shares(name: str, value: Any, count: int) -> tuple[float, ...]:
    """Return `count` positive numbers, the largest at most 1e9 times the smallest."""
    parts = value if isinstance(value, list | tuple | np.ndarray) else ()
    given = [_number(part) for part in parts]
    found = tuple(part for part in given if part is not None and 0.0 < part < math.inf)
    if len(found) == len(given) == count and max(found) <= 1e9 * min(found):
        return found
    raise ParameterError(
        f"{name} must be {count} positive numbers within a factor of 1e9, got {value!r}"
    )


def _number(value: Any) -> float | None:
    """Return a real number as a double; None for anything else."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
