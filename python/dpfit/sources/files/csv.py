"""CSV files, whose columns have no declared types."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from dpfit.exceptions import Code, ParameterError, SourceError
from dpfit.schema import Level
from dpfit.sources.columns import is_string_type
from dpfit.sources.files.delimiters import delimiter_hint, header_of, likely_delimiter
from dpfit.sources.files.paths import File, files_at, label, readable
from dpfit.sources.files.scan import MEMORY_LIMIT, ReadKind, Scan, same_columns
from dpfit.sources.shield import Problem, shielded, shielded_each

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MISSING", "scan_csv"]

# Bytes that are parsed at once. The types of columns are guessed from the first block.
_CSV_BLOCK = 1 << 22
# Values that are missing, unless the schema lists them as levels.
MISSING = (
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
# Patterns of integers with their canonical form, and of numbers that are not integers.
_INTEGERS = ((r"^\+?0*([0-9]+)$", r"\1"), (r"^-0*([1-9][0-9]*)$", r"-\1"), (r"^-0+$", "0"))
_NOT_INTEGER = (
    r"^[+-]?(([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-][0-9]+|0[xX][0-9a-fA-F]+)$"
)


def scan_csv(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    target: str | None = None,
    without: Sequence[str] = (),
    delimiter: str = ",",
    memory_limit: int | str = MEMORY_LIMIT,
) -> Scan:
    """Scan CSV files with a header; rows are read when a model is fitted.

    Parameters
    ----------
    path : str, path or binary file
        A file, a folder (all ``.csv`` files in it) or a pattern. Names that end in ``.gz`` or
        ``.bz2`` are decompressed. An open file is read from its beginning and left open.
    target : str, optional
        The target column; not needed to predict.
    without : sequence of str
        Columns to leave out, such as names of people. They are not read.
    delimiter : str, default ","
        The character between values.
    memory_limit : int or str, default "1GB"
        How much memory a fit may use for rows; see :func:`scan_parquet`.

    Returns
    -------
    Scan
        For ``fit`` and ``predict``.

    Notes
    -----
    Columns are numbers, unless the schema says ``Date()`` or lists levels. Empty values, NA, NaN
    and null are missing, unless the schema lists them as levels.
    """
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii():
        raise ParameterError("delimiter must be one ASCII character", subject="delimiter")
    return Scan(CsvFiles(files_at(path, ".csv"), delimiter), target, memory_limit, without)


class CsvFiles:
    """CSV files with a header and the same columns."""

    def __init__(self, paths: list[File], delimiter: str) -> None:
        self._paths, self._delimiter = paths, delimiter

    def __repr__(self) -> str:
        return f"{len(self._paths)} CSV file{'s' if len(self._paths) > 1 else ''}"

    def schema(self) -> pa.Schema:
        """Return names of all columns, and whether they begin with strings or with numbers.

        Privacy
        -------
        Types are guessed from values, so a single row could turn booleans into numbers, or a column
        without values into dates. Therefore neither is declared: all columns that are not strings
        are numbers, unless the schema says otherwise. Strings are an error without a schema.
        """
        import pyarrow as pa

        found = self.guessed()
        types = [kind if is_string_type(kind) else pa.float64() for kind in found.types]
        return pa.schema(list(zip(found.names, types, strict=True)))

    def guessed(self) -> pa.Schema:
        """Return names, and types guessed from the start of the first file, for a person."""
        return self._schema(self._paths[0])

    def _schema(self, path: File) -> pa.Schema:
        import pyarrow as pa

        with self._open(path, [], []) as reader:
            found: pa.Schema = reader.schema
        # Strings that are not UTF-8 are bytes in Arrow; reading them as strings is an error.
        types = [pa.string() if pa.types.is_binary(kind) else kind for kind in found.types]
        return shielded(
            lambda: pa.schema(list(zip(found.names, types, strict=True))),
            lambda _: _not_utf8(path, "the header"),
            UnicodeDecodeError,
        )

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        """Read these columns of all files."""
        units = [name for name, kind in zip(names, kinds, strict=True) if kind == "unit"]
        schemas = [_as_strings(self._schema(path), units) for path in self._paths]
        for path, schema in zip(self._paths, schemas, strict=True):
            same_columns(schemas[0], schema, label(path))
        # Arrow has one list of missing values for all columns; copied strings must not change.
        listed = "text" in kinds or any(word in _listed(kind) for kind in kinds for word in MISSING)
        for path, schema in zip(self._paths, schemas, strict=True):
            types = [_csv_type(schema.field(n), kind) for n, kind in zip(names, kinds, strict=True)]
            fields = list(zip(names, types, strict=True))
            with self._open(
                path, fields, schema.names, strings_can_be_missing=not listed
            ) as reader:
                problem = self._problem(path, schema.names)
                for batch in shielded_each(iter(reader), problem):
                    known = _without_missing(batch, kinds) if listed else batch
                    yield _with_units(known, units)

    def _open(
        self,
        path: File,
        fields: list[tuple[str, pa.DataType]],
        columns: Sequence[str],
        *,
        strings_can_be_missing: bool = True,
    ) -> Any:
        import pyarrow.csv as csv

        convert = csv.ConvertOptions(
            column_types=dict(fields),
            include_columns=[name for name, _ in fields],
            null_values=list(MISSING),
            strings_can_be_null=strings_can_be_missing,
        )
        file = readable(path)
        return shielded(
            lambda: csv.open_csv(
                file,
                read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
                parse_options=csv.ParseOptions(delimiter=self._delimiter),
                convert_options=convert,
            ),
            self._problem(path, columns),
        )

    def _problem(self, path: File, names: Sequence[str]) -> Problem:
        return lambda error: _public_problem(str(error), path, names, self._delimiter)


def _public_problem(text: str, path: File, names: Sequence[str], delimiter: str) -> SourceError:
    """Return an error for a message of Arrow.

    Privacy
    -------
    Arrow has no error codes, so its messages have to be matched. They contain values; only the
    position of the column is used.
    """
    file = label(path)
    if found := re.match(r"In CSV column #(\d+): CSV conversion error", text):
        place = int(found[1])
        name = names[place] if place < len(names) else None
        column = "a column" if name is None else f"column {name!r}"
        if "invalid UTF8" in text:
            return _not_utf8(path, column)
        return SourceError(
            f"{file}: a value of {column} does not have the type of the first values",
            code=Code.MIXED_TYPES,
            subject=name,
            hint="correct the file, or list levels in the schema",
        )
    if "Expected" in text and "columns, got" in text:
        problem = f"{file}: a row has more or fewer values than the header"
        likely = likely_delimiter(header_of(path), delimiter)
        if likely is None:
            return SourceError(problem, code=Code.UNREADABLE, subject=file)
        return SourceError(
            problem, code=Code.DELIMITER, subject=likely, hint=delimiter_hint(likely)
        )
    problem = f"{file} is empty" if "Empty CSV" in text else f"{file} cannot be read as CSV"
    hint = "expected CSV with a header"
    return SourceError(problem, code=Code.UNREADABLE, subject=file, hint=hint)


def _not_utf8(path: File, what: str) -> SourceError:
    return SourceError(
        f"{label(path)}: {what} is not UTF-8",
        code=Code.NOT_UTF8,
        subject=label(path),
        hint="save the file as UTF-8",
    )


def _csv_type(field: pa.Field, kind: ReadKind) -> pa.DataType:
    import pyarrow as pa

    if isinstance(kind, str) or kind.accepts_strings:
        return pa.large_string()
    if kind.is_date and pa.types.is_null(field.type):
        return pa.timestamp("us")
    if pa.types.is_integer(field.type) or pa.types.is_null(field.type):
        # A column that begins with integers, or with missing values, may continue with any number.
        return pa.float64()
    return field.type


def _as_strings(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Return a schema in which these columns are strings."""
    import pyarrow as pa

    for name in names:
        schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
    return schema


