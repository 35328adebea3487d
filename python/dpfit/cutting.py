"""How far a slope may be off because its column was cut and residuals were clipped."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.marginal import Marginal

__all__ = ["cutting_bias"]

Floats: TypeAlias = npt.NDArray[np.float64]

# Points that stand for an exponential tail, in its means.
_TAIL = -np.log1p(-(np.arange(8) + 0.5) / 8)


def cutting_bias(
    marginal: Marginal, low: float, high: float, slope: float, threshold: float
) -> tuple[float, float]:
    """Return how far a slope and its part of the intercept may be off.

    If the line went on beyond the range, the rows out there would have residuals that pull at the
    slope. They are clipped, so that the slope ends between the line's own and that of least
    squares on the cut column. The larger of the two distances is returned.

    Parameters
    ----------
    marginal : Marginal
        What was released of the column.
    low, high : float
        The range that it was cut to.
    slope : float
        The slope, as found.
    threshold : float
        Where residuals were clipped, in the units of the target.

    Notes
    -----
    What the noise may hide beyond the bins of the marginal is taken to be there, with an
    exponential tail that falls as fast as the column does between its tenth and its hundredth.
    The other columns do not matter as long as their means are linear in this one: what was cut
    from a column is then, but for errors, explained by itself.

    Privacy
    -------
    A function of released numbers.
    """
    points, shares = _with_tails(marginal)
    cut = np.clip(points, low, high)
    mean = float(shares @ cut)
    variance = float(shares @ np.square(cut - mean))
    if not variance > 0.0:
        return 0.0, 0.0
    lost = slope * (points - cut)
    clipped = np.clip(lost, -threshold, threshold)
    found = []
    for pull in (clipped, lost - clipped):
        along = float(shares @ (pull * (cut - mean))) / variance
        found.append((abs(along), abs(float(shares @ pull) - along * mean)))
    return max(part[0] for part in found), max(part[1] for part in found)


def _with_tails(marginal: Marginal) -> tuple[Floats, Floats]:
    """Return points and shares, with those that may have been overlooked at either end."""
    points, shares = marginal.points()
    ends = marginal.quantiles([0.01, 0.1, 0.9, 0.99])
    below, above = (part / _TAIL.size for part in marginal.overlooked)
    falls = (ends[1] - ends[0]) / np.log(10.0), (ends[3] - ends[2]) / np.log(10.0)
    points = np.concatenate(
        [marginal.edges[0] - falls[0] * _TAIL, points, marginal.edges[-1] + falls[1] * _TAIL]
    )
    added = np.full(_TAIL.size, below), np.full(_TAIL.size, above)
    shares = np.concatenate([added[0], shares, added[1]])
    return points, shares / shares.sum()
