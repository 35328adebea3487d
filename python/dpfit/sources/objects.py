"""Columns of Python's objects, one value at a time.

Arrow would take a type from the first values and force the others into it, so that one row could
change what others are. Here every value becomes a number by itself, whatever is beside it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_objects", "no_dates_problem", "several_types_problem"]

Array: TypeAlias = npt.NDArray[Any]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DAY = 86_400_000_000
_DAY_IN_NANOSECONDS = 1000 * _DAY
_MICROSECOND = datetime.timedelta(microseconds=1)


def several_types_problem(name: str) -> str:
    """Return what to say of a column that has no type that can be read."""
    return f"column {name!r} must hold values of one type: numbers, texts or dates"


def no_dates_problem(name: str) -> str:
    """Return what to say of a column that should be one of dates."""
    return f"column {name!r} must hold dates, as the fit or its schema says"


def from_objects(
    values: Sequence[Any] | Array, name: str, *, dates: bool = False
) -> Array | pa.Array:
    """Return objects as numbers, or as Arrow's text if they are texts.

    Parameters
    ----------
    values : sequence
        Objects of one sort; None, NaN and what pandas has for it are missing.
    name : str
        The column, for messages.
    dates : bool
        Whether nothing but dates is expected.

    Privacy
    -------
    A value is the same number beside all others; if values of several sorts are beside each other,
    that is an error which tells the column and nothing else.
    """
    import pyarrow as pa

    given = list(values)
    missing = [_is_missing(value) for value in given]
    kinds = {type(value) for value, none in zip(given, missing, strict=True) if not none}
    sorts = {_sort(kind) for kind in kinds}
    if len(sorts) > 1 or None in sorts:
        raise ParameterError(several_types_problem(name))
    if not sorts:
        return np.full(len(given), np.nan)
    (convert,) = sorts
    if dates and convert not in (_instant, _date):
        raise ParameterError(no_dates_problem(name))
    assert convert is not None
    if convert is str:
        texts = [None if none else str(v) for v, none in zip(given, missing, strict=True)]
        try:
            return pa.array(texts, pa.large_string())
        except (pa.ArrowException, UnicodeError):
            pass
        # Raised out here, so that the first error, which shows values, is not attached.
        raise ParameterError(several_types_problem(name))
    numbers = np.full(len(given), np.nan)
    failed = False
    for place, (value, none) in enumerate(zip(given, missing, strict=True)):
        if not none:
            try:
                numbers[place] = convert(value)
            except (OverflowError, ValueError):
                failed = True
    if failed:
        raise ParameterError(several_types_problem(name))
    return numbers


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    # Of the very type: a subclass may do anything when it is asked.
    if type(value) is float or isinstance(value, np.floating):
        return bool(np.isnan(value))
    # Of pandas, without importing it.
    return type(value).__name__ in ("NaTType", "NAType")


def _days(ticks: int, day: int) -> float:
    # Whole days and the rest are exact, so that one division and one sum are rounded.
    return ticks // day + (ticks % day) / day


def _instant(value: datetime.datetime) -> float:
    if hasattr(value, "nanosecond"):
        # Of pandas: nanoseconds since 1970, in UTC.
        return _days(int(value.value), _DAY_IN_NANOSECONDS)  # type: ignore[attr-defined]
    aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    return _days((aware - _EPOCH) // _MICROSECOND, _DAY)


def _date(value: datetime.date) -> float:
    return float((value - _EPOCH.date()).days)


def _time(value: datetime.time) -> float:
    seconds = 3600 * value.hour + 60 * value.minute + value.second
    return _days(1_000_000 * seconds + value.microsecond, _DAY)


def _duration(value: datetime.timedelta) -> float:
    if hasattr(value, "nanoseconds"):
        return _days(int(value.value), _DAY_IN_NANOSECONDS)  # type: ignore[attr-defined]
    return _days(value // _MICROSECOND, _DAY)


def _flag(value: Any) -> float:
    return float(bool(value))


_NUMBERS: list[type] = [int, float, *(np.dtype(code).type for code in "bhilqBHILQefd")]
# What makes a number of a value. Types of one sort have the same function.
_SORTS: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys(_NUMBERS, float),
    str: str,
    np.str_: str,
    bool: _flag,
    np.bool_: _flag,
    Decimal: Decimal.__float__,
    datetime.datetime: _instant,
    datetime.date: _date,
    datetime.time: _time,
    datetime.timedelta: _duration,
}
# Those of pandas, which need not be there.
_OF_PANDAS: dict[str, Callable[[Any], Any]] = {"Timestamp": _instant, "Timedelta": _duration}


def _sort(kind: type) -> Callable[[Any], Any] | None:
    """Return what makes a number of values of a type, None for other types."""
    if kind.__module__.partition(".")[0] == "pandas":
        return _OF_PANDAS.get(kind.__name__)
    # Of the very type: a subclass may be anything.
    return _SORTS.get(kind)
