"""Keep batches to read them again: in memory up to a limit, then in a temporary file."""

from __future__ import annotations

import contextlib
import io
import itertools
import mmap
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpfit._typing import Array
from dpfit.sources.source import Read

__all__ = ["Spool"]

# Arrays start at a multiple of this.
_ALIGNMENT = 64


class _Place(NamedTuple):
    """Where the arrays of a batch are: in memory, or in the file from an offset on.

    `size` is in bytes, and a multiple of the size of a page.
    """

    memory: mmap.mmap | None
    offset: int
    size: int
    length: int
    dtypes: tuple[np.dtype[Any], ...]

    def starts(self) -> list[int]:
        """Return where each array starts, and where the last ends."""
        sizes = (_aligned(self.length * dtype.itemsize, _ALIGNMENT) for dtype in self.dtypes)
        return list(itertools.accumulate(sizes, initial=0))

    def arrays(self, memory: mmap.mmap, offset: int) -> Iterator[Array]:
        """Yield the arrays, without a copy."""
        for start, dtype in zip(self.starts(), self.dtypes, strict=False):
            yield np.frombuffer(memory, dtype, self.length, offset + start)


class Spool:
    """Keeps batches.

    Arrays are copied: those of Arrow are in its pool, which keeps more memory than they need.

    Parameters
    ----------
    memory_limit : int
        Bytes of memory; later batches go to a file.

    Privacy
    -------
    The file contains rows. It has no name, so it disappears when the process ends for any reason.
    """

    def __init__(self, memory_limit: int) -> None:
        self._limit, self._used = memory_limit, 0
        self._batches: list[_Place] = []
        self._file: io.FileIO | None = None
        # The file, mapped to memory once it is read.
        self._map: mmap.mmap | None = None

    def add(self, batch: Read) -> None:
        """Keep a batch, without its units."""
        arrays = [np.ascontiguousarray(array) for array in (*batch.columns, batch.target)]
        dtypes = tuple(array.dtype for array in arrays)
        place = _Place(None, 0, 0, len(batch.target), dtypes)
        size = _aligned(max(place.starts()[-1], 1), mmap.PAGESIZE)
        self._used += size
        if self._used <= self._limit:
            memory = _new_memory(size)
            place = place._replace(memory=memory, size=size)
            for array, kept in zip(arrays, place.arrays(memory, 0), strict=True):
                np.copyto(kept, array)
        else:
            place = place._replace(offset=self._write(arrays, place.starts(), size), size=size)
        self._batches.append(place)

    def _write(self, arrays: Sequence[Array], starts: Sequence[int], size: int) -> int:
        """Write arrays to the end of the file; return where the batch starts."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by `close`
        offset = self._file.seek(0, io.SEEK_END)
        for array, start in zip(arrays, starts, strict=False):
            self._file.seek(offset + start)
            data = array.data.cast("B")
            while data:
                data = data[self._file.write(data) :]
        self._file.truncate(offset + size)
        return offset

    def __iter__(self) -> Iterator[Read]:
        """Yield all batches."""
        if self._file is not None and self._map is None:
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        for place in self._batches:
            memory = place.memory or self._map
            assert memory is not None
            *columns, target = place.arrays(memory, place.offset)
            yield Read(columns, target)
            if place.memory is None:
                # The memory is free for the next batch. It is read again if somebody uses it.
                _forget(memory, place.offset, place.size)

    def close(self) -> None:
        """Delete all batches."""
        # Memory is freed when its arrays are no longer used.
        self._batches, self._map = [], None
        if self._file is not None:
            self._file.close()
            self._file = None


def _new_memory(size: int) -> mmap.mmap:
    """Return memory that goes back to the system as soon as it is no longer used."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    # Shared memory, which is the default, is slower. Large pages are not asked for: a virtual
    # machine may have to get them from its host first.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    # All of it is written at once. One call prepares the pages faster than a fault for each.
    return mmap.mmap(-1, size, flags=flags | getattr(mmap, "MAP_POPULATE", 0))


def _aligned(size: int, step: int) -> int:
    return -(-size // step) * step


def _forget(memory: mmap.mmap, start: int, length: int) -> None:
    """Free the memory of a part of a mapped file, on systems where that is possible."""
    if hasattr(mmap, "MADV_DONTNEED"):
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_DONTNEED, start, length)
