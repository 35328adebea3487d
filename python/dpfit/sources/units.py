"""People with several rows: keep at most `max_rows` rows of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit._typing import Array
from dpfit.exceptions import Code, ParameterError
from dpfit.sources.shield import shielded

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

__all__ = ["Units", "arrow_units", "dtype_of", "series_units", "unit_ids", "wrong_units"]

Words: TypeAlias = npt.NDArray[np.uint64]

# Subclasses of integers that are not integers.
_NOT_INTEGERS = {bool, np.timedelta64}
# Odd factors: of a column in either hash of a row, and of the mixing after it.
_FACTORS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_MIXERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0xFF51AFD7ED558CCD)


class Units:
    """Chooses the rows to keep: at most `max_rows` of each unit.

    Call :meth:`add` for every batch, then :meth:`decide`, then :meth:`kept` for every batch. Until
    the decision, each row takes 24 bytes of memory, and each unit the size of its ID.

    Parameters
    ----------
    max_rows : int
        How many rows of one unit are kept.

    Privacy
    -------
    Which rows of a unit are kept depends only on the content of its own rows (the smallest hashes
    of X and y are kept), not on other units or the order of the table. So adding or removing a
    unit does not change which rows of other units are kept.

    Nobody's privacy depends on hashes being different. Units are told apart by their IDs, and the
    rows of each are counted. Two rows of one unit that have the same 128 bits, which anyone could
    make on purpose, would be kept in the order of the table, and still depend on no other unit.
    """

    def __init__(self, max_rows: int) -> None:
        self._max_rows = max_rows
        self._numbers: dict[int | str, int] = {}
        self._units: list[npt.NDArray[np.int64]] = []
        self._contents: list[tuple[Words, Words]] = []
        self._is_kept: npt.NDArray[np.bool_] = np.zeros(0, dtype=bool)

    def add(self, unit: Any, columns: Array | list[Array], target: Array) -> None:
        """Add a batch of rows, given the unit of each row."""
        given = unit_ids(unit, len(target))
        # Python integers and strings compare equal whatever array they came from. Objects are not
        # sorted: the dictionary is faster.
        objects = given.dtype == object
        ids, places = (given, None) if objects else np.unique(given, return_inverse=True)
        values = ids.tolist()
        if self._numbers and values and type(values[0]) is not type(next(iter(self._numbers))):
            raise wrong_units()
        numbers = [self._numbers.setdefault(value, len(self._numbers)) for value in values]
        units = np.array(numbers, dtype=np.int64)
        self._units.append(units if places is None else units[places])
        self._contents.append(_content(columns, target))

    def decide(self) -> None:
        """Choose among all rows that were added."""
        if not self._units:
            return
        numbers = np.concatenate(self._units)
        first, second = (np.concatenate(hashes) for hashes in zip(*self._contents, strict=True))
        self._units, self._contents, self._numbers = [], [], {}
        order = np.lexsort((second, first, numbers))
        numbers = numbers[order]
        starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
        lengths = np.diff(np.append(starts, len(numbers)))
        rank = np.arange(len(numbers)) - np.repeat(starts, lengths)
        self._is_kept = np.zeros(len(numbers), dtype=bool)
        self._is_kept[order[rank < self._max_rows]] = True

    def kept(
        self, start: int, columns: Array | list[Array], target: Array
    ) -> tuple[Array | list[Array], Array]:
        """Return the rows to keep of a batch whose first row is row `start` of the table."""
        kept = self._is_kept[start : start + len(target)]
        if kept.all():
            return columns, target
        if isinstance(columns, list):
            return [column[kept] for column in columns], target[kept]
        return columns[kept], target[kept]


def unit_ids(unit: Any, rows: int) -> Array:
    """Return the ID of the unit of each row, all integers or all strings.

    Parameters
    ----------
    unit : array-like
        Integers or strings.
    rows : int
        The number of rows.

    Privacy
    -------
    Values are not converted: in a list of integers, a single fraction would turn all others into
    floats, and large integers that differ would become equal. Types that cannot be sorted, or that
    can be missing, are refused, because `numpy.unique` would split units silently.
    """
    unit = _without_library(unit)
    dtype = getattr(unit, "dtype", None)
    if isinstance(dtype, np.dtype) and not isinstance(unit, np.ma.MaskedArray):
        if dtype.kind in "iubUS":
            return _for_each_row(np.asarray(unit), rows)
        if dtype.kind != "O":
            raise wrong_units()
    values: list[Any] = shielded(
        lambda: list(unit),
        lambda error: _wrong_length() if isinstance(error, TypeError) else wrong_units(),
    )
    kinds = {type(value) for value in values}
    integers = all(issubclass(kind, int | np.integer) for kind in kinds)
    integers = integers and not kinds & _NOT_INTEGERS
    if not (integers or kinds <= {str, np.str_}):
        raise wrong_units()
    ids = np.empty(len(values), dtype=object)
    # Python integers compare exactly, whatever their size.
    ids[:] = [int(value) for value in values] if integers else [str(value) for value in values]
    return _for_each_row(ids, rows)


def series_units(series: nw.Series[Any]) -> Any:
    """Return the units in a column of a frame, for :func:`unit_ids`.

    Privacy
    -------
    A column whose type is not integers or strings is refused before a value is converted. polars
    would print an error of its own about a date that Python does not have, or about a string that
    is not UTF-8; Arrow raises one.
    """
    import narwhals as nw

    dtype = dtype_of(series)
    if dtype.is_integer():
        # With missing values, pandas and polars return floats or objects, which are refused.
        return shielded(series.to_numpy, lambda _: wrong_units())
    if series.implementation.is_pandas_like() and dtype in (nw.Object, nw.String):
        return shielded(series.to_list, lambda _: wrong_units())
    return arrow_units(shielded(series.to_arrow, lambda _: wrong_units()))


def dtype_of(series: nw.Series[Any]) -> nw.dtypes.DType:
    """Return the type of a column; `Unknown` if narwhals cannot describe it.

    narwhals raises an error for decimals with a negative scale.
    """
    import narwhals as nw

    try:
        return series.dtype
    except ValueError:
        return nw.Unknown()


def arrow_units(units: pa.Array | pa.ChunkedArray) -> Any:
    """Return the units in an Arrow column, for :func:`unit_ids`."""
    import pyarrow as pa

    kind = units.type.value_type if pa.types.is_dictionary(units.type) else units.type
    if pa.types.is_integer(kind) and not units.null_count and kind is units.type:
        return units.to_numpy(zero_copy_only=False)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if not (pa.types.is_integer(kind) or any(is_text(kind) for is_text in texts)):
        raise wrong_units()
    # Strings may not be UTF-8.
    return shielded(units.to_pylist, lambda _: wrong_units())


def _without_library(unit: Any) -> Any:
    """Return a series or an Arrow array of any library as plain values; others unchanged."""
    import narwhals as nw
    import pyarrow as pa

    if isinstance(unit, pa.Array | pa.ChunkedArray):
        return arrow_units(unit)
    if isinstance(getattr(unit, "dtype", None), np.dtype):
        return unit
    series = shielded(
        lambda: nw.from_native(unit, series_only=True, pass_through=True), lambda _: wrong_units()
    )
    return series_units(series) if isinstance(series, nw.Series) else unit


def wrong_units() -> ParameterError:
    """Return the error for units that are not all integers or all strings."""
    problem = "unit must contain only integers or only strings, and no missing values"
    return ParameterError(problem, code=Code.UNIT_VALUES, subject="unit")


def _wrong_length() -> ParameterError:
    problem = "unit must have one value for each row"
    return ParameterError(problem, code=Code.UNIT_VALUES, subject="unit")


def _for_each_row(ids: Array, rows: int) -> Array:
    if ids.ndim != 1 or len(ids) != rows:
        raise _wrong_length()
    return ids


def _content(columns: Array | list[Array], target: Array) -> tuple[Words, Words]:
    """Return two independent hashes of the numbers of each row; the second one breaks ties."""
    words = _words(target)
    first, second = _mix(words, _MIXERS[0]), _mix(words, _MIXERS[1])
    for values in columns if isinstance(columns, list) else columns.T:
        words = _words(values)
        first = _mix(first * _FACTORS[0] ^ words, _MIXERS[0])
        second = _mix(second * _FACTORS[1] ^ words, _MIXERS[1])
    return first, second


def _words(values: Array) -> Words:
    """Return the bits of doubles, the same for equal values and for all NaN."""
    doubles = np.asarray(values, dtype=np.float64) + 0.0
    doubles[np.isnan(doubles)] = np.nan
    return doubles.view(np.uint64)


def _mix(words: Words, factor: np.uint64) -> Words:
    mixed: Words = (words ^ (words >> np.uint64(31))) * factor
    return mixed ^ (mixed >> np.uint64(29))
