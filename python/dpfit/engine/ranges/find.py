"""Find where the values of each column lie, with noisy histograms, each finer than the last.

A column without bounds is first counted in signed powers of two, and then in equal bins of the
range that these show. A column with public bounds is first counted in equal bins between them. If
nearly all rows are in a few of the bins, closer looks follow. The result is a
:class:`~dpfit.engine.ranges.marginal.Marginal`.

The counts of powers of two are used for decisions only, and all later bins are placed relative to
them. So if a column is multiplied by a power of two, the decisions and the noise in later counts
are the same, and the marginal is multiplied by exactly that power.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.constants import RangeConstants, Shares
from dpfit.engine.ranges.histograms import ColumnCounter
from dpfit.engine.ranges.marginal import Marginal, on_simplex
from dpfit.engine.ranges.powers import locate
from dpfit.engine.ranges.zeros import with_powers
from dpfit.release import Released
from dpfit.statistics import Bins, EqualBins, PowerBins

__all__ = ["Unknown", "release_marginals"]

# The rows in a tail, in standard deviations of their noise, that are kept however thin it is.
_TAIL_EVIDENCE = 4.0
# A target that powers of two do not show is looked at again, with so many times the budget.
_MORE = 2.0
# What is to be found out about a column: its range, how it is spread between bounds, or nothing.
Unknown: TypeAlias = Literal["range"] | tuple[float, float] | None


@dataclass(frozen=True)
class _Look:
    """Equal bins to count a column in."""

    low: float
    high: float
    # Whether the ends are public bounds: values beyond them are clipped, so they count as the ends.
    is_bound: tuple[bool, bool] = (False, False)
    bins: int = 0

    @property
    def width(self) -> float:
        """The width of a bin."""
        return (self.high - self.low) / self.bins

    def between(self, bounds: tuple[float, float]) -> _Look | None:
        """Return the part of the range that is between bounds, if there is one."""
        low, high = max(self.low, bounds[0]), min(self.high, bounds[1])
        is_bound = low == bounds[0], high == bounds[1]
        return _Look(low, high, is_bound) if low < high else None

    def counts(self, released: Released[Floats]) -> Floats:
        """Return the counts of the bins, without values beyond ends that are not bounds."""
        found = released.value[1:-1].copy()
        found[0] += self.is_bound[0] * released.value[0]
        found[-1] += self.is_bound[1] * released.value[-1]
        return found

    def beyond(self, released: Released[Floats], evidence: float) -> tuple[float, float]:
        """Return the counts beyond ends that are not bounds, zero where noise explains them."""
        found = np.where(self.is_bound, 0.0, released.value[[0, -1]])
        low, high = np.where(found > evidence * released.sigma, found, 0.0)
        return float(low), float(high)


@dataclass
class _Column:
    """What is known about a column, and what to look at next."""

    next: Literal["powers"] | _Look | None
    bounds: tuple[float, float] | None = None
    marginal: Marginal | None = None
    is_seen: bool = True
    # The marginal after the first equal bins, and the noise of their counts.
    first: tuple[Marginal, float] | None = None
    # Looks so far: at most three, and then zooms.
    looks: int = 0
    zooms: int = 0
    # Whether powers of two are counted again if they show nothing, and what they showed.
    is_target: bool = False
    powers: Released[Floats] | None = None

    @classmethod
    def start(cls, unknown: Unknown, *, is_target: bool = False) -> _Column:
        """Return a column of which nothing is known but its bounds."""
        if unknown is None:
            return cls(None)
        if unknown == "range":
            return cls("powers", is_target=is_target)
        return cls(_Look(*unknown, is_bound=(True, True)), unknown)

    def bins(self, rows: float, sigma: float, constants: RangeConstants) -> Bins | None:
        """Return the bins to count next; as many equal ones as the noise allows."""
        if self.next is None:
            return None
        if self.next == "powers":
            return PowerBins(constants.least_power, constants.most_power)
        bins, look = constants.bins.number(rows, sigma), self.next
        self.next = _Look(look.low, look.high, look.is_bound, bins)
        return EqualBins(look.low, look.high, bins)

    def read(self, released: Released[Floats], rows: float, constants: RangeConstants) -> None:
        """Take in the counts, and decide what to look at next."""
        look = self.next
        self.looks += 1
        if look == "powers":
            is_first, released = self.powers is None, _together(self.powers, released)
            self.powers = released
            if not is_first:
                constants = replace(constants, run_evidence=constants.run_evidence_again)
            low, high, is_seen = locate(released.value, released.sigma, rows, constants)
            # If nothing but zeros is seen, other values may be hidden.
            if self.is_target and is_first and (not is_seen or high <= 2.0**constants.least_power):
                return
            if self.bounds is None:
                self.is_seen, self.next = is_seen, _Look(low, high)
                if not self.is_target and low == -high and high <= 2.0**constants.least_power:
                    # Nothing but zeros: bins between them would show their noise.
                    self.marginal, self.next = Marginal(np.array([low, high]), np.ones(1)), None
            else:
                # The first look stays if this one shows nothing, or nothing between the bounds.
                self.next = _Look(low, high).between(self.bounds) if is_seen else None
            if self.next is not None:
                self.marginal = None
            return
        assert isinstance(look, _Look)
        self.marginal = _refine(self.marginal, look, released, rows, constants)
        if self.is_target and self.powers is not None and not self.zooms:
            edges = np.linspace(look.low, look.high, look.bins + 1)
            bins = Released(look.counts(released), released.sigmas)
            self.marginal = with_powers(self.marginal, edges, bins, self.powers, constants)
        if not self.zooms:
            self.first = self.marginal, released.sigma
        self.next = self._closer(look, released, rows, constants)

    def _closer(
        self, look: _Look, released: Released[Floats], rows: float, constants: RangeConstants
    ) -> Literal["powers"] | _Look | None:
        assert self.marginal is not None
        few = constants.zoom_below
        if self.bounds is not None and self.looks == 1:
            # Bounds that are far too wide say little: look as if there were none. Otherwise the
            # bins of a second look are as fine as those of a column without bounds.
            if _closer(self.marginal, look, released, rows, (few, constants)):
                return "powers"
            few = constants.wide_bounds * look.bins
            return _closer(self.marginal, look, released, rows, (few, constants))
        closer = _closer(self.marginal, look, released, rows, (few, constants))
        if closer is None:
            return None
        self.zooms += 1
        if self.zooms > constants.zooms:
            # The column was looked at as closely as possible: it has one value, or a frequent one.
            assert self.first is not None
            first, sigma = self.first
            least = max(constants.elsewhere_share * rows, constants.elsewhere_evidence * sigma)
            self.marginal = _one_value(first, look, least)
            return None
        self.marginal = _cleared(
            self.marginal, look, closer, constants.clear_evidence * released.sigma, rows
        )
        return closer


def _together(one: Released[Floats] | None, other: Released[Floats]) -> Released[Floats]:
    """Return the counts of two looks at the same bins, weighted by their precision."""
    if one is None:
        return other
    share = other.sigma**2 / (one.sigma**2 + other.sigma**2)
    return Released(
        share * one.value + (1.0 - share) * other.value, (math.sqrt(share) * one.sigma,)
    )


def release_marginals(
    counter: ColumnCounter, wanted: Sequence[Unknown], shares: Shares, constants: RangeConstants
) -> list[Marginal | None]:
    """Release the marginals of columns, the target last.

    Parameters
    ----------
    counter : ColumnCounter
        Releases histograms.
    wanted : sequence
        For each column of X and then for the target, "range" if it is unknown, public bounds, or
        None if nothing is wanted.
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
    columns = [_Column.start(unknown) for unknown in wanted[:-1]]
    # Without the target's place, whatever the rest of the budget is spent on is worth nothing.
    columns.append(_Column.start(wanted[-1], is_target=True))
    while True:
        _drop_hopeless_zooms(columns, counter, shares, constants)
        counted = [column.next is not None for column in columns]
        if not any(counted):
            break
        mus = counter.spend(counted, _shares(columns, shares))
        sigmas = counter.sigmas(counted, mus)
        bins = [
            column.bins(counter.rows, sigma, constants)
            for column, sigma in zip(columns, sigmas, strict=True)
        ]
        *features, of_target = counter.release(bins, mus)
        for column, found in zip(columns[:-1], features, strict=True):
            if found is not None:
                column.read(*counter.present(found), constants)
        if of_target is not None:
            columns[-1].read(of_target, counter.rows, constants)
    return [
        None if column.marginal is None else replace(column.marginal, is_seen=column.is_seen)
        for column in columns
    ]


