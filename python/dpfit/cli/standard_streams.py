"""Standard input, output and error, which may be closed or have any encoding."""

from __future__ import annotations

import os
import sys

__all__ = ["is_closed", "reopen_closed_streams", "write_utf8"]

_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


def reopen_closed_streams() -> None:
    """Open the null device in place of each standard stream that is closed, as by ``2>&-``.

    Notes
    -----
    Python sets such a stream to None, and the next file that is opened gets its descriptor: a
    message to standard error would go into a model file.
    """
    for number, (name, mode) in enumerate(_MODES.items()):
        if getattr(sys, name) is not None:
            continue
        stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - stays open
        if stream.fileno() != number:
            os.dup2(stream.fileno(), number)
        setattr(sys, name, stream)


def is_closed(name: str) -> bool:
    """Return whether a standard stream, such as "stdin", was closed when the process started."""
    return getattr(getattr(sys, name), "name", None) == os.devnull


def write_utf8(text: str) -> None:
    """Print a line for programs: in UTF-8, whatever the encoding of the terminal is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode())
    sys.stdout.buffer.flush()
