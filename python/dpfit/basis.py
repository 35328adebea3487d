"""From columns to features: ramps over the ranges that were found.

A ramp rises from zero to its height between two points and is flat outside them. A linear model
has one ramp for each column, over its range; where the outer tenth of a column reaches far, it has
a ramp of its own, so that the data can say whether the line goes on there (:mod:`dpfit.ranges`).
An additive model has ramps between knots, whose sum is a piecewise-linear curve.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.marginal import Marginal
from dpfit.plain import LevelColumn, RampColumn
from dpfit.schema import Binary, Categorical, Kind, Numeric

__all__ = ["Basis", "Ramp", "Term", "additive_ramps", "level_ramps", "linear_ramps"]

Floats: TypeAlias = npt.NDArray[np.float64]
Cuts: TypeAlias = Sequence[tuple[float, float]]
# A column, and one of its levels if it has them: what one coefficient of a linear model is for.
Term: TypeAlias = tuple[int, int | None]

# The range of a column: what is beyond 1 % and 99 % is cut, the noise rarely shows it.
_OUTER = 0.01
# The height of a tail's ramp, in half-widths of the inner range: longer ones would take the norm
# of every row for a few.
_TAIL_HEIGHT = 2.0
# Bins between the median and a cut.
_STEP = 1.5
# With binary columns the squared norm grows with their number, but less than by one each: flags
# are seldom set, and of those that stand for levels of one column one is.
_BINARY_NORM = 0.5


@dataclass(frozen=True)
class Ramp:
    """A feature: ``height * (clip(x, low, high) - clip(centre, low, high)) / (high - low)``.

    Parameters
    ----------
    column : int
        The column of X.
    low, high : float
        Where it begins and ends to rise, in the column's units.
    centre : float
        Where the column's features are zero.
    height : float
        How much it rises, before all features are multiplied by the basis's gain.
    tail : int
        0 for the middle of a column, negative for pieces below and positive for those above.
    level : int, optional
        Which level of the column it is for: x is then one where the column has it, zero elsewhere.
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
        """How much the feature rises for one unit of the column."""
        return self.height / (self.high - self.low)

    def values(self, x: Floats) -> Floats:
        """Return the feature, without the gain."""
        anchor = min(max(self.centre, self.low), self.high)
        result: Floats = (np.clip(x, self.low, self.high) - anchor) * self.slope
        return result


def level_ramps(column: int, kind: Categorical) -> list[Ramp]:
    """Return a feature for every level of a column."""
    return [Ramp(column, 0.0, 1.0, 0.0, 1.0, level=level) for level in range(len(kind.levels))]


def linear_ramps(column: int, kind: Kind, marginal: Marginal | None, cuts: Cuts) -> list[Ramp]:
    """Return the ramp of a column and, if they reach far, those of the pieces outside of it.

    A column in which nothing varies, as far as can be seen, has none.

    Parameters
    ----------
    column : int
        The column.
    kind : Kind
        What is public about it.
    marginal : Marginal or None
        What was released of it.
    cuts : sequence of (share, ratio)
        Where the line may end, from the outside in: beyond this share of the column on either
        side, if the point outside of it is at least `ratio` times as far from the median.
    """
    if marginal is None:
        return [_public(column, kind, 0.0)]
    if marginal.is_point():
        return []
    median = float(marginal.quantiles([0.5])[0])
    lower = _long_pieces(marginal, median, -1, cuts)
    upper = _long_pieces(marginal, median, 1, cuts)
    low, high = lower[-1], upper[-1]
    if not high > low:
        # Half of the weight is in one point: all that is left are the tails.
        lower, upper = lower[:1], upper[:1]
        low, high = _apart(lower[0], upper[0])
    half = (high - low) / 2
    ramps = [Ramp(column, low, high, median, 2.0)]
    for outside, inside in zip(lower[-2::-1], lower[:0:-1], strict=True):
        height = min((inside - outside) / half, _TAIL_HEIGHT)
        ramps.insert(0, Ramp(column, outside, inside, median, height, ramps[0].tail - 1))
    for outside, inside in zip(upper[-2::-1], upper[:0:-1], strict=True):
        height = min((outside - inside) / half, _TAIL_HEIGHT)
        ramps.append(Ramp(column, inside, outside, median, height, ramps[-1].tail + 1))
    return ramps


def _long_pieces(marginal: Marginal, median: float, side: int, cuts: Cuts) -> list[float]:
    """Return where pieces begin on one side of the median, from the outside in."""
    shares = np.array([_OUTER, *(share for share, _ in cuts)])
    outside, *insides = (float(q) for q in marginal.quantiles(shares if side < 0 else 1.0 - shares))
    points = [outside]
    for inside, (_, ratio) in zip(insides, cuts, strict=True):
        # A line that ends within a bin or two of the median would be a step.
        told_apart = abs(inside - median) > _STEP * marginal.width_at(median)
        if told_apart and abs(outside - median) > ratio * abs(inside - median):
            points.append(inside)
        outside = inside
    return points


