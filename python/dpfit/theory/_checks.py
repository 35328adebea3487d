"""Checks of the parameters of the theory: name, value and allowed range in every message."""

from __future__ import annotations

import math
import numbers

from dpfit.accounting._checks import check_non_negative, check_number, check_positive
from dpfit.exceptions import ParameterError

__all__ = [
    "LARGEST_COUNT",
    "check_finite",
    "check_integer",
    "check_non_negative",
    "check_positive",
    "check_signal",
]

LARGEST_COUNT = 2**53
"""Largest number of rows or rounds: every integer up to it is a double."""


def check_finite(name: str, value: object) -> float:
    """Return ``value`` as a finite double."""
    number = check_number(name, value)
    if not math.isfinite(number):
        raise ParameterError(f"{name}={number!r} is out of range: -inf < {name} < inf")
    return number


def check_integer(name: str, value: object, low: int) -> int:
    """Return ``value`` as an integer between ``low`` and ``LARGEST_COUNT``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(f"{name} must be an integer, got {type(value).__name__}")
    number = int(value)
    if number < low:
        raise ParameterError(f"{name}={number} is out of range: {low} <= {name} <= 2**53")
    if number > LARGEST_COUNT:
        raise ParameterError(f"{name} > 2**53 is out of range: {low} <= {name} <= 2**53")
    return number


def check_signal(n: object, rho: object, low: float) -> tuple[int, float]:
    """Return ``n`` and ``rho`` if the noise on the row count is small beside ``n``."""
    rows = check_integer("n", n, 2)
    budget = check_positive("rho", rho)
    signal = rows * math.sqrt(budget)
    if signal < low:
        raise ParameterError(
            f"n={rows} and rho={budget!r} are out of range: n * sqrt(rho) must be at least "
            f"{low:g}, got {signal:.6g}"
        )
    return rows, budget
