"""A budget spent step by step, where later steps may depend on earlier releases."""

from __future__ import annotations

from fractions import Fraction

from dpfit.accounting._checks import check_positive
from dpfit.accounting._rounding import root_of_ratio_down
from dpfit.exceptions import BudgetExceeded

__all__ = ["Purse"]


class Purse:
    """What is left of a budget of Gaussian DP.

    Parameters
    ----------
    mu : float
        The whole budget.

    Privacy
    -------
    All that is taken composes to at most mu, in exact arithmetic. How much is taken may depend on
    earlier releases: Gaussian DP composes fully adaptively as long as the squares never add up to
    more than mu squared (Smith and Thakurta 2022, "Fully adaptive composition for Gaussian
    differential privacy"; Koskela, Tobaben and Honkela 2023, "Individual privacy accounting with
    Gaussian differential privacy").

    Examples
    --------
    >>> purse = Purse(1.0)
    >>> purse.take(0.36)
    0.6
    >>> round(purse.rest(), 12)
    0.8
    """

    def __init__(self, mu: float) -> None:
        self._whole = Fraction(check_positive("mu", mu)) ** 2
        self._left = self._whole

    def take(self, share: float) -> float:
        """Take a share of the whole budget's square; return its mu, rounded down."""
        return self._spend(self._whole * Fraction(share))

    def rest(self, share: float = 1.0) -> float:
        """Take a share of what is left; return its mu, rounded down."""
        return self._spend(self._left * Fraction(share))

    def _spend(self, square: Fraction) -> float:
        if square > self._left:
            raise BudgetExceeded("more is asked of the budget than is left")
        mu = root_of_ratio_down(square.numerator, square.denominator, 0)
        self._left -= Fraction(mu) ** 2
        return mu
