"""Rows that can be counted and stored: what a fit needs of them."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit import _native

__all__ = ["ArrayTable", "Missing", "Table"]

Array: TypeAlias = npt.NDArray[Any]
Missing: TypeAlias = Literal["error", "drop"]

# Rows that are looked at together when those with NaN are counted.
_BLOCK = 1 << 16


class Table(Protocol):
    """Rows, wherever they are. Everything that it returns is exact and private."""

    columns: int

    def rows(self) -> int:
        """Return the number of rows that count."""

    def histogram(self, bins: list[_native.Bins | None]) -> _native.Histogram:
        """Count the rows in bins, the target's last."""

    def store(self, row_map: _native.RowMap) -> tuple[_native.Rows, _native.Gram]:
        """Quantise the rows; return them and X'X."""


class ArrayTable:
    """The rows of arrays.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers.
    y : array of shape (n,)
        The target.
    missing : {"error", "drop"}
        What to do with a row that holds NaN or an infinity.
    n_jobs : int or None
        Threads.
    """

    def __init__(self, X: Array, y: Array, *, missing: Missing, n_jobs: int | None) -> None:
        self._x, self._y, self._missing, self._n_jobs = X, y, missing, n_jobs
        self.columns = int(X.shape[1])

    def rows(self) -> int:
        """Return the number of rows that count."""
        if self._missing == "error":
            return len(self._y)
        total = 0
        for start in range(0, len(self._y), _BLOCK):
            rows = slice(start, start + _BLOCK)
            kept = np.isfinite(self._x[rows]).all(axis=1) & np.isfinite(self._y[rows])
            total += int(kept.sum())
        return total

    def histogram(self, bins: list[_native.Bins | None]) -> _native.Histogram:
        """Count the rows in bins, the target's last."""
        histogram = _native.Histogram(bins)
        histogram.extend(self._x, self._y, missing=self._missing, n_jobs=self._n_jobs)
        return histogram

    def store(self, row_map: _native.RowMap) -> tuple[_native.Rows, _native.Gram]:
        """Quantise the rows; return them and X'X."""
        rows, gram = _native.Rows(row_map), _native.Gram(row_map)
        rows.extend(self._x, self._y, gram, missing=self._missing, n_jobs=self._n_jobs)
        return rows, gram
