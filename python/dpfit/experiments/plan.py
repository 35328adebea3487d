"""What a run consists of: pieces of work, each with a key that its seeds follow from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from dpfit.experiments.catalogue import Entry
from dpfit.experiments.methods import METHODS, Choice, Method, Range

__all__ = ["Plan", "Setting", "Unit", "units"]

# How many times dearer.
_APART = 4.0

Setting = Literal["fixed", "tuned", "constant", "scaled"]


@dataclass(frozen=True)
class Plan:
    """How a run is done.

    Parameters
    ----------
    epsilons : tuple of float
        Privacy levels.
    delta : float
        The other half of the budget.
    trials : int
        Optuna trials for every table, method and level; cheap methods get a multiple.
    seeds : int
        Final fits for each.
    tuning_rows : int
        Rows that slow methods are tuned on, at most.
    most_rows : int or None
        Rows of a table that are used at all, at most.
    ebm_rounds : int
        The upper end of DP-EBM's range of rounds, 4000 in the paper. It decides the time of a run.
    methods : tuple of str
        What is compared.
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
        """Return how many trials a method gets."""
        return self.trials * method.trials

    def trials_in(self, setting: str, method: Method) -> int:
        """Return how many trials stand behind a method's results in a setting."""
        return self.trials_of(method) if setting == "tuned" else 0

    def seeds_of(self, method: Method) -> int:
        """Return how many final fits a method gets: without privacy there is no noise to repeat."""
        return 1 if method.role == "reference" else self.seeds

    def space_of(self, method: Method) -> dict[str, Range | Choice]:
        """Return the tuning ranges of a method."""
        space = dict(method.space)
        rounds = space.get("max_rounds")
        if isinstance(rounds, Range):
            space["max_rounds"] = replace(rounds, high=min(rounds.high, self.ebm_rounds))
        return space

    def must_agree(self) -> dict[str, str]:
        """Return what all results in one store have in common."""
        return {
            "delta": repr(self.delta),
            "tuning_rows": repr(self.tuning_rows),
            "most_rows": repr(self.most_rows),
            "ebm_rounds": repr(self.ebm_rounds),
        }


@dataclass(frozen=True)
class Unit:
    """One table, method, privacy level and way of setting hyperparameters.

    Parameters
    ----------
    entry : Entry
        The table.
    method : str
        Key of the method.
    epsilon : float
        Privacy level; infinite without privacy.
    setting : {"fixed", "tuned", "constant", "scaled"}
        How hyperparameters are set, or what is studied.
    """

    entry: Entry
    method: str
    epsilon: float
    setting: Setting

    def cost(self, plan: Plan) -> float:
        """Guess the seconds this takes; for the order of work and the time left."""
        method, n, d = METHODS[self.method], self.entry.n, self.entry.d
        n = min(n, plan.most_rows or n)
        seconds = plan.seeds * method.cost(n, d)
        if self.setting == "tuned":
            rows = min(n, plan.tuning_rows) if method.slow else n
            seconds = 2.0 * (seconds + plan.trials_of(method) * method.cost(rows, d))
        return seconds


def units(entries: Iterable[Entry], plan: Plan) -> list[Unit]:
    """Return all work, in an order that makes a run that is cut short useful.

    What is cheap comes before what is dear, and tables that are reported apart count as dearer
    than they are.
    """
    found = []
    for entry in entries:
        for name in plan.methods:
            method = METHODS[name]
            settings: list[Setting] = ["fixed"]
            if method.space and plan.trials > 0:
                settings.append("tuned")
            settings += method.studies
            levels = (math.inf,) if method.role == "reference" else plan.epsilons
            found += [Unit(entry, name, e, setting) for e in levels for setting in settings]

    def order(unit: Unit) -> tuple[float, int, str, float, str]:
        cost = unit.cost(plan) * (_APART if unit.entry.group == "extra" else 1.0)
        return (cost, unit.entry.number, unit.method, unit.epsilon, unit.setting)

    return sorted(found, key=order)
