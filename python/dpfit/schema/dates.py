"""Dates as numbers: days since 1970-01-01 00:00 UTC."""

from __future__ import annotations

import datetime
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import Code, ParameterError

__all__ = ["EPOCH", "TICKS_PER_DAY", "bound_as_date", "bound_in_days", "days_of_ticks"]

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# By the units of time of NumPy and Arrow.
TICKS_PER_DAY = {
    "s": 86_400,
    "ms": 86_400_000,
    "us": 86_400_000_000,
    "ns": 86_400_000_000_000,
}

Ticks = TypeVar("Ticks", int, npt.NDArray[np.int64])


def days_of_ticks(ticks: Ticks, per_day: int) -> Any:
    """Return days, from ticks since 1970. The same instant is the same double in every unit."""
    # Whole days and the rest are exact, so that one division and one sum are rounded.
    return ticks // per_day + (ticks % per_day) / per_day


def bound_in_days(bound: Any) -> Any:
    """Return a bound of dates as days; numbers and None as they are."""
    if isinstance(bound, str):
        try:
            bound = datetime.datetime.fromisoformat(bound)
        except ValueError:
            problem = 'the bounds of Date must be dates, for example "2021-01-01"'
            raise ParameterError(problem, code=Code.SCHEMA) from None
    if isinstance(bound, datetime.date) and not isinstance(bound, datetime.datetime):
        bound = datetime.datetime.combine(bound, datetime.time())
    if isinstance(bound, datetime.datetime):
        aware = bound if bound.tzinfo is not None else bound.replace(tzinfo=datetime.UTC)
        return (aware - EPOCH) / datetime.timedelta(days=1)
    return bound


def bound_as_date(days: float) -> str | float:
    """Return whole days as a date, other numbers as they are: both are read back exactly."""
    try:
        date = EPOCH.date() + datetime.timedelta(days=int(days))
    except OverflowError:
        return days
    return date.isoformat() if days == int(days) else days
