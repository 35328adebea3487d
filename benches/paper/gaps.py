"""Missing results: a report of an unfinished run says what it lacks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paper.catalogue import Entry
from paper.design import Design, work_items
from paper.methods import METHODS
from paper.store import Result

__all__ = ["Gap", "gaps"]


@dataclass(frozen=True)
class Gap:
    """Missing results of one method in one setting.

    Parameters
    ----------
    group, method, setting : str
        Which work items.
    missing, total : int
        Number of work items that are missing, and of all.
    tables : tuple of str
        Tables whose results are missing.
    """

    group: str
    method: str
    setting: str
    missing: int
    total: int
    tables: tuple[str, ...]


def gaps(entries: Sequence[Entry], design: Design, results: Iterable[Result]) -> list[Gap]:
    """Return which results are missing.

    Parameters
    ----------
    entries : sequence of Entry
        The tables.
    design : Design
        The design of the run.
    results : iterable of Result
        The results that exist.
    """
    fits = Counter(
        (row.task, row.method, row.epsilon, row.setting, row.trials)
        for row in results
        if row.seed < design.seeds
    )
    total: Counter[tuple[str, str, str]] = Counter()
    missing: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in work_items(entries, design):
        method = METHODS[item.method]
        trials = design.trials_in(item.setting, method)
        kind = (item.entry.group, item.method, item.setting)
        total[kind] += 1
        done = fits[item.entry.number, item.method, item.epsilon, item.setting, trials]
        if done < design.seeds_of(method):
            missing[kind].append(f"{item.entry.number} {item.entry.name}")
    return [
        Gap(*kind, len(names), total[kind], tuple(sorted(set(names))))
        for kind, names in sorted(missing.items())
    ]
