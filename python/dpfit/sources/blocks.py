"""What the workers of an engine do: rows to numbers, to blocks of integers, to sums.

Everything here is plain data that can be pickled, runs on one thread, and draws no noise.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dpfit import _native, exceptions
from dpfit.exceptions import DpfitError, SourceError
from dpfit.plain import Bins, RowMap
from dpfit.schema import Kind
from dpfit.sources.frames import FrameSource, as_frame
from dpfit.sources.source import LocalSource, tell_nothing
from dpfit.table import Batch, Missing, bytes_of_row

__all__ = [
    "Block",
    "CountBins",
    "CountRows",
    "Failure",
    "Quantise",
    "Statistic",
    "SumEnergy",
    "SumGradient",
    "SumGram",
    "encoded",
    "frame_source",
    "guarded",
    "pack",
    "unpack",
]

# Bytes of a block: engines move them one by one.
_BLOCK_BYTES = 1 << 24


class Failure(NamedTuple):
    """An error on its way to the driver: the name of its class in `dpfit.exceptions`, and its text.

    Privacy
    -------
    Only errors of dpfit keep their text, which holds no value of the data. An engine would show
    others, and what they came from, in its logs.
    """

    kind: str
    text: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return what may be said of an error."""
        if isinstance(error, DpfitError):
            return cls(type(error).__name__, str(error))
        return cls(
            "SourceError",
            f"a worker could not read its part of the table ({type(error).__name__})",
        )

    def error(self) -> DpfitError:
        """Return the error, without anything attached."""
        error: DpfitError = getattr(exceptions, self.kind)(self.text)
        return error


