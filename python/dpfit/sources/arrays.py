"""Arrays of NumPy, and everything that scikit-learn makes one of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpfit.schema import Binary, Categorical, Date, Kind, Numeric
from dpfit.sources.columns import encode_array
from dpfit.sources.source import LocalSource, Read, rows_in_batch
from dpfit.table import Array
from dpfit.units import owners

__all__ = ["ArraySource"]


class ArraySource(LocalSource):
    """Rows of an array.

    Parameters
    ----------
    x : array of shape (n, d)
        Numbers, or booleans if that is the type the caller gave; or objects, each column of one
        type.
    y : array of shape (n,), optional
        The target.
    unit : array-like of shape (n,), optional
        Whose row it is.
    """

    def __init__(self, x: Array, y: Array | None, unit: Any = None) -> None:
        self.names = None
        declared = Binary() if x.dtype == bool else Numeric()
        self.declared: list[Kind | None] = [declared] * x.shape[1]
        self._x = x
        self._unit = None if unit is None else owners(unit, len(x))
        self._y = np.zeros(len(x)) if y is None else y

    def read(self, kinds: Sequence[Kind]) -> Iterator[Read]:
        """Read all rows: at once if they are numbers, and nothing is copied then."""
        x, y = self._x, self._y
        if x.dtype != object and not any(isinstance(kind, Categorical | Date) for kind in kinds):
            yield Read(x, y, self._unit)
            return
        step = rows_in_batch(self.columns)
        for start in range(0, len(y), step):
            rows = slice(start, start + step)
            columns = [
                encode_array(x[rows, place], kind, self.label(place))
                for place, kind in enumerate(kinds)
            ]
            yield Read(columns, y[rows], None if self._unit is None else self._unit[rows])
