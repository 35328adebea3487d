"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO

__all__ = ["whole_file"]


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write. It appears under its name at the end, if nothing went wrong.

    Parameters
    ----------
    path : str or path
        The name. A file that is there is replaced and its permissions are kept; links are followed.

    Yields
    ------
    binary file
        Until the end it is in the same folder, under a name (``file.name``) that begins with a dot.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    target = os.path.realpath(path)
    mode = os.stat(target).st_mode if os.path.exists(target) else None
    if mode is not None and not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EEXIST
        raise OSError(number, os.strerror(number), os.fspath(path))
    folder, name = os.path.split(target)
    try:
        part = open(os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part"), "xb")  # noqa: SIM115
    except OSError as error:
        # Under the name that was asked for.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with part:
            yield part
            part.flush()
            os.fsync(part.fileno())
        if mode is not None:
            os.chmod(part.name, stat.S_IMODE(mode))
        os.replace(part.name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part.name)
        raise
