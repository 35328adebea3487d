"""Find the range of a column without bounds, with noisy histograms, each finer than the last.

The first histogram counts signed powers of two and decides on a range. The second one counts equal
bins in that range. If nearly all rows are in a few of these bins, further histograms zoom in. The
result is a :class:`~dpfit.engine.ranges.marginal.Marginal`.

The counts of powers of two are used for decisions only, and all later bins are placed relative to
them. So if a column is multiplied by a power of two, the decisions and the noise in later counts
are the same, and the marginal is multiplied by exactly that power.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.constants import RangeConstants, Shares
from dpfit.engine.ranges.histograms import ColumnCounter
from dpfit.engine.ranges.marginal import Marginal, on_simplex
from dpfit.release import Released
from dpfit.statistics import EqualBins, PowerBins

__all__ = ["release_marginals"]


@dataclass
class _Range:
    """The range of a column, and the number of equal bins in it."""

    low: float
    high: float
    is_seen: bool = True
    # Set when the bins are counted.
    bins: int = 0


def release_marginals(
    counter: ColumnCounter, wanted: Sequence[bool], shares: Shares, constants: RangeConstants
) -> list[Marginal | None]:
    """Release the marginals of columns, the target last.

    Parameters
    ----------
    counter : ColumnCounter
        Releases histograms.
    wanted : sequence of bool
        For each column of X and then for the target, whether its range is unknown.
    shares : Shares
        How the budget is spent.
    constants : RangeConstants
        How ranges are found.

    Returns
    -------
    list of Marginal or None
        None for columns that are not wanted.

    Privacy
    -------
    Everything is computed from released counts.
    """
    if not any(wanted):
        return [None] * len(wanted)
    powers = PowerBins(constants.least_power, constants.most_power)
    mus = counter.spend(wanted, (shares.feature_powers, shares.target_powers))
    counts = counter.release([powers if w else None for w in wanted], mus)
    ranges = [None if c is None else _decide(c.value, c.sigma, constants) for c in counts]
    seen = [r is None or r.is_seen for r in ranges]
    first_looks: list[Marginal | None] = [None] * len(ranges)
    marginals, first_counts = first_looks, counts
    part = (shares.feature_bins, shares.target_bins)
    for look in range(1 + constants.zooms):
        if look:
            ranges = [
                None if m is None or r is None else _closer(m, r, constants)
                for m, r in zip(marginals, ranges, strict=True)
            ]
            if not any(ranges):
                break
            part = (shares.feature_zoom, shares.target_zoom)
        counts = _count(counter, ranges, part, constants)
        marginals = [
            m if r is None or c is None else _refine(m, r, c, counter.rows, constants)
            for m, r, c in zip(marginals, ranges, counts, strict=True)
        ]
        if not look:
            first_looks, first_counts = marginals, counts
    else:
        # The columns that are left in `ranges` were looked at as closely as possible.
        for i, (first_look, first, r) in enumerate(
            zip(first_looks, first_counts, ranges, strict=True)
        ):
            marginal = marginals[i]
            if marginal is None or r is None or first_look is None or first is None:
                continue
            if _closer(marginal, r, constants) is not None:
                least = max(
                    constants.elsewhere_share * counter.rows,
                    constants.elsewhere_evidence * first.sigma,
                )
                marginals[i] = _one_value(first_look, r, least)
    return [m and replace(m, is_seen=s) for m, s in zip(marginals, seen, strict=True)]


def _count(
    counter: ColumnCounter,
    ranges: Sequence[_Range | None],
    shares: tuple[float, float],
    constants: RangeConstants,
) -> list[Released[Floats] | None]:
    """Set the number of bins that the noise allows, and release their counts."""
    counted = [r is not None for r in ranges]
    mus = counter.spend(counted, shares)
    for r, sigma in zip(ranges, counter.sigmas(counted, mus), strict=True):
        if r is not None:
            r.bins = constants.bins.number(counter.rows, sigma)
    bins = [None if r is None else EqualBins(r.low, r.high, r.bins) for r in ranges]
    return counter.release(bins, mus)


def _one_value(first_look: Marginal, r: _Range, least: float) -> Marginal:
    """Return the marginal of a column that has one value, or one frequent value among others."""
    outside = (first_look.edges[1:] < r.low) | (first_look.edges[:-1] > r.high)
    if first_look.weights[outside].sum() < least:
        return Marginal(np.array([r.low, r.high]), np.ones(1))
    return first_look


def _decide(counts: Floats, sigma: float, constants: RangeConstants) -> _Range:
    """Return the range in which counts of powers of two are above the noise."""
    middle = counts.size // 2
    positive, negative, zero = counts[middle + 1 :], counts[:middle][::-1], counts[middle]
    sizes = positive + negative
    noise = math.sqrt(2.0) * sigma
    first, last, evidence = _run(sizes - constants.run_penalty * noise)
    is_seen = evidence >= constants.run_evidence * noise
    if not is_seen:
        if zero > constants.zero_evidence * sigma:
            # All values seem to be zero.
            least = 2.0**constants.least_power
            return _Range(-least, least)
        # The most likely power; an absurd one needs a higher count to be it.
        powers = np.arange(constants.least_power, constants.most_power + 1)
        absurdity = constants.absurdity * noise * np.abs(powers)
        first = last = int((sizes - absurdity).argmax())
    elif evidence > constants.clear * noise:
        # Trim noise at the ends of a run that is seen clearly.
        clear = np.flatnonzero(sizes[first : last + 1] > constants.beside * noise)
        if clear.size:
            first, last = first + int(clear[0]), first + int(clear[-1])
    run = slice(first, last + 1)
    needed = constants.sign_evidence * sigma * math.sqrt(last + 1 - first)
    plus, minus = float(positive[run].sum()), float(negative[run].sum())
    has_plus = plus > needed or plus >= minus
    has_minus = minus > needed or minus > plus
    high = 2.0 ** (constants.least_power + last + 1)
    low = 0.0
    if has_plus and has_minus:
        return _Range(-high, high, is_seen)
    if first >= last - 1 and zero <= constants.zero_evidence * sigma:
        low = 2.0 ** (constants.least_power + first)
    return _Range(low, high, is_seen) if has_plus else _Range(-high, -low, is_seen)


def _run(values: Floats) -> tuple[int, int, float]:
    """Return the first and the last place of the run with the largest sum, and the sum."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    lowest = np.minimum.accumulate(sums)[:-1]
    last = int((sums[1:] - lowest).argmax())
    first = int(sums[: last + 1].argmin())
    return first, last, float(sums[last + 1] - sums[first])


