"""Whether columns fill their public bounds, found out privately.

Bounds come from a form or a law, and may be far wider than anything that is in the column: a stay
in hospital has 0 to 365 days, and nearly all have less than 20. Scaled to such bounds, a column
hardly varies, and the noise of X'X hides it: the rounds would not converge on its slope. So a small
part of the budget is spent on a histogram between the bounds, and bounds that are far too wide are
moved closer. They stay wide enough to cut next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit import _native
from dpfit.accounting import Purse
from dpfit.plain import Bins, EqualBins
from dpfit.plan import Shares
from dpfit.release import Publisher

__all__ = ["Bounds", "narrowed_bounds"]

Floats: TypeAlias = npt.NDArray[np.float64]
Bounds: TypeAlias = tuple[float, float]
Counter: TypeAlias = Callable[[list[Bins | None]], _native.Histogram]

# Bounds are far too wide if 98 % of a column fill less than this share of them.
_FILLED = 0.2
# New ones are this many widths of the 98 % beyond them, so that they hold nearly all of a tail.
_MARGIN = 1.0
# Nothing is looked at unless all rows together are this many standard deviations of the noise in a
# bin, and nothing is believed unless the bins that stand out hold this share of the rows. The first
# number keeps a bin of noise from being taken for a column, the second one a column with a frequent
# value, and others spread thinly, from being cut to that value.
_LEAST_SIGNAL = 10.0
_LEAST_SHARE = 0.95
# What a bin must have to stand out, in standard deviations: noise alone does once in 300,000 bins.
_PRESENT = 4.5
_MOST_BINS, _FEWEST_BINS, _BINS_PER_SIGMA = 32, 8, 0.5
# A column in fewer bins is looked at again between its new bounds, at most so often.
_SEEN_WELL = 4.0
_LOOKS = 5
# Bounds so close together that doubles hardly tell their bins apart are left as they are.
_FINEST = 2.0**-40


def narrowed_bounds(
    count: Counter,
    publisher: Publisher,
    bounds: Sequence[Bounds | None],
    rows: float,
    mu: float,
    purse: Purse,
    shares: Shares,
    hides: Callable[[float], bool],
) -> list[Bounds | None]:
    """Return public bounds, closer where they are far too wide for the column.

    Parameters
    ----------
    count : callable
        Counts the table's rows in bins.
    publisher : Publisher
        The way out.
    bounds : sequence of pairs or None
        Of each column of X and then of the target; None where there are none.
    rows : float
        The released number of rows.
    mu : float
        The whole budget, to tell what a histogram would show before it is made.
    purse : Purse
        What may be spent.
    shares : Shares
        How much of it on what.
    hides : callable
        Whether the noise of the fit would hide a feature of this variance, with bounds -1 and 1.
        One that is seen well enough keeps its bounds, however wide.

    Privacy
    -------
    Everything is computed from released counts. Features and target have noise of their own, and
    nothing is spent on a histogram that is not made.
    """
    found = list(bounds)
    wanted = [pair is not None and _has_room(pair) for pair in bounds]
    for look in range(_LOOKS):
        part = (
            (shares.feature_zoom, shares.target_zoom)
            if look
            else (shares.feature_bounds, shares.target_bounds)
        )
        mus = (mu * math.sqrt(part[0]), mu * math.sqrt(part[1]))
        sigmas = publisher.histogram_sigmas(wanted, mus)
        wanted = [
            w and rows > _LEAST_SIGNAL * sigma for w, sigma in zip(wanted, sigmas, strict=True)
        ]
        if not any(wanted):
            break
        spend = (
            purse.take(part[0]) if any(wanted[:-1]) else 1.0,
            purse.take(part[1]) if wanted[-1] else 1.0,
        )
        bins: list[Bins | None] = [
            EqualBins(*pair, _number_of_bins(rows, sigma)) if w and pair else None
            for w, pair, sigma in zip(wanted, found, sigmas, strict=True)
        ]
        lengths = [0 if b is None else len(b) for b in bins]
        counts, sigmas = publisher.histograms(count(bins), lengths, spend)
        for i, (pair, counted) in enumerate(zip(found, counts, strict=True)):
            if pair is None or counted is None:
                continue
            is_target = i == len(found) - 1
            found[i], wanted[i] = _closer(
                pair, counted, rows, sigmas[i], (lambda _: True) if is_target else hides
            )
    return found


def _has_room(pair: Bounds) -> bool:
    return pair[1] - pair[0] > _FINEST * max(abs(pair[0]), abs(pair[1]))


def _number_of_bins(rows: float, sigma: float) -> int:
    return int(np.clip(_BINS_PER_SIGMA * rows / sigma, _FEWEST_BINS, _MOST_BINS))


def _closer(
    pair: Bounds, counts: Floats, rows: float, sigma: float, hides: Callable[[float], bool]
) -> tuple[Bounds, bool]:
    """Return bounds for a column, and whether to look between them again."""
    # Values beyond the bounds are taken as the bounds.
    inside = counts[1:-1].copy()
    inside[0] += counts[0]
    inside[-1] += counts[-1]
    inside[inside < _PRESENT * sigma] = 0.0
    if inside.sum() < _LEAST_SHARE * rows:
        return pair, False
    # In widths of a bin, from the lower bound.
    shares = inside / inside.sum()
    middles = np.arange(shares.size) + 0.5
    below = np.cumsum(shares)
    first = int(np.searchsorted(below, 0.01))
    last = int(np.searchsorted(below, 0.99)) + 1
    variance = float(shares @ np.square(middles - shares @ middles)) * (2.0 / shares.size) ** 2
    if last - first >= _FILLED * shares.size or not hides(variance):
        return pair, False
    margin = _MARGIN * (last - first)
    bin_width = (pair[1] - pair[0]) / shares.size
    low = max(pair[0] + (first - margin) * bin_width, pair[0])
    high = min(pair[0] + (last + margin) * bin_width, pair[1])
    closer = (low, high)
    return closer, last - first < _SEEN_WELL and math.isfinite(high - low) and _has_room(closer)
