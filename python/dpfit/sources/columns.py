"""Encode one column of a batch as numbers that the core reads, without a copy if it is numeric.

The rules are the same for every kind of table:

* numbers and booleans keep their value, decimals become the nearest double;
* dates and times become days since 1970-01-01 00:00 UTC, durations and times of day become days;
* a listed value becomes its position in the list of its kind, and -1 if it is not listed;
* a missing value becomes NaN.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit._typing import Array
from dpfit.exceptions import Code, ParameterError
from dpfit.schema import Kind, Level
from dpfit.schema.dates import TICKS_PER_DAY, days_of_ticks
from dpfit.sources.objects import from_objects
from dpfit.sources.problems import mixed_types, not_dates, text_columns, text_target
from dpfit.sources.shield import shielded

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "UNKNOWN",
    "encode_array",
    "encode_arrow",
    "is_date_type",
    "is_string_type",
    "type_name",
]


# The code of a value that is not listed.
UNKNOWN = -1


def type_name(kind: pa.DataType) -> str:
    """Return the name of a type without its parameters, which may be read from values."""
    return re.split(r"[<(\[]", str(kind))[0]


def encode_array(values: Array, kind: Kind | None, name: str) -> Array:
    """Return a NumPy array as numbers.

    Parameters
    ----------
    values : array of shape (n,)
        Booleans, numbers, dates, strings or objects.
    kind : Kind or None
        The kind of the column; None for the target.
    name : str
        The column, for messages.
    """
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float64)
    is_date = kind is not None and kind.is_date
    if values.dtype == object:
        found = from_objects(values, name, dates=is_date)
        if not isinstance(found, np.ndarray):
            return encode_arrow(found, kind, name)
        if is_date or np.isnan(found).all():
            # Days, or only missing values.
            return found
        values = found
    if values.dtype.kind not in "iufb" or not values.dtype.isnative:
        return encode_arrow(_to_arrow(values, name), kind, name)
    if is_date:
        raise not_dates(name)
    return _number_codes(values, kind, name) if kind is not None and kind.listed else values


def encode_arrow(values: pa.Array | pa.ChunkedArray, kind: Kind | None, name: str) -> Array:
    """Return an Arrow column as numbers.

    Parameters
    ----------
    values : Array or ChunkedArray
        The column.
    kind : Kind or None
        Its kind; None for the target.
    name : str
        The column, for messages.

    Privacy
    -------
    A column is refused because of its type. The message contains its name and no value.
    """
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks > 1 and pa.types.is_dictionary(values.type):
            # Each chunk has its own dictionary. A joined one may exceed the type of the indices.
            return np.concatenate([encode_arrow(chunk, kind, name) for chunk in values.chunks])
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        # Some types cannot be combined, and there may be no chunk.
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.nulls(0, values.type)
    if kind is not None and kind.accepts_strings:
        return _string_codes(values, kind, name)
    if (
        kind is not None
        and kind.is_date
        and not (is_date_type(values.type) or pa.types.is_null(values.type))
    ):
        raise not_dates(name)
    if is_string_type(values.type):
        raise text_target(name) if kind is None else text_columns(name)
    if pa.types.is_dictionary(values.type):
        return encode_arrow(values.dictionary_decode(), kind, name)
    numbers = _numbers(values, name)
    return _number_codes(numbers, kind, name) if kind is not None and kind.listed else numbers


def _numbers(values: pa.Array, name: str) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        numbers: Array = values.to_numpy(zero_copy_only=False)
        if numbers.dtype.kind == "O":
            # Booleans with missing values.
            numbers = pc.cast(values, pa.int8()).to_numpy(zero_copy_only=False)
        return numbers.astype(np.float64) if numbers.dtype == np.float16 else numbers
    if pa.types.is_decimal(kind):
        # Through strings, because the direct cast is often off by one double.
        written = pc.cast(values, pa.string())
        nearest: Array = pc.cast(written, pa.float64()).to_numpy(zero_copy_only=False)
        return nearest
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _days(values)
    raise ParameterError(
        f"column {name!r} has type {type_name(kind)}, which is not supported",
        code=Code.WRONG_TYPE,
        subject=name,
        hint="convert it to numbers, strings or dates, or drop it",
    )


def _days(values: pa.Array) -> Array:
    """Return dates and times as days. The same instant is the same double in every unit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_date32(kind):
        ticks, day = pc.cast(values, pa.int32()), 1
    else:
        ticks = pc.cast(values, pa.int32() if pa.types.is_time32(kind) else pa.int64())
        day = TICKS_PER_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
    whole: Array = pc.fill_null(ticks, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    days: Array = days_of_ticks(whole, day)
    if values.null_count:
        days[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return days


def _string_codes(values: pa.Array, kind: Kind, name: str) -> Array:
    """Return the positions of strings in the list of their kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        # Look up the strings of the dictionary only.
        known = _string_codes(values.dictionary, kind, name)
        places = pc.cast(values.indices, pa.int64())
        table = np.append(known, known.dtype.type(UNKNOWN))
        rows = pc.fill_null(places, len(known)).to_numpy(zero_copy_only=False)
        return _missing(table[rows], places)
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if not is_string_type(values.type):
        raise _levels_are_strings(name, f"has type {type_name(values.type)}")
    found = pc.index_in(pc.cast(values, pa.large_string()), value_set=_value_set(kind.listed))
    codes = pc.fill_null(found, UNKNOWN).to_numpy(zero_copy_only=False).astype(_code_type(kind))
    return _missing(codes, values)


@functools.lru_cache(maxsize=64)
def _value_set(listed: tuple[Level, ...]) -> pa.Array:
    import pyarrow as pa

    return pa.array(listed, pa.large_string())


def _number_codes(values: Array, kind: Kind, name: str) -> Array:
    """Return the positions of numbers in the list of their kind."""
    if kind.accepts_strings:
        raise _levels_are_strings(name, "contains numbers")
    listed = np.array(kind.listed, dtype=np.float64)
    order = np.argsort(listed)
    numbers = np.asarray(values, dtype=np.float64)
    nearest = np.minimum(np.searchsorted(listed[order], numbers), len(listed) - 1)
    codes = np.where(listed[order][nearest] == numbers, order[nearest], UNKNOWN)
    missing = ~np.isfinite(numbers)
    if missing.any():
        return np.where(missing, np.nan, codes)
    return codes.astype(_code_type(kind))


def _levels_are_strings(name: str, found: str) -> ParameterError:
    problem = f"column {name!r} {found}, but the schema lists strings as its levels"
    return ParameterError(problem, code=Code.WRONG_TYPE, subject=name)


def _missing(codes: Array, values: pa.Array) -> Array:
    """Return the codes, with NaN where `values` is missing."""
    if not values.null_count:
        return codes
    return np.where(values.is_null().to_numpy(zero_copy_only=False), np.nan, codes)


def _code_type(kind: Kind) -> type[np.signedinteger[Any]]:
    return np.int8 if len(kind.listed) < 128 else np.int16


def is_date_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of dates or timestamps."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def is_string_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of strings."""
    import pyarrow as pa

    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _to_arrow(values: Array, name: str) -> pa.Array:
    """Return strings, dates, bytes, or numbers in another byte order as an Arrow array."""
    import pyarrow as pa

    if values.dtype.kind in "fiu":
        values = values.astype(values.dtype.newbyteorder("="))
    elif values.dtype.kind == "U":
        return shielded(
            lambda: pa.array(values.tolist(), pa.large_string()), lambda _: mixed_types(name)
        )
    return shielded(lambda: pa.array(values, from_pandas=True), lambda _: mixed_types(name))
