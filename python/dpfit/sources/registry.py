"""The kinds of tables that dpfit reads. To add one, write its source and list it here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dpfit.exceptions import ParameterError
from dpfit.schema import Kind
from dpfit.sources.engines.dask import DaskArraySource, DaskFrameSource
from dpfit.sources.engines.spark import SparkSource
from dpfit.sources.files.batches import StreamSource
from dpfit.sources.files.formats import FORMATS
from dpfit.sources.files.scan import ScanSource
from dpfit.sources.frames import FrameSource
from dpfit.sources.roles import Roles
from dpfit.sources.source import Source

__all__ = ["SOURCES", "declared_kinds", "named_source"]


class SourceClass(Protocol):
    """A class of sources."""

    def matches(self, table: Any) -> bool:
        """Return whether it reads such a table, without importing an optional library."""

    def open(self, table: Any, roles: Roles) -> Source:
        """Return the table as a source of rows."""


# The first that matches opens the table.
SOURCES: Sequence[SourceClass] = (
    ScanSource,
    DaskArraySource,
    DaskFrameSource,
    SparkSource,
    FrameSource,
    StreamSource,
)


def named_source(
    table: Any,
    target: Any = None,
    unit: Any = None,
    names: Sequence[str] | None = None,
    without: Sequence[str] = (),
    weight: Any = None,
) -> Source | None:
    """Return a table with named columns as a source of rows, None for arrays and lists.

    Parameters
    ----------
    table : frame, Scan, Arrow stream, Dask or Spark table
        The table.
    target, unit, names, without, weight
        What its columns are for; see :class:`dpfit.sources.roles.Roles`.
    """
    if isinstance(table, str | os.PathLike):
        functions = " or ".join(f"dpfit.{f.scan.__name__}(path)" for f in FORMATS.values())
        raise ParameterError("X must be a table, got a file name", hint=f"use {functions}")
    if isinstance(table, np.ndarray | list | tuple):
        return None
    source = next((source for source in SOURCES if source.matches(table)), None)
    if source is None:
        return None
    return source.open(table, Roles(target, unit, names, without, weight))


def declared_kinds(table: Any) -> dict[str, Kind | None]:
    """Return the kinds that the types of a table declare; None for strings without levels."""
    source = named_source(table)
    if source is None or source.names is None:
        raise ParameterError("the table must be a frame with column names")
    return dict(zip(source.names, source.declared, strict=True))
