"""All constants of a fit, with the reason for each.

A fit takes them from one :class:`Constants`, so that other values can be tried without patching.
Those of linear and additive models are fields of
:class:`~dpfit.engine.features.linear.LinearFeatures` and
:class:`~dpfit.engine.features.additive.AdditiveFeatures`.

They were chosen on the tables with an odd task number, at epsilon 0.1, 1 and 10
(``benches/python/NOTES.md``); ``benches/python/constants.py`` prints the errors with other values.

"Signal" is the number of rows times mu: the number of rows divided by the noise of a count that is
released with the whole budget. "Column signal" is the signal divided by the root of the number of
columns without bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = [
    "BinNumbers",
    "BoundsConstants",
    "Constants",
    "LevelConstants",
    "PlanConstants",
    "RangeConstants",
    "ResidualConstants",
    "RoundConstants",
    "Shares",
]


@dataclass(frozen=True)
class Shares:
    """Shares of the budget's square, by what they are spent on.

    The ranges of features need most if there are many, because the noise grows with the root of
    their number. Whatever is not spent is left for the rounds.
    """

    rows: float = 0.01
    feature_powers: float = 0.055
    # Histograms between public bounds.
    feature_bounds: float = 0.02
    target_bounds: float = 0.005
    target_powers: float = 0.01
    feature_bins: float = 0.055
    target_bins: float = 0.01
    # For each histogram that zooms in.
    feature_zoom: float = 0.005
    target_zoom: float = 0.001
    # The size of residuals, once for the threshold and once for the intervals.
    residuals: float = 0.01
    # X'X, as a share of what is left. It only steers the steps; the noise of the steps remains in
    # the model.
    gram: float = 0.25


@dataclass(frozen=True)
class PlanConstants:
    """Constants of a :class:`~dpfit.engine.plan.Plan`."""

    shares: Shares = Shares()
    # Of a mean-only model: the range of the target, the number of rows, and the sum.
    mean_shares: Shares = Shares(rows=0.12, target_powers=0.3, target_bins=0.15, target_zoom=0.02)
    # A model is mean-only if the signal is below this times the root of the number of columns: on
    # tables with an odd number, models with slopes then had a larger error than the mean.
    mean_only: float = 27.0
    least_signal: float = 60.0
    # Rounds before the residuals are measured and the ranges are chosen, all rounds, and rounds
    # that are averaged.
    warm_up: int = 4
    rounds: int = 14
    averaged: int = 9
    # The constant's share of the squared norm; in a mean-only model there is nothing else.
    constant_share: float = 0.15
    mean_constant_share: float = 0.999
    # The squared norm grows with the number of binary columns, but by less than one for each: flags
    # are rarely set, and of flags that encode the levels of one column only one is.
    binary_norm: float = 0.5
    # A column with bounds is visible in X'X if its entry is this many times the noise.
    visible: float = 4.0
    # With more columns, each has the fewest features: the core's number of features is limited.
    few_features: int = 600
    # The share of targets beyond each end of the range that they are scaled to, below a signal and
    # from it on.
    outside: float = 0.05
    wide_outside: float = 0.01
    wide_target_from: float = 5000.0


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
    # The least sum of a run, after penalties: one column of noise in 50 has such a run among its
    # 100 powers (simulated 200,000 times).
    run_evidence: float = 2.25
    # A run with this sum is seen clearly. Powers at its ends must then have at least the second
    # number, which noise reaches once in 4,000: the ends do not depend on the noise.
    clear: float = 20.0
    beside: float = 3.5
    # The least counts of negative or positive numbers, and of zeros.
    sign_evidence: float = 2.0
    zero_evidence: float = 3.0
    # The least sum of the bins at an end. More would cut tails that exist.
    end_evidence: float = 1.5
    # A penalty for powers of two far from one, if nothing is seen.
    absurdity: float = 0.07
    bins: BinNumbers = BinNumbers(most=64)
    # Zoom in if 90 % of the weight is within this many bins.
    zoom_below: float = 4.0
    # Each zoom is at least fourfold, so that days are found among seconds since 1970. What is still
    # in a few bins then is one value. The column has other values only if this share of the rows,
    # and this much evidence, is elsewhere.
    zooms: int = 5
    elsewhere_share: float = 0.005
    elsewhere_evidence: float = 6.0


@dataclass(frozen=True)
class BoundsConstants:
    """Constants of :mod:`dpfit.engine.ranges.tighten`."""

    # Bounds are far too wide if 98 % of a column fills less than this share of them.
    filled: float = 0.2
    # The margin of new bounds, in widths of the 98 %, so that they contain nearly all of a tail.
    margin: float = 1.0
    # A histogram is only released if the number of rows is this many times the noise in a bin, and
    # only believed if the bins that stand out contain this share of the rows. The first number
    # keeps a bin of noise from being taken for the column. The second one keeps a column with one
    # frequent value, and others spread thinly, from being cut to that value.
    least_signal: float = 10.0
    least_share: float = 0.95
    # The least count of a bin that stands out, in standard deviations: noise alone reaches it once
    # in 300,000 bins.
    present: float = 4.5
    bins: BinNumbers = BinNumbers(most=32)
    # A column in fewer bins gets another histogram between its new bounds, at most this often.
    seen_well: float = 4.0
    looks: int = 5
    # Bounds whose relative distance is smaller are not changed: the bins would hardly differ.
    finest: float = 2.0**-40


@dataclass(frozen=True)
class LevelConstants:
    """Which levels have effects, by their sums in X'X in standard deviations of the noise."""

    # A level has an effect from here on; the effect of a rarer one would be noise. With 2 or 4
    # instead of 1 the errors of tables grow.
    seen: float = 1.0
    # Below this, a level may have no rows. It is not among those whose effects add up to zero: the
    # noise in its effect would move all others.
    sure: float = 4.0
    # A column has rows without a listed level from here on: by chance in one column of 30,000.
    unlisted: float = 4.0


@dataclass(frozen=True)
class ResidualConstants:
    """Thresholds of residuals, in half-widths of the target's range."""

    most_tau: float = 4.0
    least_tau: float = 0.02
    # With less signal, the threshold is at most one.
    wide_tau_from: float = 3000.0
    # The smallest plausible residuals, relative to the threshold.
    least_residual: float = 0.05


@dataclass(frozen=True)
class RoundConstants:
    """Constants of :mod:`dpfit.engine.rounds`, relative to the spectral norm of noise in X'X."""

    # The smallest eigenvalue that is inverted.
    floor: float = 0.3
    # The eigenvalue that is assumed where noise hides it.
    unseen: float = 0.3
    # The smallest eigenvalue that is assumed for the bias of rounds that do not converge.
    least: float = 0.05
    # The last rounds only move the constant if less than this share of the predictions is signal.
    constant_below: float = 0.9
    constant_rounds: int = 3
    # Coefficients are cut to this size: features and targets are of size one.
    largest: float = 1e6


@dataclass(frozen=True)
class Constants:
    """All constants of a fit, except those of its strategy."""

    plan: PlanConstants = field(default_factory=PlanConstants)
    ranges: RangeConstants = field(default_factory=RangeConstants)
    bounds: BoundsConstants = field(default_factory=BoundsConstants)
    levels: LevelConstants = field(default_factory=LevelConstants)
    residuals: ResidualConstants = field(default_factory=ResidualConstants)
    rounds: RoundConstants = field(default_factory=RoundConstants)
