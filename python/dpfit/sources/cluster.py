"""The driver's side of a fit on an engine: what is asked of the workers, and what comes back."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dpfit import _native
from dpfit.exceptions import SourceError
from dpfit.plain import Bins, RowMap
from dpfit.schema import Kind
from dpfit.sources.blocks import (
    CountBins,
    CountRows,
    Quantise,
    Statistic,
    SumEnergy,
    SumGradient,
    SumGram,
)
from dpfit.sources.source import Reading, Source, check_rows
from dpfit.table import Missing, Stored, Table, any_bins

__all__ = ["FAN_IN", "ClusterSource", "ClusterTable", "Parts", "computed"]

T = TypeVar("T")

# Sums that a worker merges at a time.
FAN_IN = 8


def computed(act: Callable[[], T], engine: str) -> T:
    """Return what `act` returns; an error of the engine becomes one of dpfit.

    Privacy
    -------
    Engines put values, and whole lines of the table, into their messages. The class of an error is
    all that is kept.
    """
    try:
        return act()
    except Exception as error:
        name = type(error).__name__
    # Raised out here, so that the first error is not attached to it.
    raise SourceError(
        f"{engine} could not compute the table ({name}); look at the table without dpfit for more"
    )


class Parts(abc.ABC):
    """Parts of a table that are kept on workers: batches of numbers, or quantised blocks."""

    @abc.abstractmethod
    def reduce(self, statistic: Statistic[Any]) -> list[bytes]:
        """Return the sum over all parts, merged on the workers to a few sums or one."""

    @abc.abstractmethod
    def quantised(self, quantise: Quantise) -> Self:
        """Return the rows of all parts as blocks that are kept on the workers."""

    @abc.abstractmethod
    def release(self) -> None:
        """Let the workers forget the parts. It may be called twice."""


class ClusterTable:
    """Rows on workers.

    Parameters
    ----------
    parts : Parts
        The rows as numbers.
    columns : int
        Columns of X.
    missing : {"error", "drop"}
        What to do with a row that holds NaN or an infinity.

    Privacy
    -------
    Workers send exact sums and never see noise. Noise is drawn on the driver, from what these
    methods return.
    """

    def __init__(self, parts: Parts, columns: int, missing: Missing) -> None:
        self._parts, self._missing = parts, missing
        self._blocks: Parts | None = None
        self._rows: int | None = None
        self.columns = columns

    def rows(self) -> int:
        """Return the number of rows that count."""
        if self._rows is None:
            # Of an engine's table without rows there may be no sum at all.
            every = CountRows()
            total = every.merge(self._parts.reduce(every))
            check_rows(0 if total is None else total.rows)
            # Every value is looked at: what is not finite is an error before anything is released.
            self._rows = sum(self.histogram(any_bins(self.columns)).insecure_exact())
        return self._rows

    def histogram(self, bins: list[Bins | None]) -> _native.Histogram:
        """Count the rows in bins, the target's last."""
        return _total(self._parts, CountBins(bins, self._missing))

    def store(self, row_map: RowMap) -> tuple[Stored, _native.Gram]:
        """Quantise the rows, which stay on the workers; return them and X'X."""
        gram = _total(self._parts, SumGram(row_map, self._missing))
        self._blocks = self._parts.quantised(Quantise(row_map, self._missing))
        self._parts.release()
        return _ClusterStored(self._blocks), gram

    def close(self) -> None:
        """Let the workers forget the rows."""
        for parts in (self._parts, self._blocks):
            # What cannot be reached any more is gone, and the fit's own error is the one to show.
            if parts is not None:
                with contextlib.suppress(Exception):
                    parts.release()


class ClusterSource(Source):
    """A table whose rows are read by workers."""

    _read: ClusterTable | None = None

    def table(self, kinds: Sequence[Kind], reading: Reading) -> Table:
        """Return the rows for a fit, which stay on the workers."""
        parts = self.parts(kinds, reading.max_rows)
        self._read = ClusterTable(parts, self.columns, reading.missing)
        return self._read

    @abc.abstractmethod
    def parts(self, kinds: Sequence[Kind], max_rows: int | None) -> Parts:
        """Let the workers make numbers of the rows that count, and keep them."""

    def close(self) -> None:
        """Let the workers forget the rows."""
        if self._read is not None:
            self._read.close()


class _ClusterStored:
    """Quantised rows on workers."""

    def __init__(self, blocks: Parts) -> None:
        self._blocks = blocks

    def gradient(
        self, theta: npt.NDArray[np.float64], tau: int, *, n_jobs: int | None = None
    ) -> _native.Gradient:
        """Return X'g with g = clip(y - X theta, +-tau); `n_jobs` is not for workers."""
        return _total(self._blocks, SumGradient(theta, tau))

    def energy(
        self, theta: npt.NDArray[np.float64], tau: int, *, n_jobs: int | None = None
    ) -> _native.Energy:
        """Return the sum of g**2; `n_jobs` is not for workers."""
        return _total(self._blocks, SumEnergy(theta, tau))


def _total(parts: Parts, statistic: Statistic[T]) -> T:  # type: ignore[type-var]
    total = statistic.merge(parts.reduce(statistic))
    # There are rows, or it would have been said when they were counted.
    assert total is not None
    return total
