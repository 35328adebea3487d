"""NumPy arrays, and everything that scikit-learn converts to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpfit._typing import Array
from dpfit.schema import Binary, Kind, Numeric
from dpfit.sources.columns import encode_array
from dpfit.sources.source import LocalSource, Read, rows_in_batch
from dpfit.sources.units import unit_ids
from dpfit.sources.weights import weight_values, with_weights

__all__ = ["ArraySource"]


class ArraySource(LocalSource):
    """Rows of an array.

    Parameters
    ----------
    x : array of shape (n, d)
        Numbers; booleans, if the caller gave an array of that type; or objects, with one type in
        each column.
    y : array of shape (n,), optional
        The target.
    unit : array-like of shape (n,), optional
        The person that each row belongs to.
    weight : array-like of shape (n,), optional
        The weight of each row.
    """

    def __init__(self, x: Array, y: Array | None, unit: Any = None, weight: Any = None) -> None:
        self.names = None
        declared = Binary() if x.dtype == bool else Numeric()
        self.declared: list[Kind | None] = [declared] * x.shape[1]
        self._x = x
        self._unit = None if unit is None else unit_ids(unit, len(x))
        self._weight = None if weight is None else weight_values(weight, len(x))
        self._y = np.zeros(len(x)) if y is None else y

    def read(self, kinds: Sequence[Kind]) -> Iterator[Read]:
        """Read all rows. Numbers are one batch, without a copy."""
        x, y = self._x, self._y
        if x.dtype != object and not any(kind.is_encoded for kind in kinds):
            yield self._read(x, y, slice(None))
            return
        step = rows_in_batch(self.columns)
        for start in range(0, len(y), step):
            rows = slice(start, start + step)
            columns = [
                encode_array(x[rows, place], kind, self.label(place))
                for place, kind in enumerate(kinds)
            ]
            yield self._read(columns, y[rows], rows)

    def _read(self, columns: Array | list[Array], target: Array, rows: slice) -> Read:
        if self._weight is not None:
            columns, target = with_weights(columns, target, self._weight[rows])
        return Read(columns, target, None if self._unit is None else self._unit[rows])
