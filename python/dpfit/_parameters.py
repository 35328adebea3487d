"""Checks of the parameters of estimators. All are made in `fit`."""

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
    """The privacy budget of a fit."""

    mu: float
    epsilon: float | None
    delta: float | None

    def named(self) -> dict[str, float | None]:
        """Return the budget in the terms in which it was given."""
        if self.epsilon is None:
            return {"mu": self.mu, "delta": self.delta}
        return {"epsilon": self.epsilon, "delta": self.delta}


def budget(epsilon: float | None, delta: float | None, mu: float | None) -> Budget:
    """Return the budget for epsilon and delta, or for mu.

    Privacy
    -------
    mu is rounded down, so that releases that compose to it are (epsilon, delta)-DP.
    """
    if mu is not None:
        if epsilon is not None:
            raise ParameterError("epsilon and mu must not both be given", subject="mu")
        if delta is not None:
            delta = check_within("delta", delta, DELTA_RANGE)
        return Budget(real("mu", mu, 1e-12, 1e12), None, delta)
    epsilon = DEFAULT_EPSILON if epsilon is None else epsilon
    delta = DEFAULT_DELTA if delta is None else delta
    return Budget(gdp_mu(epsilon, delta), float(epsilon), float(delta))


def entropy(random_state: Any) -> _native.Entropy:
    """Return the source of randomness; warn if it is seeded.

    Privacy
    -------
    With anything but None, anyone who knows the seed can reproduce the noise and remove it.
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
        "with random_state the noise is reproducible and the result is not private: use it for "
        "tests only",
        InsecureSeedWarning,
        stacklevel=4,
    )
    return _native.Entropy.insecure_seed(seed)


def real(name: str, value: Any, low: float, high: float) -> float:
    """Return a number that must be > `low` and <= `high`."""
    number = _number(value)
    if number is not None and low < number <= high:
        return number
    raise _invalid(name, f"a number > {low:g} and <= {high:g}", value)


def share(name: str, value: Any) -> float:
    """Return a number that must be >= 0 and <= 1."""
    number = _number(value)
    if number is not None and 0.0 <= number <= 1.0:
        return number
    raise _invalid(name, "a number >= 0 and <= 1", value)


def integer(name: str, value: Any, low: int, high: int) -> int:
    """Return an integer that must be from `low` to `high`."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if is_integer and low <= int(value) <= high:
        return int(value)
    raise _invalid(name, f"an integer from {low} to {high}", value)


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Return a string that must be one of `allowed`."""
    if isinstance(value, str) and value in allowed:
        return value
    raise _invalid(name, f"one of {', '.join(map(repr, allowed))}", value)


def switch(name: str, value: Any) -> bool:
    """Return a value that must be True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise _invalid(name, "True or False", value)


def shares(name: str, value: Any, count: int) -> tuple[float, ...]:
    """Return `count` numbers that must be > 0, the largest at most 1e9 times the smallest."""
    parts = value if isinstance(value, list | tuple | np.ndarray) else ()
    given = [_number(part) for part in parts]
    found = tuple(part for part in given if part is not None and 0.0 < part < math.inf)
    if len(found) == len(given) == count and max(found) <= 1e9 * min(found):
        return found
    raise _invalid(name, f"{count} numbers > 0 within a factor of 1e9", value)


def _invalid(name: str, expected: str, value: Any) -> ParameterError:
    return ParameterError(f"{name} must be {expected}, got {value!r}", subject=name)


def _number(value: Any) -> float | None:
    """Return a real number as a float, None for anything else."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
