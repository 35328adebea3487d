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
    try:
        part = open(  # noqa: SIM115
            os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part"), "xb", opener=_for_owner
        )
    except OSError as error:
        # Under the name that was asked for.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with part:
            yield part
            part.flush()
            os.fsync(part.fileno())
        os.chmod(part.name, _usual_mode() if mode is None else stat.S_IMODE(mode))
        os.replace(part.name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part.name)
        raise


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _usual_mode() -> int:
    """Return the permissions that a new file would have."""
    # It can be read by setting it only: to a strict one, because other threads have it, too.
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
