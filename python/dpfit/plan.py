"""Every constant of the estimators that need no tuning, and what each follows from.

Nothing here sees data: a plan is made of the budget, the columns and the released number of rows.
The constants were chosen on the tables with an odd task number, at epsilon 0.1, 1 and 10
(``docs/no_tuning.md``); ``benches/python/constants.py`` prints what others would give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

__all__ = ["SHARES", "Plan", "Shares"]


@dataclass(frozen=True)
class Shares:
    """Shares of the budget's square, by what they are spent on.

    The ranges of features need most when there are many of them, because their noise grows with
    the root of their number. What a part does not need is left for the rounds.
    """

    rows: float = 0.01
    feature_powers: float = 0.055
    # Whether columns fill their public bounds.
    feature_bounds: float = 0.02
    target_bounds: float = 0.005
    target_powers: float = 0.01
    feature_bins: float = 0.055
    target_bins: float = 0.01
    # For each look closer into a few bins.
    feature_zoom: float = 0.005
    target_zoom: float = 0.001
    # The residuals' size, once to set the threshold and once for the intervals.
    residuals: float = 0.01
    # Of what is left: X'X. It only steers the steps; their noise is what stays in the model.
    gram: float = 0.25


SHARES = Shares()
# Signal is the number of rows in units of the noise of a count. With less than this for the root
# of the number of columns, slopes were noise on tables with an odd number (their error was above
# that of the mean), and everything goes to the mean: where it lies, how far the target spreads,
# how many rows there are, and the sum.
_MEAN_ONLY = 27.0
_LEAST_SIGNAL = 60.0
MEAN_SHARES = Shares(rows=0.12, target_powers=0.3, target_bins=0.15, target_zoom=0.02)
# Where lines may end, (share of the column, ratio of distances), and the signal for every root of
# an open column from which there are two such places on each side instead of one. The ratios are
# above those of a normal column (1.82; 1.41 and 1.95), which so stays whole.
_FEW_CUTS = ((0.1, 1.85),)
_CUTS = ((0.05, 1.7), (0.2, 2.4))
_CUTS_FROM = 500.0
# Knots of curves, below a signal for every root of an open column; more knots, more noise.
_KNOTS = ((200.0, 2), (450.0, 3), (1200.0, 5), (5000.0, 7))
_MOST_KNOTS = 11
# Bins between two knots, at least, while the signal is below this: closer ones are guesses, and
# what is between them is noise if the column has whole numbers only. Both were chosen with a look
# at even tables, too (diamonds, SGEMM).
_APART, _APART_BELOW = 0.5, 20_000.0
# What X'X shows of a column with bounds should be this many times its noise.
_PLAIN = 4.0
# With more columns a model has the fewest features: the core has room for 8192.
_FEW_FEATURES = 600
# From this signal on, 98 % of the targets are in the range that they are scaled to, instead of 90.
_WIDE_TARGET_FROM = 5000.0
# The bound on norms, in root mean squares. Less room, less noise, more rows that count less. For
# linear models with few columns the norm varies more; without more room for them, intervals of
# three columns held in 51 to 88 % of cases instead of 95.
_ROOM = 1.2
_ADDITIVE_ROOM = 1.1
_ROOM_PER_COLUMN = 1.5
_WIDE_ROOM_FROM = 1000.0
# For every tenfold signal above 3000, where noise matters less than weights do: with 0.35 for the
# linear model, intervals without sampling held in 92 % of cases at n = 5000 and epsilon = 10.
_ROOM_GROWTH = 0.9
_ADDITIVE_ROOM_GROWTH = 0.35


@dataclass(frozen=True)
class Plan:
    """What a fit does, from mu, the released number of rows and the number of columns.

    Parameters
    ----------
    mu : float
        The whole budget.
    rows : float
        The number of rows, as released.
    columns : int
        Columns.
    open_columns : int
        Columns whose range has to be found.
    """

    mu: float
    rows: float
    columns: int
    open_columns: int

    @property
    def signal(self) -> float:
        """Rows in units of the noise of one count with the whole budget."""
        return self.rows * self.mu

    @property
    def mean_only(self) -> bool:
        """Whether there is too little data for anything but the mean."""
        return self.signal < max(_MEAN_ONLY * math.sqrt(self.columns), _LEAST_SIGNAL)

    @property
    def shares(self) -> Shares:
        """Shares of the budget. With little signal the target's range needs more of it.

        A count of all rows should be 35 times its noise: then a range that holds a tenth of them
        is still seen.
        """
        if self.mean_only:
            return MEAN_SHARES
        target = min(max((35.0 / self.signal) ** 2, SHARES.target_powers), 0.2)
        return replace(SHARES, target_powers=target, target_bins=target)

    # Rounds before the residuals are measured and the ranges are decided, all rounds, and how many
    # of the last ones are averaged.
    warm_up: int = 4
    rounds: int = 14
    averaged: int = 9
    # The constant's share of the squared norm.
    intercept: float = 0.15

    @property
    def threshold(self) -> float:
        """Where later residuals are clipped, in standard deviations of them.

        With normal errors, clipping at k moves the fit by about exp(-k^2/2) of a standard
        deviation, the noise by k / signal: the best k grows like the root of the signal's
        logarithm.
        """
        return math.sqrt(2.0 * math.log(min(max(self.signal / 15.0, 22.0), 1e5)))

    @property
    def target_share(self) -> float:
        """The share of targets beyond each end of the range that they are scaled to.

        With ample signal nearly all are inside, because tails may carry what is to be explained.
        """
        return 0.05 if self.signal < _WIDE_TARGET_FROM else 0.01

    def room(self, *, additive: bool) -> float:
        """Return the bound on a row's norm, as a multiple of the norm's root mean square.

        Rows beyond it count less, which least squares would not do. With much signal less noise is
        needed, and fewer rows are weighted. In a linear model, whose intervals are for least
        squares, the bound is wider the fewer columns there are, because their norm varies more.
        """
        tenfold = max(math.log10(max(self.signal, 1.0) / 3000.0), 0.0)
        if additive:
            return _ADDITIVE_ROOM + _ADDITIVE_ROOM_GROWTH * tenfold
        if self.signal < _WIDE_ROOM_FROM:
            return _ROOM
        return _ROOM + _ROOM_PER_COLUMN / self.columns + _ROOM_GROWTH * tenfold

    def hides(self, variance: float, *, additive: bool) -> bool:
        """Return whether the noise of X'X would hide a column of this variance.

        Rounds do not converge on what X'X does not show. The variance is that within bounds of -1
        and 1, where one that fills them evenly has a third; all columns are taken to be such.
        """
        gain = 3.0 * (1.0 - self.intercept) / (self.columns * self.room(additive=additive) ** 2)
        noise = math.sqrt(2.0 * (self.columns + 1) / SHARES.gram)
        return self.signal * gain * variance < _PLAIN * noise

    @property
    def column_signal(self) -> float:
        """The signal in the histograms of all open columns."""
        return self.signal / math.sqrt(max(self.open_columns, 1))

    @property
    def cuts(self) -> tuple[tuple[float, float], ...]:
        """Where the lines of a linear model may end; see :func:`dpfit.basis.linear_ramps`.

        More places to choose from fit more tables and need more signal.
        """
        if self.columns > _FEW_FEATURES:
            return ()
        return _FEW_CUTS if self.column_signal < _CUTS_FROM else _CUTS

    @property
    def knots(self) -> int:
        """Knots of each curve of an additive model."""
        if self.columns > _FEW_FEATURES:
            return 1
        return next((knots for below, knots in _KNOTS if self.column_signal < below), _MOST_KNOTS)

    @property
    def knots_apart(self) -> float:
        """How far knots are apart, at least, in bins of the histogram that they come from."""
        return _APART if self.column_signal < _APART_BELOW else 1e-9

    @property
    def straightening(self) -> float:
        """How much more what is not straight in a curve is held back than what is.

        In units of the spectral norm of the noise in X'X. With little signal, curves are first of
        all lines.
        """
        return 1.0 if self.knots <= 3 else 0.0
