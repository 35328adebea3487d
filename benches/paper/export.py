"""Result files that depend neither on the order of work, nor on processes, nor on the time."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from paper.catalogue import Entry
from paper.store import Result, TrialRow

__all__ = ["write_csv", "write_json", "write_results"]

_RESULT = ("task", "table", "group", "method", "setting", "epsilon", "seed", "trials", "rows")
_ERROR = ("mse", "relative", "note", "parameters")


def _number(value: float) -> str:
    """Return the shortest string that is read as the same number."""
    return repr(float(value))


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_json(path: Path, value: Any) -> None:
    """Write JSON. NaN becomes null, infinity a string."""
    text = json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", "utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "infinite"
    return value


def write_results(
    folder: Path,
    entries: Sequence[Entry],
    results: Sequence[Result],
    trials: Sequence[TrialRow],
) -> None:
    """Write all fits, trials and times.

    Parameters
    ----------
    folder : Path
        Where ``results.csv``, ``results.json``, ``trials.csv.gz``, ``tables.csv`` and
        ``times.csv`` go. All but the last are the same for every run with the same settings.
        Trials and times are those of fits that were not adopted from another report.
    entries : sequence of Entry
        The tables.
    results : sequence of Result
        Final fits.
    trials : sequence of TrialRow
        Trials.
    """
    by_task = {entry.number: entry for entry in entries}
    results = [row for row in results if row.task in by_task]
    trials = [row for row in trials if row.task in by_task]
    _write_fits(folder, by_task, results)
    _write_trials(folder, trials)
    write_csv(
        folder / "tables.csv",
        ("task", "table", "group", "n", "d", "bound", "checksum", "differs", "remark"),
        (
            (e.number, e.name, e.group, e.n, e.d, e.bound, e.checksum, e.note, e.remark)
            for e in entries
        ),
    )
    _write_times(folder, results, trials)


def _write_fits(folder: Path, by_task: Mapping[int, Entry], results: Sequence[Result]) -> None:
    """Write a CSV file with a line for each fit, and JSON with a record for each work item."""
    write_csv(
        folder / "results.csv",
        _RESULT + _ERROR,
        (
            (
                row.task,
                by_task[row.task].name,
                by_task[row.task].group,
                row.method,
                row.setting,
                _number(row.epsilon),
                row.seed,
                row.trials,
                row.rows,
                _number(row.mse),
                _number(row.relative),
                row.note,
                json.dumps(row.parameters, sort_keys=True),
            )
            for row in results
        ),
    )
    records: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in results:
        key = (row.task, row.method, row.setting, row.epsilon, row.trials)
        record = records.setdefault(
            key,
            {
                "task": row.task,
                "method": row.method,
                "setting": row.setting,
                "epsilon": row.epsilon,
                "trials": row.trials,
                "parameters": row.parameters,
                "mse": [],
                "relative": [],
                "notes": [],
            },
        )
        record["mse"].append(row.mse)
        record["relative"].append(row.relative)
        record["notes"].append(row.note)
    lines = ",\n".join(
        json.dumps(_plain(record), ensure_ascii=False, allow_nan=False)
        for record in records.values()
    )
    (folder / "results.json").write_text(f"[\n{lines}\n]\n", "utf-8")


def _write_trials(folder: Path, trials: Sequence[TrialRow]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("task", "method", "epsilon", "trial", "rows", "mse", "parameters"))
    for row in trials:
        short = {name: _short(value) for name, value in row.parameters.items()}
        key = (row.task, row.method, _number(row.epsilon), row.number, row.rows)
        writer.writerow((*key, f"{row.mse:.6g}", json.dumps(short, sort_keys=True)))
    # Without a time stamp, the same trials give the same file.
    packed = gzip.compress(text.getvalue().encode(), mtime=0)
    (folder / "trials.csv.gz").write_bytes(packed)


def _write_times(folder: Path, results: Sequence[Result], trials: Sequence[TrialRow]) -> None:
    seconds: dict[tuple[int, str, str], tuple[int, float]] = {}
    for task, method, setting, passed in [
        *((row.task, row.method, row.setting, row.seconds) for row in results),
        *((row.task, row.method, "trials", row.seconds) for row in trials),
    ]:
        if passed is not None:
            fits, total = seconds.get((task, method, setting), (0, 0.0))
            seconds[task, method, setting] = (fits + 1, total + passed)
    write_csv(
        folder / "times.csv",
        ("task", "method", "setting", "fits", "seconds"),
        ((*key, fits, f"{total:.3f}") for key, (fits, total) in sorted(seconds.items())),
    )


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
