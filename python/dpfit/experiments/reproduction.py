"""The paper's section on experiments, from data to report."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from dpfit.exceptions import ParameterError
from dpfit.experiments.adopt import adopt
from dpfit.experiments.catalogue import Catalogue, open_catalogue
from dpfit.experiments.environment import machine
from dpfit.experiments.errors import Errors
from dpfit.experiments.methods import METHODS
from dpfit.experiments.plan import Plan, units
from dpfit.experiments.progress import Progress
from dpfit.experiments.report import Figures, write_report
from dpfit.experiments.runner import run
from dpfit.experiments.store import Store
from dpfit.experiments.summary import headline

__all__ = ["reproduce"]

_STORE = "results.sqlite"
# Of the extra, what every run needs.
_PACKAGES = ("interpret", "matplotlib", "optuna", "pandas", "pyarrow", "rich")
_FOLDER = Path("dpfit-experiments")
# What makes a run quick: fewer rows, trials, seeds and privacy levels, and no wide tables.
_QUICK = Plan(epsilons=(1.0,), trials=4, seeds=1, tuning_rows=4000, most_rows=5000, ebm_rounds=300)
_QUICK_COLUMNS = 27
# Behind each point of the theory's figures.
_REPEATS, _QUICK_REPEATS = 20, 4


def reproduce(
    *,
    data: Path | None = None,
    out: Path | None = None,
    report: Path | None = None,
    epsilons: Sequence[float] | None = None,
    delta: float = 1e-6,
    trials: int | None = None,
    seeds: int | None = None,
    most_rows: int | None = None,
    ebm_rounds: int | None = None,
    methods: Sequence[str] | None = None,
    tasks: Collection[int] | None = None,
    extra: bool = False,
    quick: bool = False,
    adopted: Path | None = None,
    run_missing: bool = True,
    jobs: int | None = None,
    figures: Figures = "all",
    show_progress: bool | None = None,
    say: Callable[[str], None] = print,
) -> Path:
    """Run the paper's experiments and write a report.

    A run that was stopped, in whatever way, goes on where it was when it is started again with the
    same output folder; its results are the same as if it had not been stopped.

    Parameters
    ----------
    data : Path, optional
        Folder of Parquet files ``{number}_{name}.parquet``. Otherwise ``DPFIT_DATA``; otherwise
        tables are fetched from OpenML; otherwise this is a demonstration on generated tables.
    out : Path, optional
        Where results are kept; ``dpfit-experiments``, or with ``-quick`` at its end, if not given.
    report : Path, optional
        Where the report goes; `out` if not given.
    epsilons : sequence of float, optional
        Privacy levels; 0.1, 1 and 10 if not given.
    delta : float
        The other half of the budget.
    trials : int, optional
        Optuna trials for every table, method and level; 20 if not given. 0 to tune nothing.
    seeds : int, optional
        Final fits of each; 3 if not given.
    most_rows : int, optional
        Rows of each table that are used; all if not given.
    ebm_rounds : int, optional
        The upper end of DP-EBM's range of rounds; the paper's 4000 if not given.
    methods : sequence of str, optional
        What to compare; all if not given.
    tasks : collection of int, optional
        Which of the paper's tasks; all if not given.
    extra : bool
        Whether to use tables in the data folder's folder ``extra``; they are reported apart.
    quick : bool
        Whether to finish in a few minutes: fewer rows, trials, seeds and levels, no wide tables.
    adopted : Path, optional
        Report of an earlier run with the same settings and tables; what is whole in it is taken
        over and not done again.
    run_missing : bool
        Whether to do what is missing; otherwise the report is of what is there.
    jobs : int, optional
        Processes; one for each core if not given.
    figures : {"all", "results", "none"}
        Which figures: all, those of results but not the theory's, or none.
    show_progress : bool, optional
        Whether to show a bar; only on a terminal if not given.
    say : callable
        Gets messages.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    ImportError
        If the extra ``experiments`` is not installed.
    ParameterError
        If an option makes no sense.
    FileNotFoundError
        If the data folder holds none of the tables, or `adopted` no report.
    StoreMismatchError
        If the output folder or `adopted` holds results of a different run.
    """
    _check_packages()
    asked = (epsilons, delta, trials, seeds, most_rows, ebm_rounds, methods)
    plan = _plan(quick, *asked)
    jobs = os.cpu_count() or 1 if jobs is None else jobs
    if jobs < 1:
        raise ParameterError(f"jobs={jobs} is out of range: at least 1")
    catalogue = open_catalogue(data, extra=extra, tasks=tasks, say=say)
    if catalogue.message:
        say(catalogue.message)
        # A demonstration should not take long.
        quick, plan = (
            True,
            _plan(True, epsilons, delta, trials, seeds, most_rows, ebm_rounds, methods),
        )
    if quick:
        kept = tuple(entry for entry in catalogue.entries if entry.d <= _QUICK_COLUMNS)
        catalogue = replace(catalogue, entries=kept)
    if out is None:
        out = _FOLDER.with_name(_FOLDER.name + "-quick") if quick else _FOLDER
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / _STORE)
    store.agree(plan.must_agree())
    for entry in catalogue.entries:
        store.add_table(entry)
    if adopted is not None:
        say(f"taken over: {adopt(adopted, store, catalogue.entries, plan)} pieces of work")
    if run_missing:
        store.add_machine(machine())
        _run(catalogue, plan, store, jobs, show_progress, say)
    report = out if report is None else report
    page = write_report(
        report,
        store,
        catalogue.entries,
        plan,
        command=_command(data, out, report, plan, quick, extra, jobs, tasks, figures),
        message=catalogue.message,
        missing=catalogue.missing,
        figures=figures,
        repeats=_QUICK_REPEATS if quick else _REPEATS,
    )
    for line in _brief(store, catalogue, plan):
        say(line)
    say(f"report: {page}")
    return page


def _check_packages() -> None:
    """Say at once what would be missing in an hour."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(
            f'experiments need {", ".join(missing)}: pip install "dpfit[experiments]"'
        )


