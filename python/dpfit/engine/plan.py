"""What a fit will do, given the budget, the columns and the released number of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from dpfit.engine.constants import PlanConstants, Shares

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """What a fit will do. It depends on public and released numbers only.

    Parameters
    ----------
    mu : float
        The budget, divided by the number of rows per unit.
    rows : float
        The released number of rows.
    columns : int
        Columns, counting each level as one.
    open_columns : int
        Columns without bounds.
    constants : PlanConstants
        Constants of the decisions.
    """

    mu: float
    rows: float
    columns: int
    open_columns: int
    constants: PlanConstants = field(default_factory=PlanConstants)

    @property
    def signal(self) -> float:
        """The number of rows, divided by the noise of a count with the whole budget."""
        return self.rows * self.mu

    @property
    def column_signal(self) -> float:
        """The signal in the histograms of columns without bounds."""
        return self.signal / math.sqrt(max(self.open_columns, 1))

    @property
    def tenfolds(self) -> float:
        """The factors of ten in the signal above 3000."""
        return max(math.log10(max(self.signal, 1.0) / 3000.0), 0.0)

    @property
    def mean_only(self) -> bool:
        """Whether there is too little data for more than a mean."""
        least = self.constants.mean_only * math.sqrt(self.columns)
        return self.signal < max(least, self.constants.least_signal)

    @property
    def few_features(self) -> bool:
        """Whether columns have the fewest features, because there are many."""
        return self.columns > self.constants.few_features

    @property
    def shares(self) -> Shares:
        """How the budget is spent. With little signal, the target's range needs more of it.

        A count of all rows should be 35 times its noise: then a range that contains a tenth of the
        rows is still seen.
        """
        if self.mean_only:
            return self.constants.mean_shares
        shares = self.constants.shares
        target = min(max((35.0 / self.signal) ** 2, shares.target_powers), 0.2)
        return replace(shares, target_powers=target, target_bins=target)

    @property
    def threshold(self) -> float:
        """Where later residuals are clipped, in their standard deviations.

        With normal errors, clipping at k moves the fit by about exp(-k^2/2) of a standard
        deviation, and the noise moves it by k / signal: the best k grows like the root of the
        logarithm of the signal.
        """
        return math.sqrt(2.0 * math.log(min(max(self.signal / 15.0, 22.0), 1e5)))

    @property
    def target_share(self) -> float:
        """The share of targets beyond each end of the range that they are scaled to.

        With ample signal nearly all are inside, because tails may contain what is to be explained.
        """
        wide = self.signal >= self.constants.wide_target_from
        return self.constants.wide_outside if wide else self.constants.outside

    def hides(self, variance: float, room: float) -> bool:
        """Return whether the noise of X'X would hide a column of this variance.

        Rounds do not converge in directions that X'X does not show.

        Parameters
        ----------
        variance : float
            The variance of the column, with bounds -1 and 1. A uniform column has one third, and
            all other columns are assumed to be uniform.
        room : float
            The bound on a row's norm, as a multiple of the norm's root mean square.
        """
        constants = self.constants
        gain = 3.0 * (1.0 - constants.constant_share) / (self.columns * room**2)
        noise = math.sqrt(2.0 * (self.columns + 1) / constants.shares.gram)
        return self.signal * gain * variance < constants.visible * noise
