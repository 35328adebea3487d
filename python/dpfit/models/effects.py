"""What a column adds to a prediction: a line, a curve, an effect for each level, or nothing.

An effect has parameters, in which it is linear. `design` returns the derivatives of the effect in
its parameters, one row for each value of the column: with the covariance of the parameters, errors
of predictions follow. For many rows, the core needs them at a few places only: every value has
weights for one or two of these (`term`).
"""

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
    size: ClassVar[int] = 0

    def __call__(self, x: Array) -> Floats:
        """Return zeros."""
        return np.zeros(len(x))

    def design(self, x: Array) -> Floats:
        """Return no columns: there are no parameters."""
        return np.zeros((len(x), 0))

    def native(self) -> None:
        """Return the effect for the core: nothing."""

    def term(self) -> None:
        """Return the weights of places for the core: there are none."""

    @property
    def places(self) -> int:
        """The number of places."""
        return 0

    def at_places(self) -> Floats:
        """Return an empty design."""
        return np.zeros((0, 0))


@dataclass(frozen=True)
class Line(_Data):
    """A straight line from `low` to `high`, constant outside. Its parameter is the slope.

    Parameters
    ----------
    low, high : float
        The range of the line.
    slope : float
        Change of the prediction per unit of the column; the line passes through the origin.
    centre : float, default 0
        The released mean of the column: the last of a model's parameters is the prediction there.
    """

    low: float
    high: float
    slope: float
    centre: float = 0.0
    size: ClassVar[int] = 1

    def __call__(self, x: Array) -> Floats:
        """Return the contribution of each value of the column."""
        return self._inside(x) * self.slope

    def design(self, x: Array) -> Floats:
        """Return the distances of values from the centre."""
        return (self._inside(x) - self.centre)[:, None]

    def native(self) -> tuple[float, float, float]:
        """Return the line for the core."""
        return self.low, self.high, self.slope

    def term(self) -> tuple[float, float, float]:
        """Return the one place for the core: its weight is the distance from the centre."""
        return self.low, self.high, self.centre

    @property
    def places(self) -> int:
        """The number of places."""
        return 1

    def at_places(self) -> Floats:
        """Return the slope for a distance of one from the centre."""
        return np.ones((1, 1))

    def _inside(self, x: Array) -> Floats:
        values: Floats = np.clip(x.astype(np.float64, copy=False), self.low, self.high)
        return values

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
    functions : tuple of tuples of float
        The functions that the curve is a sum of, by their heights at the points. Their factors are
        the parameters.
    straight : int
        How many of the functions, the first ones, are lines. The others bend.
    """

    points: tuple[float, ...]
    heights: tuple[float, ...]
    functions: tuple[tuple[float, ...], ...] = ()
    straight: int = 0

    def __post_init__(self) -> None:
        """Check the number of points."""
        if not 2 <= len(self.points) == len(self.heights):
            raise ValueError("a curve needs two or more points and as many heights")
        if any(len(function) != len(self.points) for function in self.functions):
            raise ValueError("a function of a curve needs a height for each point")

    def __call__(self, x: Array) -> Floats:
        """Return the contribution of each value of the column."""
        result: Floats = np.interp(
            x.astype(np.float64, copy=False), np.array(self.points), np.array(self.heights)
        )
        return result

    def design(self, x: Array) -> Floats:
        """Return the heights of the functions."""
        values, points = x.astype(np.float64, copy=False), np.array(self.points)
        found = [np.interp(values, points, np.array(function)) for function in self.functions]
        return np.column_stack(found) if found else np.zeros((len(x), 0))

    def native(self) -> tuple[list[float], list[float]]:
        """Return the curve for the core."""
        return list(self.points), list(self.heights)

    def term(self) -> list[float] | None:
        """Return the points for the core, between which weights are linear."""
        return list(self.points) if self.functions else None

    @property
    def places(self) -> int:
        """The number of places: the points, if there are functions."""
        return len(self.points) if self.functions else 0

    def at_places(self) -> Floats:
        """Return the heights of the functions at the points."""
        return np.array(self.functions).T if self.functions else np.zeros((0, 0))

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.functions)

    @property
    def range(self) -> tuple[float, float]:
        """The interval in which the effect changes."""
        return self.points[0], self.points[-1]


@dataclass(frozen=True)
class Levels(_Data):
    """An effect for each level of a categorical column, which is a parameter.

    Parameters
    ----------
    levels : tuple of str or of int
        The levels.
    effects : tuple of float
        Their effects; a level that is not listed has the effect zero.
    seen : tuple of bool
        Whether the releases show that the level has rows. If not, its effect is zero.
    baseline : tuple of float
        The weights of levels in the mean that effects are relative to; all zero if they are
        relative to rows whose level is not listed.
    """

    levels: tuple[Level, ...]
    effects: tuple[float, ...]
    seen: tuple[bool, ...]
    baseline: tuple[float, ...]
    range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        """Check the number of effects."""
        if not len(self.levels) == len(self.effects) == len(self.seen) == len(self.baseline):
            raise ValueError("a categorical column needs an effect for each level")

    def __call__(self, x: Array) -> Floats:
        """Return the effect of each level, given by its position in `levels`; -1 is not listed."""
        effects = np.append(np.array(self.effects), 0.0)
        return effects[self._places(x)]

    def design(self, x: Array) -> Floats:
        """Return one for the level of each row; the mean of levels if it is not listed.

        If no level is in the model, as in a mean-only model, all rows have the same mean.
        """
        if not any(self.seen):
            return np.zeros((len(x), self.size))
        rows: Floats = np.vstack([np.eye(self.size), np.array(self.baseline)])[self._places(x)]
        return rows

    def native(self) -> list[float]:
        """Return the effects for the core."""
        return list(self.effects)

    def term(self) -> int:
        """Return the number of levels for the core: each is a place, and one more for others."""
        return self.size

    @property
    def places(self) -> int:
        """The number of places."""
        return self.size + 1

    def at_places(self) -> Floats:
        """Return the design of every level, and last of one that is not listed."""
        return self.design(np.append(np.arange(self.size), -1))

    @staticmethod
    def _places(x: Array) -> Array:
        return np.where(np.isnan(x), -1, x).astype(np.intp)

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.levels)

    @property
    def has_others(self) -> bool:
        """Whether the releases show rows whose level is not listed."""
        return any(self.seen) and not any(self.baseline)


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
            return Line(*(decode(data[name]) for name in ("low", "high", "slope", "centre")))
        case "curve":
            points, heights = (_decoded(data[name]) for name in ("points", "heights"))
            functions = tuple(map(_decoded, data["functions"]))
            return Curve(points, heights, functions, int(data["straight"]))
        case "levels":
            effects, baseline = (_decoded(data[name]) for name in ("effects", "baseline"))
            seen = tuple(map(bool, data["seen"]))
            return Levels(tuple(data["levels"]), effects, seen, baseline)
    raise ValueError("unknown kind of effect")


def _decoded(values: Any) -> tuple[float, ...]:
    return tuple(map(decode, values))
