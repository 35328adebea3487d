"""Parquet and CSV files, and batches that a program makes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeVar

from dpfit.exceptions import DpfitError, ParameterError, SourceError
from dpfit.sources.attempts import attempt, each
from dpfit.sources.csv_files import CsvFiles
from dpfit.sources.frames import arrow_table, as_frame
from dpfit.sources.opened import File, files_at, label, readable
from dpfit.sources.scan import ReadKind, Scan, same_columns
from dpfit.sources.source import rows_in_batch

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["StreamReader", "scan_batches", "scan_csv", "scan_parquet"]

T = TypeVar("T")

_LIMIT = "1GB"


def scan_parquet(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    target: str | None = None,
    without: Sequence[str] = (),
    memory_limit: int | str = _LIMIT,
) -> Scan:
    """Return the rows of Parquet files, to be read when a model is fitted.

    Parameters
    ----------
    path : str, path or binary file
        A file, a folder (all ``.parquet`` files in it) or a pattern such as ``"sales/*.parquet"``;
        or an open file, which is read from its beginning and left open.
    target : str, optional
        The column that is the target; not needed to predict.
    without : sequence of str
        Columns that are no features, such as names of people; they are not read.
    memory_limit : int or str, default "1GB"
        What a fit may hold in memory of the rows, as bytes or as text like ``"500MB"``. What is
        beyond goes to temporary files without a name, in the folder that `tempfile` chooses
        (``TMPDIR``): up to eight bytes for a value, and two for each feature of the model.

    Returns
    -------
    Scan
        For ``fit`` and ``predict``.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from dpfit import PrivateLinearRegression, scan_parquet
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pa.table({"size": list(range(5000)), "price": [3.0 * i for i in range(5000)]})
    >>> pq.write_table(table, os.path.join(folder.name, "sales.parquet"))
    >>> rows = scan_parquet(folder.name, target="price")
    >>> model = PrivateLinearRegression(epsilon=1.0).fit(rows)
    >>> model.feature_names_in_.tolist()
    ['size']
    >>> folder.cleanup()
    """
    return Scan(_ParquetFiles(files_at(path, ".parquet")), target, memory_limit, without)


def scan_csv(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    target: str | None = None,
    without: Sequence[str] = (),
    delimiter: str = ",",
    memory_limit: int | str = _LIMIT,
) -> Scan:
    """Return the rows of CSV files with a header, to be read when a model is fitted.

    Parameters
    ----------
    path : str, path or binary file
        A file, a folder (all ``.csv`` files in it) or a pattern. Names that end in ``.gz`` or
        ``.bz2`` are decompressed. An open file is read from its beginning and left open.
    target : str, optional
        The column that is the target; not needed to predict.
    without : sequence of str
        Columns that are no features, such as names of people; they are not read.
    delimiter : str, default ","
        What is between values.
    memory_limit : int or str, default "1GB"
        As in :func:`scan_parquet`.

    Returns
    -------
    Scan
        For ``fit`` and ``predict``.

    Notes
    -----
    Columns are numbers, unless their first megabytes are dates or the schema lists levels. An
    empty value, NA, NaN and null are missing, if the schema does not list them as a level.
    """
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii():
        raise ParameterError("delimiter must be one character, of ASCII")
    return Scan(CsvFiles(files_at(path, ".csv"), delimiter), target, memory_limit, without)


def scan_batches(
    factory: Callable[[], Iterable[Any]],
    *,
    target: str | None = None,
    without: Sequence[str] = (),
    memory_limit: int | str = _LIMIT,
) -> Scan:
    """Return rows that a program makes, batch by batch, to be read when a model is fitted.

    Parameters
    ----------
    factory : callable
        Returns an iterable of frames: pandas, polars, Arrow, or any other that narwhals
        understands. It is called once for the columns, of which the first batch is looked at, and
        once for all rows. A batch must not be changed after it was given: it is not copied.
    target : str, optional
        The column that is the target; not needed to predict.
    without : sequence of str
        Columns that are no features, such as names of people; they are not read.
    memory_limit : int or str, default "1GB"
        As in :func:`scan_parquet`.

    Returns
    -------
    Scan
        For ``fit`` and ``predict``.
    """
    if not callable(factory):
        raise ParameterError("factory must be callable: it is asked for the batches anew")
    return Scan(_Factory(factory), target, memory_limit, without)


class _ParquetFiles:
    def __init__(self, paths: list[File]) -> None:
        self._paths = paths

    def __repr__(self) -> str:
        return f"{len(self._paths)} Parquet file{'s' if len(self._paths) > 1 else ''}"

    def schema(self) -> pa.Schema:
        return self._open(self._paths[0]).schema_arrow

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        first = self.schema()
        # All of them before any row is read: what is wrong with the last file is known at once.
        for path in self._paths[1:]:
            same_columns(first, self._open(path).schema_arrow, None, label(path))
        for path in self._paths:
            with self._open(path) as file:
                batches = file.iter_batches(rows_in_batch(len(names)), columns=list(names))
                yield from each(batches, _damaged(path))

    def _open(self, path: File) -> Any:
        import pyarrow.parquet as pq

        # As a stream, because otherwise a row group is held as a whole.
        return attempt(
            lambda: pq.ParquetFile(readable(path), buffer_size=1 << 20, pre_buffer=False),
            _damaged(path),
        )


def _damaged(path: File) -> Callable[[str], str]:
    return lambda _: f"{label(path)} cannot be read as Parquet: it ends early or is damaged"


class _Factory:
    def __init__(self, factory: Callable[[], Iterable[Any]]) -> None:
        self._factory = factory
        # Held on to, so that no other can be in its place.
        self._begun: Iterator[Any] | None = None

    def __repr__(self) -> str:
        return "batches"

    def schema(self) -> pa.Schema:
        for batch in self._batches():
            self._first: pa.Schema = _as_table(batch).schema
            return self._first
        raise SourceError("there is not a single batch")

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        for batch in self._batches():
            table = _as_table(batch)
            same_columns(self._first, table.schema, None, "a batch")
            yield from _parts(table, names)

    def _batches(self) -> Iterator[Any]:
        batches = _of_factory(lambda: iter(self._factory()))
        if batches is self._begun:
            # Batches that were read before would not be read again.
            raise SourceError("the factory must begin anew: it returned the same iterator twice")
        self._begun = batches
        while (batch := _of_factory(lambda: next(batches, _END))) is not _END:
            yield batch


_END = object()


def _of_factory(act: Callable[[], T]) -> T:
    """Return what a factory gives; what it raises may show values, and is named only."""
    try:
        return act()
    except DpfitError:
        raise
    except Exception as error:
        name = type(error).__name__
    # Raised out here, so that the first error is not attached to it.
    raise SourceError(f"the factory of batches failed with {name}")


class StreamReader:
    """An Arrow stream, which can be read once."""

    def __init__(self, stream: Any) -> None:
        import pyarrow as pa

        opened = attempt(lambda: pa.RecordBatchReader.from_stream(stream), self._message)
        self._reader: pa.RecordBatchReader = opened

    def __repr__(self) -> str:
        return "an Arrow stream"

    def schema(self) -> pa.Schema:
        """Return names and types of all columns."""
        return self._reader.schema

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        """Read the stream to its end."""
        for batch in each(iter(self._reader), self._message):
            yield from _parts(pa_table(batch), names)

    @staticmethod
    def _message(_: str) -> str:
        return "the Arrow stream cannot be read to its end"


def _parts(table: pa.Table, names: Sequence[str]) -> list[pa.RecordBatch]:
    size = rows_in_batch(len(names))
    parts: list[pa.RecordBatch] = table.select(list(names)).to_batches(max_chunksize=size)
    return parts


def pa_table(batch: pa.RecordBatch) -> pa.Table:
    """Return a batch as a table."""
    import pyarrow as pa

    return pa.Table.from_batches([batch])


def _as_table(batch: Any) -> pa.Table:
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        return pa_table(batch)
    frame = as_frame(batch)
    if frame is None and not hasattr(batch, "__arrow_c_stream__"):
        raise SourceError("a batch must be a frame: pandas, polars or Arrow")
    try:
        return pa.table(batch) if frame is None else arrow_table(frame)
    except Exception:  # of any library, for types that it does not have
        pass
    raise SourceError("a column of a batch must hold values of one type: numbers, texts or dates")
