"""What a Spark task does with a partition: it reads, sums, merges or deletes.

Tasks return rows of `SCHEMA`: a kind, the numbers of the parts that the row is about, a string and
bytes.
"""

from __future__ import annotations

import functools
import gc
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from dpfit._typing import Batch
from dpfit.schema import Kind
from dpfit.sources.engines.kept import Keeper, Kept, Lost, Step
from dpfit.sources.engines.worker import AsPart, Failure, encoded, merged_bytes, summed_bytes
from dpfit.sources.frames import FrameSource
from dpfit.sources.roles import Roles
from dpfit.sources.source import Change
from dpfit.statistics import Statistic

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SCHEMA", "AddUp", "MergeSums", "Read", "Remove", "Row", "Work", "staged"]

SCHEMA = "kind string, parts string, text string, packed binary"


class Row(NamedTuple):
    """A row of `SCHEMA`.

    Its kind is "kept" (the text has the key of files), "ahead" or "not ahead" (a sum that was
    computed while the table was read, or could not be; the text has the number of the statistic),
    "sum", "lost" (files are gone), "elsewhere" (files are on another executor), "removed" (the text
    has the executor) or "failure".
    """

    kind: str
    parts: tuple[int, ...] = ()
    text: str | None = None
    packed: bytes | None = None


Work: TypeAlias = Callable[[Iterator["pa.RecordBatch"]], Iterable[Row]]


def staged(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for Spark that maps a partition to rows, the last of them a failure.

    Privacy
    -------
    NumPy's warnings of values that overflow would be in the logs of executors.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _set_up()
        failure = None
        try:
            with np.errstate(all="ignore"):
                for row in work(batches):
                    yield _packed(row)
        except Exception as error:
            failure = Failure.of(error)
        if failure is not None:
            yield _packed(Row("failure", text=json.dumps(failure)))

    return run


@functools.cache
def _set_up() -> None:
    """Exclude imported modules from garbage collection.

    Spark's workers collect garbage after every task, which would take longer than a pass over a
    block.
    """
    gc.collect()
    gc.freeze()


def _packed(row: Row) -> pa.RecordBatch:
    import pyarrow as pa

    kind, parts, text, packed = row
    columns = [
        pa.array([kind], pa.string()),
        pa.array([json.dumps(parts)], pa.string()),
        pa.array([text], pa.string()),
        pa.array([packed], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["kind", "parts", "text", "packed"])


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Yield what an earlier stage returned."""
    for batch in batches:
        for kind, parts, *rest in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            yield Row(kind, tuple(json.loads(parts)), *rest)


@dataclass(frozen=True)
class Read:
    """Reads a partition of the table, and keeps it as numbers.

    Parameters
    ----------
    fit : str
        The name of the fit.
    names : list of str
        The names of all columns.
    kinds : list of Kind
        What the features are.
    roles : Roles
        What other columns are.
    max_rows : int or None
        The number of rows that are kept for each unit, if rows have units.
    rows : int
        The rows of a batch.
    change : callable or None
        Replaces columns and target.
    first : tuple of Statistic
        What will be asked for first. Their sums over the partition are returned with its key.
    as_part : callable
        Makes a part of batches.
    """

    fit: str
    names: list[str]
    kinds: list[Kind]
    roles: Roles
    max_rows: int | None
    rows: int
    change: Change | None
    first: tuple[Statistic[Any, Any], ...]
    as_part: AsPart

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        """Yield the key of what is kept, and sums."""
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        parts = (task.partitionId(),)
        keeper = Keeper(self.fit)
        kept = keeper.add(self._batches(batches))
        yield Row("kept", parts, kept.to_json())
        for place, statistic in enumerate(self.first):
            try:
                total = summed_bytes(statistic, self.as_part(keeper.batches(kept)))
            except Exception:
                # It is raised when, and if, this statistic is asked for.
                yield Row("not ahead", parts, str(place))
            else:
                yield Row("ahead", parts, str(place), total)

    def _batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Batch]:
        for table in self._tables(batches):
            source = FrameSource.open(table.rename_columns(self.names), self.roles)
            yield from encoded(source, self.kinds, self.max_rows, self.change)

    def _tables(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Join small batches to larger ones; join all if rows have units."""
        import pyarrow as pa

        enough = math.inf if self.roles.unit is not None else self.rows
        waiting: list[pa.RecordBatch] = []
        count = 0
        for batch in batches:
            waiting.append(batch)
            count += len(batch)
            if count >= enough:
                yield pa.Table.from_batches(waiting)
                waiting, count = [], 0
        if waiting:
            yield pa.Table.from_batches(waiting)


@dataclass(frozen=True)
class AddUp:
    """Sums over the parts whose keys a partition has.

    Parameters
    ----------
    fit : str
        The name of the fit.
    statistic : Statistic
        What to sum.
    steps : tuple of Step
        How blocks are made of batches; empty if the statistic is one of batches.
    as_part : callable
        Makes a part of what is kept.
    forgotten : tuple of str
        Names of folders that are not needed any more.
    """

    fit: str
    statistic: Statistic[Any, Any]
    steps: tuple[Step, ...]
    as_part: AsPart
    forgotten: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        """Yield a sum for each part."""
        keeper = Keeper(self.fit)
        for row in _rows(batches):
            if row.kind == "failure":
                yield row
            if row.kind != "kept":
                continue
            assert row.text is not None
            kept = Kept.from_json(row.text)
            try:
                total = summed_bytes(self.statistic, self._part(keeper, kept))
            except Lost:
                here = kept.executor == keeper.executor
                yield Row("lost" if here else "elsewhere", row.parts)
            else:
                yield Row("sum", row.parts, packed=total)
            keeper.forget(kept, self.forgotten)

    def _part(self, keeper: Keeper, kept: Kept) -> Any:
        if self.steps:
            return self.as_part(keeper.blocks(kept, self.steps))
        return self.as_part(keeper.batches(kept))


@dataclass(frozen=True)
class MergeSums:
    """Merges sums, and passes on everything else."""

    statistic: Statistic[Any, Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        """Yield one sum, and other rows as they are."""
        parts: tuple[int, ...] = ()
        sums = []
        for row in _rows(batches):
            if row.kind != "sum":
                yield row
                continue
            parts += row.parts
            if row.packed is not None:
                sums.append(row.packed)
        if parts:
            yield Row("sum", parts, packed=merged_bytes(self.statistic, sums))


@dataclass(frozen=True)
class Remove:
    """Deletes the files of a fit on the machine that runs the task.

    Parameters
    ----------
    fit : str
        The name of the fit.
    executors : tuple of str
        Executors that had files. Some may have died.
    """

    fit: str
    executors: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        """Yield the executor that ran the task."""
        for _ in batches:
            pass
        keeper = Keeper(self.fit)
        keeper.remove(self.executors)
        yield Row("removed", text=keeper.executor)
