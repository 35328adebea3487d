"""Results on disk: every trial and every fit is stored as soon as it is done."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dpfit.exceptions import DpfitError
from paper.catalogue import Entry
from paper.methods import Parameters
from paper.tuning import Trial

__all__ = ["Result", "Store", "StoreMismatchError", "TrialRow"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS machines (facts TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS tables (
    task INTEGER PRIMARY KEY, name TEXT, grp TEXT, n INTEGER, d INTEGER, bound REAL,
    checksum TEXT, note TEXT);
CREATE TABLE IF NOT EXISTS trials (
    task INTEGER, method TEXT, epsilon REAL, number INTEGER, rows INTEGER, parameters TEXT,
    mse REAL, seconds REAL, PRIMARY KEY (task, method, epsilon, number));
CREATE TABLE IF NOT EXISTS results (
    task INTEGER, method TEXT, epsilon REAL, setting TEXT, trials INTEGER, seed INTEGER,
    rows INTEGER, parameters TEXT, mse REAL, relative REAL, note TEXT, seconds REAL,
    PRIMARY KEY (task, method, epsilon, setting, trials, seed));
"""
# Seconds to wait while another process is writing.
_TIMEOUT = 120.0


class StoreMismatchError(DpfitError):
    """The results belong to a run with other settings or other tables."""


@dataclass(frozen=True)
class Result:
    """A final fit.

    Parameters
    ----------
    task, method, epsilon, setting, trials, seed
        Which fit; `trials` is 0 without tuning.
    rows : int
        Number of training rows.
    parameters : dict
        Hyperparameters.
    mse : float
        Mean squared error on the test rows; infinite if the fit failed.
    relative : float
        The same divided by the variance of the target in the test rows.
    note : str
        ``"all zeros"``, or why the fit failed.
    seconds : float or None
        Time of the fit; None if it is not known.
    """

    task: int
    method: str
    epsilon: float
    setting: str
    trials: int
    seed: int
    rows: int
    parameters: Parameters
    mse: float
    relative: float
    note: str
    seconds: float | None


@dataclass(frozen=True)
class TrialRow:
    """A trial of a tuning study."""

    task: int
    method: str
    epsilon: float
    number: int
    rows: int
    parameters: Parameters
    mse: float
    seconds: float


def _dump(parameters: Parameters) -> str:
    return json.dumps(parameters, sort_keys=True)


def _loaded(row: Sequence[Any], at: int) -> list[Any]:
    """Return a row with the parameters at one position parsed."""
    return [json.loads(cell) if i == at else cell for i, cell in enumerate(row)]


class Store:
    """A file of results.

    Parameters
    ----------
    path : Path
        An SQLite file; created if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as connection:
            connection.executescript(_SCHEMA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # A connection for each use is safe with processes and threads.
        with closing(sqlite3.connect(self.path, timeout=_TIMEOUT)) as connection, connection:
            yield connection

    def agree(self, settings: Mapping[str, str]) -> None:
        """Record settings, or compare them with the recorded ones.

        Raises
        ------
        StoreMismatchError
            If the results were computed with other settings.
        """
        with self._open() as connection:
            for name, value in settings.items():
                found = connection.execute(
                    "SELECT value FROM about WHERE name = ?", (name,)
                ).fetchone()
                if found is None:
                    connection.execute("INSERT INTO about VALUES (?, ?)", (name, value))
                elif found[0] != value:
                    raise StoreMismatchError(
                        f"{self.path} contains results with {name}={found[0]}, not {value}; "
                        "use another output folder, or remove that file"
                    )

    def add_table(self, entry: Entry) -> None:
        """Record a table, or check that it is the recorded one.

        Raises
        ------
        StoreMismatchError
            If another table was recorded for this task.
        """
        row = (entry.number, entry.name, entry.group, entry.n, entry.d, entry.bound)
        with self._open() as connection:
            found = connection.execute(
                "SELECT checksum FROM tables WHERE task = ?", (entry.number,)
            ).fetchone()
            if found is None:
                connection.execute(
                    "INSERT INTO tables VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*row, entry.checksum, entry.note),
                )
            elif found[0] != entry.checksum:
                raise StoreMismatchError(
                    f"table {entry.number} is not the one that {self.path} contains results for; "
                    "use another output folder, or remove that file"
                )

    def add_machine(self, facts: Mapping[str, str]) -> None:
        """Record a machine that results come from."""
        with self._open() as connection:
            text = json.dumps(dict(facts))
            connection.execute("INSERT OR IGNORE INTO machines VALUES (?)", (text,))

    def machines(self) -> list[dict[str, str]]:
        """Return the machines that results come from, in the order of recording."""
        with self._open() as connection:
            rows = connection.execute("SELECT facts FROM machines ORDER BY rowid").fetchall()
        return [json.loads(row[0]) for row in rows]

    def trials(self, task: int, method: str, epsilon: float) -> list[Trial]:
        """Return the trials of a study in order, up to the first gap."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT number, parameters, mse FROM trials WHERE task = ? AND method = ? "
                "AND epsilon = ? ORDER BY number",
                (task, method, epsilon),
            ).fetchall()
        kept = []
        for expected, (number, parameters, mse) in enumerate(rows):
            if number != expected:
                break
            kept.append(Trial(json.loads(parameters), mse))
        return kept

    def add_trial(self, row: TrialRow) -> None:
        """Store a trial."""
        self.add_all(trials=[row])

    def add_result(self, row: Result) -> None:
        """Store a final fit."""
        self.add_all(results=[row])

    def add_all(self, results: Sequence[Result] = (), trials: Sequence[TrialRow] = ()) -> None:
        """Store all rows or, if that fails, none. Existing rows are not replaced."""
        with self._open() as connection:
            for name, rows in (("results", results), ("trials", trials)):
                for row in rows:
                    values = [
                        _dump(getattr(row, field.name))
                        if field.name == "parameters"
                        else getattr(row, field.name)
                        for field in fields(row)
                    ]
                    marks = ", ".join("?" * len(values))
                    connection.execute(f"INSERT OR IGNORE INTO {name} VALUES ({marks})", values)

    def seeds(self, task: int, method: str, epsilon: float, setting: str, trials: int) -> set[int]:
        """Return the seeds of a work item whose final fits are done."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT seed FROM results WHERE task = ? AND method = ? AND epsilon = ? "
                "AND setting = ? AND trials = ?",
                (task, method, epsilon, setting, trials),
            ).fetchall()
        return {row[0] for row in rows}

    def all_results(self) -> list[Result]:
        """Return all final fits in a fixed order."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT * FROM results ORDER BY task, method, setting, epsilon, trials, seed"
            ).fetchall()
        return [Result(*_loaded(row, 7)) for row in rows]

    def all_trials(self) -> list[TrialRow]:
        """Return all trials in a fixed order."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT * FROM trials ORDER BY task, method, epsilon, number"
            ).fetchall()
        return [TrialRow(*_loaded(row, 5)) for row in rows]
