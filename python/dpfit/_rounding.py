"""Directed rounding: exact arithmetic, followed by one rounding to a double.

A double is an integer times a power of two, so Python integers represent sums of squares and
quotients of doubles exactly. Each function rounds once, in the direction that its name says. The
caller chooses the direction that is private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

__all__ = [
    "decimal_down",
    "decimal_up",
    "fraction_down",
    "fraction_up",
    "ratio_up",
    "root_of_ratio_down",
    "root_up",
    "sum_of_squares",
]

_MANTISSA_BITS = 53
_LOWEST_EXPONENT = -1074
_ROOT_BITS = 64


def decimal_up(value: Decimal) -> float:
    """Return the smallest double that is at least ``value``."""
    nearest = float(value)
    return math.nextafter(nearest, math.inf) if Decimal.from_float(nearest) < value else nearest


def decimal_down(value: Decimal) -> float:
    """Return the largest double that is at most ``value``."""
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Decimal.from_float(nearest) > value else nearest


def fraction_up(value: Fraction) -> float:
    """Return the smallest double that is at least ``value`` (OverflowError if there is none)."""
    return ratio_up(value.numerator, value.denominator)


def ratio_up(number: int, divisor: int) -> float:
    """Return the smallest double that is at least ``number / divisor``, for a positive divisor.

    OverflowError if there is none.
    """
    nearest = number / divisor
    own, own_divisor = nearest.as_integer_ratio()
    if own * divisor >= number * own_divisor:
        return nearest
    above = math.nextafter(nearest, math.inf)
    if math.isinf(above):
        raise OverflowError("value exceeds the largest double")
    return above


def fraction_down(value: Fraction) -> float:
    """Return the largest double that is at most ``value`` (OverflowError if there is none)."""
    return -fraction_up(-value)


def sum_of_squares(values: Iterable[tuple[float, int]]) -> tuple[int, int]:
    """Return ``(n, e)`` with ``n * 4**e`` equal to the sum of ``count * value**2``, exactly.

    Parameters
    ----------
    values : iterable of (float, int)
        Non-negative finite doubles, each with its number of occurrences.
    """
    parts = [(*_parts(value), count) for value, count in values]
    if not parts:
        return 0, 0
    lowest = min(exponent for _, exponent, _ in parts)
    total = sum(count * integer**2 << 2 * (exponent - lowest) for integer, exponent, count in parts)
    return total, lowest


def root_up(number: int, exponent: int) -> float:
    """Return the smallest double that is at least ``sqrt(number * 4**exponent)``.

    The integer root has at least 64 bits, so doubles are coarser than these integers: rounding up
    to an integer first does not change the result.
    """
    if number == 0:
        return 0.0
    shift = _room(number)
    number <<= 2 * shift
    root = math.isqrt(number)
    if root * root < number:
        root += 1
    drop = _excess_bits(root, exponent - shift)
    return math.ldexp(-(-root >> drop), exponent - shift + drop)


def root_of_ratio_down(number: int, divisor: int, exponent: int) -> float:
    """Return the largest double that is at most ``sqrt(number / divisor * 4**exponent)``."""
    shift = _room(number, divisor)
    root = math.isqrt((number << 2 * shift) // divisor)
    drop = _excess_bits(root, exponent - shift)
    return math.ldexp(root >> drop, exponent - shift + drop)


def _parts(value: float) -> tuple[int, int]:
    """Return ``(n, e)`` with ``n * 2**e`` equal to ``value``, exactly."""
    mantissa, exponent = math.frexp(value)
    return int(math.ldexp(mantissa, _MANTISSA_BITS)), exponent - _MANTISSA_BITS


def _room(number: int, divisor: int = 1) -> int:
    """Return the shift that gives the root of ``number * 4**shift / divisor`` 64 bits or more."""
    missing = 2 * _ROOT_BITS + 2 + divisor.bit_length() - number.bit_length()
    return max(0, -(-missing // 2))


def _excess_bits(root: int, exponent: int) -> int:
    """Return the number of low bits of ``root * 2**exponent`` that do not fit into a double."""
    return max(root.bit_length() - _MANTISSA_BITS, _LOWEST_EXPONENT - exponent, 0)
