"""What makes a model linear or additive."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpfit._typing import Array, Floats
from dpfit.engine.features.basis import Basis, Column
from dpfit.engine.features.functions import Knots

__all__ = ["Bends", "Curves", "Lines", "Pieces", "Strategy"]

# Knots of curves. Bends that the budget does not pay for are never released, so more knots cost
# time and no privacy.
KNOTS = 12
# A shorter line has to explain more by this many variances of its own error. Noise alone makes one
# of the 66 lines or more explain so much in one column of 14, if there is no effect.
_EVIDENCE = 4.0
# It also has to explain more by this share of the residual variance. Whoever asks for a line wants
# its slope over the whole range, even if the relation bends a little; a model that leaves so much
# unexplained would be the wrong one.
_MATERIAL = 0.02
# A slope is a statement about most rows: a line goes over at least this share of them. Among
# collinear columns, a step over a few rows sometimes explains more, and is not what anyone wants.
_LEAST_ROWS = 0.5
# Columns that are looked at together: their lines take a megabyte.
_TOGETHER = 128
# Columns are related if they share a quarter of their variance.
_RELATED = 0.5


@dataclass(frozen=True, eq=False)
class Bends:
    """How residuals of a line depend on its column.

    Parameters
    ----------
    coefficient : float
        The coefficient of the line over the whole range, scaled to variance one.
    correlations : array
        The correlations of the line with those of all columns, as far as they are known.
    knots : array of integers
        The knots that separate pieces of the column, the first and the last included.
    sums : array
        Sums of the residuals of each piece, divided by the number of rows.
    noise : float
        The variance of the noise in one of the sums.
    sampling : float
        The variance of the error in a coefficient, due to the rows being a sample.
    residual : float
        The variance of residuals.
    """

    coefficient: float | Floats
    correlations: Floats
    knots: Array
    sums: Floats
    noise: float | Floats
    sampling: float | Floats
    residual: float | Floats

    def evidence(self, noise: Floats) -> Floats:
        """Return how much more shorter lines have to explain, given the variance of their noise."""
        return np.maximum(_EVIDENCE * (noise + self.sampling), _MATERIAL * self.residual)

    def covariances(self, knots: Knots, heights: Floats) -> tuple[Floats, Floats]:
        """Return the covariance of the residuals with curves, and the variance of its noise.

        Curves are the columns of `heights`. One that is steep in a piece with few rows is large
        there, and so is its noise.
        """
        places = np.arange(knots.places.shape[-1])
        first, last = self.knots[..., :-1, None], self.knots[..., 1:, None]
        inside, ends = (places >= first) & (places <= last), (places == first) | (places == last)
        means = (knots.means[..., None, :] + 1e-12) * (inside - 0.5 * ends)
        means /= means.sum(axis=-1, keepdims=True)
        weights = means @ heights
        found = (self.sums[..., None, :] @ weights)[..., 0, :]
        return found, self.noise * np.square(weights).sum(axis=-2)

    @classmethod
    def stacked(cls, parts: Sequence[Bends]) -> Bends:
        """Return the bends of columns with equally many pieces together, without correlations."""
        names = "coefficient", "noise", "sampling", "residual"
        coefficient, *variances = np.array([[getattr(p, name) for p in parts] for name in names])
        knots, sums = (np.stack([getattr(p, name) for p in parts]) for name in ("knots", "sums"))
        noise, sampling, residual = (part[:, None] for part in variances)
        return cls(coefficient[:, None], np.zeros(0), knots, sums, noise, sampling, residual)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Where columns are divided to look at their bends.

    Parameters
    ----------
    knots : tuple of arrays of integers, or None
        For each column, the knots between pieces, the first and the last included; None for a
        column without pieces.
    edges : tuple of tuples of integers
        For each stored feature, the inner ones of these knots in steps of stored rows.
    """

    knots: tuple[Array | None, ...]
    edges: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, basis: Basis, columns: Sequence[Column], row_step: float) -> Pieces:
        """Return the pieces of columns that are stored as lines.

        Knots that the steps of stored rows do not tell apart are left out.
        """
        found: list[Array | None] = []
        edges: list[tuple[int, ...]] = []
        for column in columns:
            if column.knots is None:
                found.append(None)
                edges += [()] * column.size
                continue
            places = column.knots.places
            shares = (places - places[0]) / (places[-1] - places[0])
            steps = np.ceil(basis.gain / row_step * shares[1:-1]).astype(np.int64)
            inner = np.flatnonzero(np.diff(steps, prepend=0) > 0)
            ends = [0], inner + 1, [len(places) - 1]
            found.append(np.concatenate(ends) if inner.size else None)
            edges.append(tuple(steps[inner].tolist()))
        return cls(tuple(found), (*edges, ()))

    @property
    def columns(self) -> int:
        """The number of columns with pieces."""
        return sum(knots is not None for knots in self.knots)

    @property
    def most(self) -> int:
        """The largest number of pieces of a column."""
        return max((len(knots) - 1 for knots in self.knots if knots is not None), default=0)


