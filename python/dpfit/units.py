"""One person, many rows: keep at most a few rows of each."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import ParameterError

__all__ = ["Units", "owners"]

Array: TypeAlias = npt.NDArray[Any]
Words: TypeAlias = npt.NDArray[np.uint64]

_KINDS = "unit must be whole numbers, or text, and never missing"
# Whole numbers by their class alone.
_NOT_WHOLE = {bool, np.timedelta64}
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)


class Units:
    """Decides which rows are kept: at most `max_rows` of every unit.

    Rows are added batch by batch, then it is decided, then every batch can be asked for the rows
    of it that are kept. In between, sixteen bytes are held for a row, and every name of a unit.

    Parameters
    ----------
    max_rows : int
        How many rows of one unit are kept.

    Privacy
    -------
    Which rows of a unit are kept follows from the content of these rows alone (the smallest hashes
    of X and y), neither from other units nor from the order of the table. So a table with one unit
    more or less keeps the same rows of all others.
    """

    def __init__(self, max_rows: int) -> None:
        self._max_rows = max_rows
        self._numbers: dict[int | str, int] = {}
        self._owners: list[npt.NDArray[np.int64]] = []
        self._contents: list[Words] = []
        self._is_kept: npt.NDArray[np.bool_] = np.zeros(0, dtype=bool)

    def add(self, unit: Any, columns: Array | list[Array], target: Array) -> None:
        """Look at a batch of rows: whose they are, and what is in them."""
        given = owners(unit, len(target))
        # Python's whole numbers and texts are equal or not, whatever array they came from.
        # Objects are not sorted: a dictionary is faster.
        objects = given.dtype == object
        names, places = (given, None) if objects else np.unique(given, return_inverse=True)
        values = names.tolist()
        if self._numbers and values and type(values[0]) is not type(next(iter(self._numbers))):
            raise ParameterError(_KINDS)
        numbers = [self._numbers.setdefault(value, len(self._numbers)) for value in values]
        whose = np.array(numbers, dtype=np.int64)
        self._owners.append(whose if places is None else whose[places])
        self._contents.append(_content(columns, target))

    def decide(self) -> None:
        """Decide on all rows that were added."""
        if not self._owners:
            return
        numbers, contents = np.concatenate(self._owners), np.concatenate(self._contents)
        self._owners, self._contents, self._numbers = [], [], {}
        order = np.lexsort((contents, numbers))
        numbers = numbers[order]
        starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
        lengths = np.diff(np.append(starts, len(numbers)))
        rank = np.arange(len(numbers)) - np.repeat(starts, lengths)
        self._is_kept = np.zeros(len(numbers), dtype=bool)
        self._is_kept[order[rank < self._max_rows]] = True

    def kept(
        self, start: int, columns: Array | list[Array], target: Array
    ) -> tuple[Array | list[Array], Array]:
        """Return the rows of a batch that are kept; the batch begins with row `start` of all."""
        kept = self._is_kept[start : start + len(target)]
        if kept.all():
            return columns, target
        if isinstance(columns, list):
            return [column[kept] for column in columns], target[kept]
        return columns[kept], target[kept]


def owners(unit: Any, rows: int) -> Array:
    """Return whose row it is, as values of one kind that are equal or not, and in order.

    Parameters
    ----------
    unit : array-like
        Whole numbers or texts.
    rows : int
        How many there must be.

    Privacy
    -------
    Nothing is converted: in a list of whole numbers, one number with a fraction would make all
    others floats, in which large ones are no longer told apart. Kinds that cannot be ordered, or
    that may be missing, are refused, because `numpy.unique` would split units without a word.
    """
    dtype = getattr(unit, "dtype", None)
    if isinstance(dtype, np.dtype) and not isinstance(unit, np.ma.MaskedArray):
        if dtype.kind in "iubUS":
            return _for_each_row(np.asarray(unit), rows)
        if dtype.kind != "O":
            raise ParameterError(_KINDS)
    try:
        values = list(unit)
    except TypeError:
        values = None
    if values is None:
        raise ParameterError("unit must be one value for each row")
    kinds = {type(value) for value in values}
    whole = all(issubclass(kind, int | np.integer) for kind in kinds) and not kinds & _NOT_WHOLE
    if not (whole or kinds <= {str, np.str_}):
        raise ParameterError(_KINDS)
    names = np.empty(len(values), dtype=object)
    # Python's whole numbers compare exactly, whatever their size.
    names[:] = [int(value) for value in values] if whole else [str(value) for value in values]
    return _for_each_row(names, rows)


def _for_each_row(names: Array, rows: int) -> Array:
    if names.ndim != 1 or len(names) != rows:
        raise ParameterError("unit must be one value for each row")
    return names


def _content(columns: Array | list[Array], target: Array) -> Words:
    """Return a hash of every row's numbers."""
    hashes = _mix(_words(target))
    for values in columns if isinstance(columns, list) else columns.T:
        hashes = _mix(hashes * _FIRST ^ _words(values))
    return hashes


def _words(values: Array) -> Words:
    """Return the bits of doubles: of equal ones the same, and of all NaN."""
    doubles = np.asarray(values, dtype=np.float64) + 0.0
    doubles[np.isnan(doubles)] = np.nan
    return doubles.view(np.uint64)


def _mix(words: Words) -> Words:
    mixed: Words = (words ^ (words >> np.uint64(31))) * _SECOND
    return mixed ^ (mixed >> np.uint64(29))
