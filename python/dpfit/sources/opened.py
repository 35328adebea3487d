"""Files by name, and files that are open."""

from __future__ import annotations

import glob
import io
import os
import threading
from typing import IO, Any, TypeAlias

from dpfit.exceptions import ParameterError, SourceError

__all__ = ["File", "files_at", "label", "readable"]

# A name, or an open file in binary mode that can seek.
File: TypeAlias = str | IO[bytes]


def files_at(path: str | os.PathLike[str] | IO[bytes], ending: str) -> list[File]:
    """Return the files that a name, a folder, a pattern or an open file stands for."""
    if not isinstance(path, str | os.PathLike) and hasattr(path, "seek"):
        return [path]
    try:
        text: Any = os.fspath(path)  # type: ignore[arg-type]
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise ParameterError("path must be the name of a file, of a folder, or a pattern")
    if os.path.isdir(text):
        found = sorted(glob.glob(os.path.join(glob.escape(text), f"*{ending}")))
        if not found:
            raise SourceError(f"there is no file that ends in {ending} in {text!r}")
        return [*found]
    if os.path.exists(text):
        return [text]
    found = sorted(glob.glob(text, recursive=True))
    if not found:
        raise SourceError(f"there is no file {text!r}")
    return [*found]


def label(file: File) -> str:
    """Return what a file is called in messages."""
    return repr(file) if isinstance(file, str) else "the open file"


# Arrow reads in threads, and a file has one place for all who read it.
_ONE_AT_A_TIME = threading.Lock()


class _FromTheBeginning(io.RawIOBase):
    """An open file with a place of its own, so that it can be read anew. Closing leaves it open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._place = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset, whence = self._place + offset, io.SEEK_SET
        self._place = self._file.seek(offset, whence)
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        with _ONE_AT_A_TIME:
            self._file.seek(self._place)
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


def readable(file: File) -> Any:
    """Return what Arrow opens."""
    return file if isinstance(file, str) else _FromTheBeginning(file)
