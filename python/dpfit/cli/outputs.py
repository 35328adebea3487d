"""Open the files that a command writes, completely or not at all."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import stat
import sys
from collections.abc import Iterator
from types import FrameType
from typing import IO, cast

from dpfit._atomic_file import NamedWriter, whole_file
from dpfit.cli.errors import failure, needs_extra, wrong_use
from dpfit.cli.interrupts import handling, leave
from dpfit.cli.standard_streams import is_closed

__all__ = ["STANDARD", "open_output", "use_matplotlib"]

# The name of standard input and standard output.
STANDARD = "-"


@contextlib.contextmanager
def open_output(path: str, *inputs: object) -> Iterator[IO[bytes]]:
    """Open a file to write. It gets its name at the end, if nothing went wrong.

    Parameters
    ----------
    path : str
        The name; ``-`` for standard output.
    *inputs : path or None
        Files that the command reads, which may include ``-``: none of them is overwritten.

    Notes
    -----
    Commands open their output first, so that a wrong name is reported before any work is done and
    before a budget is spent. Devices and pipes are written to directly.
    """
    if path == STANDARD:
        if is_closed("stdout"):
            raise wrong_use("standard output is closed", "give the output a name")
        sys.stdout.flush()
        with open(1, "wb", buffering=0, closefd=False) as raw:
            output = NamedWriter(raw, "standard output")
            yield cast(IO[bytes], output)
            output.flush()
        return
    for name in inputs:
        if name is not None and _is_same_file(path, str(name)):
            raise wrong_use(f"{path!r} is an input of this command", "give the output another name")
    # Not of the real path: that of a pipe in /dev/fd does not exist.
    mode = os.stat(path).st_mode if os.path.exists(path) else None
    if mode is not None and stat.S_ISDIR(mode):
        raise wrong_use(f"{path!r} is a folder", "give the name of a file in it")
    if mode is not None and not os.access(path, os.W_OK):
        raise failure(f"cannot write {path!r}: it is write-protected")
    if mode is not None and not stat.S_ISREG(mode):
        with NamedWriter(open(path, "wb", buffering=0), path) as device:
            yield cast(IO[bytes], device)
        return
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        parent = os.path.dirname(path)
        if os.path.exists(parent):
            raise wrong_use(f"{parent!r} is not a folder")
        raise wrong_use(f"there is no folder {parent!r}", f"mkdir -p {shlex.quote(parent)}")
    # Outermost, so that a signal finds something to remove until the file has its name.
    with _removed_on_signals() as part, contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(whole_file(path, part.expect))
        except OSError as error:
            raise failure(f"cannot write {path!r}: {error.strerror}") from None
        part.exists = True
        yield file


def use_matplotlib() -> None:
    """Let matplotlib draw to files, whether or not there is a screen."""
    try:
        import matplotlib
    except ImportError:
        raise needs_extra("drawing", "plot") from None
    matplotlib.use("Agg")


def _is_same_file(path: str, other: str) -> bool:
    """Return whether two names refer to one existing file."""
    if not os.path.isfile(path):
        return False
    if other == STANDARD:
        # As in `dpfit fit - -o data.csv < data.csv`.
        with contextlib.suppress(OSError):
            return os.path.samestat(os.stat(path), os.fstat(0))
        return False
    return os.path.exists(other) and os.path.samefile(path, other)


# Those that end a process and that this system has.
_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
    if hasattr(signal, name)
]


class _PartialFile:
    """A file that does not have its final name yet."""

    name: str | None = None
    exists = False

    def expect(self, name: str) -> None:
        """Remember the temporary name, before the file is created."""
        self.name = name

    def remove(self) -> bool:
        """Remove the file and return whether nothing was written."""
        if self.name is None:
            return True
        try:
            # For a moment, a complete file has both names.
            nothing = os.stat(self.name).st_nlink < 2
            os.unlink(self.name)
        except FileNotFoundError:
            # It has its final name already, or was not created yet.
            return not self.exists
        except OSError:
            return True
        return nothing


@contextlib.contextmanager
def _removed_on_signals() -> Iterator[_PartialFile]:
    """Let Ctrl-C, SIGTERM and the like remove a partial file and end the process."""
    part = _PartialFile()

    def remove_and_leave(number: int, _: FrameType | None) -> None:
        leave(number, "nothing was written" if part.remove() else "the file is complete")

    with handling(_SIGNALS, remove_and_leave):
        yield part