def _shares(columns: Sequence[_Column], shares: Shares) -> tuple[float, float]:
    """Return the shares of the budget for the next look at features and at the target."""
    features = all(column.zooms or column.next is None for column in columns[:-1])
    target = shares.target_zoom if columns[-1].zooms else shares.target_look
    if columns[-1].next == "powers" and columns[-1].powers is not None:
        target *= _MORE
    return shares.feature_zoom if features else shares.feature_look, target


def _drop_hopeless_zooms(
    columns: Sequence[_Column], counter: ColumnCounter, shares: Shares, constants: RangeConstants
) -> None:
    """Look no closer at columns if the noise of a closer look would hide the rows."""
    counted = [column.next is not None for column in columns]
    if not any(
        column.zooms and is_counted for column, is_counted in zip(columns, counted, strict=True)
    ):
        return
    features, target = _shares(columns, shares)
    mus = counter.budget.mu_of(features), counter.budget.mu_of(target)
    for column, sigma in zip(columns, counter.sigmas(counted, mus), strict=True):
        if column.zooms and not counter.rows > constants.zoom_signal * sigma:
            column.next = None


def _one_value(first_look: Marginal, last: _Look, least: float) -> Marginal:
    """Return the marginal of a column that has one value, or one frequent value among others."""
    outside = (first_look.edges[1:] < last.low) | (first_look.edges[:-1] > last.high)
    if first_look.weights[outside].sum() < least:
        return Marginal(np.array([last.low, last.high]), np.ones(1))
    return first_look


