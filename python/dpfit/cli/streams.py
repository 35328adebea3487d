"""Standard input, output and error, whatever they are."""

from __future__ import annotations

import os
import sys

__all__ = ["is_closed", "open_what_is_closed", "write_exactly"]

_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


def open_what_is_closed() -> None:
    """Put a null device where a standard stream is closed, as by ``2>&-``.

    Notes
    -----
    Python has None there. And the next file that is opened would get its number: a message to
    standard error would go into a model.
    """
    for number, (name, mode) in enumerate(_MODES.items()):
        if getattr(sys, name) is not None:
            continue
        stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - until the end
        if stream.fileno() != number:
            os.dup2(stream.fileno(), number)
        setattr(sys, name, stream)


def is_closed(name: str) -> bool:
    """Return whether a standard stream, such as "stdin", was closed when the process began."""
    return getattr(getattr(sys, name), "name", None) == os.devnull


def write_exactly(text: str) -> None:
    """Print what a program reads: in UTF-8, whatever the terminal's encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode())
    sys.stdout.buffer.flush()
