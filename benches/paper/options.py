"""The options of a run, and what follows from them."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from dpfit.exceptions import ParameterError
from paper.design import Design
from paper.methods import METHODS

__all__ = ["Figures", "Options"]

Figures = Literal["all", "results", "none"]

_FOLDER = "dpfit-experiments"
# A quick run has fewer rows, trials, seeds and privacy budgets, and no wide tables.
_QUICK = Design(
    epsilons=(1.0,), trials=4, seeds=1, tuning_rows=4000, most_rows=5000, ebm_rounds=300
)
_QUICK_COLUMNS = 27
# Repetitions for each point of the theory figures.
_REPEATS, _QUICK_REPEATS = 20, 4


@dataclass(frozen=True)
class Options:
    """What to run, and where the results go.

    Parameters
    ----------
    data : Path, optional
        Folder of Parquet files ``{task}_{name}.parquet``. Default: ``DPFIT_DATA``, otherwise
        OpenML, otherwise generated tables.
    out : Path, optional
        Folder for the results. Default: ``dpfit-experiments``, or ``dpfit-experiments-quick``.
    report : Path, optional
        Folder for the report. Default: `out`.
    quick : bool
        Finish in a few minutes: fewer rows, trials, seeds and budgets, no wide tables.
    epsilons : sequence of float, optional
        Privacy budgets. Default: 0.1, 1 and 10.
    delta : float
        The delta of each budget.
    trials : int, optional
        Optuna trials for each table, method and budget. 0 disables tuning. Default: 20.
    seeds : int, optional
        Number of final fits for each table, method and budget. Default: 3.
    rows : int, optional
        Maximum number of rows of each table. Default: all.
    ebm_rounds : int, optional
        Upper end of the tuning range for DP-EBM's rounds. Default: 4000, as in the paper.
    methods : sequence of str, optional
        Methods to compare. Default: all.
    tasks : collection of int, optional
        The paper's tasks to use. Default: all.
    extra : bool
        Also use the tables in the subfolder ``extra`` of `data`; they are reported separately.
    adopt : Path, optional
        Report of an earlier run with the same settings and tables. Its complete results are
        reused instead of being computed again.
    report_only : bool
        Fit nothing; report the results that exist.
    figures : {"all", "results", "none"}
        Which figures to draw; ``"results"`` leaves out those of the theory.
    jobs : int, optional
        Number of processes. Default: one for each core.
    """

    data: Path | None = None
    out: Path | None = None
    report: Path | None = None
    quick: bool = False
    epsilons: Sequence[float] | None = None
    delta: float = 1e-6
    trials: int | None = None
    seeds: int | None = None
    rows: int | None = None
    ebm_rounds: int | None = None
    methods: Sequence[str] | None = None
    tasks: Collection[int] | None = None
    extra: bool = False
    adopt: Path | None = None
    report_only: bool = False
    figures: Figures = "all"
    jobs: int | None = None

    @property
    def out_folder(self) -> Path:
        """Where results are stored."""
        return self.out or Path(f"{_FOLDER}-quick" if self.quick else _FOLDER)

    @property
    def report_folder(self) -> Path:
        """Where the report goes."""
        return self.report or self.out_folder

    @property
    def most_columns(self) -> float:
        """Wider tables are left out."""
        return _QUICK_COLUMNS if self.quick else math.inf

    @property
    def repeats(self) -> int:
        """Repetitions for each point of the theory figures."""
        return _QUICK_REPEATS if self.quick else _REPEATS

    def processes(self) -> int:
        """Return the number of processes.

        Raises
        ------
        ParameterError
            If `jobs` is less than 1.
        """
        jobs = os.cpu_count() or 1 if self.jobs is None else self.jobs
        _require(jobs >= 1, "jobs", "must be >= 1", jobs)
        return jobs

    def design(self) -> Design:
        """Return the design of the run.

        Raises
        ------
        ParameterError
            If an option is out of range or names an unknown method.
        """
        given: dict[str, Any] = {
            "epsilons": tuple(sorted(map(float, self.epsilons or ()))) or None,
            "trials": self.trials,
            "seeds": self.seeds,
            "most_rows": self.rows,
            "ebm_rounds": self.ebm_rounds,
            "methods": tuple(self.methods or ()) or None,
        }
        given = {name: value for name, value in given.items() if value is not None}
        design = replace(self._default(), delta=self.delta, **given)
        for name in design.methods:
            _require(name in METHODS, "methods", f"must be among {', '.join(METHODS)}", repr(name))
        _require(design.trials >= 0, "trials", "must be >= 0", design.trials)
        _require(design.seeds >= 1, "seeds", "must be >= 1", design.seeds)
        _require(design.ebm_rounds >= 1, "ebm_rounds", "must be >= 1", design.ebm_rounds)
        _require(min(design.epsilons) > 0, "epsilons", "must be > 0", min(design.epsilons))
        _require(0 < design.delta < 1, "delta", "must be between 0 and 1", design.delta)
        return design

    def _default(self) -> Design:
        return _QUICK if self.quick else Design()

    def command(self) -> list[str]:
        """Return the command for the same run, without paths of this machine."""
        design, normal = self.design(), self._default()
        command = ["python", "benches/reproduce.py"]
        if self.data is not None or os.environ.get("DPFIT_DATA"):
            command += ["--data", "FOLDER"]
        command += ["--quick"] if self.quick else []
        command += ["--extra"] if self.extra else []
        for name, value, default in (
            ("--trials", design.trials, normal.trials),
            ("--seeds", design.seeds, normal.seeds),
            ("--delta", design.delta, normal.delta),
            ("--rows", design.most_rows, normal.most_rows),
            ("--ebm-rounds", design.ebm_rounds, normal.ebm_rounds),
        ):
            command += [name, f"{value}"] if value != default else []
        if design.epsilons != normal.epsilons:
            command += [part for e in design.epsilons for part in ("--epsilon", f"{e:g}")]
        if design.methods != normal.methods:
            command += [part for name in design.methods for part in ("--method", name)]
        command += [part for number in self.tasks or () for part in ("--task", str(number))]
        command += ["--figures", self.figures] if self.figures != "all" else []
        command += ["--jobs", str(self.processes()), "--out", _shown(self.out_folder)]
        if self.report_folder != self.out_folder:
            command += ["--report", _shown(self.report_folder)]
        return command


def _require(condition: bool, name: str, rule: str, got: object) -> None:
    if not condition:
        raise ParameterError(f"`{name}` {rule}, got {got}", subject=name)


def _shown(path: Path) -> str:
    """Return a path without the folders above it on this machine."""
    return path.name if path.is_absolute() else path.as_posix()
