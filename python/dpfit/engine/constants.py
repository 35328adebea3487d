"""Constants of budget shares and ranges, with the reason for each.

A fit takes them from one :class:`Constants`, so that other values can be tried without patching.
Constants of the other steps are in their modules. ``benches/python/constants.py`` prints the errors
with other values.

"Signal" is the number of rows times mu: the number of rows divided by the noise of a count that is
released with the whole budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["BinNumbers", "Constants", "RangeConstants", "Shares"]


@dataclass(frozen=True)
class Shares:
    """Shares of the budget's square, by what they are spent on.

    The ranges of features need most if there are many, because the noise grows with the root of
    their number. With 0.02 for the target, a value that one row in twenty has is eight times the
    noise at nμ = 1,100, such as 5,000 rows at epsilon 1: ones among zeros are not lost. Whatever is
    not spent is left for the rounds.
    """

    rows: float = 0.01
    # For each of the first histograms: powers of two, and equal bins.
    feature_look: float = 0.055
    target_look: float = 0.02
    # For each histogram that zooms in.
    feature_zoom: float = 0.005
    target_zoom: float = 0.002


@dataclass(frozen=True)
class BinNumbers:
    """The number of equal bins of a histogram, relative to rows divided by the noise of a count.

    With too many bins, the quantiles would be noise.
    """

    most: int
    fewest: int = 8
    per_sigma: float = 0.5

    def number(self, rows: float, sigma: float) -> int:
        """Return the number of bins for counts with noise of this standard deviation."""
        return int(np.clip(self.per_sigma * rows / sigma, self.fewest, self.most))


@dataclass(frozen=True)
class RangeConstants:
    """Constants of :mod:`dpfit.engine.ranges.find`. Evidence is in standard deviations of noise."""

    # Powers of two from 1e-15 to 1e15; larger and smaller numbers count as these.
    least_power: int = -50
    most_power: int = 49
    # The penalty for each power in a run: with less, runs continue into the noise; with more,
    # sparse columns are lost.
    run_penalty: float = 1.5
    # The least sum of a run, after penalties: one column of noise in 20 has such a run among the
    # powers of one sign, of the other, or of both.
    run_evidence: float = 2.25
    # The same for a second look, so that noise has hardly more runs in two looks than in one.
    run_evidence_again: float = 3.0
    # A run with this sum is seen clearly. Powers at its ends must then have at least the second
    # number, which noise reaches once in 4,000: the ends do not depend on the noise.
    clear: float = 20.0
    beside: float = 3.5
    # The least count of zeros; and of rows that are not zero, if no power of two shows them.
    zero_evidence: float = 3.0
    others_evidence: float = 6.0
    # The least sum of the bins at an end. More would cut tails that exist.
    end_evidence: float = 1.5
    # The least count of a bin that is seen alone: of 64 bins of noise, one has as many in one
    # histogram of 4,600.
    alone_evidence: float = 4.5
    # A penalty for powers of two far from one, if nothing is seen.
    absurdity: float = 0.07
    bins: BinNumbers = BinNumbers(most=64)
    # Zoom in if 90 % of the weight is within this many bins.
    zoom_below: float = 4.0
    # Look a second time at a column with public bounds if 90 % of the weight fills less than this
    # share of them.
    wide_bounds: float = 0.3
    # No closer look if the rows are less than this many standard deviations of its noise, or if
    # half of them are not in those bins by this much evidence: it would zoom in on noise.
    zoom_signal: float = 10.0
    zoom_evidence: float = 3.0
    # The bins on either side are empty if their sum is less than this. Of noise alone, the nearest
    # non-negative counts keep about twice its standard deviation.
    clear_evidence: float = 3.0
    # Each zoom is at least fourfold, so that days are found among seconds since 1970. What is still
    # in a few bins then is one value. The column has other values only if this share of the rows,
    # and this much evidence, is elsewhere.
    zooms: int = 5
    elsewhere_share: float = 0.0005
    elsewhere_evidence: float = 6.0


@dataclass(frozen=True)
class Constants:
    """All constants of shares and ranges."""

    shares: Shares = field(default_factory=Shares)
    ranges: RangeConstants = field(default_factory=RangeConstants)
    # The count of rows is repeated if its noise is a larger share of it than this, with at most so
    # much of the budget: all averages are divided by it.
    count_error: float = 0.05
    most_for_count: float = 0.1