def _closer(marginal: Marginal, current: _Range, constants: RangeConstants) -> _Range | None:
    """Return the range of the few bins that contain nearly all rows; None if there are many."""
    width = (current.high - current.low) / current.bins
    low, high = marginal.quantiles([0.05, 0.95])
    if high - low >= constants.zoom_below * width:
        return None
    first = max(math.floor((low - current.low) / width) - 1, 0)
    last = min(math.floor((high - current.low) / width) + 2, current.bins)
    low, high = current.low + first * width, current.low + last * width
    if last - first >= current.bins:
        return None
    return _Range(low, high)


def _refine(
    coarse: Marginal | None,
    fine: _Range,
    released: Released[Floats],
    rows: float,
    constants: RangeConstants,
) -> Marginal:
    """Return the marginal in which the counts of `fine` replace the bins they lie in."""
    counts, sigma = released.value[1:-1], released.sigma
    edges = np.linspace(fine.low, fine.high, fine.bins + 1)
    if coarse is None:
        first, last = _seen(counts, constants.end_evidence * sigma)
        weights = on_simplex(counts[first : last + 1], max(rows, 1.0))
        found = _trim(edges[first : last + 2], weights)
        width = (fine.high - fine.low) / fine.bins
        # The number of bins that were left out, and the one beyond the range.
        below = 1.0 + max(found.edges[0] - fine.low, 0.0) / width
        above = 1.0 + max(fine.high - found.edges[-1], 0.0) / width
        noise = constants.end_evidence * sigma / max(rows, 1.0)
        return replace(found, overlooked=(noise * math.sqrt(below), noise * math.sqrt(above)))
    below = coarse.edges[:-1] < fine.low - (edges[1] - edges[0]) / 2
    above = coarse.edges[1:] > fine.high + (edges[1] - edges[0]) / 2
    inside = max(float(coarse.weights[~below & ~above].sum()), 1.0)
    found = _trim(
        np.concatenate([coarse.edges[:-1][below], edges, coarse.edges[1:][above]]),
        np.concatenate([coarse.weights[below], on_simplex(counts, inside), coarse.weights[above]]),
    )
    return replace(found, overlooked=coarse.overlooked)


def _seen(counts: Floats, rare: float) -> tuple[int, int]:
    """Return the first and the last bin that are above the noise.

    Counts are added up from either end until the sum is above `rare` times the root of the number
    of bins, which noise alone rarely reaches. Otherwise a few bins of noise far out would end the
    range.
    """
    least = rare * np.sqrt(np.arange(1, counts.size + 1))
    from_low = np.flatnonzero(np.cumsum(counts) > least)
    from_high = np.flatnonzero(np.cumsum(counts[::-1]) > least)
    if not from_low.size or not from_high.size:
        return 0, counts.size - 1
    first, last = int(from_low[0]), counts.size - 1 - int(from_high[0])
    return (first, last) if first <= last else (last, first)


def _trim(edges: Floats, weights: Floats) -> Marginal:
    filled = np.flatnonzero(weights)
    first, last = int(filled[0]), int(filled[-1])
    return Marginal(edges[first : last + 2], weights[first : last + 1])
