"""Continue from the published files of an earlier run, on any machine.

Seeds depend only on what they are used for, so a work item that is complete in a report need not be
computed again.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper.catalogue import Entry
from paper.design import Design, work_items
from paper.methods import METHODS
from paper.store import Result, Store, StoreMismatchError

__all__ = ["adopt"]


def adopt(folder: Path, store: Store, entries: Sequence[Entry], design: Design) -> int:
    """Copy the complete work items of a report into a store.

    Parameters
    ----------
    folder : Path
        A report, with ``results.csv`` and ``run.json``.
    store : Store
        Where the results go. Results that it already has are kept.
    entries : sequence of Entry
        The tables of this run. Results of other tables are ignored.
    design : Design
        The design of this run.

    Returns
    -------
    int
        Number of work items that were copied.

    Raises
    ------
    FileNotFoundError
        If the folder is not a report.
    StoreMismatchError
        If the report is about other tables or other settings.
    """
    about = json.loads((folder / "run.json").read_text("utf-8"))
    _check(about, folder, entries, design)
    fits: dict[tuple[int, str, float, str, int], list[Result]] = defaultdict(list)
    for fit in _read(folder / "results.csv"):
        fits[fit.task, fit.method, fit.epsilon, fit.setting, fit.trials].append(fit)
    results: list[Result] = []
    adopted = 0
    for item in work_items(entries, design):
        method = METHODS[item.method]
        trials = design.trials_in(item.setting, method)
        found = fits[item.entry.number, item.method, item.epsilon, item.setting, trials]
        if set(range(design.seeds_of(method))) <= {fit.seed for fit in found}:
            adopted += 1
            results += found
    store.add_all(results)
    for facts in about["machines"]:
        store.add_machine(facts)
    return adopted


def _check(about: dict[str, Any], folder: Path, entries: Sequence[Entry], design: Design) -> None:
    """Refuse results of other tables or with other settings."""
    settings = design.must_agree()
    if about["settings"] != settings:
        raise StoreMismatchError(
            f"{folder} contains results with {about['settings']}, not with {settings}"
        )
    for entry in entries:
        if about["tables"].get(str(entry.number), entry.checksum) != entry.checksum:
            raise StoreMismatchError(
                f"table {entry.number} is not the one that {folder} contains results for"
            )


def _read(path: Path) -> list[Result]:
    """Return all fits of a report. How long they took is not published."""
    with path.open(newline="", encoding="utf-8") as lines:
        return [
            Result(
                task=int(row["task"]),
                method=row["method"],
                epsilon=float(row["epsilon"]),
                setting=row["setting"],
                trials=int(row["trials"]),
                seed=int(row["seed"]),
                rows=int(row["rows"]),
                parameters=json.loads(row["parameters"]),
                mse=float(row["mse"]),
                relative=float(row["relative"]),
                note=row["note"],
                seconds=None,
            )
            for row in csv.DictReader(lines)
        ]
