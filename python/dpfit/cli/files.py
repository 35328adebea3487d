"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import IO

from dpfit.cli.errors import failure, wrong_use

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
        Files that the command reads: none of them is written over.

    Notes
    -----
    Until then it is in the same folder under a name that begins with a dot. Opening it first tells
    of a wrong name before the work is done, and before a budget is spent. Links are followed;
    devices and pipes are written to as they are.
    """
    if path == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    for name in inputs:
        if name is not None and _same(path, str(name)):
            raise wrong_use(f"{path!r} is read by this command", "give another name to -o")
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
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        parent = os.path.dirname(path)
        missing = f"there is no folder {parent!r} to write to"
        raise wrong_use(missing, f"mkdir -p {shlex.quote(parent)}")
    part = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part")
    try:
        # As other new files, whose permissions are those that the user's mask leaves.
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        raise failure(f"{path!r} cannot be written: {error.strerror}") from None
    with _taken_away_at_signals(part):
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(part, stat.S_IMODE(mode))
            os.replace(part, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
            raise


def _same(path: str, other: str) -> bool:
    """Return whether two names are of one file that is there."""
    return os.path.isfile(path) and os.path.exists(other) and os.path.samefile(path, other)


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
