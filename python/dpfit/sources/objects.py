"""Columns of Python objects, converted value by value.

Arrow would infer a type from the first values and convert the others to it, so that one row could
change the values of others. Here the number that a value becomes depends on that value only.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit._typing import Array
from dpfit.schema.dates import EPOCH, TICKS_PER_DAY, days_of_ticks
from dpfit.sources.problems import mixed_types, not_dates
from dpfit.sources.shield import shielded

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_objects"]

_MICROSECOND = datetime.timedelta(microseconds=1)


def from_objects(
    values: Sequence[Any] | Array, name: str, *, dates: bool = False
) -> Array | pa.Array:
    """Return objects as numbers, or as an Arrow array if they are strings.

    Parameters
    ----------
    values : sequence
        Objects of one type; None, NaN, and NaT and NA of pandas are missing.
    name : str
        The column, for messages.
    dates : bool
        Whether only dates are allowed.

    Privacy
    -------
    A value becomes the same number whatever the other rows contain. A column with values of several
    types is an error whose message contains the name of the column and nothing else.
    """
    import pyarrow as pa

    given = list(values)
    missing = [_is_missing(value) for value in given]
    types = {type(value) for value, none in zip(given, missing, strict=True) if not none}
    converters = {_converter(kind) for kind in types}
    if len(converters) > 1 or None in converters:
        raise mixed_types(name)
    if not converters:
        return np.full(len(given), np.nan)
    (convert,) = converters
    if dates and convert not in (_instant, _date):
        raise not_dates(name)
    assert convert is not None
    nothing = None if convert is str else np.nan

    def converted() -> Array | pa.Array:
        found = [nothing if none else convert(v) for v, none in zip(given, missing, strict=True)]
        return pa.array(found, pa.large_string()) if convert is str else np.array(found, np.float64)

    # Time zones may raise errors of any class.
    return shielded(converted, lambda _: mixed_types(name))


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    # Exactly this type: a subclass may run any code.
    if type(value) is float or isinstance(value, np.floating):
        return bool(np.isnan(value))
    # Those of pandas, without importing it.
    return type(value).__name__ in ("NaTType", "NAType")


def _days(ticks: int, unit: str = "us") -> float:
    return float(days_of_ticks(ticks, TICKS_PER_DAY[unit]))


def _instant(value: datetime.datetime) -> float:
    if hasattr(value, "nanosecond"):
        # A Timestamp of pandas: nanoseconds since 1970, in UTC.
        return _days(int(value.value), "ns")  # type: ignore[attr-defined]
    aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    return _days((aware - EPOCH) // _MICROSECOND)


def _date(value: datetime.date) -> float:
    return float((value - EPOCH.date()).days)


def _time(value: datetime.time) -> float:
    seconds = 3600 * value.hour + 60 * value.minute + value.second
    return _days(1_000_000 * seconds + value.microsecond)


def _duration(value: datetime.timedelta) -> float:
    if hasattr(value, "nanoseconds"):
        return _days(int(value.value), "ns")  # type: ignore[attr-defined]
    return _days(value // _MICROSECOND)


def _flag(value: Any) -> float:
    return float(bool(value))


_NUMBERS: list[type] = [int, float, *(np.dtype(code).type for code in "bhilqBHILQefd")]
# The function that converts values of a type. Types that may be mixed have the same function.
_CONVERTERS: dict[type, Callable[[Any], Any]] = {
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
# Types of pandas, which need not be installed.
_PANDAS_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "Timestamp": _instant,
    "Timedelta": _duration,
}


def _converter(kind: type) -> Callable[[Any], Any] | None:
    """Return the function that converts values of a type, None if there is none."""
    if kind.__module__.partition(".")[0] == "pandas":
        return _PANDAS_CONVERTERS.get(kind.__name__)
    # Exactly this type: a subclass may be anything.
    return _CONVERTERS.get(kind)
