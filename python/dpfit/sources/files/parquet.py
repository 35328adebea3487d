"""Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from dpfit.exceptions import Code, SourceError
from dpfit.sources.files.paths import File, files_at, label, readable
from dpfit.sources.files.scan import MEMORY_LIMIT, ReadKind, Scan, same_columns
from dpfit.sources.shield import Problem, shielded, shielded_each
from dpfit.sources.source import rows_in_batch

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["scan_parquet"]


def scan_parquet(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    target: str | None = None,
    without: Sequence[str] = (),
    memory_limit: int | str = MEMORY_LIMIT,
) -> Scan:
    """Scan Parquet files; rows are read when a model is fitted.

    Parameters
    ----------
    path : str, path or binary file
        A file, a folder (all ``.parquet`` files in it) or a pattern such as ``"sales/*.parquet"``.
        An open file is read from its beginning and left open.
    target : str, optional
        The target column; not needed to predict.
    without : sequence of str
        Columns to leave out, such as names of people. They are not read.
    memory_limit : int or str, default "1GB"
        How much memory a fit may use for rows, in bytes or as a string like ``"500MB"``. What
        exceeds it goes to temporary files without a name, in the folder of `tempfile` (``TMPDIR``):
        up to eight bytes for each value, and two for each feature of the model.

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


class _ParquetFiles:
    def __init__(self, paths: list[File]) -> None:
        self._paths = paths

    def __repr__(self) -> str:
        return f"{len(self._paths)} Parquet file{'s' if len(self._paths) > 1 else ''}"

    def schema(self) -> pa.Schema:
        return self._open(self._paths[0]).schema_arrow

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        first = self.schema()
        # Check all files before reading a row: a problem in the last file is reported at once.
        for path in self._paths[1:]:
            same_columns(first, self._open(path).schema_arrow, label(path))
        for path in self._paths:
            with self._open(path) as file:
                batches = file.iter_batches(rows_in_batch(len(names)), columns=list(names))
                yield from shielded_each(batches, _damaged(path))

    def _open(self, path: File) -> Any:
        import pyarrow.parquet as pq

        file = readable(path)
        # As a stream: otherwise a whole row group is in memory.
        return shielded(
            lambda: pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False),
            _damaged(path),
        )


def _damaged(path: File) -> Problem:
    return lambda _: SourceError(
        f"{label(path)} cannot be read as Parquet",
        code=Code.UNREADABLE,
        subject=label(path),
        hint="it may be damaged or end early",
    )
