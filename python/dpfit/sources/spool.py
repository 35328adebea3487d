"""Batches kept to be read again: in memory, and past a limit in a temporary file."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dpfit.sources.source import Read
from dpfit.table import Array

__all__ = ["Spool"]


class _Place(NamedTuple):
    """Where an array is in the file."""

    offset: int
    length: int
    dtype: np.dtype[Any]


class Spool:
    """Keeps batches as they are.

    Parameters
    ----------
    memory_limit : int
        Bytes that may be kept in memory.

    Privacy
    -------
    The file holds rows. It has no name, so it is gone with the process, however that ends.
    """

    def __init__(self, memory_limit: int) -> None:
        self._limit, self._used = memory_limit, 0
        self._batches: list[list[Array] | list[_Place]] = []
        self._file: io.FileIO | None = None

    def add(self, batch: Read) -> None:
        """Keep a batch. Its unit is not kept."""
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
        """Give all batches, from the first on."""
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
                raise OSError("a temporary file of dpfit ends early")
            data = data[count:]
        return array

    def close(self) -> None:
        """Forget all batches."""
        self._batches = []
        if self._file is not None:
            self._file.close()
            self._file = None
