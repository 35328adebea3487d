"""One person, many rows: keep at most a few rows of each."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import ParameterError

__all__ = ["kept_rows"]

Array: TypeAlias = npt.NDArray[Any]
Words: TypeAlias = npt.NDArray[np.uint64]

_KINDS = "unit must be whole numbers, or text, and never missing"
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)


def kept_rows(unit: Any, X: Array, y: Array, max_rows: int) -> npt.NDArray[np.intp]:
    """Return the places of the rows to keep: at most `max_rows` of every unit.

    Parameters
    ----------
    unit : array of shape (n,)
        Whose row it is: whole numbers or text.
    X, y : arrays
        The rows.
    max_rows : int
        How many rows of one unit are kept.

    Privacy
    -------
    Which rows of a unit are kept follows from the content of these rows alone (the smallest hashes
    of X and y), neither from other units nor from the order of the table. So a table with one unit
    more or less keeps the same rows of all others.
    """
    owners = _owners(unit)
    if owners.ndim != 1 or len(owners) != len(y):
        raise ParameterError("unit must be one value for each row")
    _, codes = np.unique(owners, return_inverse=True)
    order = np.lexsort((_content(X, y), codes))
    codes = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    lengths = np.diff(np.append(starts, len(codes)))
    rank = np.arange(len(codes)) - np.repeat(starts, lengths)
    # In the table's order, so that rows are read one after the other.
    return np.sort(order[rank < max_rows])


def _owners(unit: Any) -> Array:
    """Return whose row it is, as values of one kind that are equal or not, and in order.

    Privacy
    -------
    Nothing is converted: in a list of whole numbers, one number with a fraction would make all
    others floats, in which large ones are no longer told apart. Kinds that cannot be ordered, or
    that may be missing, are refused, because `numpy.unique` would split units without a word.
    """
    dtype = getattr(unit, "dtype", None)
    if isinstance(dtype, np.dtype) and not isinstance(unit, np.ma.MaskedArray):
        if dtype.kind in "iubUS":
            return np.asarray(unit)
        if dtype.kind != "O":
            raise ParameterError(_KINDS)
    try:
        values = list(unit)
    except TypeError:
        values = None
    if values is None:
        raise ParameterError("unit must be one value for each row")
    kinds = {type(value) for value in values}
    whole = all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds)
    if not (whole or kinds <= {str, np.str_}):
        raise ParameterError(_KINDS)
    owners = np.empty(len(values), dtype=object)
    # Python's whole numbers compare exactly, whatever their size.
    owners[:] = [int(value) for value in values] if whole else values
    return owners


def _content(X: Array, y: Array) -> Words:
    """Return a hash of every row's numbers."""
    hashes = _mix(np.ascontiguousarray(y, dtype=np.float64).view(np.uint64))
    for column in range(X.shape[1]):
        values = np.ascontiguousarray(X[:, column], dtype=np.float64)
        hashes = _mix(hashes * _FIRST ^ values.view(np.uint64))
    return hashes


def _mix(words: Words) -> Words:
    mixed: Words = (words ^ (words >> np.uint64(31))) * _SECOND
    return mixed ^ (mixed >> np.uint64(29))
