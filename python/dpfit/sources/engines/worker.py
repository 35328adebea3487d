"""What workers do: they convert rows to numbers, to blocks of integers, and to sums.

Everything here is plain data that can be pickled, runs on one thread, and draws no noise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from dpfit import _native, exceptions
from dpfit._typing import Batch, Floats, Missing
from dpfit.exceptions import Code, DpfitError, SourceError
from dpfit.schema import Kind
from dpfit.sources.shield import public_error
from dpfit.sources.source import Change, LocalSource, tell_nothing
from dpfit.statistics import Route, RowMap, Statistic
from dpfit.statistics.statistic import Batches, Blocks, merged
from dpfit.statistics.table import bytes_of_row

__all__ = [
    "AsPart",
    "Block",
    "Failure",
    "MapRows",
    "Quantise",
    "ToBlocks",
    "as_blocks",
    "encoded",
    "guarded",
    "merged_bytes",
    "pack_file",
    "summed_bytes",
    "unpack_file",
]

# Makes a part that a statistic can sum of what a worker holds.
AsPart: TypeAlias = Callable[[Iterable[Any]], Batches | Blocks]

# Makes blocks of what a worker holds.
ToBlocks: TypeAlias = Callable[[Iterable[Any]], Iterator["Block"]]

# Bytes of a block: engines move them one by one.
_BLOCK_BYTES = 1 << 24


class Failure(NamedTuple):
    """An error that is sent to the driver: its class in `dpfit.exceptions` and its fields.

    Privacy
    -------
    Only errors of dpfit keep their message, which contains no value of the data. An engine would
    show others, and what they came from, in its logs.
    """

    kind: str
    message: str
    code: str = Code.INVALID
    subject: str | None = None
    hint: str | None = None

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return the public part of an error."""
        found = public_error(error, _not_read)
        kind = type(found).__name__
        return cls(kind, found.message, found.code.value, found.subject, found.hint)

    def error(self) -> DpfitError:
        """Return the error, without anything attached."""
        error: DpfitError = getattr(exceptions, self.kind)(
            self.message, code=Code(self.code), subject=self.subject, hint=self.hint
        )
        return error


def guarded(act: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `act` returns, or its failure, or a failure among its arguments.

    Privacy
    -------
    NumPy would warn of values that overflow, in the logs of a worker or, if Dask runs in this
    process, on standard error. What a fit sets for its own thread does not hold for others.
    """
    for argument in arguments:
        if isinstance(argument, Failure):
            return argument
    try:
        with np.errstate(all="ignore"):
            return act(*arguments)
    except Exception as error:
        return Failure.of(error)


def _not_read(error: Exception) -> SourceError:
    problem = f"a worker could not read its part of the table ({type(error).__name__})"
    return SourceError(problem, code=Code.FAILED)


def encoded(
    source: LocalSource, kinds: Sequence[Kind], max_rows: int | None, change: Change | None = None
) -> list[Batch]:
    """Return a part of a table as numbers; all rows of a unit are in the same part."""
    batches = source.batches(kinds, max_rows, tell_nothing, change)
    return [batch for batch in batches() if len(batch[1])]


def pack_file(path: str, batch: Batch) -> None:
    """Write a batch, whose columns are in a list, to a new file that only this user can read."""
    import pyarrow as pa

    columns = [pa.array(np.asarray(column)) for column in (*batch[0], batch[1])]
    names = [str(place) for place in range(len(columns))]
    rows = pa.RecordBatch.from_arrays(columns, names=names)
    with (
        open(path, "xb", opener=_private) as file,
        pa.ipc.new_stream(file, rows.schema) as writer,
    ):
        writer.write_batch(rows)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def unpack_file(path: str) -> Batch:
    """Read what `pack_file` wrote. The file must not change as long as the batch exists."""
    import pyarrow as pa

    with pa.memory_map(path) as file, pa.ipc.open_stream(file) as reader:
        rows = reader.read_next_batch()
    *columns, target = (column.to_numpy(zero_copy_only=False) for column in rows.columns)
    return columns, target


@dataclass(frozen=True)
class Block:
    """Stored rows.

    Parameters
    ----------
    route : Route
        The maps from rows of numbers to these rows of integers.
    rows : Rows
        The rows of integers.
    size : int
        Their size in bytes, for engines that track the memory of workers.
    """

    route: Route
    rows: _native.Rows
    size: int

    @classmethod
    def read(cls, route: Route, packed: bytes) -> Self:
        """Read what `to_bytes` wrote."""
        return cls(route, route.read(packed), len(packed))

    @classmethod
    def open(cls, route: Route, row_map: _native.RowMap, path: str) -> Self:
        """Read the file of rows that `row_map`, which is that of the route, and then others map."""
        rows = _native.Rows.open(row_map, path, route.matrices)
        return cls(route, rows, os.path.getsize(path))

    def to_bytes(self) -> bytes:
        """Return the rows, to move between trusted processes."""
        return self.rows.to_bytes()

    def __reduce__(self) -> Any:
        return type(self).read, (self.route, self.to_bytes())

    def __sizeof__(self) -> int:
        return self.size


@dataclass(frozen=True)
class Quantise:
    """Maps the rows of a part to blocks, none of which is large."""

    row_map: RowMap
    missing: Missing

    def __call__(self, part: Iterable[Batch]) -> Iterator[Block]:
        """Yield the blocks."""
        route, native = Route(self.row_map), self.row_map.native()
        bytes_each = bytes_of_row(native.features)
        step = max(_BLOCK_BYTES // bytes_each, 1)
        for x, y in part:
            for start in range(0, len(y), step):
                some = slice(start, start + step)
                columns = [column[some] for column in x] if isinstance(x, list) else x[some]
                rows = _native.Rows(native)
                rows.extend(columns, y[some], missing=self.missing, n_jobs=1)
                yield Block(route, rows, bytes_each * len(y[some]))


@dataclass(frozen=True, eq=False)
class MapRows:
    """Maps the rows of blocks to rows by a public matrix."""

    matrix: Floats

    def __call__(self, part: Iterable[Block]) -> Iterator[Block]:
        """Yield the blocks."""
        for block in part:
            rows = block.rows.mapped(self.matrix, n_jobs=1)
            before, after = map(bytes_of_row, (block.rows.features, rows.features))
            yield Block(block.route.then(self.matrix), rows, block.size * after // before)


def as_blocks(blocks: Iterable[Block]) -> Blocks:
    """Return the blocks of a worker as a part that one thread sums."""
    return Blocks((block.rows for block in blocks), 1)


def summed_bytes(statistic: Statistic[Any, Any], part: Batches | Blocks) -> bytes | None:
    """Return the sum over a part as bytes, None if it is empty."""
    total = statistic.sum(part)
    return None if total is None else total.to_bytes()


def merged_bytes(statistic: Statistic[Any, Any], sums: Iterable[bytes]) -> bytes | None:
    """Return the total of sums as bytes, None if there are none."""
    total = merged(statistic.read(packed) for packed in sums)
    return None if total is None else total.to_bytes()
