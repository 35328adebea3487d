"""How large residuals are: where to clip them, and what clipping may lose.

A sum of squares needs a bound on each of them. Noisy counts of residuals by their size show where
most residuals end, and counts beyond that show how many are clipped. What those would have added
is estimated, and the uncertainty of that is part of the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfit._typing import Array, Floats
from dpfit.release import Released

__all__ = ["SIZES", "STEPS", "Threshold", "first_threshold", "tail_edges"]

# Steps of a residual's grid in one unit.
STEPS = 1 << 14
# Edges for the sizes of residuals, in steps, each the root of two times the one before; the largest
# is the largest that the core can clip to.
SIZES = tuple(dict.fromkeys(round(2.0 ** (power / 2)) for power in range(4, 41)))
# A bin has rows if its count is above so many standard deviations of its noise.
_VISIBLE = 4.0
_RUNS = (1, 2, 4, 8, 16)
# Tails are looked at again: less is then needed to move a threshold, a little or far.
_MODEST, _PLAIN = 1.0, 3.0
# Counts that the noise hides are taken to fall by this factor from bin to bin, as those of normal
# residuals do. If they fall more slowly, the second look shows it.
_DECAY = 0.1
# If more than this share of the rows may be beyond the threshold, by this many standard deviations
# of the noise in their number, nothing is known of their size.
_MOST, _SURE = 0.5, 4.0
# What a clipped residual adds beyond the threshold: to a sum of squares, in squares of the
# threshold; to a sum, in thresholds. Tails that fall as the fourth power add 1 and 1/3, normal ones
# about a fifth and a tenth.
_EXCESS_SQUARE = 0.6
_EXCESS = 0.25


@dataclass(frozen=True)
class Threshold:
    """Where residuals are clipped, and noisy counts of those that are.

    Parameters
    ----------
    tau : int
        The threshold in steps.
    below, above : float
        The number of residuals below -tau and above tau (noisy).
    sigma : float
        The standard deviation of the noise in these numbers.
    fourth : float or None
        The sum of fourth powers of residuals that are seen through the noise, in units; None if
        none is seen.
    clips_tails : bool
        Whether most residuals are surely smaller than the threshold. Otherwise the errors of sums
        are infinite.
    """

    tau: int
    below: float
    above: float
    sigma: float
    fourth: float | None
    clips_tails: bool

    @property
    def _beyond(self) -> float:
        return max(self.below + self.above, 0.0)

    def squares(self, found: Released[float]) -> Released[float]:
        """Return a sum of clipped squares, corrected for clipping; its error includes that."""
        square = (self.tau / STEPS) ** 2
        value = found.value + _EXCESS_SQUARE * square * (self.below + self.above)
        noise = _EXCESS_SQUARE * square * math.sqrt(2.0) * self.sigma
        error = math.hypot(found.sigma, noise, 1.2 * square * self._beyond)
        return Released(value, (error if self.clips_tails else math.inf,))

    def sum(self, found: Released[float]) -> Released[float]:
        """Return a sum of clipped residuals, corrected for clipping; its error includes that."""
        size = self.tau / STEPS
        value = found.value + _EXCESS * size * (self.above - self.below)
        noise = _EXCESS * size * math.sqrt(2.0) * self.sigma
        error = math.hypot(found.sigma, noise, size * self._beyond / 2)
        return Released(value, (error if self.clips_tails else math.inf,))

    def fourth_moment(self, variance: float, rows: float) -> float:
        """Return the mean of fourth powers of residuals, at least that of uniform ones."""
        if self.fourth is None:
            return 3.0 * variance**2
        return max(self.fourth / rows, 1.8 * variance**2)

    @classmethod
    def after(
        cls,
        first: int,
        tails: Released[Floats],
        sizes: Released[Floats],
        noise: float,
        rows: float,
    ) -> Threshold:
        """Return the threshold, moved up if counts beyond the first one are seen.

        Parameters
        ----------
        first : int
            The first threshold, by :func:`first_threshold`.
        tails : Released
            Counts of residuals by :func:`tail_edges`.
        sizes : Released
            Counts of residuals by :data:`SIZES`.
        noise : float
            The standard deviation of the noise in a sum of squares, for a threshold of one.
        rows : float
            The number of rows.

        Privacy
        -------
        A function of released numbers.
        """
        edges = tail_edges(first)
        both, sigma = _both_sides(tails.value), math.sqrt(2.0) * tails.sigma
        # Counts of the outermost bins, which would move the threshold far, have to be clear.
        least = np.array([0.0, *[_MODEST] * 2, *[_PLAIN] * (len(edges) - 2)])[: len(both)] * sigma
        place = _least_error(np.array(edges), np.maximum(both - least, 0.0), noise)
        # Many rows further out than the next bin would be seen.
        middle = len(edges)
        below, above = (float(tails.value[middle + side * (place + 1)]) for side in (-1, 1))
        most = max(below + above, 0.0) + _SURE * sigma
        return cls(edges[place], below, above, tails.sigma, _fourth(sizes), most < _MOST * rows)


def first_threshold(sizes: Released[Floats], noise: float) -> int:
    """Return where to clip residuals, with the least expected error of their sum of squares.

    Parameters
    ----------
    sizes : Released
        Counts of residuals by :data:`SIZES`.
    noise : float
        The standard deviation of the noise in the sum, for a threshold of one.

    Privacy
    -------
    A function of released numbers.
    """
    both, sigma = _both_sides(sizes.value), math.sqrt(2.0) * sizes.sigma
    last, count = len(SIZES) // 2, 0.0
    for length in _RUNS:
        runs = np.lib.stride_tricks.sliding_window_view(both, length).sum(axis=1)
        visible = np.flatnonzero(runs > _VISIBLE * sigma * math.sqrt(length))
        if visible.size:
            last = int(visible[-1]) + length - 1
            count = float(runs[visible[-1]]) / length
            break
    expected = np.where(np.arange(len(both)) <= last, np.maximum(both, 0.0), 0.0)
    hidden = count * _DECAY ** np.arange(1, len(both) - last)
    expected[last + 1 :] = np.minimum(hidden, sigma)
    chosen: int = SIZES[_least_error(np.array(SIZES), expected, noise)]
    return chosen


def _least_error(edges: Array, counts: Floats, noise: float) -> int:
    """Return which of these thresholds has the least error: noise, and what squares lose.

    There is one more count than edges, the last of which is of rows beyond all edges.
    """
    ends = np.concatenate([[0.0], edges, [2 * edges[-1]]]) / STEPS
    squares = (ends[1:] ** 2 + ends[1:] * ends[:-1] + ends[:-1] ** 2) / 3
    candidates = np.square(ends[1:-1])
    lost = np.maximum(squares - candidates[:, None], 0.0) @ counts
    return int(np.hypot(noise * candidates, lost).argmin())


def tail_edges(tau: int) -> tuple[int, ...]:
    """Return a threshold and others above it, to see whether it is too small."""
    return tuple(dict.fromkeys(min(tau * factor, SIZES[-1]) for factor in (1, 2, 4, 16, 64)))


def _both_sides(counts: Floats) -> Floats:
    """Return counts of sizes, given those of negative and positive residuals."""
    middle = len(counts) // 2
    found: Floats = np.concatenate([[counts[middle]], counts[middle + 1 :] + counts[:middle][::-1]])
    return found


def _fourth(sizes: Released[Floats]) -> float | None:
    both = _both_sides(sizes.value)
    seen = np.where(both > _VISIBLE * math.sqrt(2.0) * sizes.sigma, both, 0.0)
    edges = np.array([0.0, *SIZES, 1.2 * SIZES[-1]]) / STEPS
    powers = (edges[1:] ** 5 - edges[:-1] ** 5) / (5 * (edges[1:] - edges[:-1]))
    return float(seen @ powers) if seen.any() else None
