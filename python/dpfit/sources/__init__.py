"""Tables of every kind as rows of numbers: arrays, frames, files, Dask and Spark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpfit.exceptions import ParameterError
from dpfit.schema import Kind
from dpfit.sources.columns import text_problem
from dpfit.sources.files import StreamReader, scan_batches, scan_csv, scan_parquet
from dpfit.sources.frames import FrameSource, as_frame
from dpfit.sources.scan import Scan, ScanSource
from dpfit.sources.source import Reading, Source

__all__ = [
    "Reading",
    "Scan",
    "Source",
    "declared_kinds",
    "named_source",
    "scan_batches",
    "scan_csv",
    "scan_parquet",
    "text_problem",
]

_STREAM_LIMIT = "1GB"


def named_source(
    table: Any,
    target: Any = None,
    unit: Any = None,
    names: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> Source | None:
    """Return a table whose columns have names, None for arrays and the like.

    Parameters
    ----------
    table : frame, Scan, Arrow stream, Dask or Spark table
        The table.
    target, unit : str or array, optional
        Columns that are no features, by name; or values for each row.
    names : sequence of str, optional
        The features, if they are known: those of a scan are picked out of all columns.
    without : sequence of str
        Columns that are left out, if they are there. If `names` are all there, so is every other.
    """
    if isinstance(table, str | os.PathLike):
        raise ParameterError(
            "a table is expected, not the name of a file: dpfit.scan_csv(...) and "
            "dpfit.scan_parquet(...) read one"
        )
    library = type(table).__module__.partition(".")[0]
    if isinstance(table, Scan):
        if target is not None and not isinstance(target, str):
            raise ParameterError("the target of a scan is one of its columns: give its name")
        _only_by_name(unit, "unit")
        return ScanSource(table, target or (None if names else table.target), unit, names)
    if library == "dask":
        from dpfit.sources.dask import dask_source

        return dask_source(table, target, unit, _left_out(table, names, without))
    if library == "pyspark":
        from dpfit.sources.spark import SparkSource

        _only_by_name(target, "target")
        _only_by_name(unit, "unit")
        return SparkSource(table.drop(*_left_out(table, names, without)), target, unit)
    if isinstance(table, np.ndarray | list | tuple):
        return None
    frame = as_frame(table)
    if frame is not None:
        left_out = [n for n in _left_out(frame, names, without) if n in frame.columns]
        return FrameSource(frame.drop(left_out) if left_out else frame, target, unit)
    if hasattr(table, "__arrow_c_stream__"):
        _only_by_name(target, "target")
        _only_by_name(unit, "unit")
        return ScanSource(Scan(StreamReader(table), target, _STREAM_LIMIT), target, unit, names)
    return None


def _left_out(table: Any, names: Sequence[str] | None, without: Sequence[str]) -> Sequence[str]:
    """Return the columns that are no features; if features are missing, that is told elsewhere."""
    if names is None:
        return without
    columns = list(getattr(table, "columns", ()))
    if not set(names) <= set(columns):
        return without
    return [name for name in columns if name not in names]


def _only_by_name(values: Any, what: str) -> None:
    if values is not None and not isinstance(values, str):
        raise ParameterError(f"the {what} of such a table is one of its columns: give its name")


def declared_kinds(table: Any) -> dict[str, Kind | None]:
    """Return what the types of a table say of its columns; None for text without levels."""
    source = named_source(table)
    if source is None or source.names is None:
        raise ParameterError("the table must be a frame whose columns have names")
    return dict(zip(source.names, source.declared, strict=True))