def guarded(act: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `act` returns, or its failure, or the failure that is among its arguments."""
    for argument in arguments:
        if isinstance(argument, Failure):
            return argument
    try:
        return act(*arguments)
    except Exception as error:
        return Failure.of(error)


def frame_source(frame: Any, target: Any = None, unit: str | None = None) -> FrameSource:
    """Return a part of a table, which is a frame of pandas or Arrow."""
    found = as_frame(frame)
    if found is None:
        raise SourceError("a part of the table is no frame")
    return FrameSource(found, target, unit)


def encoded(source: LocalSource, kinds: Sequence[Kind], max_rows: int | None) -> list[Batch]:
    """Return a part of a table as numbers; all rows of a unit are in the same part."""
    batches = source.batches(kinds, max_rows, tell_nothing)
    return [batch for batch in batches() if len(batch[1])]


def pack(batch: Batch) -> bytes:
    """Return a batch, whose columns are in a list, as bytes."""
    import pyarrow as pa

    columns = [pa.array(np.asarray(column)) for column in (*batch[0], batch[1])]
    names = [str(place) for place in range(len(columns))]
    rows = pa.RecordBatch.from_arrays(columns, names=names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpack(packed: bytes) -> Batch:
    """Read what `pack` wrote."""
    import pyarrow as pa

    with pa.ipc.open_stream(packed) as reader:
        rows = reader.read_next_batch()
    *columns, target = (column.to_numpy(zero_copy_only=False) for column in rows.columns)
    return columns, target


@dataclass(frozen=True)
class Block:
    """Quantised rows.

    Parameters
    ----------
    row_map : RowMap
        The map that they went through.
    rows : Rows
        The core's store of them.
    size : int
        Its bytes, for an engine that counts what its workers hold.
    """

    row_map: RowMap
    rows: _native.Rows
    size: int

    @classmethod
    def read(cls, row_map: RowMap, packed: bytes) -> Self:
        """Read what `to_bytes` wrote."""
        return cls(row_map, _native.Rows.from_bytes(row_map.native(), packed), len(packed))

    def to_bytes(self) -> bytes:
        """Return the rows, to move between trusted processes."""
        return self.rows.to_bytes()

    def __reduce__(self) -> Any:
        return type(self).read, (self.row_map, self.to_bytes())

    def __sizeof__(self) -> int:
        return self.size


@dataclass(frozen=True)
class Quantise:
    """Maps the rows of a part to blocks, none of which is large."""

    row_map: RowMap
    missing: Missing

    def __call__(self, part: Iterable[Batch]) -> Iterator[Block]:
        """Give the blocks."""
        native = self.row_map.native()
        bytes_each = bytes_of_row(native.features)
        step = max(_BLOCK_BYTES // bytes_each, 1)
        for x, y in part:
            for start in range(0, len(y), step):
                some = slice(start, start + step)
                columns = [column[some] for column in x] if isinstance(x, list) else x[some]
                rows = _native.Rows(native)
                rows.extend(columns, y[some], missing=self.missing, n_jobs=1)
                yield Block(self.row_map, rows, bytes_each * len(y[some]))


class Sum(Protocol):
    """An exact sum of the core."""

    def merge(self, other: Any) -> None:
        """Add another part of the same sum."""

    def to_bytes(self) -> bytes:
        """Return the sum, to move between trusted processes."""


S = TypeVar("S", bound=Sum)


class Statistic(abc.ABC, Generic[S]):
    """A sum over rows, made part by part and merged in any order.

    Privacy
    -------
    Sums are of integers, so that parts, order and repeated work change no bit. They are exact and
    private: they go to the driver, which releases them.
    """

    @abc.abstractmethod
    def of(self, part: Iterable[Any]) -> S | None:
        """Return the sum over a part; it may be None if there is nothing in it."""

    @abc.abstractmethod
    def read(self, packed: bytes) -> S:
        """Read the bytes of a sum."""

    def merge(self, sums: Iterable[bytes]) -> S | None:
        """Return the total of sums, None if there are none."""
        total: S | None = None
        for packed in sums:
            part = self.read(packed)
            if total is None:
                total = part
            else:
                total.merge(part)
        return total


@dataclass
class Count:
    """A number of rows."""

    rows: int

    def merge(self, other: Count) -> None:
        """Add another number."""
        self.rows += other.rows

    def to_bytes(self) -> bytes:
        """Return the number as bytes."""
        return self.rows.to_bytes(8, "little")


@dataclass(frozen=True)
class CountRows(Statistic[Count]):
    """Counts all rows."""

    def of(self, part: Iterable[Batch]) -> Count:
        """Count the rows of a part."""
        return Count(sum(len(y) for _, y in part))

    def read(self, packed: bytes) -> Count:
        """Read a number."""
        return Count(int.from_bytes(packed, "little"))


@dataclass(frozen=True)
class CountBins(Statistic[_native.Histogram]):
    """Counts rows in bins, the target's last."""

    bins: list[Bins | None]
    missing: Missing

    def _native_bins(self) -> list[_native.Bins | None]:
        return [None if bins is None else bins.native() for bins in self.bins]

    def of(self, part: Iterable[Batch]) -> _native.Histogram:
        """Count the rows of a part."""
        histogram = _native.Histogram(self._native_bins())
        for x, y in part:
            histogram.extend(x, y, missing=self.missing, n_jobs=1)
        return histogram

    def read(self, packed: bytes) -> _native.Histogram:
        """Read counts."""
        return _native.Histogram.from_bytes(self._native_bins(), packed)


@dataclass(frozen=True)
class SumGram(Statistic[_native.Gram]):
    """Sums X'X."""

    row_map: RowMap
    missing: Missing

    def of(self, part: Iterable[Batch]) -> _native.Gram:
        """Sum over the rows of a part."""
        native = self.row_map.native()
        gram = _native.Gram(native)
        for x, y in part:
            gram.extend(native, x, y, missing=self.missing, n_jobs=1)
        return gram

    def read(self, packed: bytes) -> _native.Gram:
        """Read a sum."""
        return _native.Gram.from_bytes(packed)


@dataclass(frozen=True)
class SumGradient(Statistic[_native.Gradient]):
    """Sums X'g with g = clip(y - X theta, +-tau)."""

    theta: npt.NDArray[np.float64]
    tau: int

    def of(self, part: Iterable[Block]) -> _native.Gradient | None:
        """Sum over the blocks of a part."""
        total: _native.Gradient | None = None
        for block in part:
            gradient = block.rows.gradient(self.theta, self.tau, n_jobs=1)
            if total is None:
                total = gradient
            else:
                total.merge(gradient)
        return total

    def read(self, packed: bytes) -> _native.Gradient:
        """Read a sum."""
        return _native.Gradient.from_bytes(packed)


@dataclass(frozen=True)
class SumEnergy(Statistic[_native.Energy]):
    """Sums g**2."""

    theta: npt.NDArray[np.float64]
    tau: int

    def of(self, part: Iterable[Block]) -> _native.Energy | None:
        """Sum over the blocks of a part."""
        total: _native.Energy | None = None
        for block in part:
            energy = block.rows.energy(self.theta, self.tau, n_jobs=1)
            if total is None:
                total = energy
            else:
                total.merge(energy)
        return total

    def read(self, packed: bytes) -> _native.Energy:
        """Read a sum."""
        return _native.Energy.from_bytes(packed)
