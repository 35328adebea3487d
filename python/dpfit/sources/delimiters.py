"""What may be between the values of a CSV file, by a look at its header."""

from __future__ import annotations

import contextlib

from dpfit.sources.opened import File, readable

__all__ = ["delimiter_hint", "header_of"]

_DELIMITERS = ";\t|,"
# The header is looked for in so many bytes.
_HEADER_BYTES = 1 << 16


def header_of(path: File) -> str:
    """Return the first line of a file, as far as it can be read."""
    import pyarrow as pa

    start = b""
    with contextlib.suppress(pa.ArrowException, OSError, EOFError):
        compression = "detect" if isinstance(path, str) else None
        with pa.input_stream(readable(path), compression=compression) as stream:
            start = stream.read(_HEADER_BYTES)
    return start.partition(b"\n")[0].decode("utf-8", "replace")


def delimiter_hint(header: str, delimiter: str | None = None) -> str:
    """Return the end of a message: what else may be between the names of a header, if anything.

    Privacy
    -------
    Names of columns are public; of them, it tells one sign that is in them.
    """
    counts = {sign: header.count(sign) for sign in _DELIMITERS}
    likely = max(counts, key=lambda sign: counts[sign])
    if counts[likely] <= (0 if delimiter is None else header.count(delimiter)):
        return ""
    return f"; there is {likely!r} in the header: delimiter={likely!r} may be meant"
