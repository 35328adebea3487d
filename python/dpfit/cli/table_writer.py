"""Write tables batch by batch, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
import re
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from dpfit.cli.errors import failure

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OutputFormat", "TableWriter"]

OutputFormat: TypeAlias = Literal["csv", "parquet"]


class TableWriter:
    """Writes tables with the same columns one after the other.

    Parameters
    ----------
    file : binary file
        Where to write.
    format : {"csv", "parquet"}
        What to write.
    delimiter : str
        The delimiter of CSV.
    """

    def __init__(self, file: IO[bytes], format: OutputFormat, delimiter: str) -> None:
        self._file, self._format, self._delimiter = file, format, delimiter
        self._parquet: Any = None
        self._has_header = False

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._parquet is None:
            return
        if kind is None:
            self._parquet.close()
        # Otherwise its destructor would finish an incomplete file, or print an error.
        self._parquet.is_open = False

    def write(self, table: pa.Table) -> None:
        """Write some rows; the first call determines the columns."""
        if self._format == "csv":
            self._write_csv(table)
            return
        if self._parquet is None:
            import pyarrow.parquet as pq

            self._parquet = pq.ParquetWriter(self._file, table.schema)
        self._parquet.write_table(table.cast(self._parquet.schema))

    def _write_csv(self, table: pa.Table) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._has_header:
            text = io.StringIO()
            csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerow(
                table.column_names
            )
            self._file.write(text.getvalue().encode())
            self._has_header = True
        if not len(table):
            return
        # Arrow's writer quotes all strings, or none.
        columns = [self._values(column) for column in table.columns]
        if len(columns) == 1:
            # An empty line would not be a row.
            columns = [pc.if_else(pc.equal(columns[0], ""), '""', columns[0])]
        delimiter, end, nothing = (
            pa.scalar(text, pa.large_string()) for text in (self._delimiter, "\n", "")
        )
        lines = pc.binary_join_element_wise(*columns, delimiter)
        for chunk in pc.binary_join_element_wise(lines, end, nothing).chunks:
            size = pc.sum(pc.binary_length(chunk)).as_py()
            self._file.write(memoryview(chunk.buffers()[2])[:size])

    def _values(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column as strings, quoted where necessary."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            strings = pc.fill_null(pc.cast(column, pa.large_string()), "")
        except pa.ArrowException:
            strings = None
        if strings is None:
            raise failure(
                "a column cannot be written as CSV", "write Parquet, or do not use --keep"
            )
        needed = pc.match_substring_regex(strings, f'["\r\n{re.escape(self._delimiter)}]')
        if not pc.any(needed).as_py():
            return strings
        doubled = pc.replace_substring(strings, '"', '""')
        quote, nothing = (pa.scalar(text, pa.large_string()) for text in ('"', ""))
        quoted = pc.binary_join_element_wise(quote, doubled, quote, nothing)
        return pc.if_else(needed, quoted, strings)
