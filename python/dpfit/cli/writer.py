"""Tables that are written batch by batch."""

from __future__ import annotations

import contextlib
import csv
import io
from typing import IO, TYPE_CHECKING, Any

from dpfit.cli.errors import failure
from dpfit.cli.options import Format

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TableWriter"]


class TableWriter:
    """Writes tables of the same columns one after the other, as CSV or Parquet.

    Parameters
    ----------
    file : binary file
        Where to.
    format : Format
        What it will hold.
    delimiter : str
        What is between the values of CSV.
    """

    def __init__(self, file: IO[bytes], format: Format, delimiter: str) -> None:
        self._file, self._format, self._delimiter = file, format, delimiter
        self._parquet: Any = None
        self._has_header = False

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._parquet is not None and kind is None:
            self._parquet.close()

    def write(self, table: pa.Table) -> None:
        """Write some rows; the first call decides on the columns."""
        if self._format is Format.CSV:
            self._write_csv(table)
            return
        if self._parquet is None:
            import pyarrow.parquet as pq

            self._parquet = pq.ParquetWriter(self._file, table.schema)
        self._parquet.write_table(table.cast(self._parquet.schema))

    def _write_csv(self, table: pa.Table) -> None:
        import pyarrow as pa
        import pyarrow.csv as pc

        if not self._has_header:
            text = io.StringIO()
            csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerow(
                table.column_names
            )
            self._file.write(text.getvalue().encode())
            self._has_header = True
        # Arrow quotes all texts or none, and refuses to quote none where one needs it.
        for style in ("none", "needed"):
            part = io.BytesIO()
            options = pc.WriteOptions(
                include_header=False, delimiter=self._delimiter, quoting_style=style
            )
            with contextlib.suppress(pa.ArrowException):
                pc.write_csv(table, part, options)
                self._file.write(part.getbuffer())
                return
        raise failure("a column cannot be written as CSV", "write Parquet, or leave --keep")
