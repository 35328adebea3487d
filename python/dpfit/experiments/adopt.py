"""Going on from the files of an earlier run, on whatever machine that was.

A store may be lost or far away, but what it held is published: every final fit to the last digit.
Seeds follow from what they are for, so a piece of work that is whole there need not be done again.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpfit.experiments.catalogue import Entry
from dpfit.experiments.methods import METHODS
from dpfit.experiments.plan import Plan, units
from dpfit.experiments.store import Result, Store, StoreMismatchError, TrialRow

__all__ = ["adopt"]

_Rows = list[dict[str, str]]
# A piece of work: table, method, privacy level, setting, trials.
_Key = tuple[int, str, float, str, int]


def adopt(folder: Path, store: Store, entries: Sequence[Entry], plan: Plan) -> int:
    """Take over pieces of work that are whole in a report's files.

    Half a study is left out: trials are published in six digits, and the next proposal follows
    from all digits of those before it.

    Parameters
    ----------
    folder : Path
        A report, with ``results.csv``, ``trials.csv.gz``, ``tables.csv``, ``times.csv``,
        ``machines.json`` and ``summary.json``.
    store : Store
        Where they go. What is there already stays.
    entries : sequence of Entry
        The tables of this run; others are left out.
    plan : Plan
        How this run is done.

    Returns
    -------
    int
        Pieces of work that were taken over.

    Raises
    ------
    FileNotFoundError
        If that is no report.
    StoreMismatchError
        If it is one of other tables or other settings.
    """
    _check(folder, entries, plan)
    fits: dict[_Key, _Rows] = defaultdict(list)
    for row in _read(folder / "results.csv"):
        fits[
            int(row["task"]),
            row["method"],
            float(row["epsilon"]),
            row["setting"],
            int(row["trials"]),
        ].append(row)
    studies: dict[tuple[int, str, float], _Rows] = defaultdict(list)
    for row in _read(folder / "trials.csv.gz"):
        studies[int(row["task"]), row["method"], float(row["epsilon"])].append(row)
    seconds = {
        (int(row["task"]), row["method"], row["setting"]): float(row["seconds"]) / int(row["fits"])
        for row in _read(folder / "times.csv")
    }
    results: list[Result] = []
    trials: list[TrialRow] = []
    adopted = 0
    for unit in units(entries, plan):
        method = METHODS[unit.method]
        count = plan.trials_in(unit.setting, method)
        study = (unit.entry.number, unit.method, unit.epsilon)
        found = fits[(*study, unit.setting, count)]
        wanted = set(range(plan.seeds_of(method)))
        if not wanted <= {int(row["seed"]) for row in found} or len(studies[study]) < count:
            continue
        adopted += 1
        time = seconds.get((unit.entry.number, unit.method, unit.setting), 0.0)
        results += _results(found, study, unit.setting, count, time)
        if count:
            time = seconds.get((unit.entry.number, unit.method, "trials"), 0.0)
            trials += _trials(studies[study][:count], study, time)
    # Read before anything is kept: a report without it is refused as a whole.
    machines = json.loads((folder / "machines.json").read_text("utf-8"))
    store.add_all(results, trials)
    for facts in machines:
        store.add_machine(facts)
    return adopted


def _results(
    rows: _Rows, study: tuple[int, str, float], setting: str, trials: int, seconds: float
) -> Iterator[Result]:
    for row in rows:
        yield Result(
            *study,
            setting,
            trials,
            int(row["seed"]),
            int(row["rows"]),
            json.loads(row["parameters"]),
            float(row["mse"]),
            float(row["relative"]),
            row["note"],
            seconds,
        )


def _trials(rows: _Rows, study: tuple[int, str, float], seconds: float) -> Iterator[TrialRow]:
    for row in rows:
        yield TrialRow(
            *study,
            int(row["trial"]),
            int(row["rows"]),
            json.loads(row["parameters"]),
            float(row["mse"]),
            seconds,
        )


def _check(folder: Path, entries: Sequence[Entry], plan: Plan) -> None:
    """Refuse results of other tables or of another kind of run."""
    settings = json.loads((folder / "summary.json").read_text("utf-8")).get("settings")
    if settings != plan.must_agree():
        raise StoreMismatchError(
            f"{folder} has results with {settings}, not {plan.must_agree()}: they do not mix"
        )
    checksums = {int(row["task"]): row["checksum"] for row in _read(folder / "tables.csv")}
    for entry in entries:
        if checksums.get(entry.number, entry.checksum) != entry.checksum:
            raise StoreMismatchError(
                f"table {entry.number} is not the one that {folder} has results for"
            )


def _read(path: Path) -> _Rows:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))
