"""Rows that can be summed, here or on workers: as numbers first, then stored as integers.

A table has parts. A table in this process has one part, which all threads sum; a table on a
cluster has many, each summed by one thread of a worker. Everything else is the same.
"""

from __future__ import annotations

import abc
import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar, cast

from dpfit import _native
from dpfit._typing import Array, Batch, Floats, Missing
from dpfit.exceptions import Code, ParameterError
from dpfit.statistics.row_map import RowMap
from dpfit.statistics.statistic import Batches, Blocks, Statistic, Sum

__all__ = [
    "BatchParts",
    "BlockParts",
    "LocalBatches",
    "Parts",
    "StoredTable",
    "Table",
    "bytes_of_row",
]

S = TypeVar("S", bound=Sum)


def bytes_of_row(features: int) -> int:
    """Return the size of a row in the core's store."""
    return _native.FEATURE_BYTES * features + _native.TARGET_BYTES


class Parts(abc.ABC):
    """The parts of a table.

    Privacy
    -------
    Sums are exact and private.
    """

    @abc.abstractmethod
    def sum(self, statistic: Statistic[S, Any]) -> S | None:
        """Return the sum over all parts, None if there are no rows."""

    @abc.abstractmethod
    def free(self) -> None:
        """Free the rows. It may be called twice."""


class BlockParts(Parts):
    """Parts that are blocks of integers."""

    @abc.abstractmethod
    def mapped(self, matrix: Floats) -> BlockParts:
        """Map every row to a row by a public matrix."""


class BatchParts(Parts):
    """Parts that are batches of numbers.

    With `max_weight`, the last column of every batch contains weights of rows. `missing` says what
    becomes of rows that contain NaN or an infinity.
    """

    missing: Missing = "error"
    max_weight: float | None = None

    @abc.abstractmethod
    def store(self, row_map: RowMap, *, gram: bool) -> tuple[BlockParts, _native.Gram | None]:
        """Return the rows as parts that are blocks of integers and, if `gram`, X'X of them."""


class Table:
    """Rows of numbers.

    Parameters
    ----------
    parts : BatchParts
        The rows.
    first : sequence of Statistic
        What will be asked for first, or tells what will be: all of them are summed when a sum is
        asked for.

    Privacy
    -------
    What it returns is exact and private: it goes to a :class:`~dpfit.release.Releaser`.
    """

    def __init__(self, parts: BatchParts, first: Sequence[Statistic[Any, Any]] = ()) -> None:
        self._parts, self._first = parts, first
        self._stored: StoredTable | None = None
        self._known: list[tuple[Statistic[Any, Any], Sum]] = []
        self._last: tuple[Statistic[Any, Any], Sum] | None = None

    @classmethod
    def of(cls, x: Array, y: Array, n_jobs: int | None = None) -> Self:
        """Return the rows of arrays, in which all values must be finite."""
        return cls(LocalBatches(lambda: [(x, y)], "error", n_jobs))

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights: then sums over stored rows are weighted."""
        return self._parts.max_weight is not None

    @property
    def has_indicators(self) -> bool:
        """Whether rows with missing values are kept: flags, which are columns, indicate them."""
        return self._parts.missing == "indicator"

    def sum(self, statistic: Statistic[S, Any]) -> S:
        """Return the exact sum over all rows.

        The last sum is kept, so that releasing a statistic twice takes one pass.
        """
        wanted, self._first = self._first, ()
        self._known += [(first, _checked(self._parts.sum(first))) for first in wanted]
        for known, total in self._known:
            told = total if known == statistic else statistic.told_by(known, total)
            if told is not None:
                return cast(S, told)
        if self._last is None or self._last[0] != statistic:
            self._last = statistic, _checked(self._parts.sum(statistic))
        return cast(S, self._last[1])

    def store(self, row_map: RowMap, *, gram: bool = True, free: bool = True) -> StoredTable:
        """Map the rows to integers and keep these. Rows that were stored before are freed.

        Parameters
        ----------
        row_map : RowMap
            The map.
        gram : bool, default True
            Whether to compute X'X of the rows in the same pass.
        free : bool, default True
            Whether to free the rows of this table. It cannot be used afterwards.
        """
        self._known, self._last = [], None
        if self._stored is not None:
            self._stored.free()
        parts, sums = self._parts.store(row_map, gram=gram)
        self._stored = StoredTable(parts, sums)
        if free:
            self._parts.free()
        return self._stored

    def free(self) -> None:
        """Free all rows, including the stored ones, and the last sum."""
        self._known, self._last = [], None
        _free(self._parts)
        if self._stored is not None:
            self._stored.free()


class StoredTable:
    """Rows of integers.

    Parameters
    ----------
    parts : BlockParts
        The rows.
    gram : Gram, optional
        X'X, if it was computed when the rows were stored.

    Privacy
    -------
    What it returns is exact and private: it goes to a :class:`~dpfit.release.Releaser`.
    """

    def __init__(self, parts: BlockParts, gram: _native.Gram | None = None) -> None:
        self._parts, self._gram = parts, gram
        self._mapped: list[StoredTable] = []

    def sum(self, statistic: Statistic[S, Any]) -> S:
        """Return the exact sum over all rows."""
        kept = None if self._gram is None else statistic.kept(self._gram)
        return _checked(self._parts.sum(statistic)) if kept is None else kept

    def mapped(self, matrix: Floats, *, free: bool = False) -> StoredTable:
        """Map every row to a row by a public matrix.

        A stored row x, of norm at most one, becomes z = x @ matrix. A z of norm above one is scaled
        down to norm one, together with its target. The entries of the matrix are rounded to
        ``_native.round_matrix(matrix)``.

        Parameters
        ----------
        matrix : array of shape (features, new features)
            The public matrix.
        free : bool, default False
            Whether to forget the rows of this table. It cannot be used afterwards.

        Returns
        -------
        StoredTable
            The mapped rows. Their `Scale` has the same step, and a bound of 1. X'X of them is
            :class:`MappedGram`.

        Privacy
        -------
        A mapped row depends on one row and on the matrix only, so that neighbouring tables stay
        neighbours. The matrix must be public.
        """
        mapped = StoredTable(self._parts.mapped(matrix))
        self._mapped.append(mapped)
        if free:
            _free(self._parts)
            self._gram = None
        return mapped

    def free(self) -> None:
        """Free all rows, including those of mapped tables, and X'X."""
        self._gram = None
        _free(self._parts)
        for table in self._mapped:
            table.free()


