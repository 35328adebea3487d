"""What a column adds to a prediction: a line, a curve, an effect for each level, or nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np

from dpfit._typing import Array, Floats
from dpfit.models.json_numbers import decode, encode
from dpfit.schema import Level

__all__ = ["Curve", "Effect", "Levels", "Line", "NoEffect", "effect_from_dict"]


@dataclass(frozen=True)
class _Data:
    def to_dict(self) -> dict[str, Any]:
        """Return the effect as a dictionary that can be written as JSON."""
        values = {field.name: encode(getattr(self, field.name)) for field in fields(self)}
        return {"effect": _NAMES[type(self)], **values}


@dataclass(frozen=True)
class NoEffect(_Data):
    """No contribution of a column of numbers: it does not vary, or there were too few rows."""

    points: ClassVar[tuple[float, ...]] = (0.0,)
    heights: ClassVar[tuple[float, ...]] = (0.0,)
    range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)

    def __call__(self, x: Array) -> Floats:
        """Return zeros."""
        return np.zeros(len(x))


@dataclass(frozen=True)
class Line(_Data):
    """A straight line from `low` to `high`, constant outside.

    Parameters
    ----------
    low, high : float
        The range of the line.
    slope : float
        Change of the prediction per unit of the column; the line passes through the origin.
    """

    low: float
    high: float
    slope: float

    def __call__(self, x: Array) -> Floats:
        """Return the contribution of each value of the column."""
        values: Floats = np.clip(x.astype(np.float64, copy=False), self.low, self.high)
        return values * self.slope

    @property
    def range(self) -> tuple[float, float]:
        """The interval in which the effect changes."""
        return self.low, self.high

    @property
    def points(self) -> tuple[float, ...]:
        """The ends of the line."""
        return self.range

    @property
    def heights(self) -> tuple[float, ...]:
        """The effect at the ends."""
        return self.slope * self.low, self.slope * self.high


@dataclass(frozen=True)
class Curve(_Data):
    """A piecewise-linear curve, constant outside its first and last point.

    Parameters
    ----------
    points : tuple of float
        Where the curve starts, bends and ends; at least two, increasing.
    heights : tuple of float
        The effect at these points.
    """

    points: tuple[float, ...]
    heights: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the number of points."""
        if not 2 <= len(self.points) == len(self.heights):
            raise ValueError("a curve needs two or more points and as many heights")

    def __call__(self, x: Array) -> Floats:
        """Return the contribution of each value of the column."""
        result: Floats = np.interp(
            x.astype(np.float64, copy=False), np.array(self.points), np.array(self.heights)
        )
        return result

    @property
    def range(self) -> tuple[float, float]:
        """The interval in which the effect changes."""
        return self.points[0], self.points[-1]


@dataclass(frozen=True)
class Levels(_Data):
    """An effect for each level of a categorical column.

    Parameters
    ----------
    levels : tuple of str or of int
        The levels.
    effects : tuple of float
        Their effects; a level that is not listed has the effect zero.
    seen : tuple of bool
        Whether the releases show that the level has rows. If not, its effect is zero.
    """

    levels: tuple[Level, ...]
    effects: tuple[float, ...]
    seen: tuple[bool, ...]

    def __post_init__(self) -> None:
        """Check the number of effects."""
        if not len(self.levels) == len(self.effects) == len(self.seen):
            raise ValueError("a categorical column needs an effect for each level")

    def __call__(self, x: Array) -> Floats:
        """Return the effect of each level, given by its position in `levels`; -1 is not listed."""
        effects = np.append(np.array(self.effects), 0.0)
        return effects[np.where(np.isnan(x), -1, x).astype(np.intp)]


Effect: TypeAlias = NoEffect | Line | Curve | Levels
_NAMES: dict[type, str] = {NoEffect: "none", Line: "line", Curve: "curve", Levels: "levels"}


def effect_from_dict(data: Mapping[str, Any]) -> Effect:
    """Return the effect that :meth:`Effect.to_dict` wrote.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the dictionary does not describe an effect.
    """
    match data["effect"]:
        case "none":
            return NoEffect()
        case "line":
            return Line(*(decode(data[name]) for name in ("low", "high", "slope")))
        case "curve":
            return Curve(*(tuple(map(decode, data[name])) for name in ("points", "heights")))
        case "levels":
            effects = tuple(map(decode, data["effects"]))
            return Levels(tuple(data["levels"]), effects, tuple(map(bool, data["seen"])))
    raise ValueError("unknown kind of effect")
