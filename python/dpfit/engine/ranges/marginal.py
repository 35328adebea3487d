"""The released distribution of one column."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from dpfit._typing import Floats

__all__ = ["Marginal", "on_simplex"]

# Bins contain their lower edges only. So the bins of a column that is never positive end a little
# above zero, by less than this share of their range.
_ABOUT_ZERO = 2.0**-20
_NOISY = 2.0
_MOST_OUTSIDE = 0.05
# The least share of rows that are taken to lie beyond what is seen.
_HIDDEN = 0.001


@dataclass(frozen=True, eq=False)
class Marginal:
    """A histogram of released, non-negative weights.

    Parameters
    ----------
    edges : array of shape (k + 1,)
        The edges of the bins, ascending.
    weights : array of shape (k,)
        Weights of the bins, not all zero.
    is_seen : bool
        Whether the counts show where the column lies. Otherwise the noise hides it, and the bins
        are a guess.
    overlooked : tuple of two floats
        Shares of the rows that may be below the first and above the last bin, hidden by the noise.
    reach : tuple of two floats
        The range that was looked at. Rows that the noise hides are taken to lie within it.
    noise : float
        The standard deviation of the noise in a bin, as a share of the rows.
    """

    edges: Floats
    weights: Floats
    is_seen: bool = True
    overlooked: tuple[float, float] = (0.0, 0.0)
    reach: tuple[float, float] = (math.inf, -math.inf)
    noise: float = 0.0

    @classmethod
    def uniform(cls, low: float, high: float) -> Marginal:
        """Return a uniform distribution."""
        return cls(np.linspace(low, high, 65), np.ones(64))

    def quantile(self, share: float) -> float:
        """Return the quantile for a share of the weight."""
        below, edges = self._below, self._edges
        if not 0.0 < share < 1.0:
            return edges[0] if share <= 0.0 else edges[-1]
        place = bisect.bisect_right(below, share) - 1
        slope = (edges[place + 1] - edges[place]) / (below[place + 1] - below[place])
        return slope * (share - below[place]) + edges[place]

    def quantiles(self, shares: Iterable[float]) -> Floats:
        """Return the quantiles for these shares of the weight."""
        return np.array([self.quantile(float(share)) for share in shares])

    def outside(self, least: float) -> float:
        """Return the share of the weight beyond each end of a range, `least` or more.

        Quantiles of shares that are less than the noise of two bins would be where the noise is.
        """
        return min(max(_NOISY * self.noise, least), _MOST_OUTSIDE)

    def range(self, least: float) -> tuple[float, float]:
        """Return the range without the outermost weight, `least` beyond each end or more."""
        outside = self.outside(least)
        low, high = self.quantile(outside), self.quantile(1.0 - outside)
        return (low, high) if high > low else (float(self.edges[0]), float(self.edges[-1]))

    def ends(self, least: float) -> tuple[float, float]:
        """Return the range of lines and curves, which may be wider than :meth:`range`.

        If the noise hides more than the share `least` of the rows beyond an end, these rows are not
        cut off: the range is wider by its width at either end. It is wider by less if the noise
        hides less than twice that share. If no row is seen on one side of zero, it ends there.
        """
        low, high = self.range(least)
        width = (high - low) * min(self.outside(least) / least - 1.0, 1.0)
        below, above = low - width, high + width
        if self.edges[0] >= 0.0:
            below = max(below, 0.0)
        last = float(self.edges[-1])
        if last <= _ABOUT_ZERO * (last - float(self.edges[0])):
            above = min(above, max(last, 0.0))
        return below, above

    def with_hidden(self, low: float, high: float) -> Marginal:
        """Return the distribution with rows that the noise may hide between it and these ends."""
        if low >= self._edges[0] and high <= self._edges[-1]:
            return self
        edges, weights = list(self.edges), list(self.weights)
        hidden = max(self.noise, _HIDDEN) * float(self.weights.sum())
        if low < edges[0]:
            edges, weights = [low, *edges], [hidden, *weights]
        if high > edges[-1]:
            edges, weights = [*edges, high], [*weights, hidden]
        return replace(self, edges=np.array(edges), weights=np.array(weights))

    def is_point(self) -> bool:
        """Return whether all weight is in one bin: the column seems to have one value."""
        return self.weights.size == 1

    def width_at(self, point: float) -> float:
        """Return the width of the bin that contains a point."""
        low, high = self.edges_at(point)
        return high - low

    def edges_at(self, point: float) -> tuple[float, float]:
        """Return the edges of the bin that contains a point."""
        place = self._bin(point)
        return self._edges[place], self._edges[place + 1]

    def middle_at(self, point: float) -> float:
        """Return the middle of the bin that contains a point."""
        low, high = self.edges_at(point)
        return (low + high) / 2

    def stands_alone(self, point: float, share: float) -> bool:
        """Return whether a point's bin has far more weight than the bins next to it.

        Those must have less than `share` of its weight. This happens in columns of integers if bins
        are narrower than one.
        """
        place, weights = self._bin(point), self._weights
        before = weights[place - 1] if place else 0.0
        after = weights[place + 1] if place + 1 < len(weights) else 0.0
        return max(before, after) < share * weights[place]

    def _bin(self, point: float) -> int:
        # Much faster than NumPy for one number.
        place = bisect.bisect_right(self._edges, point) - 1
        return min(max(place, 0), len(self._edges) - 2)

    @functools.cached_property
    def _below(self) -> list[float]:
        """The share of the weight below every edge."""
        below = np.zeros(len(self.edges))
        self.weights.cumsum(out=below[1:])
        # A slope in empty bins, so that the curve can be inverted.
        below = below / below[-1] + 1e-12 * np.arange(len(below))
        return cast("list[float]", (below / below[-1]).tolist())

    @functools.cached_property
    def _edges(self) -> list[float]:
        return cast("list[float]", self.edges.tolist())

    @functools.cached_property
    def _weights(self) -> list[float]:
        return cast("list[float]", self.weights.tolist())

    def points(self) -> tuple[Floats, Floats]:
        """Return the middles of the bins and their shares of the weight."""
        return (self.edges[1:] + self.edges[:-1]) / 2, self.weights / self.weights.sum()


def on_simplex(counts: Floats, total: float) -> Floats:
    """Return the non-negative counts with this sum that are nearest to the noisy ones.

    This subtracts a threshold that adapts to the noise: with little noise it is near zero, with
    much noise only the largest counts remain.
    """
    ordered = np.sort(counts)[::-1]
    excess = (ordered.cumsum() - total) / np.arange(1, counts.size + 1)
    # The largest count is always above, except for rounding if it is astronomically large.
    above = (ordered > excess).nonzero()[0]
    threshold = excess[above[-1]] if above.size else ordered[0] - total
    result: Floats = np.maximum(counts - threshold, 0.0)
    return result
