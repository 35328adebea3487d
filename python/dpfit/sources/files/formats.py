"""The file formats that dpfit reads. To add one, write its `scan` function and list it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from dpfit.sources.files.csv import scan_csv
from dpfit.sources.files.parquet import scan_parquet
from dpfit.sources.files.scan import Scan

__all__ = ["COMPRESSIONS", "FORMATS", "Format", "format_of_content", "format_of_name"]

# Suffixes of compressed files, which follow the suffix of the format.
COMPRESSIONS = (".gz", ".bz2")


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name : str
        The name in options of the command line.
    title : str
        The name in messages.
    suffixes : tuple of str
        What file names end in. A folder is searched for files that end in the first.
    scan : callable
        Returns a `Scan` of a path or an open file. It takes `target`, `without` and
        `memory_limit`, and what is in `options`.
    options : frozenset of str
        Further keyword parameters of `scan`.
    magic : bytes
        What every file begins with; empty if there is no such mark.
    has_types : bool
        Whether files declare the types of their columns. Otherwise they are guessed.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    scan: Callable[..., Scan]
    options: frozenset[str] = frozenset()
    magic: bytes = b""
    has_types: bool = True


# By name, in the order in which they are tried. The last one has no magic bytes.
FORMATS: Mapping[str, Format] = {
    format.name: format
    for format in (
        Format("parquet", "Parquet", (".parquet", ".parq", ".pq"), scan_parquet, magic=b"PAR1"),
        Format(
            "csv",
            "CSV",
            (".csv", ".tsv"),
            scan_csv,
            options=frozenset({"delimiter"}),
            has_types=False,
        ),
    )
}


def format_of_name(name: str) -> Format | None:
    """Return the format that a file name indicates, None if it indicates none."""
    path = PurePath(name.lower())
    suffix = (path.with_suffix("") if path.suffix in COMPRESSIONS else path).suffix
    return next((format for format in FORMATS.values() if suffix in format.suffixes), None)


def format_of_content(start: bytes) -> Format:
    """Return the format of a file whose first bytes are `start`."""
    return next(format for format in FORMATS.values() if start.startswith(format.magic))
