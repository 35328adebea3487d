"""The map from a row of numbers to a row of integers, as data that can go to another process."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dpfit import _native
from dpfit._typing import Floats

__all__ = ["LevelColumn", "RampColumn", "Route", "RowMap", "Scale"]

# Columns of a row map: (centre, scale, ramps), or (number of levels, height).
RampColumn: TypeAlias = tuple[float, float, list[tuple[float, float, float]]]
LevelColumn: TypeAlias = tuple[int, float]

_NO_FEATURES: RampColumn = (0.0, 1.0, [])


@dataclass(frozen=True)
class Scale:
    """What stored integers are in public numbers.

    Parameters
    ----------
    step : float
        One step of the grid of targets and residuals.
    bound : float, default 1
        The norm of a row that has full length.
    """

    step: float
    bound: float = 1.0

    @property
    def row_step(self) -> float:
        """One step of the grid of rows."""
        return self.bound / _native.ROW_SCALE


@dataclass(frozen=True)
class RowMap:
    """A map from rows of numbers to rows of integers; see `RowMap` of the core.

    Parameters
    ----------
    columns : list
        What each column of X becomes.
    target : tuple of float
        Centre and scale of y.
    scale : Scale
        What the integers are.
    constant_share : float or None
        The constant's share of the squared norm; None for no constant.
    norm : {"weight", "clip"}
        Whether a row that is too long is weighted down, its target included, or clipped.
    max_weight : float or None
        The largest weight of a row, if X has one more column, of weights: a row, its constant and
        its target are multiplied by the root of weight / max_weight, at most one.
    """

    columns: list[RampColumn | LevelColumn]
    target: tuple[float, float]
    scale: Scale
    constant_share: float | None
    norm: Literal["weight", "clip"] = "weight"
    max_weight: float | None = None

    def weighted(self, max_weight: float | None) -> RowMap:
        """Return the map of rows that have weights, if `max_weight` is not None."""
        return self if max_weight is None else dataclasses.replace(self, max_weight=max_weight)

    def native(self) -> _native.RowMap:
        """Return the row map of the core."""
        columns = self.columns
        if self.max_weight is not None:
            columns = [*columns, _NO_FEATURES]
        return _native.RowMap(
            columns,
            target=self.target,
            step=self.scale.step,
            norm=self.norm,
            intercept=self.constant_share,
            max_weight=self.max_weight,
        )


@dataclass(frozen=True, eq=False)
class Route:
    """All maps from rows of numbers to the rows of integers in a store.

    Parameters
    ----------
    row_map : RowMap
        The map from rows of numbers to rows of integers.
    matrices : tuple of array
        The public matrices of :meth:`StoredTable.mapped`, in order.
    """

    row_map: RowMap
    matrices: tuple[Floats, ...] = ()

    def then(self, matrix: Floats) -> Route:
        """Return the route of rows that are mapped by another matrix."""
        return Route(self.row_map, (*self.matrices, matrix))

    def read(self, packed: bytes) -> _native.Rows:
        """Read the bytes of a store."""
        return _native.Rows.from_bytes(self.row_map.native(), packed, self.matrices)
