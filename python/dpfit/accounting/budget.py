"""A budget that is spent step by step. Later steps may depend on earlier releases."""

from __future__ import annotations

from fractions import Fraction

from dpfit._rounding import root_of_ratio_down
from dpfit.accounting._checks import check_positive
from dpfit.exceptions import BudgetExceeded

__all__ = ["BudgetTracker"]


class BudgetTracker:
    """Track what remains of a Gaussian DP budget.

    Parameters
    ----------
    mu : float
        The whole budget.

    Privacy
    -------
    In exact arithmetic, all shares together compose to at most mu. How much is spent may depend on
    earlier releases: Gaussian DP composes fully adaptively as long as the squares never sum to more
    than mu squared (Smith and Thakurta 2022, "Fully adaptive composition for Gaussian
    differential privacy"; Koskela, Tobaben and Honkela 2023, "Individual privacy accounting with
    Gaussian differential privacy").

    Examples
    --------
    >>> budget = BudgetTracker(1.0)
    >>> budget.spend(0.36)
    0.6
    >>> round(budget.spend_rest(), 12)
    0.8
    """

    def __init__(self, mu: float) -> None:
        self._whole = Fraction(check_positive("mu", mu)) ** 2
        self._left = self._whole

    @property
    def left(self) -> float:
        """The mu of what is left, rounded down."""
        return root_of_ratio_down(self._left.numerator, self._left.denominator, 0)

    def mu_of(self, share: float) -> float:
        """Return the mu of a share of the whole mu squared, rounded down, without spending it."""
        square = self._whole * Fraction(share)
        return root_of_ratio_down(square.numerator, square.denominator, 0)

    def spend(self, share: float) -> float:
        """Spend a share of the whole mu squared; return the mu of the share, rounded down."""
        return self._subtract(self._whole * Fraction(share))

    def spend_rest(self, share: float = 1.0) -> float:
        """Spend a share of the remaining mu squared; return its mu, rounded down."""
        return self._subtract(self._left * Fraction(share))

    def _subtract(self, square: Fraction) -> float:
        if square > self._left:
            raise BudgetExceeded("the requested share exceeds the remaining budget")
        mu = root_of_ratio_down(square.numerator, square.denominator, 0)
        self._left -= Fraction(mu) ** 2
        return mu
