"""A budget that is spent step by step. Later steps may depend on earlier releases."""

from __future__ import annotations

from typing import TypeAlias

from dpfit._rounding import root_of_ratio_down
from dpfit.accounting._checks import check_positive
from dpfit.exceptions import BudgetExceeded

__all__ = ["BudgetTracker"]

# Doubles, and so their products and differences, are integers divided by powers of two: the integer
# and the power. Fractions do the same, and look for common divisors on the way.
_Exact: TypeAlias = tuple[int, int]


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
        self._whole = _square(check_positive("mu", mu))
        self._left = self._whole

    @property
    def left(self) -> float:
        """The mu of what is left, rounded down."""
        return _root_down(self._left)

    def mu_of(self, share: float) -> float:
        """Return the mu of a share of the whole mu squared, rounded down, without spending it."""
        return _root_down(_share(share, self._whole))

    def spend(self, share: float) -> float:
        """Spend a share of the whole mu squared; return the mu of the share, rounded down."""
        return self._subtract(_share(share, self._whole))

    def spend_rest(self, share: float = 1.0) -> float:
        """Spend a share of the remaining mu squared; return its mu, rounded down."""
        return self._subtract(_share(share, self._left))

    def _subtract(self, square: _Exact) -> float:
        if _less(self._left, square)[0] < 0:
            raise BudgetExceeded("the requested share exceeds the remaining budget")
        mu = _root_down(square)
        self._left = _less(self._left, _square(mu))
        return mu


def _square(mu: float) -> _Exact:
    number, divisor = mu.as_integer_ratio()
    return number**2, 2 * (divisor.bit_length() - 1)


def _share(share: float, square: _Exact) -> _Exact:
    number, divisor = share.as_integer_ratio()
    return number * square[0], square[1] + divisor.bit_length() - 1


def _less(one: _Exact, other: _Exact) -> _Exact:
    """Return the difference of two numbers."""
    bits = max(one[1], other[1])
    return (one[0] << bits - one[1]) - (other[0] << bits - other[1]), bits


def _root_down(square: _Exact) -> float:
    return root_of_ratio_down(square[0], 1 << square[1], 0)
