"""Guess the delimiter of a CSV file from its header."""

from __future__ import annotations

import contextlib

from dpfit.sources.files.paths import File, readable

__all__ = ["delimiter_hint", "header_of", "likely_delimiter"]

_DELIMITERS = ";\t|,"
# The header must end within so many bytes.
_HEADER_BYTES = 1 << 16


def header_of(path: File) -> str:
    """Return the first line of a file, as far as it can be read."""
    import pyarrow as pa

    start = b""
    # An open file may raise anything.
    with contextlib.suppress(Exception):
        compression = "detect" if isinstance(path, str) else None
        with pa.input_stream(readable(path), compression=compression) as stream:
            start = stream.read(_HEADER_BYTES)
    return start.partition(b"\n")[0].decode("utf-8", "replace")


def likely_delimiter(header: str, delimiter: str | None = None) -> str | None:
    """Return the delimiter that a header suggests, None if none is likelier than the given one.

    Parameters
    ----------
    header : str
        The first line of a file, or the name of its only column.
    delimiter : str, optional
        The delimiter with which the file was read.

    Privacy
    -------
    Column names are public, and only one character of them is returned.
    """
    counts = {sign: header.count(sign) for sign in _DELIMITERS}
    likely = max(counts, key=lambda sign: counts[sign])
    expected = 0 if delimiter is None else header.count(delimiter)
    return likely if counts[likely] > expected else None


def delimiter_hint(delimiter: str) -> str:
    """Return the hint of errors with `Code.DELIMITER`, whose subject is the delimiter."""
    return f"the header contains {delimiter!r}, try delimiter={delimiter!r}"
