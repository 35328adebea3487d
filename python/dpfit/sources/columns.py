"""One column of a batch as numbers that the core reads: views where they are numbers already.

The rules, the same for every kind of table:

* numbers and booleans are what they are, decimals the nearest double;
* dates and times are days since 1970-01-01 00:00 UTC, durations and times of day are days;
* a level is its place in the list of levels, and -1 if it is not listed;
* what is missing is NaN.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import ParameterError
from dpfit.schema import Categorical, Date, Kind
from dpfit.sources.objects import from_objects, no_dates_problem, several_types_problem

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "UNKNOWN",
    "encode_array",
    "encode_arrow",
    "text_problem",
    "type_name",
]

Array: TypeAlias = npt.NDArray[Any]

# The code of a level that is not listed.
UNKNOWN = -1
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def text_problem(*names: str) -> str:
    """Return what to say of columns of text that have no levels."""
    listed = ", ".join(map(repr, names))
    schema = ", ".join(f"{name!r}: Categorical([...])" for name in names)
    if len(names) > 1:
        return (
            f"columns {listed} hold text: list their levels, schema=Schema({{{schema}}}), or leave "
            "them out"
        )
    return (
        f"column {listed} holds text: list its levels, schema=Schema({{{schema}}}), or leave it out"
    )


def _target_problem(name: str) -> str:
    return f"the target {name!r} holds text, and must be numbers (3.5, not 3,5) or dates"


def type_name(kind: pa.DataType) -> str:
    """Return a type without what is in it: of objects, names in it may be read from values."""
    return re.split(r"[<(\[]", str(kind))[0]


def encode_array(values: Array, kind: Kind | None, name: str) -> Array:
    """Return an array of NumPy as numbers.

    Parameters
    ----------
    values : array of shape (n,)
        Booleans, numbers, dates, text or objects.
    kind : Kind or None
        What the column is; None for the target.
    name : str
        For messages.
    """
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float64)
    if values.dtype == object:
        found = from_objects(values, name, dates=isinstance(kind, Date))
        if not isinstance(found, np.ndarray):
            return encode_arrow(found, kind, name)
        if isinstance(kind, Date) or np.isnan(found).all():
            # Days; or nothing is there, of whatever type.
            return found
        values = found
    if values.dtype.kind not in "iufb" or not values.dtype.isnative:
        return encode_arrow(_to_arrow(values, name), kind, name)
    if isinstance(kind, Date):
        raise ParameterError(no_dates_problem(name))
    return _numbered(values, kind, name) if isinstance(kind, Categorical) else values


def encode_arrow(values: pa.Array | pa.ChunkedArray, kind: Kind | None, name: str) -> Array:
    """Return a column of Arrow as numbers.

    Parameters
    ----------
    values : Array or ChunkedArray
        The column.
    kind : Kind or None
        What it is; None for the target.
    name : str
        For messages.

    Privacy
    -------
    What is refused is refused for its type; a message names the column and no value.
    """
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks > 1 and pa.types.is_dictionary(values.type):
            # Every chunk has texts of its own: joined, they may be more than its numbers can tell.
            return np.concatenate([encode_arrow(chunk, kind, name) for chunk in values.chunks])
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        # Of a type whose chunks cannot be joined, or none at all.
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.nulls(0, values.type)
    if isinstance(kind, Categorical) and kind.is_text:
        return _named(values, kind, name)
    if isinstance(kind, Date) and not _is_date(values.type):
        raise ParameterError(no_dates_problem(name))
    if _is_text(values.type):
        raise ParameterError(_target_problem(name) if kind is None else text_problem(name))
    if pa.types.is_dictionary(values.type):
        return encode_arrow(values.dictionary_decode(), kind, name)
    numbers = _numbers(values, name)
    return _numbered(numbers, kind, name) if isinstance(kind, Categorical) else numbers


def _numbers(values: pa.Array, name: str) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        numbers: Array = values.to_numpy(zero_copy_only=False)
        if numbers.dtype.kind == "O":
            # Booleans of which some are missing.
            numbers = pc.cast(values, pa.int8()).to_numpy(zero_copy_only=False)
        return numbers.astype(np.float64) if numbers.dtype == np.float16 else numbers
    if pa.types.is_decimal(kind):
        # By way of text, because Arrow's own way is often the double beside the nearest.
        written = pc.cast(values, pa.string())
        nearest: Array = pc.cast(written, pa.float64()).to_numpy(zero_copy_only=False)
        return nearest
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _days(values)
    raise ParameterError(f"column {name!r} holds {type_name(kind)}, which is no number")


def _days(values: pa.Array) -> Array:
    """Return days. The same instant is the same double, whatever the unit of its type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_date32(kind):
        ticks, day = pc.cast(values, pa.int32()), 1
    else:
        ticks = pc.cast(values, pa.int32() if pa.types.is_time32(kind) else pa.int64())
        day = _DAY["ms" if pa.types.is_date64(kind) else kind.unit]
    whole: Array = pc.fill_null(ticks, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    # Whole days and the rest are exact, so that one division and one sum are rounded.
    days: Array = whole // day + (whole % day) / day
    if values.null_count:
        days[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return days


def _named(values: pa.Array, kind: Categorical, name: str) -> Array:
    """Return the places of texts among the levels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        # Few texts are looked up; the rows have their numbers.
        known = _named(values.dictionary, kind, name)
        places = pc.cast(values.indices, pa.int64())
        table = np.append(known, known.dtype.type(UNKNOWN))
        rows = pc.fill_null(places, len(known)).to_numpy(zero_copy_only=False)
        return _missing(table[rows], places)
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if not _is_text(values.type):
        raise ParameterError(
            f"column {name!r} holds {type_name(values.type)}, but the levels in its schema are "
            "texts"
        )
    found = pc.index_in(pc.cast(values, pa.large_string()), value_set=_level_set(kind.levels))
    codes = pc.fill_null(found, UNKNOWN).to_numpy(zero_copy_only=False).astype(_code(kind))
    return _missing(codes, values)


@functools.lru_cache(maxsize=64)
def _level_set(levels: tuple[str, ...]) -> pa.Array:
    import pyarrow as pa

    return pa.array(levels, pa.large_string())


def _numbered(values: Array, kind: Categorical, name: str) -> Array:
    """Return the places of numbers among the levels."""
    if kind.is_text:
        raise ParameterError(f"column {name!r} holds numbers, but its levels are texts")
    levels = np.array(kind.levels, dtype=np.float64)
    order = np.argsort(levels)
    numbers = np.asarray(values, dtype=np.float64)
    nearest = np.minimum(np.searchsorted(levels[order], numbers), len(levels) - 1)
    codes = np.where(levels[order][nearest] == numbers, order[nearest], UNKNOWN)
    missing = ~np.isfinite(numbers)
    if missing.any():
        return np.where(missing, np.nan, codes)
    return codes.astype(_code(kind))


def _missing(codes: Array, values: pa.Array) -> Array:
    """Return the codes, with NaN where `values` is missing."""
    if not values.null_count:
        return codes
    return np.where(values.is_null().to_numpy(zero_copy_only=False), np.nan, codes)


def _code(kind: Categorical) -> type[np.signedinteger[Any]]:
    return np.int8 if len(kind.levels) < 128 else np.int16


def _is_date(kind: pa.DataType) -> bool:
    """Return whether a type is of dates, or says nothing."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_null(kind))


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _to_arrow(values: Array, name: str) -> pa.Array:
    """Return an array of texts, dates or bytes, or of numbers of another machine."""
    import pyarrow as pa

    if values.dtype.kind in "fiu":
        values = values.astype(values.dtype.newbyteorder("="))
    elif values.dtype.kind == "U":
        return pa.array(values.tolist(), pa.large_string())
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    # Raised out here, so that the first error, which shows values, is not attached.
    raise ParameterError(several_types_problem(name))
