"""Checks of parameters. Every message names the parameter, what is allowed and what was passed."""

from __future__ import annotations

import math
import numbers

from dpfit._printable import is_printable
from dpfit._typing import Neighbors
from dpfit.exceptions import ParameterError

__all__ = [
    "DELTA_RANGE",
    "EPSILON_RANGE",
    "check_count",
    "check_integer",
    "check_name",
    "check_neighbors",
    "check_non_negative",
    "check_number",
    "check_positive",
    "check_within",
    "must_be",
]

EPSILON_RANGE = (1e-6, 1e3)
"""Smallest and largest epsilon that the accounting functions accept."""

DELTA_RANGE = (1e-300, 0.5)
"""Smallest and largest delta that the accounting functions accept."""


def must_be(name: str, allowed: str, got: object) -> ParameterError:
    """Return the error for a parameter with a value that is not allowed."""
    return ParameterError(f"{name} must be {allowed}, got {got}", subject=name)


def check_number(name: str, value: object) -> float:
    """Return ``value`` as a double if the conversion is exact."""
    if type(value) is float and not math.isnan(value):
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise must_be(name, "a real number", type(value).__name__)
    try:
        number = float(value)
    except OverflowError:
        raise must_be(name, "a double-precision number", "a larger number") from None
    if number != value:
        raise must_be(name, "a double-precision number", str(value))
    return number


def check_within(name: str, value: object, bounds: tuple[float, float]) -> float:
    """Return ``value`` as a double between two bounds, both included."""
    number = check_number(name, value)
    low, high = bounds
    if not low <= number <= high:
        raise must_be(name, f"between {low!r} and {high!r}", number)
    return number


def check_positive(name: str, value: object) -> float:
    """Return ``value`` as a positive finite double."""
    number = check_number(name, value)
    if not 0.0 < number < math.inf:
        raise must_be(name, "> 0 and finite", number)
    return number


def check_non_negative(name: str, value: object) -> float:
    """Return ``value`` as a finite double >= 0."""
    number = check_number(name, value)
    if not 0.0 <= number < math.inf:
        raise must_be(name, ">= 0 and finite", number)
    return abs(number)


def check_integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return ``value`` as an integer between two bounds, both included."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise must_be(name, "an integer", type(value).__name__)
    number = int(value)
    if number < low or (high is not None and number > high):
        allowed = f"an integer >= {low}" if high is None else f"an integer from {low} to {high}"
        bits = number.bit_length()
        raise must_be(name, allowed, number if bits <= 64 else f"a number of {bits} bits")
    return number


def check_count(name: str, value: object) -> int:
    """Return ``value`` as an integer >= 1."""
    return check_integer(name, value, 1)


def check_name(name: str, value: object) -> str:
    """Return ``value`` if it is a string that is not blank and can be printed."""
    if not isinstance(value, str):
        raise must_be(name, "a string", type(value).__name__)
    if not value.strip():
        raise must_be(name, "a string that is not blank", repr(value))
    if not is_printable(value):
        # The string may come from a file and is printed: a terminal would obey it.
        raise ParameterError(f"{name} must not contain control characters", subject=name)
    return value


def check_neighbors(value: object) -> Neighbors:
    """Return ``value`` if it names a neighbouring relation."""
    if value not in ("add_remove", "replace"):
        raise must_be("neighbors", "'add_remove' or 'replace'", repr(value))
    return value
