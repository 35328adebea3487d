"""Columns of a table that go to the output as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpfit.cli.errors import failure

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfit.schema import Kind
    from dpfit.sources.scan import Reader

__all__ = ["with_copies"]


def with_copies(
    reader: Reader, features: Sequence[str], kinds: Sequence[Kind], *, as_text: bool
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Give the columns that a model uses, and beside them all columns to be copied.

    Parameters
    ----------
    reader : Reader
        The table.
    features : sequence of str
        The columns that the model uses.
    kinds : sequence of Kind
        What they are.
    as_text : bool
        Whether the copies may be texts: what CSV holds then stays as it is written.
    """
    import pyarrow as pa

    names = reader.schema().names
    copies = reader.read(names, ["text"] * len(names))
    if not hasattr(reader, "guessed"):
        # With types of its own: what is copied is what is used.
        for batch in copies:
            table = pa.Table.from_batches([batch])
            yield table.select(list(features)), table
        return
    types: dict[str, pa.DataType] | None = {} if as_text else None
    # Blocks of CSV have the same rows, whatever columns are read of them.
    for batch, others in zip(reader.read(features, kinds), copies, strict=True):
        table = pa.Table.from_batches([others])
        types = _types(reader, table) if types is None else types
        for name, kind in types.items():
            place = table.column_names.index(name)
            table = table.set_column(place, name, _cast(table[name], kind, name))
        yield pa.Table.from_batches([batch]), table


def _types(reader: Any, table: pa.Table) -> dict[str, pa.DataType]:
    """Return the types that the beginning of CSV shows, of columns that are not text."""
    import pyarrow as pa

    return {
        field.name: field.type
        for field in reader.guessed()
        if not (pa.types.is_null(field.type) or pa.types.is_string(field.type))
        # A code such as 007 is no number.
        and not _has_zeros(table[field.name], field.type)
    }


def _has_zeros(texts: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Return whether zeros are before whole numbers, which a type would lose."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_integer(kind):
        return False
    return bool(pc.any(pc.match_substring_regex(texts, r"^\s*[+-]?0[0-9]")).as_py())


def _cast(texts: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    from dpfit.sources.csv_files import _CSV_MISSING as WORDS

    if not _has_zeros(texts, kind):
        words = pc.utf8_trim_whitespace(texts)
        missing = pc.is_in(words, value_set=pa.array(WORDS, words.type))
        try:
            return pc.cast(pc.if_else(missing, pa.scalar(None, words.type), words), kind)
        except pa.ArrowException:
            pass
    # Raised out here, so that the first error, which shows a value, is not attached.
    raise failure(
        f"the values of column {name!r} are not all of the type of the first ones",
        "write CSV, which copies them as they are written",
    )
