"""Keep batches to read them again: in memory up to a limit, then in a temporary file."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dpfit._typing import Array
from dpfit.exceptions import Code, SourceError
from dpfit.sources.source import Read

__all__ = ["Spool"]


class _Place(NamedTuple):
    """The location of an array in the file."""

    offset: int
    length: int
    dtype: np.dtype[Any]


class Spool:
    """Keeps batches.

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
        self._batches: list[list[Array] | list[_Place]] = []
        self._file: io.FileIO | None = None

    def add(self, batch: Read) -> None:
        """Keep a batch, without its units."""
        arrays = [*batch.columns, batch.target]
        self._used += sum(array.nbytes for array in arrays)
        if self._used <= self._limit:
            self._batches.append(arrays)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by `close`
        places = []
        for array in arrays:
            places.append(_Place(self._file.tell(), len(array), array.dtype))
            data = np.ascontiguousarray(array).data.cast("B")
            while data:
                data = data[self._file.write(data) :]
        self._batches.append(places)

    def __iter__(self) -> Iterator[Read]:
        """Yield all batches."""
        for batch in self._batches:
            *columns, target = (
                self._load(part) if isinstance(part, _Place) else part for part in batch
            )
            yield Read(columns, target)

    def _load(self, place: _Place) -> Array:
        array: Array = np.empty(place.length, dtype=place.dtype)
        assert self._file is not None
        self._file.seek(place.offset)
        data = array.data.cast("B")
        while data:
            count = self._file.readinto(data)
            if not count:
                raise SourceError("a temporary file ends early", code=Code.TEMPORARY_FILE)
            data = data[count:]
        return array

    def close(self) -> None:
        """Delete all batches."""
        self._batches = []
        if self._file is not None:
            self._file.close()
            self._file = None
