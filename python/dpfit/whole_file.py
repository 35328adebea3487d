"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

__all__ = ["NamedWriter", "errors_named", "whole_file"]


class NamedWriter(io.BufferedWriter):
    """A file to write, whose errors tell its name: that of a full disk would not.

    Parameters
    ----------
    raw : RawIOBase
        The file.
    label : str
        What it is called in errors.
    """

    def __init__(self, raw: io.RawIOBase, label: str) -> None:
        super().__init__(raw)
        self._label = label

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        with errors_named(self._label):
            return super().write(data)

    def flush(self) -> None:
        """Write what is held back."""
        with errors_named(self._label):
            super().flush()


@contextlib.contextmanager
def errors_named(label: str) -> Iterator[None]:
    """Tell the name of a file in errors that have none."""
    try:
        yield
    except OSError as error:
        # One without a number has a text of its own.
        if error.filename is None and error.errno is not None:
            error.filename = label
        raise


@contextlib.contextmanager
def whole_file(
    path: str | os.PathLike[str], before: Callable[[str], None] | None = None
) -> Iterator[IO[bytes]]:
    """Open a file to write. It appears under its name at the end, if nothing went wrong.

    Parameters
    ----------
    path : str or path
        The name. A file that is there is replaced and its permissions are kept; links are followed.
    before : callable, optional
        Told the name that the file has until the end, before it is made.

    Yields
    ------
    binary file
        Until the end it is in the same folder, under a name (``file.name``) that begins with a dot.

    Raises
    ------
    OSError
        If it cannot be written.

    Privacy
    -------
    What is written may be personal data. Until the end, nobody but the owner may read it, whatever
    the permissions of the file will be.
    """
    target = os.path.realpath(path)
    mode = os.stat(target).st_mode if os.path.exists(target) else None
    if mode is not None and not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EEXIST
        raise OSError(number, os.strerror(number), os.fspath(path))
    folder, name = os.path.split(target)
    part = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part")
    if before is not None:
        before(part)
    label = os.fspath(path)
    try:
        raw = open(part, "xb", buffering=0, opener=_for_owner)  # noqa: SIM115
    except OSError as error:
        # Under the name that was asked for.
        raise OSError(error.errno, error.strerror, label) from None
    try:
        with NamedWriter(raw, label) as file:
            yield cast(IO[bytes], file)
            file.flush()
            with errors_named(label):
                os.fsync(file.fileno())
        os.chmod(part, _usual_mode() if mode is None else stat.S_IMODE(mode))
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _usual_mode() -> int:
    """Return the permissions that a new file would have."""
    # It can be read by setting it only: to a strict one, because other threads have it, too.
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
