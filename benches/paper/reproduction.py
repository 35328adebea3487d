"""The paper's section on experiments, from data to report."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from paper.adopt import adopt
from paper.catalogue import Catalogue, open_catalogue
from paper.design import Design, work_items
from paper.environment import machine
from paper.errors import Errors
from paper.methods import METHODS
from paper.options import Options
from paper.progress import Progress
from paper.report import write_report
from paper.runner import run
from paper.store import Store
from paper.summary import headline

__all__ = ["reproduce"]

_STORE = "results.sqlite"
# What every run needs besides dpfit's own dependencies.
_PACKAGES = ("interpret", "matplotlib", "optuna", "pandas", "rich")


def reproduce(
    options: Options | None = None,
    *,
    say: Callable[[str], None] = print,
    show_progress: bool | None = None,
) -> Path:
    """Run the paper's experiments and write a report.

    A run can be stopped at any time. Starting it again with the same output folder continues it,
    and the results are the same as those of an uninterrupted run.

    Parameters
    ----------
    options : Options, optional
        What to run.
    say : callable
        Receives messages.
    show_progress : bool, optional
        Whether to show a progress bar. Default: only on a terminal.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    ImportError
        If a required package is not installed.
    ParameterError
        If an option is out of range.
    FileNotFoundError
        If the data folder contains none of the tables, or ``adopt`` is not a report.
    StoreMismatchError
        If the output folder or ``adopt`` contains results of a different run.
    """
    options = options or Options()
    _check_packages()
    design, jobs = options.design(), options.processes()
    catalogue = open_catalogue(options.data, extra=options.extra, tasks=options.tasks, say=say)
    if catalogue.message:
        say(catalogue.message)
        # A demonstration should not take long.
        options = replace(options, quick=True)
        design = options.design()
    kept = tuple(entry for entry in catalogue.entries if entry.d <= options.most_columns)
    catalogue = replace(catalogue, entries=kept)
    options.out_folder.mkdir(parents=True, exist_ok=True)
    store = Store(options.out_folder / _STORE)
    store.agree(design.must_agree())
    for entry in catalogue.entries:
        store.add_table(entry)
    if options.adopt is not None:
        reused = adopt(options.adopt, store, catalogue.entries, design)
        say(f"reused: {reused} work items")
    if not options.report_only:
        store.add_machine(machine())
        items = work_items(catalogue.entries, design)
        try:
            with Progress(items, design, jobs, show_progress) as progress:
                for _ in progress.follow(run(items, design, store.path, jobs)):
                    pass
        except KeyboardInterrupt:
            say(f"stopped; run the same command to continue. Results so far: {store.path}")
            raise
    page = write_report(store, catalogue, design, options)
    for line in _brief(store, catalogue, design):
        say(line)
    say(f"report: {page}")
    return page


def _check_packages() -> None:
    """Report at once what would be missing in an hour."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(
            f"the experiments need {', '.join(missing)}: pip install --group bench (pip >= 25.1)"
        )


def _brief(store: Store, catalogue: Catalogue, design: Design) -> list[str]:
    """Return the main results, one line each."""
    tasks = [entry.number for entry in catalogue.entries if entry.group != "extra"]
    errors = Errors(store.all_results(), design, tasks)
    lines = []
    for name, pairs in headline(errors).items():
        ours, _, other = name.partition(" / ")
        if other in METHODS:
            continue
        shown = ", ".join(
            f"{won} of {of} tables at ε = {epsilon:g}"
            for epsilon, (won, of) in zip(design.epsilons, pairs, strict=True)
        )
        lines.append(f"{METHODS[ours].label}, untuned, beats {other}, tuned, on {shown}")
    return lines
