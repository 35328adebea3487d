"""Where residuals are clipped: what the tails hold against what noise costs.

The released counts of residuals in bins, each sqrt(2) times as wide as the one before, show how
much would be lost by clipping at any threshold. The noise grows with the threshold. The best one
makes the sum of both squares least, whatever the distribution of residuals is: normal errors are
clipped at about three standard deviations, a rare one among zeros is not clipped at all.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from dpfit._typing import Array, Floats
from dpfit.engine.ranges.marginal import Marginal

__all__ = ["EDGES", "Tails", "Threshold", "best_threshold", "shows_most"]

# Edges of the bins of absolute residuals, in half-widths of the target's range: from 1/64 to 64.
EDGES: Floats = 2.0 ** (np.arange(-12, 13) / 2)
# Bins have residuals if their count is above this many standard deviations of its noise. A bin of
# noise far out would make the threshold, and with it the noise of all rounds, many times as large:
# among 51 bins of noise alone, one is above 3 in one fit of 15, above 4 in one of 600.
_VISIBLE = 4.0
# Bins that the noise hides one by one are looked at in runs of so many.
_RUNS = (1, 2, 4, 8)
# The square of the ratio of two edges: the counts of variables with a finite variance fall faster.
_DECAY = 0.5
# Of normal variables, 68 % are in bins before the one from which on counts fall.
_MOST = 0.75
# Thresholds within the bulk of the residuals stop the rounds.
_LEAST = 2.0
# The smallest residuals that are believed if most are not seen, as a share of the threshold.
_LEAST_SPREAD = 0.05


@dataclass(frozen=True)
class Threshold:
    """Where residuals are clipped.

    Parameters
    ----------
    tau : float
        The threshold.
    variance : float
        The mean of squared residuals after clipping.
    lost : float
        The root mean square of what may be lost in a coefficient: what the counts show, in one
        direction, and what their noise may hide.
    seen : float
        The share of rows whose residuals the counts show.
    """

    tau: float
    variance: float
    lost: float
    seen: float


@dataclass(frozen=True, eq=False)
class Tails:
    """How far targets are from their mean, by their marginal, in half-widths of their range.

    Parameters
    ----------
    sizes, shares : arrays
        Distances, and the shares of the rows that have them.
    hidden_sizes, hidden_shares : arrays of shape (2,)
        The same of rows that the noise may hide below and above.
    """

    sizes: Floats
    shares: Floats
    hidden_sizes: Floats
    hidden_shares: Floats

    @classmethod
    def of(cls, marginal: Marginal, centre: float, scale: float) -> Tails:
        """Return the tails of a marginal."""
        points, shares = marginal.points()
        ends = np.array([marginal.edges[0], marginal.edges[-1]])
        middles = (ends + np.where(np.isfinite(marginal.reach), marginal.reach, ends)) / 2
        return cls(
            np.abs(points - centre) / scale,
            shares,
            np.abs(middles - centre) / scale,
            np.array(marginal.overlooked),
        )

    def times(self, factor: float) -> Tails:
        """Return the tails of what is so many times as large."""
        sizes, hidden_sizes = factor * self.sizes, factor * self.hidden_sizes
        return replace(self, sizes=sizes, hidden_sizes=hidden_sizes)

    @property
    def longest(self) -> float:
        """The largest distance that rows may have."""
        return float(max(self.sizes.max(), self.hidden_sizes.max()))

    def threshold(self, noise: float) -> float:
        """Return the threshold with the least error, if `noise` is that of a threshold of one."""
        lost = np.maximum(self.sizes - EDGES[:, None], 0.0) @ self.shares
        hidden = np.maximum(self.hidden_sizes - EDGES[:, None], 0.0) * self.hidden_shares
        errors = np.square(noise * EDGES) + np.square(lost) + np.square(hidden).sum(axis=1)
        return float(EDGES[int(errors.argmin())])


def best_threshold(
    counts: Floats,
    sigma: float,
    rows: float,
    noise: float,
    tails: Tails,
    most: float = math.inf,
) -> Threshold:
    """Return the threshold with the least error.

    Parameters
    ----------
    counts : array
        Released counts of signed residuals, in the bins of :data:`EDGES` from the most negative.
    sigma : float
        The standard deviation of their noise.
    rows : float
        The released number of rows.
    noise : float
        The root of the sum of the variances that noise adds to all predictions, for a threshold
        of one.
    tails : Tails
        How far targets are from their mean.
    most : float, optional
        The largest threshold.

    Privacy
    -------
    A function of released numbers.
    """
    seen = np.where(_is_seen(counts, sigma), counts, 0.0)
    middle = len(EDGES)
    sides = seen[middle + 1 :], seen[:middle][::-1]
    sizes = np.concatenate([[EDGES[0] / 2], (EDGES[:-1] + EDGES[1:]) / 2, [1.2 * EDGES[-1]]])
    both = np.concatenate([[seen[middle]], sides[0] + sides[1]])
    candidates = np.concatenate([[EDGES[0] / math.sqrt(2.0)], EDGES])
    excess = np.maximum(sizes[None, :] - candidates[:, None], 0.0) @ both / rows
    # Bins that are not seen may have rows, up to where targets end.
    hidden = (
        np.where((both == 0.0) & (sizes <= tails.longest), _hidden(both, sigma, rows), 0.0) / rows
    )
    beyond = np.maximum(sizes - candidates[:, None], 0.0)
    errors = np.square(noise * candidates) + np.square(excess)
    errors += np.square(beyond * hidden).sum(axis=1)
    tau = min(float(candidates[int(errors.argmin())]), tails.threshold(noise), most)
    clipped = float(both @ np.square(np.minimum(sizes, tau))) / rows
    if both.sum() < _MOST * rows:
        # Most residuals are not seen.
        clipped = max(clipped, (_LEAST_SPREAD * tau) ** 2)
    spread = math.sqrt(max(clipped, (EDGES[0] / 2) ** 2))
    tau = max(tau, _LEAST * spread)
    beyond = np.maximum(sizes - tau, 0.0)
    lost = math.hypot(float(beyond @ both) / rows, float(np.linalg.norm(beyond * hidden)))
    return Threshold(tau, spread**2, lost, float(both.sum()) / rows)


def shows_most(sigma: float, rows: float) -> bool:
    """Return whether counts with this noise show most residuals, in one run of bins at least."""
    return _VISIBLE * sigma * math.sqrt(_RUNS[-1]) < _MOST * rows


def _hidden(counts: Floats, sigma: float, rows: float) -> Floats:
    """Return how many rows the noise may hide in bins, given what is seen of them.

    It can hide as many as its own size in either direction. Residuals have a finite variance, so
    that, once most rows were seen, at most half as many follow from bin to bin.
    """
    most, found, total = math.inf, np.zeros(len(counts)), 0.0
    for place, count in enumerate(counts):
        total += float(count)
        if total > _MOST * rows:
            most = _DECAY * most if count == 0.0 else max(float(count), sigma)
        # A part of a row cannot be there.
        found[place] = min(most, math.floor(math.sqrt(2.0) * sigma))
    return found


@functools.cache
def _runs(bins: int, length: int) -> Array:
    """Return the places of all runs of so many bins."""
    return np.lib.stride_tricks.sliding_window_view(np.arange(bins), length)


def _is_seen(counts: Floats, sigma: float) -> Array:
    """Return which bins have residuals, alone or in a run of bins that are not seen alone."""
    seen = np.zeros(len(counts), dtype=bool)
    for length in _RUNS:
        runs = _runs(len(counts), length)
        above = counts[runs].sum(axis=1) > _VISIBLE * sigma * math.sqrt(length)
        found = runs[above & ~seen[runs].any(axis=1)]
        seen[found.ravel()] = True
    return seen