class Strategy(Protocol):
    """Which functions of the columns a model consists of."""

    @property
    def positions(self) -> Floats:
        """Where knots are, from zero at the first quantile of a column to one at the last."""

    @property
    def bends(self) -> int:
        """How many bends a column of numbers has."""

    @property
    def looks(self) -> bool:
        """Whether columns are chosen after a look at the residuals of a first model."""

    @property
    def infers(self) -> bool:
        """Whether coefficients matter, and not predictions alone."""

    def first(self, columns: Sequence[Column]) -> list[Column]:
        """Return what is stored of columns at first, given all their knots."""

    def chosen(self, columns: Sequence[Column], bends: Sequence[Bends | None]) -> list[Column]:
        """Return what is stored of columns after the look."""


@dataclass(frozen=True)
class Curves:
    """An additive model: a curve for each column.

    Parameters
    ----------
    knots : int
        The number of knots of each curve.
    """

    knots: int = KNOTS
    looks: bool = False
    infers: bool = False

    @property
    def positions(self) -> Floats:
        """Positions at equal distances."""
        return np.linspace(0.0, 1.0, self.knots)

    @property
    def bends(self) -> int:
        """One for each knot between the first and the last."""
        return max(self.knots - 2, 0)

    def first(self, columns: Sequence[Column]) -> list[Column]:
        """Return all curves."""
        return list(columns)

    def chosen(self, columns: Sequence[Column], bends: Sequence[Bends | None]) -> list[Column]:
        """Return all curves."""
        return list(columns)


@dataclass(frozen=True)
class Lines:
    """A linear model: a line for each column, over the range in which the data show a line.

    Where the residuals of lines over the whole range show that the relation levels off, the line
    ends there. Where they show no bend, it goes over the whole range.
    """

    knots: int = KNOTS
    looks: bool = True
    infers: bool = True
    bends: int = 0

    @property
    def positions(self) -> Floats:
        """Positions that are closer to each other near the ends, where lines mostly end."""
        result: Floats = (1.0 - np.cos(np.linspace(0.0, np.pi, self.knots))) / 2.0
        return result

    def first(self, columns: Sequence[Column]) -> list[Column]:
        """Return a line over the whole range for each column of numbers."""
        return self.chosen(columns, [None] * len(columns))

    def chosen(self, columns: Sequence[Column], bends: Sequence[Bends | None]) -> list[Column]:
        """Return the line for each column that is nearest to its curve.

        The same bend shows in all columns that go together. It is that of the column that explains
        most of it, and not of those that are closely related to this one.
        """
        found = [_whole(column) for column in columns]
        looked_at = {
            place: (column.knots, part)
            for place, (column, part) in enumerate(zip(columns, bends, strict=True))
            if column.knots is not None and part is not None
        }
        lines = dict(zip(looked_at, _nearest(list(looked_at.values())), strict=True))
        taken: list[int] = []
        for place in sorted(lines, key=lambda place: -lines[place].gain):
            part, column = bends[place], columns[place]
            assert part is not None
            if lines[place].gain <= 0.0:
                break
            if not taken or np.abs(part.correlations[taken]).max() < _RELATED:
                assert column.knots is not None
                found[place] = Column(column.kind, column.knots.between(*lines[place].ends))
                taken.append(place)
        return found


def _whole(column: Column) -> Column:
    """Return the column with a line over its whole range."""
    if column.knots is None:
        return column
    return Column(column.kind, column.knots.whole)


@dataclass(frozen=True)
class _Line:
    """A line between two knots, and how much more it explains than the whole one and chance."""

    ends: tuple[int, int]
    gain: float


def _nearest(columns: Sequence[tuple[Knots, Bends]]) -> list[_Line]:
    """Return, for each column, the line over most rows that explains most, flat outside its ends.

    Columns with equally many knots and pieces are looked at together.
    """
    found: dict[int, _Line] = {}
    sizes = [(len(knots.places), len(part.sums)) for knots, part in columns]
    for size in set(sizes):
        places = [place for place, other in enumerate(sizes) if other == size]
        for first in range(0, len(places), _TOGETHER):
            some = places[first : first + _TOGETHER]
            lines = _nearest_of(*zip(*(columns[place] for place in some), strict=True))
            found.update(zip(some, lines, strict=True))
    return [found[place] for place in range(len(columns))]


def _nearest_of(columns: Sequence[Knots], parts: Sequence[Bends]) -> list[_Line]:
    knots, bends = Knots.stacked(columns), Bends.stacked(parts)
    pairs = _pairs(knots.places.shape[-1])
    # Half of the rows, up to rounding.
    is_long = knots.shares(pairs) > _LEAST_ROWS - 1e-9
    is_long[:, 0] = True
    lines = knots.lines(pairs)
    shared = knots.covariances(lines, lines[..., :1])
    covariances, noise = bends.covariances(knots, lines)
    explained = np.square(bends.coefficient * shared + covariances)
    gains = np.where(is_long, explained - explained[:, :1] - bends.evidence(noise), -np.inf)
    best = gains.argmax(axis=1)
    most = gains[np.arange(len(best)), best]
    return [
        _Line((first, last), gain)
        for (first, last), gain in zip(pairs[best].tolist(), most.tolist(), strict=True)
    ]


@functools.cache
def _pairs(knots: int) -> Array:
    """Return all pairs of knots, a row each.

    The whole range is first; among others that explain the same, the longest.
    """
    pairs = sorted(itertools.combinations(range(knots), 2), key=lambda ends: ends[0] - ends[1])
    return np.array(pairs)
