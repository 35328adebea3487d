"""Where the numbers of a column lie, found out privately: histograms, each finer than the last.

The first counts signed powers of two and decides on a range; the second counts equal bins in that
range; where nearly all is found in a few of these bins, further ones look into them. What is
known of a column afterwards is a :class:`~dpfit.marginal.Marginal`.

The counts of powers of two are used for decisions only, and all later bins are placed relative to
them. So a column multiplied by a power of two leads to the same decisions and the same noise in
the later counts, and its marginal is multiplied by exactly that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit import _native
from dpfit.accounting import Purse
from dpfit.marginal import Marginal, on_simplex
from dpfit.plain import Bins, EqualBins, PowerBins
from dpfit.plan import Shares
from dpfit.release import Publisher

__all__ = ["release_marginals"]

Floats: TypeAlias = npt.NDArray[np.float64]
Counter: TypeAlias = Callable[[list[Bins | None]], _native.Histogram]

# Powers of two from 1e-15 to 1e15; larger and smaller numbers count as these.
_LEAST, _MOST = -50, 49
# A bin of noise alone counts against a run of powers with this many standard deviations: less, and
# runs go on into the noise; more, and sparse columns are lost.
_RUN_PENALTY = 1.5
# What a run must have in all, after the penalty, to be believed: among 100 powers of pure noise one
# column of 50 has such a run (simulated 200,000 times).
_RUN_EVIDENCE = 2.25
# A run with this much is seen clearly. Powers at its ends then count from the second number on,
# which noise reaches in one of 4,000: neither end moves with the noise.
_CLEAR = 20.0
_BESIDE = 3.5
# What negative or positive numbers must have in all to be taken for present.
_SIGN_EVIDENCE = 2.0
_ZERO_EVIDENCE = 3.0
# What the bins at an end must have in all, in standard deviations of their sum. More would cut
# tails that are there.
_END_EVIDENCE = 1.5
# How much less likely a size is for every factor of two that it is away from one.
_ABSURDITY = 0.07
# Most equal bins, and how many there are for every standard deviation of noise in the number of
# rows: with many bins of much noise, the quantiles would be noise.
_MOST_BINS = 64
_FEWEST_BINS = 8
_BINS_PER_SIGMA = 0.5
# A range is looked into again if 90 % of the weight is within this many bins.
_ZOOM_BELOW = 4.0
# Each look is at least four times as close, so that a date among seconds since 1970 is found. What
# then still is in a few bins is one value. It is all there is unless this share of the rows, and
# this many standard deviations of the noise, are elsewhere.
_ZOOMS = 5
_ELSEWHERE = (0.005, 6.0)


@dataclass
class _Range:
    """What is decided on a column: bins from low to high."""

    low: float
    high: float
    bins: int
    is_seen: bool = True


def release_marginals(
    count: Counter,
    publisher: Publisher,
    wanted: Sequence[bool],
    rows: float,
    purse: Purse,
    shares: Shares,
) -> list[Marginal | None]:
    """Release the marginal of every column that is wanted, the target last.

    Parameters
    ----------
    count : callable
        Counts the table's rows in bins.
    publisher : Publisher
        The way out.
    wanted : sequence of bool
        For each column of X and then for the target, whether its range is unknown.
    rows : float
        The released number of rows.
    purse : Purse
        What may be spent.
    shares : Shares
        How much of it on what.

    Privacy
    -------
    Everything is computed from released counts. Features and target have noise of their own, and
    nothing is spent on a histogram that is not made.
    """
    if not any(wanted):
        return [None] * len(wanted)
    powers = PowerBins(_LEAST, _MOST)
    spend = _take(purse, wanted, (shares.feature_powers, shares.target_powers))
    counts, sigmas = _release(count, publisher, [powers if w else None for w in wanted], spend)
    ranges = [None if c is None else _decide(c, s) for c, s in zip(counts, sigmas, strict=True)]
    seen = [r is None or r.is_seen for r in ranges]
    marginals: list[Marginal | None] = [None] * len(ranges)
    first_looks, first_sigmas = marginals, sigmas
    part = (shares.feature_bins, shares.target_bins)
    for look in range(1 + _ZOOMS):
        if look:
            ranges = [
                None if m is None or r is None else _closer(m, r)
                for m, r in zip(marginals, ranges, strict=True)
            ]
            if not any(ranges):
                break
            part = (shares.feature_zoom, shares.target_zoom)
        spend = _take(purse, [r is not None for r in ranges], part)
        sigmas = publisher.histogram_sigmas([r is not None for r in ranges], spend)
        for r, sigma in zip(ranges, sigmas, strict=True):
            if r is not None:
                r.bins = int(np.clip(_BINS_PER_SIGMA * rows / sigma, _FEWEST_BINS, _MOST_BINS))
        bins: list[Bins | None] = [
            None if r is None else EqualBins(r.low, r.high, r.bins) for r in ranges
        ]
        counts, _ = _release(count, publisher, bins, spend)
        for i, (r, c) in enumerate(zip(ranges, counts, strict=True)):
            if r is not None and c is not None:
                marginals[i] = _refine(marginals[i], r, c[1:-1], rows, sigmas[i])
        if not look:
            first_looks, first_sigmas = marginals.copy(), sigmas
    else:
        # What is left in `ranges` was looked at as closely as can be.
        for i, (marginal, r) in enumerate(zip(marginals, ranges, strict=True)):
            first_look = first_looks[i]
            if marginal is None or r is None or first_look is None:
                continue
            if _closer(marginal, r) is not None:
                least = max(_ELSEWHERE[0] * rows, _ELSEWHERE[1] * first_sigmas[i])
                marginals[i] = _one_value(first_look, r, least)
    return [m and replace(m, is_seen=s) for m, s in zip(marginals, seen, strict=True)]


def _one_value(first_look: Marginal, r: _Range, least: float) -> Marginal:
    """Return the marginal of a column that has one value, or one frequent value among others."""
    outside = (first_look.edges[1:] < r.low) | (first_look.edges[:-1] > r.high)
    if first_look.weights[outside].sum() < least:
        return Marginal(np.array([r.low, r.high]), np.ones(1))
    return first_look


def _take(purse: Purse, wanted: Sequence[bool], part: tuple[float, float]) -> tuple[float, float]:
    """Return mu for the features and for the target; any number for one without a histogram."""
    return (
        purse.take(part[0]) if any(wanted[:-1]) else 1.0,
        purse.take(part[1]) if wanted[-1] else 1.0,
    )


def _release(
    count: Counter,
    publisher: Publisher,
    bins: list[Bins | None],
    spend: tuple[float, float],
) -> tuple[list[Floats | None], list[float]]:
    return publisher.histograms(count(bins), [0 if b is None else len(b) for b in bins], spend)


def _decide(counts: Floats, sigma: float) -> _Range:
    """Return the range for equal bins, by where powers of two are above the noise."""
    middle = counts.size // 2
    positive, negative, zero = counts[middle + 1 :], counts[:middle][::-1], counts[middle]
    sizes = positive + negative
    noise = math.sqrt(2.0) * sigma
    first, last, evidence = _run(sizes - _RUN_PENALTY * noise)
    is_seen = evidence >= _RUN_EVIDENCE * noise
    if not is_seen:
        if zero > _ZERO_EVIDENCE * sigma:
            # All zero, as far as can be seen.
            return _Range(-(2.0**_LEAST), 2.0**_LEAST, _FEWEST_BINS)
        # The likeliest power; an absurd one needs more of the noise to look likely.
        powers = np.arange(_LEAST, _MOST + 1)
        first = last = int((sizes - _ABSURDITY * noise * np.abs(powers)).argmax())
    elif evidence > _CLEAR * noise:
        # Beside a run that is seen clearly, noise is no part of it.
        clear = np.flatnonzero(sizes[first : last + 1] > _BESIDE * noise)
        if clear.size:
            first, last = first + int(clear[0]), first + int(clear[-1])
    run = slice(first, last + 1)
    needed = _SIGN_EVIDENCE * sigma * math.sqrt(last + 1 - first)
    plus, minus = float(positive[run].sum()), float(negative[run].sum())
    has_plus = plus > needed or plus >= minus
    has_minus = minus > needed or minus > plus
    high = 2.0 ** (_LEAST + last + 1)
    low = 0.0
    if has_plus and has_minus:
        return _Range(-high, high, 0, is_seen)
    if first >= last - 1 and zero <= _ZERO_EVIDENCE * sigma:
        low = 2.0 ** (_LEAST + first)
    return _Range(low, high, 0, is_seen) if has_plus else _Range(-high, -low, 0, is_seen)


def _run(values: Floats) -> tuple[int, int, float]:
    """Return the first and the last place of the run with the largest sum, and the sum."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    lowest = np.minimum.accumulate(sums)[:-1]
    last = int((sums[1:] - lowest).argmax())
    first = int(sums[: last + 1].argmin())
    return first, last, float(sums[last + 1] - sums[first])