def _closer(
    marginal: Marginal,
    look: _Look,
    released: Released[Floats],
    rows: float,
    limits: tuple[float, RangeConstants],
) -> _Look | None:
    """Return a closer look at the few bins that contain nearly all rows.

    None if there are more such bins than the first limit, or if noise alone may have put the rows
    there.
    """
    few, constants = limits
    low, high = marginal.quantile(0.05), marginal.quantile(0.95)
    if high - low >= few * look.width:
        return None
    first = max(math.floor((low - look.low) / look.width) - 1, 0)
    last = min(math.floor((high - look.low) / look.width) + 2, look.bins)
    low, high = look.low + first * look.width, look.low + last * look.width
    if last - first >= look.bins or high - low <= 2.0**-40 * max(abs(low), abs(high)):
        return None
    noise = constants.zoom_evidence * released.sigma * math.sqrt(last - first)
    if look.counts(released)[first:last].sum() - noise < 0.5 * min(rows, marginal.weights.sum()):
        return None
    is_bound = look.is_bound[0] and first == 0, look.is_bound[1] and last == look.bins
    return _Look(low, high, is_bound)


def _cleared(marginal: Marginal, look: _Look, closer: _Look, noise: float, rows: float) -> Marginal:
    """Return the marginal without the weight that a closer look leaves out, if noise explains it.

    Little is left of the noise in a bin, but far from the others it would decide where the range
    ends.
    """
    weights, overlooked = marginal.weights.copy(), list(marginal.overlooked)
    middles = (marginal.edges[1:] + marginal.edges[:-1]) / 2
    below = (middles > look.low) & (middles < closer.low)
    above = (middles < look.high) & (middles > closer.high)
    for side, part in enumerate((below, above)):
        if 0.0 < weights[part].sum() < noise:
            weights[part] = 0.0
            overlooked[side] = max(overlooked[side], noise / max(rows, 1.0))
    return replace(marginal, weights=weights, overlooked=(overlooked[0], overlooked[1]))


