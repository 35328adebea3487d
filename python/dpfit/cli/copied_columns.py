"""Copy columns of the input to the output of ``dpfit predict``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dpfit.cli.errors import failure

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfit.schema import Kind

__all__ = ["Copies", "read_with_copies"]

# How to copy columns: not at all, with the types of the file, as strings, or with guessed types.
Copies: TypeAlias = Literal["none", "typed", "strings", "guessed"]


def read_with_copies(
    reader: Any, features: Sequence[str], kinds: Sequence[Kind], copies: Copies
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield the columns that a model uses, and the columns to copy.

    Parameters
    ----------
    reader : Reader
        The table.
    features : sequence of str
        The columns that the model uses.
    kinds : sequence of Kind
        Their kinds.
    copies : {"none", "typed", "strings", "guessed"}
        How to copy all columns. Strings are copied exactly as they are written.
    """
    import pyarrow as pa

    names = reader.schema().names
    if copies == "none":
        for batch in reader.read(features, kinds):
            table = pa.Table.from_batches([batch])
            yield table, table.select([])
        return
    all_columns = reader.read(names, ["text"] * len(names))
    if copies == "typed":
        for batch in all_columns:
            table = pa.Table.from_batches([batch])
            yield table.select(list(features)), table
        return
    types: dict[str, pa.DataType] | None = {} if copies == "strings" else None
    # Blocks of CSV have the same rows, whichever of their columns are read.
    for batch, others in zip(reader.read(features, kinds), all_columns, strict=True):
        table = pa.Table.from_batches([others])
        types = _types(reader, table) if types is None else types
        for name, kind in types.items():
            place = table.column_names.index(name)
            table = table.set_column(place, name, _cast(table[name], kind, name))
        yield pa.Table.from_batches([batch]), table


def _types(reader: Any, table: pa.Table) -> dict[str, pa.DataType]:
    """Return the types that the start of the file shows, of columns that are not strings."""
    import pyarrow as pa

    return {
        field.name: field.type
        for field in reader.guessed()
        if not (pa.types.is_null(field.type) or pa.types.is_string(field.type))
        # A code such as 007 is not a number.
        and not _has_leading_zeros(table[field.name], field.type)
    }


def _has_leading_zeros(strings: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Return whether integers have leading zeros, which a conversion would lose."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_integer(kind):
        return False
    return bool(pc.any(pc.match_substring_regex(strings, r"^\s*[+-]?0[0-9]")).as_py())


def _cast(strings: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    from dpfit.sources.files.csv import MISSING

    if not _has_leading_zeros(strings, kind):
        words = pc.utf8_trim_whitespace(strings)
        missing = pc.is_in(words, value_set=pa.array(MISSING, words.type))
        try:
            return pc.cast(pc.if_else(missing, pa.scalar(None, words.type), words), kind)
        except pa.ArrowException:
            pass
    # Raised here, so that the first error, which shows a value, is not attached.
    raise failure(
        f"column {name!r} does not have one type throughout the file",
        "write CSV, which copies values as they are written",
    )