def _closer(marginal: Marginal, current: _Range) -> _Range | None:
    """Return the few bins that hold nearly everything; None if there are more than a few."""
    width = (current.high - current.low) / current.bins
    low, high = marginal.quantiles([0.05, 0.95])
    if high - low >= _ZOOM_BELOW * width:
        return None
    first = max(math.floor((low - current.low) / width) - 1, 0)
    last = min(math.floor((high - current.low) / width) + 2, current.bins)
    low, high = current.low + first * width, current.low + last * width
    if last - first >= current.bins:
        return None
    return _Range(low, high, 0)


def _refine(
    coarse: Marginal | None, fine: _Range, counts: Floats, rows: float, sigma: float
) -> Marginal:
    """Return the marginal with the counts of `fine` instead of the bins that they lie in."""
    edges = np.linspace(fine.low, fine.high, fine.bins + 1)
    if coarse is None:
        first, last = _seen(counts, sigma)
        weights = on_simplex(counts[first : last + 1], max(rows, 1.0))
        found = _trim(edges[first : last + 2], weights)
        width = (fine.high - fine.low) / fine.bins
        # Bins that were left out, and the one beyond the range.
        below = 1.0 + max(found.edges[0] - fine.low, 0.0) / width
        above = 1.0 + max(fine.high - found.edges[-1], 0.0) / width
        noise = _END_EVIDENCE * sigma / max(rows, 1.0)
        return replace(found, overlooked=(noise * math.sqrt(below), noise * math.sqrt(above)))
    below = coarse.edges[:-1] < fine.low - (edges[1] - edges[0]) / 2
    above = coarse.edges[1:] > fine.high + (edges[1] - edges[0]) / 2
    inside = max(float(coarse.weights[~below & ~above].sum()), 1.0)
    found = _trim(
        np.concatenate([coarse.edges[:-1][below], edges, coarse.edges[1:][above]]),
        np.concatenate([coarse.weights[below], on_simplex(counts, inside), coarse.weights[above]]),
    )
    return replace(found, overlooked=coarse.overlooked)


def _seen(counts: Floats, sigma: float) -> tuple[int, int]:
    """Return the first and the last bin that something is seen of.

    From either end, as many rows must have come together as noise alone rarely does: otherwise a
    few bins of noise far out would be the range's end.
    """
    rare = _END_EVIDENCE * sigma * np.sqrt(np.arange(1, counts.size + 1))
    from_low = np.flatnonzero(np.cumsum(counts) > rare)
    from_high = np.flatnonzero(np.cumsum(counts[::-1]) > rare)
    if not from_low.size or not from_high.size:
        return 0, counts.size - 1
    first, last = int(from_low[0]), counts.size - 1 - int(from_high[0])
    return (first, last) if first <= last else (last, first)


def _trim(edges: Floats, weights: Floats) -> Marginal:
    filled = np.flatnonzero(weights)
    first, last = int(filled[0]), int(filled[-1])
    return Marginal(edges[first : last + 2], weights[first : last + 1])
