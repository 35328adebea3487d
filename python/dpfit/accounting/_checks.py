"""Checks of parameters: name, value and allowed range in every message."""

from __future__ import annotations

import math
import numbers
from typing import Literal

from dpfit._printable import is_printable
from dpfit.exceptions import ParameterError

__all__ = [
    "DELTA_RANGE",
    "EPSILON_RANGE",
    "Neighbors",
    "check_count",
    "check_name",
    "check_neighbors",
    "check_non_negative",
    "check_number",
    "check_positive",
    "check_within",
]

Neighbors = Literal["add_remove", "replace"]

EPSILON_RANGE = (1e-6, 1e3)
"""Smallest and largest epsilon that the accounting functions take."""

DELTA_RANGE = (1e-300, 0.5)
"""Smallest and largest delta that the accounting functions take."""


def check_number(name: str, value: object) -> float:
    """Return ``value`` as a double if it is exactly one."""
    if type(value) is float and not math.isnan(value):
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(f"{name} must be a real number, got {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        raise ParameterError(f"{name} is too large for a double-precision number") from None
    if number != value:
        raise ParameterError(f"{name}={value!s} is not a finite double-precision number")
    return number


def check_within(name: str, value: object, bounds: tuple[float, float]) -> float:
    """Return ``value`` as a double between two bounds, both allowed."""
    number = check_number(name, value)
    low, high = bounds
    if not low <= number <= high:
        raise ParameterError(f"{name}={number!r} is out of range: {low!r} <= {name} <= {high!r}")
    return number


def check_positive(name: str, value: object) -> float:
    """Return ``value`` as a positive finite double."""
    number = check_number(name, value)
    if not 0.0 < number < math.inf:
        raise ParameterError(f"{name}={number!r} is out of range: 0 < {name} < inf")
    return number


def check_non_negative(name: str, value: object) -> float:
    """Return ``value`` as a finite double that is not negative."""
    number = check_number(name, value)
    if not 0.0 <= number < math.inf:
        raise ParameterError(f"{name}={number!r} is out of range: 0 <= {name} < inf")
    return abs(number)


def check_count(name: str, value: object) -> int:
    """Return ``value`` as an integer of at least one."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(f"{name} must be an integer, got {type(value).__name__}")
    if value < 1:
        raise ParameterError(f"{name}={value!s} is out of range: {name} >= 1")
    return int(value)


def check_name(name: str, value: object) -> str:
    """Return ``value`` if it is a string that says something."""
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be a string, got {type(value).__name__}")
    if not value.strip():
        raise ParameterError(f"{name}={value!r} must not be empty")
    if not is_printable(value):
        # It is shown, and may come from a file of others: a terminal would obey.
        raise ParameterError(f"{name} must not hold control characters")
    return value


def check_neighbors(value: object) -> Neighbors:
    """Return ``value`` if it names a neighbouring relation."""
    if value not in ("add_remove", "replace"):
        raise ParameterError(f"neighbors={value!r} must be 'add_remove' or 'replace'")
    return value
