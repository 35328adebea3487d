"""One person, many rows: keep at most a few rows of each."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import ParameterError

__all__ = ["kept_rows"]

Array: TypeAlias = npt.NDArray[Any]
Words: TypeAlias = npt.NDArray[np.uint64]

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)


def kept_rows(unit: Any, X: Array, y: Array, max_rows: int) -> npt.NDArray[np.intp]:
    """Return the places of the rows to keep: at most `max_rows` of every unit.

    Parameters
    ----------
    unit : array of shape (n,)
        Whose row it is: numbers or text.
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
    owners = np.asarray(unit)
    if owners.ndim != 1 or len(owners) != len(y):
        raise ParameterError("unit must be one value for each row")
    if owners.dtype.kind in "fc" and np.isnan(owners).any():
        raise ParameterError("unit must not be missing")
    try:
        _, codes = np.unique(owners, return_inverse=True)
    except TypeError:
        raise ParameterError("unit must be all numbers or all text") from None
    order = np.lexsort((_content(X, y), codes))
    codes = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    lengths = np.diff(np.append(starts, len(codes)))
    rank = np.arange(len(codes)) - np.repeat(starts, lengths)
    # In the table's order, so that rows are read one after the other.
    return np.sort(order[rank < max_rows])


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
