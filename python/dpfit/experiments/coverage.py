"""What of a plan is done, and what is not: a report of half a run must say so."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpfit.experiments.catalogue import Entry
from dpfit.experiments.methods import METHODS
from dpfit.experiments.plan import Plan, units
from dpfit.experiments.store import Result

__all__ = ["Gap", "gaps"]


@dataclass(frozen=True)
class Gap:
    """Work of one kind that is not all done.

    Parameters
    ----------
    group, method, setting : str
        What kind of work.
    missing, total : int
        Pieces of work that are not done, and all.
    tables : tuple of str
        Names of the tables they are of.
    """

    group: str
    method: str
    setting: str
    missing: int
    total: int
    tables: tuple[str, ...]


def gaps(entries: Sequence[Entry], plan: Plan, results: Iterable[Result]) -> list[Gap]:
    """Return the kinds of work of which something is missing.

    Parameters
    ----------
    entries : sequence of Entry
        The tables.
    plan : Plan
        What was to be done.
    results : iterable of Result
        What is there.
    """
    fits = Counter(
        (row.task, row.method, row.epsilon, row.setting, row.trials)
        for row in results
        if row.seed < plan.seeds
    )
    total: Counter[tuple[str, str, str]] = Counter()
    missing: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for unit in units(entries, plan):
        method = METHODS[unit.method]
        trials = plan.trials_in(unit.setting, method)
        kind = (unit.entry.group, unit.method, unit.setting)
        total[kind] += 1
        done = fits[unit.entry.number, unit.method, unit.epsilon, unit.setting, trials]
        if done < plan.seeds_of(method):
            missing[kind].append(f"{unit.entry.number} {unit.entry.name}")
    return [
        Gap(*kind, len(names), total[kind], tuple(sorted(set(names))))
        for kind, names in sorted(missing.items())
    ]
