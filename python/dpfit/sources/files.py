"""Parquet and CSV files, and batches that a program makes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeVar

from dpfit.exceptions import DpfitError, ParameterError, SourceError
from dpfit.schema import Categorical, Level
from dpfit.sources.frames import arrow_table, as_frame
from dpfit.sources.opened import File, files_at, label, readable
from dpfit.sources.scan import ReadKind, Scan, same_columns
from dpfit.sources.source import rows_in_batch

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["StreamReader", "scan_batches", "scan_csv", "scan_parquet"]

T = TypeVar("T")

_LIMIT = "1GB"
# Bytes that are parsed together: types are seen in the first of them.
_CSV_BLOCK = 1 << 22
_CSV_MISSING = (
    "",
    "NA",
    "N/A",
    "#N/A",
    "NaN",
    "nan",
    "-NaN",
    "-nan",
    "NULL",
    "null",
    "None",
    "n/a",
)


def scan_parquet(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    target: str | None = None,
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
    return Scan(_ParquetFiles(files_at(path, ".parquet")), target, memory_limit)


def scan_csv(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    target: str | None = None,
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
    return Scan(_CsvFiles(files_at(path, ".csv"), delimiter), target, memory_limit)


def scan_batches(
    factory: Callable[[], Iterable[Any]],
    *,
    target: str | None = None,
    memory_limit: int | str = _LIMIT,
) -> Scan:
    """Return rows that a program makes, batch by batch, to be read when a model is fitted.

    Parameters
    ----------
    factory : callable
        Returns an iterable of frames: pandas, polars, Arrow, or any other that narwhals
        understands. It is called once for the columns, of which the first batch is looked at, and
        once for all rows.
    target : str, optional
        The column that is the target; not needed to predict.
    memory_limit : int or str, default "1GB"
        As in :func:`scan_parquet`.

    Returns
    -------
    Scan
        For ``fit`` and ``predict``.
    """
    if not callable(factory):
        raise ParameterError("factory must be callable: it is asked for the batches anew")
    return Scan(_Factory(factory), target, memory_limit)


def _attempt(act: Callable[[], T], message: Callable[[str], str]) -> T:
    """Return what `act` returns; errors of Arrow, which show values, become `message` of them."""
    import pyarrow as pa

    try:
        return act()
    except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError) as error:
        text = str(error)
    # Raised out here, so that the first error is not attached to it.
    raise SourceError(message(text))


def _each(batches: Iterator[T], message: Callable[[str], str]) -> Iterator[T]:
    """Give all batches; errors of Arrow become `message` of them."""
    while (batch := _attempt(lambda: next(batches, None), message)) is not None:
        yield batch


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
                yield from _each(batches, _damaged(path))

    def _open(self, path: File) -> Any:
        import pyarrow.parquet as pq

        # As a stream, because otherwise a row group is held as a whole.
        return _attempt(
            lambda: pq.ParquetFile(readable(path), buffer_size=1 << 20, pre_buffer=False),
            _damaged(path),
        )


def _damaged(path: File) -> Callable[[str], str]:
    return lambda _: f"{label(path)} cannot be read as Parquet: it ends early or is damaged"


class _CsvFiles:
    def __init__(self, paths: list[File], delimiter: str) -> None:
        self._paths, self._delimiter = paths, delimiter

    def __repr__(self) -> str:
        return f"{len(self._paths)} CSV file{'s' if len(self._paths) > 1 else ''}"

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        found = self._schema(self._paths[0])
        # One row may make the difference between numbers and true or false: it declares nothing.
        types = [pa.float64() if pa.types.is_boolean(kind) else kind for kind in found.types]
        return pa.schema(list(zip(found.names, types, strict=True)))

    def _schema(self, path: File) -> pa.Schema:
        with self._open(path, [], []) as reader:
            found: pa.Schema = reader.schema
        return found

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        schemas = [self._schema(path) for path in self._paths]
        for path, schema in zip(self._paths, schemas, strict=True):
            same_columns(schemas[0], schema, None, label(path))
        for name, kind in zip(names, kinds, strict=True):
            if kind == "unit":
                _check_units([schema.field(name).type for schema in schemas], name)
        # Arrow has one list of such words for all columns.
        listed = any(word in _levels(kind) for kind in kinds for word in _CSV_MISSING)
        for path, schema in zip(self._paths, schemas, strict=True):
            types = [_csv_type(schema.field(n), kind) for n, kind in zip(names, kinds, strict=True)]
            fields = list(zip(names, types, strict=True))
            with self._open(path, fields, schema.names, texts_are_missing=not listed) as reader:
                for batch in _each(iter(reader), _wrong_value(path, schema.names)):
                    yield _without_missing(batch, kinds) if listed else batch

    def _open(
        self,
        path: File,
        fields: list[tuple[str, pa.DataType]],
        columns: Sequence[str],
        *,
        texts_are_missing: bool = True,
    ) -> Any:
        import pyarrow.csv as csv

        convert = csv.ConvertOptions(
            column_types=dict(fields),
            include_columns=[name for name, _ in fields],
            null_values=list(_CSV_MISSING),
            strings_can_be_null=texts_are_missing,
        )
        return _attempt(
            lambda: csv.open_csv(
                readable(path),
                read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
                parse_options=csv.ParseOptions(delimiter=self._delimiter),
                convert_options=convert,
            ),
            _wrong_value(path, columns),
        )


def _wrong_value(path: File, names: Sequence[str]) -> Callable[[str], str]:
    """Return what makes a message out of one of Arrow's, of which it takes the column alone."""

    def message(text: str) -> str:
        if found := re.match(r"In CSV column #(\d+): CSV conversion error", text):
            place = int(found[1])
            name = f" {names[place]!r}" if place < len(names) else ""
            return (
                f"{label(path)}: a value of column{name} is not of the type of the first ones; if "
                "it is text, list its levels: Categorical([...])"
            )
        if "Expected" in text and "columns, got" in text:
            return f"{label(path)}: a row has more or fewer values than the header"
        return f"{label(path)} cannot be read as CSV with a header"

    return message