def _plan(
    quick: bool,
    epsilons: Sequence[float] | None,
    delta: float,
    trials: int | None,
    seeds: int | None,
    most_rows: int | None,
    ebm_rounds: int | None,
    methods: Sequence[str] | None,
) -> Plan:
    plan = replace(_QUICK if quick else Plan(), delta=delta)
    if epsilons:
        plan = replace(plan, epsilons=tuple(sorted(map(float, epsilons))))
    if trials is not None:
        plan = replace(plan, trials=trials)
    if seeds is not None:
        plan = replace(plan, seeds=seeds)
    if most_rows is not None:
        plan = replace(plan, most_rows=most_rows)
    if ebm_rounds is not None:
        plan = replace(plan, ebm_rounds=ebm_rounds)
    if methods:
        plan = replace(plan, methods=tuple(methods))
    unknown = sorted(set(plan.methods) - set(METHODS))
    if unknown:
        raise ParameterError(f"methods {unknown} are not among {sorted(METHODS)}")
    if (
        plan.trials < 0
        or min(plan.seeds, plan.ebm_rounds) < 1
        or min(plan.epsilons) <= 0
        or not 0 < plan.delta < 1
    ):
        raise ParameterError(
            "trials must be at least 0, seeds and rounds at least 1, every epsilon positive, "
            "and 0 < delta < 1"
        )
    return plan


def _run(
    catalogue: Catalogue,
    plan: Plan,
    store: Store,
    jobs: int,
    show: bool | None,
    say: Callable[[str], None],
) -> None:
    work = units(catalogue.entries, plan)
    try:
        with Progress(work, plan, jobs, show) as progress:
            for _ in progress.follow(run(work, plan, store.path, jobs)):
                pass
    except KeyboardInterrupt:
        say(f"stopped; run the same command to go on. Results so far are in {store.path}")
        raise


def _command(
    data: Path | None,
    out: Path,
    report: Path,
    plan: Plan,
    quick: bool,
    extra: bool,
    jobs: int,
    tasks: Collection[int] | None,
    figures: Figures,
) -> list[str]:
    """Return what makes this report; where the data lie on this machine is nobody's business."""
    normal = _QUICK if quick else Plan()
    command = ["dpfit", "reproduce"]
    if data is not None or os.environ.get("DPFIT_DATA"):
        command += ["--data", "FOLDER"]
    command += ["--quick"] if quick else []
    command += ["--extra"] if extra else []
    for name, value, default in (
        ("--trials", plan.trials, normal.trials),
        ("--seeds", plan.seeds, normal.seeds),
        ("--delta", plan.delta, normal.delta),
        ("--rows", plan.most_rows, normal.most_rows),
        ("--ebm-rounds", plan.ebm_rounds, normal.ebm_rounds),
    ):
        command += [name, f"{value}"] if value != default else []
    if plan.epsilons != normal.epsilons:
        command += [part for e in plan.epsilons for part in ("--epsilon", f"{e:g}")]
    if plan.methods != normal.methods:
        command += [part for name in plan.methods for part in ("--method", name)]
    command += [part for number in tasks or () for part in ("--task", str(number))]
    command += ["--figures", figures] if figures != "all" else []
    command += ["--jobs", str(jobs), "--out", _shown(out)]
    return command + (["--report", _shown(report)] if report != out else [])


def _shown(path: Path) -> str:
    """Return a path without what is above it on this machine."""
    return path.name if path.is_absolute() else path.as_posix()


def _brief(store: Store, catalogue: Catalogue, plan: Plan) -> list[str]:
    """Return the figures that matter most, a line each."""
    tasks = [entry.number for entry in catalogue.entries if entry.group != "extra"]
    errors = Errors(store.all_results(), plan, tasks)
    lines = []
    for name, pairs in headline(errors).items():
        ours, _, other = name.partition(" / ")
        if other in METHODS:
            continue
        shown = ", ".join(
            f"{won} of {of} at ε = {epsilon:g}"
            for epsilon, (won, of) in zip(plan.epsilons, pairs, strict=True)
        )
        lines.append(f"{METHODS[ours].label}, untuned, beats {other}, tuned, on {shown} tables")
    return lines
