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
from typing import IO

from dpfit.cli.errors import failure, wrong_use
from dpfit.whole_file import whole_file

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
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    for name in inputs:
        if name is not None and _same(path, str(name)):
            raise wrong_use(f"{path!r} is read by this command", "give the output another name")
    target = os.path.realpath(path)
    mode = os.stat(target).st_mode if os.path.exists(target) else None
    if mode is not None and stat.S_ISDIR(mode):
        raise wrong_use(f"{path!r} is a folder", "give the name of a file in it")
    if mode is not None and not os.access(target, os.W_OK):
        raise failure(f"{path!r} cannot be written: it is protected")
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as device:
            yield device
        return
    if not os.path.isdir(os.path.dirname(target)):
        parent = os.path.dirname(path)
        missing = f"there is no folder {parent!r} to write to"
        raise wrong_use(missing, f"mkdir -p {shlex.quote(parent)}")
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(whole_file(path))
        except OSError as error:
            raise failure(f"{path!r} cannot be written: {error.strerror}") from None
        stack.enter_context(_taken_away_at_signals(file.name))
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


@contextlib.contextmanager
def _taken_away_at_signals(part: str) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM take a file away and end the process.

    Notes
    -----
    An exception would do in most places. But one that is raised while a library is imported, or in
    a destructor, may be swallowed there, and the command would go on.
    """

    def leave(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            os.unlink(part)
        word = "interrupted" if number == signal.SIGINT else "terminated"
        # A progress bar hides the cursor.
        cursor = "\r\x1b[K\x1b[?25h" if sys.stderr.isatty() else ""
        with contextlib.suppress(OSError):
            os.write(2, f"{cursor}dpfit: {word}, and nothing was written\n".encode())
        os._exit(128 + number)

    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        # Who has told the process to ignore it, as `nohup` and `&` do, meant it.
        ignored = signal.getsignal(number) == signal.SIG_IGN
        if not ignored and threading.current_thread() is threading.main_thread():
            before[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
