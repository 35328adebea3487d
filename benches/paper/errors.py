"""Median errors over seeds, one for each table, method, setting and epsilon."""

from __future__ import annotations

import copy
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.stats import binomtest

from paper.design import Design
from paper.methods import METHODS
from paper.store import Result

__all__ = ["Comparison", "Errors", "Side", "gmean"]

# A method and its setting of hyperparameters.
Side = tuple[str, str]


def gmean(values: Sequence[float]) -> float:
    """Return the geometric mean; NaN if there are no values."""
    if not values:
        return math.nan
    return statistics.geometric_mean([max(value, 1e-300) for value in values])


@dataclass(frozen=True)
class Comparison:
    """Errors of two methods on the same tables.

    Parameters
    ----------
    tasks : tuple of int
        Tables with results of both methods.
    first, second : tuple of float
        Test error over the variance of the target.
    """

    tasks: tuple[int, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def wins(self) -> int:
        """Number of tables on which the first method has the smaller error."""
        return sum(a < b for a, b in zip(self.first, self.second, strict=True))

    @property
    def losses(self) -> int:
        """Number of tables on which the second method has the smaller error."""
        return sum(a > b for a, b in zip(self.first, self.second, strict=True))

    @property
    def share(self) -> float:
        """Share of tables on which the first method has the smaller error."""
        return self.wins / len(self.tasks) if self.tasks else math.nan

    @property
    def chance(self) -> float:
        """Two-sided p-value of a sign test; ties are dropped."""
        decided = self.wins + self.losses
        return float(binomtest(self.wins, decided).pvalue) if decided else 1.0

    @property
    def majority(self) -> bool:
        """Whether the first method wins on more tables than it loses."""
        return self.wins > self.losses

    def share_within(self, factor: float) -> float:
        """Return the share of tables on which the first is at most `factor` times the second."""
        if not self.tasks:
            return math.nan
        near = (a <= factor * b for a, b in zip(self.first, self.second, strict=True))
        return sum(near) / len(self.tasks)

    def share_alike(self, factor: float) -> float:
        """Return the share of tables on which neither is above `factor` times the other."""
        if not self.tasks:
            return math.nan
        pairs = zip(self.first, self.second, strict=True)
        return sum(a <= factor * b and b <= factor * a for a, b in pairs) / len(self.tasks)

    @property
    def ratio(self) -> float:
        """Geometric mean of the first error over the second; infinite errors are left out."""
        pairs = zip(self.first, self.second, strict=True)
        return gmean([a / b for a, b in pairs if math.isfinite(a) and math.isfinite(b)])


class Errors:
    """All errors of a run.

    Parameters
    ----------
    results : iterable of Result
        Final fits.
    design : Design
        Which of them to use.
    tasks : iterable of int
        Which tables to use.
    """

    def __init__(self, results: Iterable[Result], design: Design, tasks: Iterable[int]) -> None:
        self.design, self.tasks = design, tuple(tasks)
        wanted = set(self.tasks)
        fits: dict[tuple[int, str, str, float], list[float]] = defaultdict(list)
        for row in results:
            trials = design.trials_in(row.setting, METHODS[row.method])
            if row.task in wanted and row.trials == trials and row.seed < design.seeds:
                fits[row.task, row.method, row.setting, row.epsilon].append(row.relative)
        # A median needs the fits of all seeds.
        self.median = {
            key: statistics.median(found)
            for key, found in fits.items()
            if len(found) == design.seeds_of(METHODS[key[1]])
        }

    def only(self, tasks: Iterable[int]) -> Errors:
        """Return the errors on some of the tables."""
        part = copy.copy(self)
        part.tasks = tuple(tasks)
        return part

    def of(self, task: int, side: Side, epsilon: float) -> float | None:
        """Return one error; None if it was not measured."""
        method, setting = side
        if METHODS[method].role == "reference":
            epsilon = math.inf
        if not METHODS[method].space and setting == "tuned":
            # The method has nothing to tune.
            setting = "fixed"
        return self.median.get((task, method, setting, epsilon))

    def column(self, side: Side, epsilon: float) -> dict[int, float]:
        """Return the errors of a method by table."""
        found = {task: self.of(task, side, epsilon) for task in self.tasks}
        return {task: error for task, error in found.items() if error is not None}

    def compare(self, first: Side, second: Side, epsilon: float) -> Comparison:
        """Compare two methods on the tables with results of both."""
        return self.against_best(first, (second,), epsilon)

    def against_best(self, first: Side, others: Sequence[Side], epsilon: float) -> Comparison:
        """Compare a method with the best of others, chosen on each table by its test error."""
        mine = self.column(first, epsilon)
        theirs = [self.column(side, epsilon) for side in others]
        tasks = [task for task in mine if all(task in column for column in theirs)]
        best = tuple(min(column[task] for column in theirs) for task in tasks)
        return Comparison(tuple(tasks), tuple(mine[task] for task in tasks), best)