def additive_ramps(
    column: int, kind: Kind, marginal: Marginal | None, knots: int, *, apart: float = 0.0
) -> list[Ramp]:
    """Return the ramps between knots at quantiles; between equal steps if bounds are public.

    Knots are at least `apart` bins of the marginal apart, and a whole bin where it stands alone:
    its rows may all have one value, beside which a curve would bend by noise alone. With zero, all
    knots are kept.
    """
    if isinstance(kind, Binary):
        return [_public(column, kind, 0.0)]
    if marginal is None:
        whole = _public(column, kind, 0.0)
        marginal = Marginal.uniform(whole.low, whole.high)
        outer = (0.0, 1.0)
    elif marginal.is_point():
        return []
    else:
        outer = (_OUTER, 1.0 - _OUTER)
    inside = np.arange(1, knots + 1) / (knots + 1)
    points = marginal.quantiles(np.concatenate([[outer[0]], inside, [outer[1]]]))
    median = float(marginal.quantiles([0.5])[0])
    least = 1e-9 * (points[-1] - points[0])
    kept = [float(points[0])]
    for point in points[1:]:
        bins = 1.0 if apart and marginal.stands_alone(float(point)) else apart
        if point - kept[-1] > max(least, bins * marginal.width_at(float(point))):
            kept.append(float(point))
    if len(kept) == 1:
        kept = list(_apart(kept[0], kept[0]))
    return [Ramp(column, low, high, median, 1.0) for low, high in itertools.pairwise(kept)]


def _public(column: int, kind: Kind, centre: float) -> Ramp:
    if not isinstance(kind, Numeric):
        return Ramp(column, 0.0, 1.0, centre, 1.0)
    low, high = kind.bounds or (-1.0, 1.0)
    return Ramp(column, low, high, (low + high) / 2, 2.0)


def _apart(low: float, high: float) -> tuple[float, float]:
    """Return bounds with room between them, for a column that has none."""
    room = max(2.0**-52 * max(abs(low), abs(high)), 2.0**-60)
    return (low, high) if high - low >= room else (low - room, low + room)


@dataclass(frozen=True)
class Basis:
    """All features of a model: ramps, and a constant last.

    Parameters
    ----------
    ramps : sequence of Ramp
        In the order of the columns.
    columns : int
        Columns of X.
    gain : float
        What all ramps are multiplied by.
    intercept : float
        The share of the squared norm that the constant has.
    free : set of int
        Columns whose effects of levels need not add up to zero.
    unseen : set of int
        Features of levels that are too rare to have an effect.
    rare : set of int
        Features of other levels that may have no rows.
    """

    ramps: tuple[Ramp, ...]
    columns: int
    gain: float
    intercept: float
    free: frozenset[int] = frozenset()
    unseen: frozenset[int] = frozenset()
    rare: frozenset[int] = frozenset()

    @classmethod
    def fit_to_norm(
        cls,
        ramps: Sequence[Ramp],
        kinds: Sequence[Kind],
        marginals: Sequence[Marginal | None],
        *,
        intercept: float,
        room: float,
    ) -> Basis:
        """Return the basis whose rows have a norm of about 1 / `room`.

        The mean of the squared norm follows from the marginals, whatever the columns have to do
        with each other. Longer rows count less (the row map weighs them).
        """
        mean = 0.0
        for ramp in ramps:
            kind, marginal = kinds[ramp.column], marginals[ramp.column]
            if not isinstance(kind, Numeric):
                continue
            known = marginal or Marginal.uniform(ramp.low, ramp.high)
            middles, shares = known.points()
            mean += float(np.square(ramp.values(middles)) @ shares)
        mean += _BINARY_NORM * math.sqrt(sum(isinstance(kind, Binary) for kind in kinds))
        # Of the levels of a column one is set.
        mean += sum(isinstance(kind, Categorical) for kind in kinds)
        gain = math.sqrt((1.0 - intercept) / max(mean, 0.05)) / room
        return cls(tuple(ramps), len(kinds), gain, intercept)

    @property
    def features(self) -> int:
        """Features, the constant included."""
        return len(self.ramps) + 1

    def row_map_columns(self) -> list[RampColumn | LevelColumn]:
        """Return the columns of the core's row map."""
        columns: list[RampColumn | LevelColumn] = []
        for column in range(self.columns):
            ramps = [self.ramps[i] for i in self.of_column(column)]
            if ramps and ramps[0].level is not None:
                columns.append((len(ramps), self.gain * ramps[0].height))
                continue
            centre, scale = (
                (ramps[0].centre, (ramps[0].high - ramps[0].low) / 2) if ramps else (0.0, 1.0)
            )
            parts = [
                (
                    (ramp.low - centre) / scale,
                    (ramp.high - centre) / scale,
                    self.gain * ramp.slope * scale,
                )
                for ramp in ramps
            ]
            columns.append((centre, scale, parts))
        return columns

    def of_column(self, column: int) -> list[int]:
        """Return the features made of a column."""
        return self._by_column.get(column, [])

    def of_term(self, term: Term) -> list[int]:
        """Return the features made of a column, or for a level of it."""
        features = self.of_column(term[0])
        return features if term[1] is None else [features[term[1]]]

    @functools.cached_property
    def terms(self) -> list[Term]:
        """What the features are for, in their order."""
        return list(dict.fromkeys(ramp.term for ramp in self.ramps))

    @functools.cached_property
    def lines(self) -> list[int]:
        """Columns of numbers that have features."""
        return [column for column, level in self.terms if level is None]

    @functools.cached_property
    def level_columns(self) -> list[int]:
        """Columns of levels."""
        return [column for column, level in self.terms if level == 0]

    @functools.cached_property
    def _by_column(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for i, ramp in enumerate(self.ramps):
            found.setdefault(ramp.column, []).append(i)
        return found

    def straight(self, features: Sequence[int]) -> Floats:
        """Return the unit vector of coefficients that makes one straight line of adjacent ramps."""
        direction = np.zeros(self.features)
        for i in features:
            direction[i] = 1.0 / self.ramps[i].slope
        scaled: Floats = direction / np.abs(direction).max()
        return scaled / float(np.linalg.norm(scaled))
