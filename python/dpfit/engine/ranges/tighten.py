"""Narrow public bounds that are far too wide for their columns.

Bounds come from a form or a law, and may be far wider than the values in the column: a stay in
hospital has 0 to 365 days, and nearly all stays have less than 20. Scaled to such bounds, a column
hardly varies and the noise of X'X hides it: the rounds would not converge on its slope. So a small
part of the budget is spent on a histogram between the bounds, and bounds that are far too wide are
narrowed. They stay wide enough to cut next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.constants import BoundsConstants, Shares
from dpfit.engine.ranges.histograms import ColumnCounter
from dpfit.release import Released
from dpfit.statistics import EqualBins

__all__ = ["Bounds", "narrowed_bounds"]

Bounds: TypeAlias = tuple[float, float]


def narrowed_bounds(
    counter: ColumnCounter,
    bounds: Sequence[Bounds | None],
    mu: float,
    shares: Shares,
    hides: Callable[[float], bool],
    constants: BoundsConstants,
) -> list[Bounds | None]:
    """Return public bounds, narrowed where they are far too wide for the column.

    Parameters
    ----------
    counter : ColumnCounter
        Releases histograms.
    bounds : sequence of pairs or None
        Bounds of each column of X and then of the target, None for those without bounds.
    mu : float
        The whole budget, to predict the noise of a histogram before it is released.
    shares : Shares
        How the budget is spent.
    hides : callable
        Whether the noise of X'X would hide a feature of a given variance, with bounds -1 and 1. A
        feature that is not hidden keeps its bounds.
    constants : BoundsConstants
        When bounds are narrowed.

    Privacy
    -------
    Everything is computed from released counts.
    """
    found = list(bounds)
    wanted = [pair is not None and _has_room(pair, constants) for pair in bounds]
    for look in range(constants.looks):
        if not any(wanted):
            break
        part = (
            (shares.feature_zoom, shares.target_zoom)
            if look
            else (shares.feature_bounds, shares.target_bounds)
        )
        sigmas = counter.sigmas(wanted, (mu * math.sqrt(part[0]), mu * math.sqrt(part[1])))
        wanted = [
            w and counter.rows > constants.least_signal * sigma
            for w, sigma in zip(wanted, sigmas, strict=True)
        ]
        if not any(wanted):
            break
        mus = counter.spend(wanted, part)
        bins = [
            EqualBins(*pair, constants.bins.number(counter.rows, sigma)) if w and pair else None
            for w, pair, sigma in zip(wanted, found, sigmas, strict=True)
        ]
        counts = counter.release(bins, mus)
        for i, (pair, counted) in enumerate(zip(found, counts, strict=True)):
            if pair is None or counted is None:
                continue
            is_target = i == len(found) - 1
            found[i], wanted[i] = _closer(
                pair, counted, counter.rows, (lambda _: True) if is_target else hides, constants
            )
    return found


def _has_room(pair: Bounds, constants: BoundsConstants) -> bool:
    return pair[1] - pair[0] > constants.finest * max(abs(pair[0]), abs(pair[1]))


def _closer(
    pair: Bounds,
    counts: Released[Floats],
    rows: float,
    hides: Callable[[float], bool],
    constants: BoundsConstants,
) -> tuple[Bounds, bool]:
    """Return bounds for a column, and whether to look again between them."""
    # Values beyond a bound count as the bound.
    inside = counts.value[1:-1].copy()
    inside[0] += counts.value[0]
    inside[-1] += counts.value[-1]
    inside[inside < constants.present * counts.sigma] = 0.0
    if inside.sum() < constants.least_share * rows:
        return pair, False
    # In widths of a bin, from the lower bound.
    shares = inside / inside.sum()
    middles = np.arange(shares.size) + 0.5
    below = np.cumsum(shares)
    first = int(np.searchsorted(below, 0.01))
    last = int(np.searchsorted(below, 0.99)) + 1
    variance = float(shares @ np.square(middles - shares @ middles)) * (2.0 / shares.size) ** 2
    if last - first >= constants.filled * shares.size or not hides(variance):
        return pair, False
    margin = constants.margin * (last - first)
    bin_width = (pair[1] - pair[0]) / shares.size
    low = max(pair[0] + (first - margin) * bin_width, pair[0])
    high = min(pair[0] + (last + margin) * bin_width, pair[1])
    closer = (low, high)
    again = last - first < constants.seen_well and math.isfinite(high - low)
    return closer, again and _has_room(closer, constants)
