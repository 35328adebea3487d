"""Functions of one column: a line first, then bends from the smoothest to the roughest.

Between knots at quantiles of the released marginal, a curve is piecewise linear. Its functions have
mean zero and variance one under the marginal and are uncorrelated, so that what they explain adds
up. Bends are ordered by roughness (Demmler and Reinsch): the first ones are what smooth curves
need, and a model can have as many of them as its budget pays for.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.linalg.lapack import dgesdd, dsygvd

from dpfit._typing import Array, Floats
from dpfit.engine.ranges.marginal import Marginal

__all__ = ["Knots"]

# Points that stand for a bin of the marginal, within which rows are taken to be uniform.
_POINTS = 8
_INSIDE: Floats = (np.arange(_POINTS) + 0.5) / _POINTS
# A function whose variance is a smaller share of that of its ends is constant.
_CONSTANT = 1e-12
# Knots are further apart than this share of a bin: the middle of a bin and its edge are not.
_APART = 0.501
# A bin stands alone if those next to it have less than this share of its weight.
_ALONE = 0.25


@dataclass(frozen=True, eq=False)
class Knots:
    """The knots of one column, and the distribution of the column over the pieces between them.

    Arrays of several columns with equally many knots may be stacked, with a first dimension more.

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
        # The rows of the outermost bins may all be at an edge of it: integers often are.
        low = marginal.edges_at(marginal.quantile(outer))[0]
        high = marginal.edges_at(marginal.quantile(1.0 - outer))[1]
        if high <= low:
            return None
        least = 1e-9 * (high - low)
        kept = [low]
        for share in (outer + (1.0 - 2.0 * outer) * positions[1:-1]).tolist():
            place = marginal.quantile(share)
            if marginal.stands_alone(place, _ALONE):
                place = marginal.middle_at(place)
            apart = max(least, _APART * marginal.width_at(place))
            if place - kept[-1] > apart and high - place > apart:
                kept.append(place)
        kept.append(high)
        if low - wide[0] > marginal.width_at(low):
            kept.insert(0, wide[0])
        if wide[1] - high > marginal.width_at(high):
            kept.append(wide[1])
        return cls.of(marginal.with_hidden(*wide), np.array(kept))

    @classmethod
    def of(cls, marginal: Marginal, places: Floats) -> Knots:
        """Return knots at these places."""
        widths, number = np.diff(marginal.edges), len(places)
        points = (marginal.edges[:-1, None] + widths[:, None] * _INSIDE).ravel()
        shares = np.repeat(marginal.weights / (_POINTS * marginal.weights.sum()), _POINTS)
        # The knots on either side of every point, and how near it is to the second.
        before = places[1:-1].searchsorted(points)
        near = (points - places[before]) / np.diff(places)[before]
        near = np.minimum(np.maximum(near, 0.0), 1.0)
        after = shares * near

        def total(weights: Floats) -> Floats:
            """Return the sum over the piece after every knot."""
            result: Any = np.bincount(before, weights, number)
            return cast(Floats, result)

        # Of the piece's first hat function, of its second, and of the product of both.
        own, other, both = total(shares - after), total(after), total(after - after * near)
        means, squares = own.copy(), own - both
        means[1:] += other[:-1]
        squares[1:] += (other - both)[:-1]
        products = np.diag(squares)
        products.reshape(-1)[1 :: number + 1] = both[:-1]
        products.reshape(-1)[number :: number + 1] = both[:-1]
        return cls(places, means, products)

    def lines(self, ends: Array | Sequence[tuple[int, int]]) -> Floats:
        """Return the heights of lines between pairs of knots, flat outside, as columns.

        They have mean zero and variance one; a line that is constant is zero.
        """
        first, last = np.array(ends).T
        low, high = self.places[..., None, first], self.places[..., None, last]
        heights = np.minimum(np.maximum(self.places[..., None], low), high)
        heights -= low
        heights /= high - low
        heights -= self.means[..., None, :] @ heights
        variances = self.covariances(heights, heights)
        size = np.where(variances > _CONSTANT, np.sqrt(np.maximum(variances, _CONSTANT)), np.inf)
        heights /= size[..., None, :]
        return heights

    def shares(self, ends: Array) -> Floats:
        """Return about which share of the rows is between the knots of every pair, a row."""
        # Half of the hat function of an inner knot is outside.
        outside = self.means / 2.0
        outside[..., [0, -1]] = 0.0
        upto = self.means.cumsum(axis=-1)
        before, (first, last) = upto - self.means + outside, ends.T
        result: Floats = (upto - outside)[..., last] - before[..., first]
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
        return self._functions

    @functools.cached_property
    def _functions(self) -> Floats:
        line = (
            self._line if len(self.places) == 2 else self.lines([(0, len(self.places) - 1)])[:, 0]
        )
        if not np.any(line):
            return np.zeros((len(self.places), 0))
        if len(self.places) == 2:
            return line[:, None]
        fixed = np.array([np.ones(len(self.places)), line]) @ self.products
        # The last of the right singular vectors are orthogonal to the constant and to the line.
        _, _, right, failed = dgesdd(fixed)
        free = right[2:].T
        bends = _second_differences(len(self.places)) @ free
        mass = free.T @ self.products @ free
        added = 1e-9 * np.trace(self.products) / len(mass)
        _, vectors, unsolved = dsygvd(bends.T @ bends, mass + added * np.eye(len(mass)))
        if failed or unsolved:
            raise np.linalg.LinAlgError("the bends of a curve could not be told apart")
        # A bend where there are no rows has no variance but what was added.
        seen = (vectors * (mass @ vectors)).sum(axis=0) > 0.5
        return np.column_stack([line, free @ vectors[:, seen]])

    @property
    def _line(self) -> Floats:
        """The line between two knots, as :meth:`lines` has it, in less time."""
        (first, second), ((one, both), (_, two)) = self.means.tolist(), self.products.tolist()
        low, high = -second, 1.0 - second
        variance = low * low * one + 2.0 * low * high * both + high * high * two
        variance -= (first * low + second * high) ** 2
        size = math.sqrt(variance) if variance > _CONSTANT else math.inf
        return np.array([low / size, high / size])

    def covariances(self, one: Floats, two: Floats) -> Floats:
        """Return the covariances of curves, as columns, with one curve or each with its partner."""
        two = two[:, None] if two.ndim == 1 else two
        means = self.means[..., None, :]
        products = (one * (self.products @ two)).sum(axis=-2)
        result: Floats = products - ((means @ one) * (means @ two))[..., 0, :]
        return result

    @classmethod
    def stacked(cls, columns: Sequence[Knots]) -> Knots:
        """Return the knots of columns that have equally many."""
        parts = [(knots.places, knots.means, knots.products) for knots in columns]
        return cls(*map(np.stack, zip(*parts, strict=True)))


@functools.cache
def _second_differences(number: int) -> Floats:
    """Return the matrix of second differences of so many numbers."""
    result: Floats = np.diff(np.eye(number), 2, axis=0)
    return result
