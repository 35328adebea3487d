"""The design of a run: work items, each with a key that determines its seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from paper.catalogue import Entry
from paper.methods import METHODS, Choice, Method, Range

__all__ = ["Design", "Setting", "WorkItem", "work_items"]

# Tables that are reported separately count as this many times slower.
_EXTRA = 4.0

Setting = Literal["fixed", "tuned", "constant", "scaled"]


@dataclass(frozen=True)
class Design:
    """The design of a run.

    Parameters
    ----------
    epsilons : tuple of float
        Privacy budgets.
    delta : float
        The delta of each budget.
    trials : int
        Optuna trials for each table, method and budget; fast methods get a multiple.
    seeds : int
        Number of final fits for each table, method and budget.
    tuning_rows : int
        Maximum number of rows for tuning slow methods.
    most_rows : int or None
        Maximum number of rows of a table.
    ebm_rounds : int
        Upper end of the tuning range for DP-EBM's rounds, 4000 in the paper. It determines the
        time of a run.
    methods : tuple of str
        The methods to compare.
    """

    epsilons: tuple[float, ...] = (0.1, 1.0, 10.0)
    delta: float = 1e-6
    trials: int = 20
    seeds: int = 3
    tuning_rows: int = 50_000
    most_rows: int | None = None
    ebm_rounds: int = 4000
    methods: tuple[str, ...] = tuple(METHODS)

    def trials_of(self, method: Method) -> int:
        """Return the number of trials of a method."""
        return self.trials * method.trials

    def trials_in(self, setting: str, method: Method) -> int:
        """Return the number of trials behind a method's results in a setting."""
        return self.trials_of(method) if setting == "tuned" else 0

    def seeds_of(self, method: Method) -> int:
        """Return the number of final fits of a method: one if it has no noise."""
        return 1 if method.role == "reference" else self.seeds

    def space_of(self, method: Method) -> dict[str, Range | Choice]:
        """Return the tuning ranges of a method."""
        space = dict(method.space)
        rounds = space.get("max_rounds")
        if isinstance(rounds, Range):
            space["max_rounds"] = replace(rounds, high=min(rounds.high, self.ebm_rounds))
        return space

    def must_agree(self) -> dict[str, str]:
        """Return the settings that all results in one store share."""
        return {
            "delta": repr(self.delta),
            "tuning_rows": repr(self.tuning_rows),
            "most_rows": repr(self.most_rows),
            "ebm_rounds": repr(self.ebm_rounds),
        }


@dataclass(frozen=True)
class WorkItem:
    """One table, method, epsilon and setting of hyperparameters.

    Parameters
    ----------
    entry : Entry
        The table.
    method : str
        Key of the method.
    epsilon : float
        Privacy budget; infinite without privacy.
    setting : {"fixed", "tuned", "constant", "scaled"}
        How hyperparameters are set.
    """

    entry: Entry
    method: str
    epsilon: float
    setting: Setting

    def cost(self, design: Design) -> float:
        """Return the approximate time in seconds, for the order of work and the time left."""
        method, n, d = METHODS[self.method], self.entry.n, self.entry.d
        n = min(n, design.most_rows or n)
        seconds = design.seeds * method.cost(n, d)
        if self.setting == "tuned":
            rows = min(n, design.tuning_rows) if method.slow else n
            seconds = 2.0 * (seconds + design.trials_of(method) * method.cost(rows, d))
        return seconds


def work_items(entries: Iterable[Entry], design: Design) -> list[WorkItem]:
    """Return all work items, fast ones first, so that an interrupted run is useful."""
    found = []
    for entry in entries:
        for name in design.methods:
            method = METHODS[name]
            settings: list[Setting] = ["fixed"]
            if method.space and design.trials > 0:
                settings.append("tuned")
            settings += method.studies
            epsilons = (math.inf,) if method.role == "reference" else design.epsilons
            found += [WorkItem(entry, name, e, setting) for e in epsilons for setting in settings]

    def order(item: WorkItem) -> tuple[float, int, str, float, str]:
        cost = item.cost(design) * (_EXTRA if item.entry.group == "extra" else 1.0)
        return (cost, item.entry.number, item.method, item.epsilon, item.setting)

    return sorted(found, key=order)