def _refine(
    coarse: Marginal | None,
    look: _Look,
    released: Released[Floats],
    rows: float,
    constants: RangeConstants,
) -> Marginal:
    """Return the marginal in which the counts of a look replace the bins they lie in."""
    counts, sigma = look.counts(released), released.sigma
    edges = np.linspace(look.low, look.high, look.bins + 1)
    if coarse is None:
        first, last = _seen(counts / sigma, constants)
        weights = _with_tails(counts[first : last + 1], max(rows, 1.0), sigma)
        found = _trim(edges[first : last + 2], weights)
        # The number of bins that were left out, and the one beyond the range.
        below = 1.0 + max(found.edges[0] - look.low, 0.0) / look.width
        above = 1.0 + max(look.high - found.edges[-1], 0.0) / look.width
        noise = constants.end_evidence * sigma / max(rows, 1.0)
        beyond = look.beyond(released, constants.beside)
        # Values beyond the powers of two that are seen are more often small than large.
        reach = (
            min(look.low, 0.0) if beyond[0] else look.low,
            max(look.high, 0.0) if beyond[1] else look.high,
        )
        overlooked = (
            noise * math.sqrt(below) + beyond[0] / max(rows, 1.0),
            noise * math.sqrt(above) + beyond[1] / max(rows, 1.0),
        )
        return replace(found, overlooked=overlooked, reach=reach, noise=sigma / max(rows, 1.0))
    below = coarse.edges[:-1] < look.low - look.width / 2
    above = coarse.edges[1:] > look.high + look.width / 2
    inside = max(float(coarse.weights[~below & ~above].sum()), 1.0)
    found = _trim(
        np.concatenate([coarse.edges[:-1][below], edges, coarse.edges[1:][above]]),
        np.concatenate([coarse.weights[below], on_simplex(counts, inside), coarse.weights[above]]),
    )
    reach = (
        coarse.reach[0] if coarse.weights[below].any() else look.low,
        coarse.reach[1] if coarse.weights[above].any() else look.high,
    )
    return replace(found, overlooked=coarse.overlooked, reach=reach, noise=coarse.noise)


def _with_tails(counts: Floats, rows: float, sigma: float) -> Floats:
    """Return non-negative counts with the sum `rows`, in which thin tails keep their rows.

    The nearest non-negative counts are zero where there are fewer rows than noise in each bin, even
    if all bins of a tail together have many more. A tail is what is beyond the 5 % or the 95 %
    quantile and their bins.
    """
    weights = on_simplex(counts, rows)
    shares = weights.cumsum() / weights.sum()
    low, high = int(np.searchsorted(shares, 0.05)), int(np.searchsorted(shares, 0.95))
    for tail in (slice(0, low), slice(high + 1, len(counts))):
        total, noise = float(counts[tail].sum()), sigma * math.sqrt(len(counts[tail]))
        if total > _TAIL_EVIDENCE * noise and weights[tail].sum() < total / 2.0:
            weights[tail] = on_simplex(counts[tail], total)
    result: Floats = weights
    return result


def _seen(counts: Floats, constants: RangeConstants) -> tuple[int, int]:
    """Return the first and the last bin that are above the noise, given counts in units of it.

    Counts are added up from either end until their sum is above what noise alone rarely reaches,
    which grows with the root of the number of bins. Otherwise a few bins of noise far out would end
    the range. A bin that is clearly above the noise is seen alone: far from the end, the sum of
    the bins before it may hide it.
    """
    least = constants.end_evidence * np.sqrt(np.arange(1, counts.size + 1))
    alone = counts > constants.alone_evidence
    from_low = ((counts.cumsum() > least) | alone).nonzero()[0]
    from_high = ((counts[::-1].cumsum() > least) | alone[::-1]).nonzero()[0]
    if not from_low.size or not from_high.size:
        return 0, counts.size - 1
    first, last = int(from_low[0]), counts.size - 1 - int(from_high[0])
    return (first, last) if first <= last else (last, first)


def _trim(edges: Floats, weights: Floats) -> Marginal:
    filled = weights.nonzero()[0]
    first, last = int(filled[0]), int(filled[-1])
    return Marginal(edges[first : last + 2], weights[first : last + 1])
