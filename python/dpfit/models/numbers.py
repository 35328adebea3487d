"""Numbers as text, for tables that people read."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

import numpy as np

from dpfit._typing import Floats

__all__ = [
    "NONE",
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


def range_texts(ranges: Sequence[Floats | None] | Floats) -> list[str]:
    """Return "low to high", aligned; empty for None."""
    pairs = [
        pair_text(*row) if row is not None and np.isfinite(row).all() else None for row in ranges
    ]
    widths = [max((len(pair[side]) for pair in pairs if pair), default=0) for side in (0, 1)]
    return [
        f"{pair[0].rjust(widths[0])} to {pair[1].rjust(widths[1])}"
        if pair
        else ("" if row is None else NONE)
        for pair, row in zip(pairs, ranges, strict=True)
    ]


def date_text(days: float) -> str:
    """Return days since 1970 as a date; the number if there is no such date."""
    try:
        date = datetime.date(1970, 1, 1) + datetime.timedelta(days=math.floor(days))
    except (OverflowError, ValueError):
        return f"{days:.6g}"
    return date.isoformat()
