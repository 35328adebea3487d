"""Tables of every kind as rows of numbers: arrays, frames, files, Dask and Spark."""

from __future__ import annotations

from dpfit.sources.files.batches import scan_batches
from dpfit.sources.files.csv import scan_csv
from dpfit.sources.files.parquet import scan_parquet
from dpfit.sources.files.scan import Scan
from dpfit.sources.registry import declared_kinds, named_source
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
]
