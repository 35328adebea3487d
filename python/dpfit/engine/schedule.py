"""How a stage spends its budget."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FIRST", "FULL", "LAST", "Schedule"]


@dataclass(frozen=True)
class Schedule:
    """How a stage spends its budget: shares of its square, and rounds.

    Parameters
    ----------
    gram, second_gram : float
        For X'X of functions, and of coordinates; the latter may be zero.
    counts : float
        For counts of scores, from which the threshold follows.
    products : float
        For the products of scores, from which the covariance follows; may be zero.
    early : float
        For all rounds before those that are averaged. Their noise is nearly gone after the next
        round, so they get little.
    wide, settling, averaged : int
        Rounds before the threshold is set, before they are averaged, and last ones, which are
        averaged and share what is left.
    """

    gram: float
    second_gram: float
    counts: float
    products: float
    early: float
    wide: int
    settling: int
    averaged: int

    @property
    def rounds(self) -> int:
        """All rounds."""
        return self.wide + self.settling + self.averaged

    @property
    def left(self) -> float:
        """The share for the rounds that are averaged."""
        return 1.0 - self.gram - self.second_gram - self.counts - self.products - self.early


FIRST = Schedule(0.3, 0.0, 0.1, 0.0, 0.2, wide=1, settling=1, averaged=2)
FULL = Schedule(0.12, 0.15, 0.06, 0.06, 0.14, wide=2, settling=2, averaged=5)
# After a first model.
LAST = Schedule(0.0, 0.15, 0.06, 0.06, 0.08, wide=1, settling=1, averaged=5)
