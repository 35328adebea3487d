"""Files that a command writes."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import IO, cast

from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.streams import is_closed
from dpfit.whole_file import NamedWriter, whole_file

__all__ = ["STANDARD", "written"]

# The name that stands for standard input and output.
STANDARD = "-"


@contextlib.contextmanager
def written(path: str, *inputs: object) -> Iterator[IO[bytes]]:
    """Open a file to write. It appears under its name at the end, if nothing went wrong.

    Parameters
    ----------
    path : str
        The name; ``-`` for standard output.
    *inputs : path or None
        Files that the command reads, ``-`` among them: none of them is written over.

    Notes
    -----
    Opening it first tells of a wrong name before the work is done, and before a budget is spent.
    Devices and pipes are written to as they are.
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
        if name is not None and _same(path, str(name)):
            raise wrong_use(f"{path!r} is read by this command", "give the output another name")
    # Not of what the name leads to: the names that /dev has for a pipe lead to none.
    mode = os.stat(path).st_mode if os.path.exists(path) else None
    if mode is not None and stat.S_ISDIR(mode):
        raise wrong_use(f"{path!r} is a folder", "give the name of a file in it")
    if mode is not None and not os.access(path, os.W_OK):
        raise failure(f"{path!r} cannot be written: it is protected")
    if mode is not None and not stat.S_ISREG(mode):
        with NamedWriter(open(path, "wb", buffering=0), path) as device:
            yield cast(IO[bytes], device)
        return
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        parent = os.path.dirname(path)
        missing = f"there is no folder {parent!r} to write to"
        raise wrong_use(missing, f"mkdir -p {shlex.quote(parent)}")
    # Signals are outermost: until the file has its name, they have something to take away.
    with _taken_away_at_signals() as part, contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(whole_file(path, part.expect))
        except OSError as error:
            raise failure(f"{path!r} cannot be written: {error.strerror}") from None
        part.is_made = True
        yield file


def _same(path: str, other: str) -> bool:
    """Return whether two names are of one file that is there."""
    if not os.path.isfile(path):
        return False
    if other == STANDARD:
        # As in `dpfit fit - -o data.csv < data.csv`.
        with contextlib.suppress(OSError):
            return os.path.samestat(os.stat(path), os.fstat(0))
        return False
    return os.path.exists(other) and os.path.samefile(path, other)


# Ctrl-C, what ends a process in other ways, and a terminal that is closed; not all are everywhere.
_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
    if hasattr(signal, name)
]


class _Part:
    """A file that has not got its name yet."""

    name: str | None = None
    is_made = False

    def expect(self, name: str) -> None:
        """Take note of what it will be called."""
        self.name = name

    def take_away(self) -> bool:
        """Remove it, and return whether nothing was written."""
        if self.name is None:
            return True
        try:
            os.unlink(self.name)
        except FileNotFoundError:
            # It has its name already, or has not been made.
            return not self.is_made
        except OSError:
            pass
        return True


@contextlib.contextmanager
def _taken_away_at_signals() -> Iterator[_Part]:
    """Let Ctrl-C, SIGTERM and the like take a file away and end the process.

    Notes
    -----
    An exception would do in most places. But one that is raised while a library is imported, or in
    a destructor, may be swallowed there, and the command would go on.
    """
    part = _Part()

    def leave(number: int, _: FrameType | None) -> None:
        word = "interrupted" if number == signal.SIGINT else "terminated"
        what = "and nothing was written" if part.take_away() else "and the file is written"
        # A progress bar hides the cursor.
        cursor = "\r\x1b[K\x1b[?25h" if sys.stderr.isatty() else ""
        with contextlib.suppress(OSError):
            os.write(2, f"{cursor}dpfit: {word}, {what}\n".encode())
        os._exit(128 + number)

    before = {}
    for number in _SIGNALS:
        # Who has told the process to ignore it, as `nohup` and `&` do, meant it.
        ignored = signal.getsignal(number) in (signal.SIG_IGN, None)
        if not ignored and threading.current_thread() is threading.main_thread():
            before[number] = signal.signal(number, leave)
    try:
        yield part
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
