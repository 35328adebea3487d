"""The bias of a slope whose column was cut and whose residuals were clipped."""

from __future__ import annotations

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.ranges.marginal import Marginal

__all__ = ["cutting_bias"]


# Points that represent an exponential tail of mean one.
_TAIL = -np.log1p(-(np.arange(8) + 0.5) / 8)


def cutting_bias(
    marginal: Marginal, low: float, high: float, slope: float, threshold: float
) -> tuple[float, float]:
    """Return how far a slope and its part of the intercept may be off.

    If the line really continues beyond the range, the rows out there have residuals that pull at
    the slope. Residuals are clipped, so that the fitted slope is between the true one and that of
    least squares on the cut column. The larger of the two distances is returned.

    Parameters
    ----------
    marginal : Marginal
        The released distribution of the column.
    low, high : float
        The range to which it was cut.
    slope : float
        The fitted slope.
    threshold : float
        Where residuals were clipped, in the scale of the target.

    Notes
    -----
    Rows that the noise may hide beyond the bins of the marginal are assumed to be there, with an
    exponential tail that falls as fast as the column does between its 10 % and 1 % quantiles.
    Other columns do not matter as long as their means are linear in this one: what was cut from a
    column is then, except for errors, explained by the column itself.

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
    """Return points and shares, including rows that the noise may hide at either end."""
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
