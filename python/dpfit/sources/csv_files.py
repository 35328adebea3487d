"""CSV files, which have no types: what a column is read as."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpfit.exceptions import SourceError
from dpfit.schema import Categorical, Date, Level
from dpfit.sources.attempts import attempt, each
from dpfit.sources.delimiters import delimiter_hint, header_of
from dpfit.sources.opened import File, label, readable
from dpfit.sources.scan import ReadKind, same_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CsvFiles"]

# Bytes that are parsed together: types are seen in the first of them.
_CSV_BLOCK = 1 << 22
_SAVE = "save the file as UTF-8"
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
# Whole numbers in any way of writing, and the one that is used; and numbers that are not whole.
_WHOLE = ((r"^\+?0*([0-9]+)$", r"\1"), (r"^-0*([1-9][0-9]*)$", r"-\1"), (r"^-0+$", "0"))
_NOT_WHOLE = (
    r"^[+-]?(([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-][0-9]+|0[xX][0-9a-fA-F]+)$"
)


class CsvFiles:
    """Files with a header and the same columns."""

    def __init__(self, paths: list[File], delimiter: str) -> None:
        self._paths, self._delimiter = paths, delimiter

    def __repr__(self) -> str:
        return f"{len(self._paths)} CSV file{'s' if len(self._paths) > 1 else ''}"

    def schema(self) -> pa.Schema:
        """Return names and types of all columns, as the beginning of the first file shows them."""
        import pyarrow as pa

        found = self._schema(self._paths[0])
        # One row may make the difference between numbers and true or false: it declares nothing.
        types = [pa.float64() if pa.types.is_boolean(kind) else kind for kind in found.types]
        return pa.schema(list(zip(found.names, types, strict=True)))

    def guessed(self) -> pa.Schema:
        """Return what :meth:`schema` does, with true and false as such, for a person to check."""
        return self._schema(self._paths[0])

    def _schema(self, path: File) -> pa.Schema:
        import pyarrow as pa

        with self._open(path, [], []) as reader:
            found: pa.Schema = reader.schema
        # Text that is not UTF-8 is bytes to Arrow, until somebody wants to read it.
        types = [pa.string() if pa.types.is_binary(kind) else kind for kind in found.types]
        with contextlib.suppress(UnicodeDecodeError):
            return pa.schema(list(zip(found.names, types, strict=True)))
        raise SourceError(f"{label(path)}: the names of the columns are not UTF-8; {_SAVE}")

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        """Read these columns of all files."""
        whose = [name for name, kind in zip(names, kinds, strict=True) if kind == "unit"]
        schemas = [_as_text(self._schema(path), whose) for path in self._paths]
        for path, schema in zip(self._paths, schemas, strict=True):
            same_columns(schemas[0], schema, None, label(path))
        # Arrow has one list of such words for all columns; what is copied stays as it is written.
        listed = "text" in kinds or any(
            word in _levels(kind) for kind in kinds for word in _CSV_MISSING
        )
        for path, schema in zip(self._paths, schemas, strict=True):
            types = [_csv_type(schema.field(n), kind) for n, kind in zip(names, kinds, strict=True)]
            fields = list(zip(names, types, strict=True))
            with self._open(path, fields, schema.names, texts_are_missing=not listed) as reader:
                for batch in each(iter(reader), self._wrong_value(path, schema.names)):
                    known = _without_missing(batch, kinds) if listed else batch
                    yield _with_units(known, whose)

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
        return attempt(
            lambda: csv.open_csv(
                readable(path),
                read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
                parse_options=csv.ParseOptions(delimiter=self._delimiter),
                convert_options=convert,
            ),
            self._wrong_value(path, columns),
        )

    def _wrong_value(self, path: File, names: Sequence[str]) -> Callable[[str], str]:
        """Return what makes a message out of one of Arrow's, which shows values."""
        return lambda text: _problem(text, path, names, self._delimiter)


def _problem(text: str, path: File, names: Sequence[str], delimiter: str) -> str:
    """Return a message out of one of Arrow's, of which it takes the column alone."""
    if found := re.match(r"In CSV column #(\d+): CSV conversion error", text):
        place = int(found[1])
        name = f" {names[place]!r}" if place < len(names) else ""
        if "invalid UTF8" in text:
            return f"{label(path)}: column{name} is not UTF-8; {_SAVE}"
        return (
            f"{label(path)}: a value of column{name} is not of the type of the first ones, such as "
            "a word among numbers; correct it, or list levels in the schema"
        )
    if "Expected" in text and "columns, got" in text:
        hint = delimiter_hint(header_of(path), delimiter)
        return f"{label(path)}: a row has more or fewer values than the header{hint}"
    if "Empty CSV" in text:
        return f"{label(path)} is empty: CSV with a header is expected"
    return f"{label(path)} cannot be read as CSV with a header"


def _csv_type(field: pa.Field, kind: ReadKind) -> pa.DataType:
    import pyarrow as pa

    if kind in ("unit", "text") or (isinstance(kind, Categorical) and kind.is_text):
        return pa.large_string()
    if isinstance(kind, Date) and pa.types.is_null(field.type):
        return pa.timestamp("us")
    if pa.types.is_integer(field.type) or pa.types.is_null(field.type):
        # A column of zeros, or of nothing, may go on with any number.
        return pa.float64()
    return field.type


def _as_text(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Return a schema in which these columns are text, whatever the first rows look like."""
    import pyarrow as pa

    for name in names:
        schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
    return schema


def _with_units(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Return a batch in which equal units are equal texts."""
    for name in names:
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, _units(batch.column(place), name))
    return batch


def _units(written: pa.Array, name: str) -> pa.Array:
    """Return whose row it is as text; missing where nothing is written.

    Privacy
    -------
    Every value is read by itself. Were the column numbers or text by a look at all of it, one row
    more could make two units of 7 and 007, each of which may have as many rows as one. A number
    with a fraction, an exponent or in base 16 is refused for the same reason: 7 and 7.0 would be
    two units.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.utf8_trim_whitespace(written)
    if pc.any(pc.match_substring_regex(found, _NOT_WHOLE)).as_py():
        raise SourceError(
            f"column {name!r} must be whole numbers, or text, in all rows to tell whose row it is"
        )
    for pattern, replacement in _WHOLE:
        found = pc.replace_substring_regex(found, pattern, replacement)
    is_missing = pc.is_in(found, value_set=pa.array(_CSV_MISSING, found.type))
    return pc.if_else(is_missing, pa.scalar(None, found.type), found)


def _levels(kind: ReadKind) -> tuple[Level, ...]:
    return kind.levels if isinstance(kind, Categorical) else ()


def _without_missing(batch: pa.RecordBatch, kinds: Sequence[ReadKind]) -> pa.RecordBatch:
    """Return a batch in which texts are missing that say so and are no level of their column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column, kind in zip(batch.columns, kinds, strict=True):
        words = [word for word in _CSV_MISSING if word not in _levels(kind)]
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if is_text and kind != "text":
            is_missing = pc.is_in(column, value_set=pa.array(words, column.type))
            column = pc.if_else(is_missing, pa.scalar(None, column.type), column)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
