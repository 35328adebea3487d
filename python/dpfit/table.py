"""Rows that can be counted and stored: what a fit needs of them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit import _native
from dpfit.plain import Bins, EqualBins, RowMap

__all__ = [
    "Array",
    "Batch",
    "BatchTable",
    "Missing",
    "Stored",
    "Table",
    "any_bins",
    "bytes_of_row",
]

Array: TypeAlias = npt.NDArray[Any]
Missing: TypeAlias = Literal["error", "drop"]
# X, as one array or as a list of columns, and the target.
Batch: TypeAlias = tuple[Array | list[Array], Array]

# Bytes of a row in the core's store, beyond its features: the target.
_TARGET_BYTES, _FEATURE_BYTES = 4, 2


class Stored(Protocol):
    """Quantised rows, wherever they are. Everything that it returns is exact and private."""

    def gradient(
        self, theta: npt.NDArray[np.float64], tau: int, *, n_jobs: int | None = None
    ) -> _native.Gradient:
        """Return X'g with g = clip(y - X theta, +-tau)."""

    def energy(
        self, theta: npt.NDArray[np.float64], tau: int, *, n_jobs: int | None = None
    ) -> _native.Energy:
        """Return the sum of g**2."""


class Table(Protocol):
    """Rows, wherever they are. Everything that it returns is exact and private."""

    columns: int

    def rows(self) -> int:
        """Return the number of rows that count."""

    def histogram(self, bins: list[Bins | None]) -> _native.Histogram:
        """Count the rows in bins, the target's last."""

    def store(self, row_map: RowMap) -> tuple[Stored, _native.Gram]:
        """Quantise the rows; return them and X'X. Afterwards nothing else is asked of the table."""


def any_bins(columns: int) -> list[Bins | None]:
    """Return bins that count every row once: three, of the target."""
    return [*([None] * columns), EqualBins(0.0, 1.0, 1)]


def bytes_of_row(features: int) -> int:
    """Return what a row takes in the core's store."""
    return _FEATURE_BYTES * features + _TARGET_BYTES


class BatchTable:
    """Rows that come in batches, as often as they are asked for.

    Parameters
    ----------
    batches : callable
        Begins to give the batches anew.
    columns : int
        Columns of X.
    missing : {"error", "drop"}
        What to do with a row that holds NaN or an infinity.
    n_jobs : int or None
        Threads.
    memory_limit : int or None
        Bytes above which the quantised rows are kept in a temporary file without a name.
    done : callable, optional
        Called when the batches are not needed any more.
    """

    def __init__(
        self,
        batches: Callable[[], Iterable[Batch]],
        columns: int,
        *,
        missing: Missing,
        n_jobs: int | None,
        memory_limit: int | None = None,
        done: Callable[[], None] = lambda: None,
    ) -> None:
        self._batches, self._missing, self._n_jobs = batches, missing, n_jobs
        self._memory_limit, self._done = memory_limit, done
        self._rows: int | None = None
        self.columns = columns

    def rows(self) -> int:
        """Return the number of rows that count."""
        if self._rows is None:
            # Every value is looked at: what is not finite is an error before anything is released.
            self._rows = sum(self.histogram(any_bins(self.columns)).insecure_exact())
        return self._rows

    def histogram(self, bins: list[Bins | None]) -> _native.Histogram:
        """Count the rows in bins, the target's last."""
        histogram = _native.Histogram([None if b is None else b.native() for b in bins])
        for x, y in self._batches():
            histogram.extend(x, y, missing=self._missing, n_jobs=self._n_jobs)
        return histogram

    def store(self, row_map: RowMap) -> tuple[Stored, _native.Gram]:
        """Quantise the rows; return them and X'X."""
        native = row_map.native()
        rows = _native.Rows(native, directory=self._directory(native.features))
        gram = _native.Gram(native)
        with contextlib.ExitStack() as after:
            after.callback(self._done)
            for x, y in self._batches():
                rows.extend(x, y, gram, missing=self._missing, n_jobs=self._n_jobs)
        return rows, gram

    def _directory(self, features: int) -> str | None:
        if self._memory_limit is None:
            return None
        size = self.rows() * bytes_of_row(features)
        return tempfile.gettempdir() if size > self._memory_limit else None