def _csv_type(field: pa.Field, kind: ReadKind) -> pa.DataType:
    import pyarrow as pa

    if kind == "unit":
        return field.type if pa.types.is_integer(field.type) else pa.large_string()
    if kind == "text" or (isinstance(kind, Categorical) and kind.is_text):
        return pa.large_string()
    if pa.types.is_integer(field.type) or pa.types.is_null(field.type):
        # A column of zeros, or of nothing, may go on with any number.
        return pa.float64()
    return field.type


def _check_units(types: Sequence[pa.DataType], name: str) -> None:
    """Check that all files write a unit in the same way.

    Privacy
    -------
    As texts, 7 and 7.0 would be two units, each of which may have as many rows as one.
    """
    import pyarrow as pa

    whole = [pa.types.is_integer(kind) for kind in types]
    if any(pa.types.is_floating(kind) for kind in types) or any(whole) != all(whole):
        raise SourceError(
            f"column {name!r} must be whole numbers, or text, in all files to tell whose row it is"
        )


def _levels(kind: ReadKind) -> tuple[Level, ...]:
    return kind.levels if isinstance(kind, Categorical) else ()


def _without_missing(batch: pa.RecordBatch, kinds: Sequence[ReadKind]) -> pa.RecordBatch:
    """Return a batch in which texts are missing that say so and are no level of their column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column, kind in zip(batch.columns, kinds, strict=True):
        words = [word for word in _CSV_MISSING if word not in _levels(kind)]
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            is_missing = pc.is_in(column, value_set=pa.array(words, column.type))
            column = pc.if_else(is_missing, pa.scalar(None, column.type), column)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


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

        opened = _attempt(lambda: pa.RecordBatchReader.from_stream(stream), self._message)
        self._reader: pa.RecordBatchReader = opened

    def __repr__(self) -> str:
        return "an Arrow stream"

    def schema(self) -> pa.Schema:
        """Return names and types of all columns."""
        return self._reader.schema

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        """Read the stream to its end."""
        for batch in _each(iter(self._reader), self._message):
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
