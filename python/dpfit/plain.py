"""What objects of the core are made from, as plain data that can go to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dpfit import _native

__all__ = ["Bins", "EqualBins", "LevelColumn", "PowerBins", "RampColumn", "RowMap"]

# Columns of a row map: (centre, scale, ramps), or (number of levels, height).
RampColumn: TypeAlias = tuple[float, float, list[tuple[float, float, float]]]
LevelColumn: TypeAlias = tuple[int, float]


@dataclass(frozen=True)
class PowerBins:
    """Signed powers of two, as `Bins.powers` of the core."""

    least: int
    most: int

    def native(self) -> _native.Bins:
        """Return the bins of the core."""
        return _native.Bins.powers(self.least, self.most)

    def __len__(self) -> int:
        return len(self.native())


@dataclass(frozen=True)
class EqualBins:
    """Equal bins, as `Bins.equal` of the core."""

    low: float
    high: float
    count: int

    def native(self) -> _native.Bins:
        """Return the bins of the core."""
        return _native.Bins.equal(self.low, self.high, self.count)

    def __len__(self) -> int:
        return len(self.native())


Bins: TypeAlias = PowerBins | EqualBins


@dataclass(frozen=True)
class RowMap:
    """A map that weighs rows, as `RowMap` of the core.

    Parameters
    ----------
    columns : list
        What each column of X becomes.
    target : tuple of float
        Centre and scale of y.
    unit : float
        What one unit of the target's grid is.
    intercept : float
        The constant's share of the squared norm.
    """

    columns: list[RampColumn | LevelColumn]
    target: tuple[float, float]
    unit: float
    intercept: float

    def native(self) -> _native.RowMap:
        """Return the row map of the core."""
        return _native.RowMap(
            self.columns,
            target=self.target,
            unit=self.unit,
            norm="weight",
            intercept=self.intercept,
        )
