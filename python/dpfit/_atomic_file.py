"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

if sys.platform != "win32":
    import fcntl

__all__ = [
    "COMPANIONS",
    "CONNECTED",
    "LEDGER",
    "NamedWriter",
    "errors_named",
    "in_turns",
    "whole_file",
]

LEDGER = 0x6470666C
"""The number by which SQLite tells ledgers from its other files; as bytes it is "dpfl"."""

COMPANIONS = ("-wal", "-shm", "-journal")
"""What the names of files end with that SQLite keeps beside a ledger."""

CONNECTED = threading.RLock()
"""Held while this process has a ledger open.

When a process closes a file, the operating system drops all locks that the process holds on it. So
nothing else may open and close it meanwhile. It is reentrant, because a signal handler may fork
while a ledger is open.
"""

# How long to wait for other processes, in seconds.
_PATIENCE = 10.0
# The beginning of a file of SQLite, and where it has the number.
_SQLITE, _NUMBER = b"SQLite format 3\0", slice(68, 72)

# Names of files that are being written, and of those that a killed process has left.
_PART = re.compile(r"\..*\.[0-9a-f]{8}\.dpfit-part", re.DOTALL)


class NamedWriter(io.BufferedWriter):
    """A writer whose errors contain the name of the file, even if the disk is full.

    Parameters
    ----------
    raw : RawIOBase
        The file.
    label : str
        The name of the file in errors.
    """

    def __init__(self, raw: io.RawIOBase, label: str) -> None:
        super().__init__(raw)
        self._label = label

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        with errors_named(self._label):
            return super().write(data)

    def flush(self) -> None:
        """Write buffered bytes."""
        with errors_named(self._label):
            super().flush()


@contextlib.contextmanager
def errors_named(label: str) -> Iterator[None]:
    """Add the name of a file to errors that have none."""
    try:
        yield
    except OSError as error:
        # Errors without a number have their own message.
        if error.filename is None and error.errno is not None:
            error.filename = label
        raise


@contextlib.contextmanager
def whole_file(
    path: str | os.PathLike[str], before: Callable[[str], None] | None = None
) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing, and rename it at the end if there was no error.

    Parameters
    ----------
    path : str or path
        The final name. An existing file is replaced and its permissions are kept; links are
        followed.
    before : callable, optional
        Called with the temporary name before the file is created.

    Yields
    ------
    binary file
        A file in the same folder, whose temporary name (``file.name``) starts with a dot. Such
        files that a killed process has left in the folder are removed.

    Raises
    ------
    OSError
        If the file cannot be written.

    Privacy
    -------
    The content may be personal data. Until the end only the owner can read it, whatever the final
    permissions will be. A ledger, or a file that belongs to one, is never replaced, not even if it
    was created while this file was written.
    """
    target = os.path.realpath(path)
    mode = os.stat(target).st_mode if os.path.exists(target) else None
    if mode is not None and not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EEXIST
        raise OSError(number, os.strerror(number), os.fspath(path))
    _refuse_ledger(target, os.fspath(path))
    label = os.fspath(path)
    _remove_abandoned(os.path.dirname(target))
    try:
        part, raw = _created(target, before)
    except OSError as error:
        # With the final name.
        raise OSError(error.errno, error.strerror, label) from None
    try:
        with contextlib.ExitStack() as until_named:
            with NamedWriter(raw, label) as file:
                yield cast(IO[bytes], file)
                file.flush()
                with errors_named(label):
                    os.fsync(file.fileno())
                # The lock goes on until the file has its name: it would be taken for abandoned.
                if sys.platform != "win32":
                    until_named.callback(os.close, os.dup(file.fileno()))
            os.chmod(part, _usual_mode() if mode is None else stat.S_IMODE(mode))
            until_named.enter_context(in_turns(os.path.dirname(target)))
            if mode is not None or not _linked(part, target):
                _refuse_ledger(target, label)
                os.replace(part, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


@contextlib.contextmanager
def in_turns(folder: str) -> Iterator[None]:
    """Let one process at a time create a ledger in a folder, or give a file its name there.

    Without it, a ledger could be created after its name was found to be free, and be replaced. Some
    file systems cannot lock a folder; then there is a moment in which that can happen.
    """
    handle = None
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            handle = os.open(folder or os.curdir, os.O_RDONLY)
    try:
        deadline = time.monotonic() + _PATIENCE
        # Asked again and again, so that Ctrl-C is noticed. Other programs may lock folders, too:
        # they must not stop a fit whose budget is spent.
        while handle is not None and _locked(handle) is False and time.monotonic() < deadline:
            time.sleep(0.01)
        yield
    finally:
        if handle is not None:
            # Not only closed: a process that was forked meanwhile has the folder open, too.
            if sys.platform != "win32":
                with contextlib.suppress(OSError):
                    fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _linked(part: str, target: str) -> bool:
    """Give a file its name unless the name is in use; return whether that was possible.

    The system decides, so that a file that any program has just created is not replaced.
    """
    try:
        os.link(part, target)
    except OSError:
        # Or the file system has no hard links.
        return False
    os.unlink(part)
    return True


def _refuse_ledger(target: str, label: str) -> None:
    if _belongs_to_ledger(target):
        problem = "it is a ledger, and the record of what was spent would be lost"
        raise OSError(errno.EEXIST, problem, label)


def _belongs_to_ledger(path: str) -> bool:
    names = [path, *(path.removesuffix(end) for end in COMPANIONS if path.endswith(end))]
    for name in filter(os.path.isfile, names):
        with CONNECTED, contextlib.suppress(OSError), open(name, "rb", buffering=0) as file:
            head = file.read(_NUMBER.stop)
            if head.startswith(_SQLITE) and head[_NUMBER] == LEDGER.to_bytes(4, "big"):
                return True
    return False


def _created(target: str, before: Callable[[str], None] | None) -> tuple[str, io.FileIO]:
    """Create a file with a temporary name, and lock it for as long as it is open."""
    folder, name = os.path.split(target)
    while True:
        part = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.dpfit-part")
        if before is not None:
            before(part)
        raw = open(part, "xb", buffering=0, opener=_for_owner)  # noqa: SIM115 - closed by the caller
        # Another process may have taken it for abandoned before it was locked.
        if _locked(raw.fileno()) is not False and os.fstat(raw.fileno()).st_nlink > 0:
            return part, raw
        raw.close()


def _remove_abandoned(folder: str) -> None:
    """Remove files of processes that were killed, or that ended with the machine.

    The lock of a file ends with its process, whatever ends it. A file that is locked is being
    written.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir(folder or os.curdir):
            if _PART.fullmatch(name):
                _remove_if_abandoned(os.path.join(folder, name))


def _remove_if_abandoned(path: str) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if _locked(handle):
                os.unlink(path)
        finally:
            os.close(handle)


def _locked(handle: int) -> bool | None:
    """Lock a file; return False if another process has locked it, None without locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # The file system has no locks. Then nothing is taken for abandoned.
        return None
    return True


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _usual_mode() -> int:
    """Return the permissions of a new file."""
    # The mask can only be read by setting it: to a strict one, because all threads share it.
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
