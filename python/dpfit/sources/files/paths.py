"""Files that are given by name or as open files."""

from __future__ import annotations

import glob
import io
import os
import threading
from typing import IO, Any, TypeAlias

from dpfit.exceptions import Code, ParameterError, SourceError

__all__ = ["File", "files_at", "label", "readable"]

# A name, or an open binary file that can seek.
File: TypeAlias = str | IO[bytes]


def files_at(path: str | os.PathLike[str] | IO[bytes], suffix: str) -> list[File]:
    """Return the files of a path: a file, a folder, a pattern or an open file.

    Parameters
    ----------
    path : str, path or binary file
        The path.
    suffix : str
        What the names of files in a folder must end in.
    """
    if not isinstance(path, str | os.PathLike) and hasattr(path, "seek"):
        return [path]
    try:
        text: Any = os.fspath(path)  # type: ignore[arg-type]
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise ParameterError("path must be a file, a folder or a pattern", subject="path")
    if os.path.isdir(text):
        found = sorted(glob.glob(os.path.join(glob.escape(text), f"*{suffix}")))
        if not found:
            problem = f"there is no {suffix} file in folder {text!r}"
            raise SourceError(problem, code=Code.NO_FILE, subject=text)
        return [*found]
    if os.path.exists(text):
        return [text]
    found = sorted(glob.glob(text, recursive=True))
    if not found:
        raise SourceError(f"there is no file {text!r}", code=Code.NO_FILE, subject=text)
    return [*found]


def label(file: File) -> str:
    """Return the name of a file for messages."""
    return repr(file) if isinstance(file, str) else "the open file"


# Arrow reads in threads, which share the position of an open file.
_LOCK = threading.Lock()


class _FileView(io.RawIOBase):
    """An open file with a separate position. Closing it leaves the file open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._position = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset, whence = self._position + offset, io.SEEK_SET
        with _LOCK:
            self._position = self._file.seek(offset, whence)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        with _LOCK:
            self._file.seek(self._position)
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def readable(file: File) -> Any:
    """Return a file in a form that Arrow opens and reads from the beginning.

    Raises
    ------
    UnicodeEncodeError
        If the name of a file is not valid Unicode.
    """
    if not isinstance(file, str):
        return _FileView(file)
    # As Arrow does. The error is about the name, so call this outside of a shield.
    file.encode()
    return file
