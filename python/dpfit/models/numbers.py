"""Numbers as text, for tables that people read."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

import numpy as np

from dpfit._typing import Floats

__all__ = [
    "NONE",
    "date_pair",
    "date_text",
    "interval_ends",
    "number_text",
    "p_text",
    "pair_text",
    "range_texts",
]

NONE = "-"
_SMALLEST_P = 1e-4


def number_text(value: float, digits: int = 4) -> str:
    """Return four significant digits, five from 10000 on."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    scientific = f"{value:.{digits - 1}e}"
    exponent = int(scientific.split("e")[1])
    return f"{value:.{max(digits - 1 - exponent, 0)}f}" if -4 <= exponent <= 4 else scientific


def p_text(value: float) -> str:
    """Return a p-value with four decimals."""
    if not math.isfinite(value):
        return NONE
    return f"{value:.4f}" if value >= _SMALLEST_P else f"<{_SMALLEST_P:.4f}"


def interval_ends(level: float) -> tuple[str, str]:
    """Return the headings of the ends of intervals."""
    return f"[{(1.0 - level) / 2:.6g}", f"{(1.0 + level) / 2:.12g}]"


def pair_text(low: float, high: float) -> tuple[str, str]:
    """Return two numbers with enough digits to tell them apart."""
    if (low, high) == (0.0, 1.0):
        return "0", "1"
    digits = 4
    while digits < 17 and number_text(low, digits) == number_text(high, digits):
        digits += 1
    return number_text(low, digits), number_text(high, digits)


def range_texts(
    ranges: Sequence[Floats | None] | Floats, are_dates: Sequence[bool] | None = None
) -> list[str]:
    """Return "low to high", aligned; empty for None."""
    are_dates = [False] * len(ranges) if are_dates is None else are_dates
    pairs = [
        (date_pair if is_date else pair_text)(*row)
        if row is not None and np.isfinite(row).all()
        else None
        for row, is_date in zip(ranges, are_dates, strict=True)
    ]
    # Dates are as long as each other, and longer than numbers.
    numbers = [p for p, is_date in zip(pairs, are_dates, strict=True) if p and not is_date]
    widths = [max((len(pair[side]) for pair in numbers), default=0) for side in (0, 1)]
    return [
        ("" if row is None else NONE)
        if pair is None
        else " to ".join(
            end if is_date else end.rjust(width) for end, width in zip(pair, widths, strict=True)
        )
        for pair, row, is_date in zip(pairs, ranges, are_dates, strict=True)
    ]


def date_text(days: float) -> str:
    """Return days since 1970 as a date; the number if there is no such date."""
    return _moment(days, "days")


def date_pair(low: float, high: float) -> tuple[str, str]:
    """Return two dates; with as much of the time of day as is needed to tell them apart."""
    for precision in ("days", "minutes", "microseconds"):
        pair = _moment(low, precision), _moment(high, precision)
        if pair[0] != pair[1]:
            break
    return pair


def _moment(days: float, precision: str) -> str:
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=days)
    except (OverflowError, ValueError):
        return f"{days:.6g}"
    if precision == "days":
        return moment.date().isoformat()
    return moment.isoformat(" ", precision)