def _with_units(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Return a batch in which equal units are equal strings."""
    for name in names:
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, _canonical_units(batch.column(place), name))
    return batch


def _canonical_units(written: pa.Array, name: str) -> pa.Array:
    """Return units as strings, the same for all ways to write an integer; empty is missing.

    Privacy
    -------
    Each value is read independently of the others. If the type of the column depended on all rows,
    one more row could split a unit: 7 and 007 are equal as integers and different as strings, and
    each of two units may have `max_rows` rows. Numbers with a fraction, with an exponent or in base
    16 are refused for the same reason: 7 and 7.0 would be two units.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.utf8_trim_whitespace(written)
    if pc.any(pc.match_substring_regex(found, _NOT_INTEGER)).as_py():
        raise SourceError(
            f"the unit column {name!r} must contain only integers or only strings",
            code=Code.UNIT_VALUES,
            subject=name,
        )
    for pattern, replacement in _INTEGERS:
        found = pc.replace_substring_regex(found, pattern, replacement)
    is_missing = pc.is_in(found, value_set=pa.array(MISSING, found.type))
    return pc.if_else(is_missing, pa.scalar(None, found.type), found)


def _listed(kind: ReadKind) -> tuple[Level, ...]:
    return () if isinstance(kind, str) else kind.listed


def _without_missing(batch: pa.RecordBatch, kinds: Sequence[ReadKind]) -> pa.RecordBatch:
    """Return a batch in which strings such as "NA" are missing, unless they are levels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column, kind in zip(batch.columns, kinds, strict=True):
        words = [word for word in MISSING if word not in _listed(kind)]
        if is_string_type(column.type) and kind != "text":
            is_missing = pc.is_in(column, value_set=pa.array(words, column.type))
            column = pc.if_else(is_missing, pa.scalar(None, column.type), column)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
