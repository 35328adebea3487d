"""Ramps: features that rise between two points of a column and are flat outside them.

A linear model has one ramp for each column, over its range. Where the tail of a column reaches far,
it has its own ramp, and the data decide whether the line continues there
(:mod:`dpfit.engine.features.tails`). An additive model has ramps between knots, whose sum is a
piecewise-linear curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dpfit._typing import Floats
from dpfit.schema import Kind

__all__ = ["Ramp", "Term", "level_ramps", "public_ramp", "separated"]

# A column, and one of its levels if it is categorical: each has a coefficient in a linear model.
Term: TypeAlias = tuple[int, int | None]


@dataclass(frozen=True)
class Ramp:
    """A feature: ``height * (clip(x, low, high) - clip(centre, low, high)) / (high - low)``.

    Parameters
    ----------
    column : int
        The column of X.
    low, high : float
        The values of the column between which it rises.
    centre : float
        The value at which the features of the column are zero.
    height : float
        How much it rises, before it is multiplied by the gain of the basis.
    tail : int
        0 for the middle of a column, negative for pieces below it, positive for those above.
    level : int, optional
        A level of the column: x is one for rows with this level and zero for others.
    """

    column: int
    low: float
    high: float
    centre: float
    height: float
    tail: int = 0
    level: int | None = None

    @property
    def term(self) -> Term:
        """The column, and the level if there is one."""
        return self.column, self.level

    @property
    def slope(self) -> float:
        """How much the feature rises if the column rises by one."""
        return self.height / (self.high - self.low)

    def values(self, x: Floats) -> Floats:
        """Return the feature, without the gain."""
        anchor = min(max(self.centre, self.low), self.high)
        result: Floats = (np.clip(x, self.low, self.high) - anchor) * self.slope
        return result


def level_ramps(column: int, kind: Kind) -> list[Ramp]:
    """Return a feature for every level of a column."""
    return [Ramp(column, 0.0, 1.0, 0.0, 1.0, level=level) for level in range(len(kind.levels))]


def public_ramp(column: int, kind: Kind) -> Ramp:
    """Return the ramp of a column whose bounds are public, over all of them."""
    if kind.is_binary or kind.levels:
        return Ramp(column, 0.0, 1.0, 0.0, 1.0)
    low, high = kind.bounds or (-1.0, 1.0)
    return Ramp(column, low, high, (low + high) / 2, 2.0)


def separated(low: float, high: float) -> tuple[float, float]:
    """Return two different points, for a column that is all in one."""
    room = max(2.0**-52 * max(abs(low), abs(high)), 2.0**-60)
    return (low, high) if high - low >= room else (low - room, low + room)
