"""Histograms of columns: their budget, their noise and their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpfit._typing import Floats
from dpfit.accounting import BudgetTracker
from dpfit.release import Released, Releaser
from dpfit.statistics import Bins, EqualBins, Histograms, Table

__all__ = ["ColumnCounter"]

# Counts are integers. Smaller noise is zero in most bins and one in a few. That is many times its
# standard deviation, so that these bins would seem to have rows.
_LEAST_NOISE = 0.5


@dataclass(frozen=True)
class ColumnCounter:
    """Releases histograms of columns, the target last.

    Pairs have a number for all features together and one for the target, which has its own noise.
    A number is not used if there is nothing to count.

    Parameters
    ----------
    table : Table
        The rows.
    releaser : Releaser
        Adds noise.
    budget : BudgetTracker
        The budget to spend from.
    rows : float
        The released number of rows.
    """

    table: Table
    releaser: Releaser
    budget: BudgetTracker
    rows: float

    def spend(self, counted: Sequence[bool], shares: tuple[float, float]) -> tuple[float, float]:
        """Spend shares of the budget on the histograms that are made; return their mu.

        Privacy
        -------
        What is spent here has to be what :meth:`release` gets.
        """
        return (
            self.budget.spend(shares[0]) if any(counted[:-1]) else 0.0,
            self.budget.spend(shares[1]) if counted[-1] else 0.0,
        )

    def sigmas(self, counted: Sequence[bool], mus: tuple[float, float]) -> list[float]:
        """Return the standard deviation of the noise in the counts of each column."""
        # It does not depend on the bins.
        bins = tuple(EqualBins(0.0, 1.0, 1) if is_counted else None for is_counted in counted)
        found = self.releaser.sigmas(Histograms(bins), *_paid(counted, mus))
        return _of_columns(len(counted), found)

    def release(
        self, bins: Sequence[Bins | None], mus: tuple[float, float]
    ) -> list[Released[Floats] | None]:
        """Release the counts of columns that have bins.

        Privacy
        -------
        The histograms of all features together are mus[0]-GDP, that of the target is mus[1]-GDP.
        """
        paid = _paid([part is not None for part in bins], mus)
        counts = Histograms(tuple(bins), with_missing=self.table.has_indicators)
        found = self.releaser.release(self.table, counts, *paid)
        sigmas = _of_columns(len(bins), found.sigmas)
        return [
            None if counts is None else Released(counts, (max(sigma, _LEAST_NOISE),))
            for counts, sigma in zip(found.value, sigmas, strict=True)
        ]

    def present(self, released: Released[Floats]) -> tuple[Released[Floats], float]:
        """Return the counts of the values of a feature, and the number of rows that have one."""
        if not self.table.has_indicators:
            return released, self.rows
        missing = max(float(released.value[-1]), 0.0)
        return Released(released.value[:-1], released.sigmas), max(self.rows - missing, 1.0)


def _paid(counted: Sequence[bool], mus: tuple[float, float]) -> list[float]:
    """Return the mu of every histogram that is made."""
    made = (any(counted[:-1]), counted[-1])
    return [mu for mu, is_made in zip(mus, made, strict=True) if is_made]


def _of_columns(columns: int, sigmas: Sequence[float]) -> list[float]:
    """Return the numbers for features and target as one number for each column."""
    return [sigmas[0]] * (columns - 1) + [sigmas[-1]]
