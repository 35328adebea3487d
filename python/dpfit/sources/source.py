"""The interface of sources: tables of any kind, as rows of numbers."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dpfit._typing import Array, Batch, Floats, Missing
from dpfit.schema import Kind
from dpfit.sources.units import Units
from dpfit.statistics import Statistic
from dpfit.statistics.table import LocalBatches, Table

__all__ = [
    "INTERVAL_COLUMNS",
    "Change",
    "LocalSource",
    "Predictor",
    "Read",
    "Reading",
    "Source",
    "no_rows",
    "rows_in_batch",
    "tell_nothing",
]

# Returns predictions, given columns; or predictions and the ends of intervals, as three columns.
Predictor: TypeAlias = Callable[["Array | list[Array]"], Floats]

# Replaces the columns and the target of some rows. The result for a row must depend on that row and
# on public numbers only. It is sent to the workers of a cluster.
Change: TypeAlias = Callable[[Batch], Batch]

# Values in a batch: enough for several threads, and few enough to copy.
_BATCH_VALUES = 1 << 21
_FEWEST_ROWS = 1 << 12

# The names of predictions with intervals, in frames.
INTERVAL_COLUMNS = ("prediction", "lower", "upper")


def rows_in_batch(columns: int) -> int:
    """Return the number of rows to read at a time."""
    return max(_BATCH_VALUES // max(columns, 1), _FEWEST_ROWS)


@dataclass(frozen=True)
class Reading:
    """How to read the rows of a table.

    Parameters
    ----------
    missing : {"error", "drop", "indicator"}
        What to do with a row that contains NaN or an infinity: "indicator" keeps it if its target
        is finite.
    n_jobs : int or None
        Threads.
    max_rows : int or None
        The number of rows that are kept for each unit, if rows have units.
    progress : callable
        Called with the number of rows read so far.
    change : callable, optional
        Replaces the columns and the target of a batch, row by row.
    max_weight : float or None
        The largest weight of a row, if the last column contains weights.
    first : tuple of Statistic
        What will be summed first, so that one pass can sum all of them.
    """

    missing: Missing
    n_jobs: int | None
    max_rows: int | None
    progress: Callable[[int], None]
    change: Change | None = None
    max_weight: float | None = None
    first: tuple[Statistic[Any, Any], ...] = ()


class Source(abc.ABC):
    """A table of any kind.

    `names` are the names of the features, None if they have none. `declared` are the kinds that
    follow from their types, None for strings whose levels the type does not list.
    """

    names: list[str] | None
    declared: list[Kind | None]

    @property
    def columns(self) -> int:
        """The number of features."""
        return len(self.declared)

    def label(self, place: int) -> str:
        """Return the name of a column in messages."""
        return f"x{place}" if self.names is None else self.names[place]

    @abc.abstractmethod
    def table(self, kinds: Sequence[Kind], reading: Reading) -> Table:
        """Return the rows for a fit."""

    def close(self) -> None:  # noqa: B027 - most keep nothing
        """Free what was kept to read the rows again."""

    @abc.abstractmethod
    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return predictions for all rows: an array or, of an engine, what it computes later."""


class Read(NamedTuple):
    """Some rows: columns, target, and units if the rows have units.

    If rows have weights, these are the last column (:func:`dpfit.sources.weights.with_weights`).
    """

    columns: Array | list[Array]
    target: Array
    unit: Any = None


class LocalSource(Source):
    """A table that this process reads."""

    @abc.abstractmethod
    def read(self, kinds: Sequence[Kind]) -> Iterator[Read]:
        """Read all rows, from the first one on."""

    def batches(
        self,
        kinds: Sequence[Kind],
        max_rows: int | None,
        progress: Callable[[int], None],
        change: Change | None = None,
    ) -> Callable[[], Iterator[Batch]]:
        """Return a function that reads the rows that are kept, from the first one on.

        Parameters
        ----------
        kinds : sequence of Kind
            The kinds of columns.
        max_rows : int or None
            The number of rows that are kept for each unit, if rows have units.
        progress : callable
            Called with the number of rows read so far, in the first pass.
        change : callable, optional
            Replaces the columns and the target of the rows that are kept.
        """
        units = None if max_rows is None else Units(max_rows)
        if units is not None:
            for batch in self.read(kinds):
                units.add(batch.unit, batch.columns, batch.target)
            units.decide()

        def chosen() -> Iterator[Batch]:
            nonlocal progress
            # Only the first pass reads tables that are not in memory.
            tell, progress = progress, tell_nothing
            start = 0
            for batch in self.read(kinds):
                stop = start + len(batch.target)
                tell(stop)
                kept: Batch = batch.columns, batch.target
                if units is not None:
                    kept = units.kept(start, *kept)
                yield kept if change is None else change(kept)
                start = stop

        return chosen

    def table(self, kinds: Sequence[Kind], reading: Reading) -> Table:
        """Return the rows for a fit."""
        return Table(
            LocalBatches(
                self.batches(kinds, reading.max_rows, reading.progress, reading.change),
                reading.missing,
                reading.n_jobs,
                memory_limit=self.store_limit,
                max_weight=reading.max_weight,
                free=self.close,
            ),
            reading.first,
        )

    @property
    def store_limit(self) -> int | None:
        """Bytes above which stored rows are kept in a file; None for no limit."""
        return None

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return predictions for all rows."""
        parts = [predictor(batch.columns) for batch in self.read(kinds)]
        return self.wrap(np.concatenate(parts or [predictor(no_rows(kinds))]))

    def wrap(self, predictions: Floats) -> Any:
        """Return predictions, or columns of them, in a type of the table's library."""
        return predictions


def no_rows(kinds: Sequence[Kind]) -> list[Array]:
    """Return columns without rows."""
    return [np.zeros(0) for _ in kinds]


def tell_nothing(rows: int) -> None:
    """Ignore the number of rows read."""
