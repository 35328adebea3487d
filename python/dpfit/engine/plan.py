"""What a fit will spend, given the released number of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from dpfit.engine.constants import Constants, Shares
from dpfit.engine.schedule import Schedule

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
    constants : Constants
        Constants of the decisions.
    """

    mu: float
    rows: float
    constants: Constants = field(default_factory=Constants)

    @property
    def signal(self) -> float:
        """The number of rows, divided by the noise of a count with the whole budget."""
        return self.rows * self.mu

    def signal_of_rounds(self, left: float, schedule: Schedule) -> float:
        """Return the most signal that rounds can have, given the share of the budget that is left.

        Two looks at the target and two at columns come first.
        """
        looks = 2.0 * (self.shares.target_look + self.shares.feature_look)
        return self.signal * math.sqrt(max(left - looks, 0.0) * schedule.left)

    @property
    def shares(self) -> Shares:
        """How the budget is spent. With little signal, the target's range needs more of it.

        A count of all rows should be 35 times its noise: then a range that contains a tenth of the
        rows is still seen. No more than 0.15 is spent on one look, so that three looks at the
        target and all others at features leave a quarter of the budget.
        """
        shares = self.constants.shares
        target = min(max((35.0 / self.signal) ** 2, shares.target_look), 0.15)
        return replace(shares, target_look=target)
