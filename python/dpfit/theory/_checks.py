"""Checks of parameters that only the theory needs."""

from __future__ import annotations

import math

from dpfit.accounting._checks import (
    check_integer,
    check_non_negative,
    check_number,
    check_positive,
    must_be,
)
from dpfit.exceptions import ParameterError

__all__ = [
    "LARGEST_COUNT",
    "check_finite",
    "check_integer",
    "check_non_negative",
    "check_positive",
    "check_signal",
    "must_be",
]

LARGEST_COUNT = 2**53
"""Largest number of rows or rounds: every integer up to it is a double."""


def check_finite(name: str, value: object) -> float:
    """Return ``value`` as a finite double."""
    number = check_number(name, value)
    if not math.isfinite(number):
        raise must_be(name, "finite", number)
    return number


def check_signal(n: object, rho: object, low: float) -> tuple[int, float]:
    """Return ``n`` and ``rho`` if the noise of the row count is small compared to ``n``."""
    rows = check_integer("n", n, 2, LARGEST_COUNT)
    budget = check_positive("rho", rho)
    signal = rows * math.sqrt(budget)
    if signal < low:
        raise ParameterError(
            f"n * sqrt(rho) must be >= {low:g}, got {signal:.6g} (n={rows}, rho={budget!r})"
        )
    return rows, budget
