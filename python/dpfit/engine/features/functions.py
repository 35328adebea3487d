"""Functions of one column: a line first, then bends from the smoothest to the roughest.

Between knots at quantiles of the released marginal, a curve is piecewise linear. Its functions have
mean zero and variance one under the marginal and are uncorrelated, so that what they explain adds
up. Bends are ordered by roughness (Demmler and Reinsch): the first ones are what smooth curves
need, and a model can have as many of them as its budget pays for.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dpfit._typing import Array, Floats
from dpfit.engine.ranges.marginal import Marginal

__all__ = ["Knots"]

# Points that stand for a bin of the marginal, within which rows are taken to be uniform.
_POINTS = 8
# A function whose variance is a smaller share of that of its ends is constant.
_CONSTANT = 1e-12
# Knots are further apart than this share of a bin: the middle of a bin and its edge are not.
_APART = 0.501
# A bin stands alone if those next to it have less than this share of its weight.
_ALONE = 0.25


@dataclass(frozen=True, eq=False)
class Knots:
    """The knots of one column, and the distribution of the column over the pieces between them.

    Parameters
    ----------
    places : array of shape (k,)
        The knots, ascending; at least two.
    means : array of shape (k,)
        Means of the hat functions of the knots.
    products : array of shape (k, k)
        Means of their products.
    """

    places: Floats
    means: Floats
    products: Floats

    @classmethod
    def at_quantiles(
        cls,
        marginal: Marginal,
        positions: Floats,
        outer: float,
        bounds: tuple[float, float] | None = None,
    ) -> Knots | None:
        """Return knots between two quantiles; None if the column is constant.

        There is at most one for each position, from zero at the first quantile to one at the last.
        Knots are at least half a bin of the marginal apart: it does not show what is closer. The
        rows of a bin that stands alone may all have one value, so it has one knot, in its middle:
        a curve between two would bend by noise alone. There is one more at either end if rows
        beyond are not cut off (:meth:`Marginal.ends`). All are within the public bounds.
        """
        wide = marginal.ends(outer)
        if bounds is not None:
            wide = max(wide[0], bounds[0]), min(wide[1], bounds[1])
        outer = marginal.outside(outer)
        ends = marginal.quantiles([outer, 1.0 - outer])
        # The rows of the outermost bins may all be at an edge of it: integers often are.
        ends = np.array([marginal.edges_at(ends[0])[0], marginal.edges_at(ends[1])[1]])
        least = 1e-9 * float(ends[1] - ends[0])
        inner = marginal.quantiles(outer + (1.0 - 2.0 * outer) * positions[1:-1])
        kept = [float(ends[0])]
        for point in map(float, inner):
            place = marginal.middle_at(point) if marginal.stands_alone(point, _ALONE) else point
            apart = max(least, _APART * marginal.width_at(place))
            if place - kept[-1] > apart and ends[1] - place > apart:
                kept.append(place)
        kept.append(float(ends[1]))
        if ends[1] <= ends[0]:
            return None
        if kept[0] - wide[0] > marginal.width_at(kept[0]):
            kept.insert(0, wide[0])
        if wide[1] - kept[-1] > marginal.width_at(kept[-1]):
            kept.append(wide[1])
        return cls.of(marginal.with_hidden(*wide), np.array(kept))

    @classmethod
    def of(cls, marginal: Marginal, places: Floats) -> Knots:
        """Return knots at these places."""
        inside = (np.arange(_POINTS) + 0.5) / _POINTS
        starts, widths = marginal.edges[:-1], np.diff(marginal.edges)
        points = (starts[:, None] + widths[:, None] * inside).ravel()
        shares = np.repeat(marginal.weights / marginal.weights.sum() / _POINTS, _POINTS)
        # The knots on either side of every point, and how near it is to the second.
        after = np.clip(np.searchsorted(places, points), 1, len(places) - 1)
        before, rows = after - 1, np.arange(len(points))
        near = (points - places[before]) / (places[after] - places[before])
        hats = np.zeros((len(points), len(places)))
        hats[rows, after] = np.clip(near, 0.0, 1.0)
        hats[rows, before] = 1.0 - hats[rows, after]
        return cls(places, hats.T @ shares, (hats * shares[:, None]).T @ hats)

    def lines(self, ends: Array | Sequence[tuple[int, int]]) -> Floats:
        """Return the heights of lines between pairs of knots, flat outside, as columns.

        They have mean zero and variance one; a line that is constant is zero.
        """
        low, high = self.places[np.array(ends).T]
        heights = (np.clip(self.places[:, None], low, high) - low) / (high - low)
        heights -= self.means @ heights
        variances = self.covariances(heights, heights)
        size = np.where(variances > _CONSTANT, np.sqrt(np.maximum(variances, _CONSTANT)), np.inf)
        result: Floats = heights / size
        return result

    def shares(self, ends: Array) -> Floats:
        """Return about which share of the rows is between the knots of every pair, a row."""
        # Half of the hat function of an inner knot is outside.
        outside = self.means / 2.0
        outside[[0, -1]] = 0.0
        below = np.concatenate([[0.0], np.cumsum(self.means)])
        first, last = ends.T
        result: Floats = below[last + 1] - below[first] - outside[first] - outside[last]
        return result

    def between(self, first: int, last: int) -> Knots:
        """Return two of these knots: a line between them, flat outside."""
        ends = self.places[[first, last]]
        share = (np.clip(self.places, *ends) - ends[0]) / (ends[1] - ends[0])
        hats = np.array([1.0 - share, share])
        return Knots(ends, hats @ self.means, hats @ self.products @ hats.T)

    @functools.cached_property
    def whole(self) -> Knots:
        """The first and the last knot: a line over the whole range."""
        return self.between(0, len(self.places) - 1)

    def functions(self) -> Floats:
        """Return the heights of all functions at the knots, as columns; the line is first."""
        line = self.lines([(0, len(self.places) - 1)])[:, 0]
        if not np.any(line):
            return np.zeros((len(self.places), 0))
        if len(self.places) == 2:
            return line[:, None]
        fixed = np.column_stack([np.ones(len(self.places)), line])
        free = scipy.linalg.null_space(fixed.T @ self.products)
        bends = np.diff(np.eye(len(self.places)), 2, axis=0) @ free
        mass = free.T @ self.products @ free
        added = 1e-9 * np.trace(self.products) / len(mass) * np.eye(len(mass))
        _, vectors = scipy.linalg.eigh(bends.T @ bends, mass + added)
        # A bend where there are no rows has no variance but what was added.
        seen = np.einsum("ij,ij->j", vectors, mass @ vectors) > 0.5
        return np.column_stack([line, free @ vectors[:, seen]])

    def covariances(self, one: Floats, two: Floats) -> Floats:
        """Return the covariances of curves, as columns, with one curve or each with its partner."""
        two = two[:, None] if two.ndim == 1 else two
        products = np.sum(one * (self.products @ two), axis=0)
        result: Floats = products - (self.means @ one) * (self.means @ two)
        return result
