"""Batches of rows from a user function, and Arrow streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from dpfit.exceptions import Code, ParameterError, SourceError
from dpfit.sources.files.scan import (
    MEMORY_LIMIT,
    ReadKind,
    Scan,
    ScanSource,
    same_columns,
)
from dpfit.sources.frames import arrow_table, as_frame
from dpfit.sources.roles import Roles
from dpfit.sources.shield import shielded, shielded_each
from dpfit.sources.source import rows_in_batch

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["StreamSource", "scan_batches"]


def scan_batches(
    factory: Callable[[], Iterable[Any]],
    *,
    target: str | None = None,
    without: Sequence[str] = (),
    memory_limit: int | str = MEMORY_LIMIT,
) -> Scan:
    """Scan batches that a function returns; they are read when a model is fitted.

    Parameters
    ----------
    factory : callable
        Returns an iterable of frames: pandas, polars, Arrow, or any other that narwhals supports.
        It is called twice: for the columns, which are those of the first batch, and for all rows.
        Batches are not copied, so do not change them later.
    target : str, optional
        The target column; not needed to predict.
    without : sequence of str
        Columns to leave out, such as names of people. They are not read.
    memory_limit : int or str, default "1GB"
        How much memory a fit may use for rows; see :func:`scan_parquet`.

    Returns
    -------
    Scan
        For ``fit`` and ``predict``.
    """
    if not callable(factory):
        raise ParameterError(
            "factory must be callable", subject="factory", hint="use scan_batches(lambda: batches)"
        )
    return Scan(_Factory(factory), target, memory_limit, without)


class _Factory:
    def __init__(self, factory: Callable[[], Iterable[Any]]) -> None:
        self._factory = factory
        # The last iterator. A reference to it makes sure that a new one is another object.
        self._last: Iterator[Any] | None = None

    def __repr__(self) -> str:
        return "batches"

    def schema(self) -> pa.Schema:
        for batch in self._batches():
            self._first: pa.Schema = _as_table(batch).schema
            return self._first
        raise SourceError("the factory returned no batch", code=Code.NO_ROWS)

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        for batch in self._batches():
            table = _as_table(batch)
            same_columns(self._first, table.schema, "a batch")
            yield from _parts(table, names)

    def _batches(self) -> Iterator[Any]:
        batches = shielded(lambda: iter(self._factory()), _factory_failed)
        if batches is self._last:
            # It would skip the batches that were read before.
            raise SourceError(
                "the factory must return a new iterator each time, got the same iterator twice",
                subject="factory",
            )
        self._last = batches
        yield from shielded_each(batches, _factory_failed)


def _factory_failed(error: Exception) -> SourceError:
    name = type(error).__name__
    return SourceError(f"the factory failed with {name}", code=Code.FAILED)


class StreamSource(ScanSource):
    """The rows of an Arrow stream."""

    @staticmethod
    def matches(table: Any) -> bool:
        """Return whether the table is an Arrow stream."""
        return hasattr(table, "__arrow_c_stream__")

    @classmethod
    def open(cls, table: Any, roles: Roles) -> Self:
        """Return the stream as a source of rows."""
        roles.require_names("target", "unit", "weight")
        return cls(Scan(_StreamReader(table), roles.target, MEMORY_LIMIT), roles)


class _StreamReader:
    """An Arrow stream, which can be read once."""

    def __init__(self, stream: Any) -> None:
        import pyarrow as pa

        self._reader: pa.RecordBatchReader = shielded(
            lambda: pa.RecordBatchReader.from_stream(stream), _stream_failed
        )

    def __repr__(self) -> str:
        return "an Arrow stream"

    def schema(self) -> pa.Schema:
        """Return names and types of all columns."""
        return self._reader.schema

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        """Read the stream to its end."""
        for batch in shielded_each(iter(self._reader), _stream_failed):
            yield from _parts(_one_batch_table(batch), names)


def _stream_failed(_: Exception) -> SourceError:
    return SourceError("the Arrow stream cannot be read to its end", code=Code.FAILED)


def _parts(table: pa.Table, names: Sequence[str]) -> list[pa.RecordBatch]:
    size = rows_in_batch(len(names))
    parts: list[pa.RecordBatch] = table.select(list(names)).to_batches(max_chunksize=size)
    return parts


def _one_batch_table(batch: pa.RecordBatch) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches([batch])


def _as_table(batch: Any) -> pa.Table:
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        return _one_batch_table(batch)
    frame = as_frame(batch)
    if frame is None and not hasattr(batch, "__arrow_c_stream__"):
        raise SourceError("a batch must be a frame: pandas, polars or Arrow", code=Code.WRONG_TYPE)
    return shielded(lambda: pa.table(batch) if frame is None else arrow_table(frame), _mixed_batch)


def _mixed_batch(_: Exception) -> SourceError:
    return SourceError(
        "a column of a batch must contain only numbers, only strings or only dates",
        code=Code.MIXED_TYPES,
    )
