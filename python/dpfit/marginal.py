"""The distribution of one column as far as it was released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Marginal", "on_simplex"]

Floats: TypeAlias = npt.NDArray[np.float64]

# A bin stands alone if those beside it have less than this share of its weight.
_ALONE = 0.25


@dataclass(frozen=True, eq=False)
class Marginal:
    """A histogram of released, non-negative weights.

    Parameters
    ----------
    edges : array of shape (k + 1,)
        Where bins begin and end, ascending.
    weights : array of shape (k,)
        Weights of the bins, not all zero.
    is_seen : bool
        Whether the counts show where the column lies. Otherwise the noise hides it, and the bins
        are a guess.
    overlooked : tuple of two floats
        Shares of the rows that may be below the first and above the last bin without having
        stood out from the noise.
    """

    edges: Floats
    weights: Floats
    is_seen: bool = True
    overlooked: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def uniform(cls, low: float, high: float) -> Marginal:
        """Return what is assumed of a column of which nothing but the bounds is known."""
        return cls(np.linspace(low, high, 65), np.ones(64))

    def quantiles(self, shares: Sequence[float] | Floats) -> Floats:
        """Return the points below which these shares of the weight lie."""
        below = np.concatenate([[0.0], np.cumsum(self.weights)])
        # A slope in empty bins, so that the curve can be inverted.
        below = below / below[-1] + 1e-12 * np.arange(below.size)
        below /= below[-1]
        result: Floats = np.interp(shares, below, self.edges)
        return result

    def is_point(self) -> bool:
        """Return whether all is in one bin: one value, as far as can be seen."""
        return self.weights.size == 1

    def width_at(self, point: float) -> float:
        """Return the width of the bin that holds a point: nothing finer is known there."""
        place = self._bin(point)
        return float(self.edges[place + 1] - self.edges[place])

    def stands_alone(self, point: float) -> bool:
        """Return whether the bin that holds a point has far more than those beside it.

        So it is where the bins of a column of whole numbers are narrower than one.
        """
        place = self._bin(point)
        beside = np.concatenate(
            [self.weights[max(place - 1, 0) : place], self.weights[place + 1 :]]
        )
        return bool(beside[: min(place, 1) + 1].max(initial=0.0) < _ALONE * self.weights[place])

    def _bin(self, point: float) -> int:
        place = int(np.searchsorted(self.edges, point, side="right")) - 1
        return min(max(place, 0), self.weights.size - 1)

    def points(self) -> tuple[Floats, Floats]:
        """Return the middles of the bins and their shares of the weight."""
        return (self.edges[1:] + self.edges[:-1]) / 2, self.weights / self.weights.sum()


def on_simplex(counts: Floats, total: float) -> Floats:
    """Return the non-negative counts with this sum that are nearest to the noisy ones.

    A threshold is subtracted that grows with the noise by itself: with little noise none, with
    much noise only the largest counts stay.
    """
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, counts.size + 1)
    # The largest is always above, but for rounding when it is astronomically large.
    above = np.flatnonzero(ordered > excess)
    threshold = excess[above[-1]] if above.size else ordered[0] - total
    result: Floats = np.maximum(counts - threshold, 0.0)
    return result