def _free(parts: Parts) -> None:
    # Parts that cannot be reached are gone, and the error to show is that of the fit.
    with contextlib.suppress(Exception):
        parts.free()


def _checked(total: S | None) -> S:
    if total is None:
        raise ParameterError(
            "Found array with 0 sample(s) while a minimum of 1 is required.", code=Code.NO_ROWS
        )
    return total


class LocalBatches(BatchParts):
    """The one part of a table that this process reads, as often as it is needed.

    Parameters
    ----------
    batches : callable
        Returns the batches, from the first one on.
    missing : {"error", "drop", "indicator"}
        What to do with a row that contains NaN or an infinity: "indicator" keeps it if its target
        is finite.
    n_jobs : int or None
        Threads.
    memory_limit : int or None
        Bytes above which stored rows are kept in an unnamed temporary file.
    max_weight : float or None
        The largest weight of a row, if the last column contains weights.
    free : callable, optional
        Called when the batches are not needed any more.
    """

    def __init__(
        self,
        batches: Callable[[], Iterable[Batch]],
        missing: Missing,
        n_jobs: int | None,
        *,
        memory_limit: int | None = None,
        max_weight: float | None = None,
        free: Callable[[], None] = lambda: None,
    ) -> None:
        self._batches, self.missing, self._n_jobs = batches, missing, n_jobs
        self._memory_limit, self.max_weight, self._free = memory_limit, max_weight, free
        # The rows of the last pass, which bound the size of the store.
        self._rows_read: int | None = None
        # What a store frees, the next one uses.
        self._memory = _native.Memory()

    def _read(self) -> Iterator[Batch]:
        rows = 0
        for x, y in self._batches():
            rows += len(y)
            if len(y):
                yield x, y
        self._rows_read = rows

    def sum(self, statistic: Statistic[S, Any]) -> S | None:
        """Return the sum over all batches."""
        part = Batches(self._read(), self.missing, self._n_jobs, self.max_weight)
        return statistic.sum(part)

    def store(self, row_map: RowMap, *, gram: bool) -> tuple[BlockParts, _native.Gram | None]:
        """Return the rows and, if `gram`, X'X, computed in the same pass."""
        native = row_map.weighted(self.max_weight).native()
        directory = self._directory(native.features)
        rows = _native.Rows(native, directory=directory, memory=self._memory)
        sums = _native.Gram(native) if gram else None
        for x, y in self._read():
            rows.extend(x, y, sums, missing=self.missing, n_jobs=self._n_jobs)
        return _LocalBlocks(rows, self._n_jobs, self._directory), sums

    def _directory(self, *features: int) -> str | None:
        """Return where to keep stores with so many features, None for memory."""
        if self._memory_limit is None:
            return None
        if self._rows_read is None:
            for _ in self._read():
                pass
        size = (self._rows_read or 0) * sum(map(bytes_of_row, features))
        return tempfile.gettempdir() if size > self._memory_limit else None

    def free(self) -> None:
        """Free what was read."""
        self._free()
        # Stores that exist still share theirs; it is freed with the last of them.
        self._memory = _native.Memory()


class _LocalBlocks(BlockParts):
    """The one part of a stored table of this process."""

    def __init__(
        self, rows: _native.Rows, n_jobs: int | None, directory: Callable[..., str | None]
    ) -> None:
        self._rows = [rows]
        self._n_jobs, self._directory = n_jobs, directory

    def sum(self, statistic: Statistic[S, Any]) -> S | None:
        """Return the sum over the rows."""
        return statistic.sum(Blocks(self._rows, self._n_jobs))

    def mapped(self, matrix: Floats) -> BlockParts:
        """Return the mapped rows."""
        (rows,) = self._rows
        # Both are kept, at least for a moment.
        directory = self._directory(rows.features, matrix.shape[1])
        mapped = rows.mapped(matrix, directory=directory, n_jobs=self._n_jobs)
        return _LocalBlocks(mapped, self._n_jobs, self._directory)

    def free(self) -> None:
        """Free the rows."""
        self._rows = []
