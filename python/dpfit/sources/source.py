"""What a model asks of a table, whatever it is."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import ParameterError
from dpfit.schema import Kind
from dpfit.table import Array, Batch, BatchTable, Missing, Table
from dpfit.units import Units

__all__ = [
    "LocalSource",
    "Predictor",
    "Read",
    "Reading",
    "Source",
    "check_rows",
    "rows_in_batch",
    "tell_nothing",
]

Floats: TypeAlias = npt.NDArray[np.float64]
# From the columns of some rows to their predictions.
Predictor: TypeAlias = Callable[[list[Array]], Floats]

# Values in a batch: enough for threads to share, few enough for their copies not to matter.
_BATCH_VALUES = 1 << 21
_FEWEST_ROWS = 1 << 12


def rows_in_batch(columns: int) -> int:
    """Return how many rows to read at a time."""
    return max(_BATCH_VALUES // max(columns, 1), _FEWEST_ROWS)


@dataclass(frozen=True)
class Reading:
    """How the rows of a table are to be read.

    Parameters
    ----------
    missing : {"error", "drop"}
        What to do with a row that holds NaN or an infinity.
    n_jobs : int or None
        Threads.
    max_rows : int or None
        How many rows of one unit are kept, if rows have units.
    progress : callable
        Told of the number of rows read so far.
    """

    missing: Missing
    n_jobs: int | None
    max_rows: int | None
    progress: Callable[[int], None]


class Source(abc.ABC):
    """A table of any kind.

    `names` are those of the features, None if they have none; `declared` is what the types say of
    them: None for text of which they do not say the levels.
    """

    names: list[str] | None
    declared: list[Kind | None]

    @property
    def columns(self) -> int:
        """How many features there are."""
        return len(self.declared)

    def label(self, place: int) -> str:
        """Return what a column is called in messages."""
        return f"x{place}" if self.names is None else self.names[place]

    @abc.abstractmethod
    def table(self, kinds: Sequence[Kind], reading: Reading) -> Table:
        """Return the rows for a fit."""

    def close(self) -> None:  # noqa: B027 - most keep nothing
        """Let go of what was kept for reading again."""

    @abc.abstractmethod
    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return predictions of all rows, in what fits the kind of the table."""


class Read(NamedTuple):
    """Some rows: their columns, the target if there is one, and whose they are if that counts."""

    columns: Array | list[Array]
    target: Array
    unit: Any = None


class LocalSource(Source):
    """A table that this process reads."""

    @abc.abstractmethod
    def read(self, kinds: Sequence[Kind]) -> Iterator[Read]:
        """Read all rows from the first on."""

    def batches(
        self,
        kinds: Sequence[Kind],
        max_rows: int | None,
        progress: Callable[[int], None],
    ) -> Callable[[], Iterator[Batch]]:
        """Return what gives the rows that count, from the first on, whenever it is called.

        Parameters
        ----------
        kinds : sequence of Kind
            What the columns are.
        max_rows : int or None
            How many rows of one unit are kept, if rows have units.
        progress : callable
            Told of the number of rows read so far.
        """
        units = None if max_rows is None else Units(max_rows)
        if units is not None:
            for batch in self.read(kinds):
                units.add(batch.unit, batch.columns, batch.target)
            units.decide()

        def chosen() -> Iterator[Batch]:
            nonlocal progress
            # Of the first pass, in which tables that do not lie in memory are read.
            tell, progress = progress, tell_nothing
            start = 0
            for batch in self.read(kinds):
                stop = start + len(batch.target)
                tell(stop)
                if units is None:
                    yield batch.columns, batch.target
                else:
                    yield units.kept(start, batch.columns, batch.target)
                start = stop

        return chosen

    def table(self, kinds: Sequence[Kind], reading: Reading) -> Table:
        """Return the rows for a fit."""
        batches = self.batches(kinds, reading.max_rows, reading.progress)

        def some() -> Iterator[Batch]:
            rows = 0
            for batch in batches():
                rows += len(batch[1])
                yield batch
            check_rows(rows)

        return BatchTable(
            some,
            self.columns,
            missing=reading.missing,
            n_jobs=reading.n_jobs,
            memory_limit=self.store_limit,
            done=self.close,
        )

    @property
    def store_limit(self) -> int | None:
        """Bytes that the quantised rows may have in memory."""
        return None

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return predictions of all rows."""
        parts = [predictor(_separate(batch.columns)) for batch in self.read(kinds)]
        return self.wrap(np.concatenate(parts) if parts else np.zeros(0))

    def wrap(self, predictions: Floats) -> Any:
        """Return predictions as what fits the kind of the table."""
        return predictions


def check_rows(rows: int) -> None:
    """Refuse a table without rows. A unit keeps some of its rows, so that there is none then."""
    if not rows:
        raise ParameterError("Found array with 0 sample(s) while a minimum of 1 is required.")


def tell_nothing(rows: int) -> None:
    """Take no notice of the rows read."""


def _separate(columns: Array | list[Array]) -> list[Array]:
    return columns if isinstance(columns, list) else list(columns.T)
