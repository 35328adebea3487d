"""The end of the report: tables, every number, and how it was done."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dpfit.experiments.catalogue import Entry
from dpfit.experiments.document import Block, Code, Folded, Grid, Heading, Text
from dpfit.experiments.errors import Errors
from dpfit.experiments.methods import METHODS, OURS, PEERS, REFERENCES, Choice, Range
from dpfit.experiments.plan import Plan
from dpfit.experiments.store import Result

__all__ = ["every_number", "failures", "how", "tables", "value_text"]


def value_text(value: float) -> str:
    """Return an error as a text."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:.3f}" if value < 10 else f"{value:.3g}"


def tables(entries: Sequence[Entry], missing: Sequence[int]) -> Iterator[Block]:
    """Yield which tables were used, and how they differ from the paper's."""
    rows = [
        [
            str(e.number),
            e.name,
            e.group,
            f"{e.n:,}",
            str(e.d),
            f"{e.bound:.6g}",
            e.note or "–",
            e.remark or "–",
        ]
        for e in entries
    ]
    header = ["task", "table", "group", "n", "d", "max |y|", "differs from the paper", "remark"]
    yield Heading("Tables")
    yield Grid(header, rows, wordy=True)
    lost = ", ".join(map(str, missing))
    yield Text(f"Tasks of the paper that were not there: {lost or 'none'}.")


def every_number(errors: Errors, entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the errors on every table."""
    names = {entry.number: entry.name for entry in entries}
    yield Heading("Every table")
    yield Text(
        "Test MSE / Var(y), median of seeds: tables in report.html, every fit in results.csv."
    )
    for setting in ("fixed", "tuned"):
        for epsilon in errors.plan.epsilons:
            columns = [(name, setting) for name in PEERS]
            columns += [(name, "fixed") for name in (*OURS, *REFERENCES)]
            rows, marks = [], {}
            for y, task in enumerate(errors.tasks):
                cells = [errors.of(task, side, epsilon) for side in columns]
                private = [c for c in cells[: -len(REFERENCES)] if c is not None]
                for x, cell in enumerate(cells[: -len(REFERENCES)]):
                    if cell is not None and cell == min(private):
                        marks[y, x + 1] = "best"
                shown = ["–" if cell is None else value_text(cell) for cell in cells]
                rows.append([f"{task} {names[task]}", *shown])
            header = ["table", *(METHODS[name].label for name, _ in columns)]
            title = f"ε = {epsilon:g}, peers {setting}"
            yield Folded(title, (Grid(header, rows, marks=marks),))


def _ranges(space: Mapping[str, Range | Choice]) -> str:
    found = []
    for name, values in space.items():
        if isinstance(values, Choice):
            found.append(f"{name} in {{{', '.join(map(str, values.values))}}}")
        else:
            found.append(f"{name} in [{values.low:g}, {values.high:g}]")
    return "; ".join(found) or "–"


def failures(results: Sequence[Result]) -> Iterator[Block]:
    """Yield which fits failed: they count as lost."""
    failed = Counter(
        (METHODS[row.method].label, row.setting, row.note)
        for row in results
        if row.note.startswith("failed")
    )
    yield Heading("Fits that failed")
    yield Text("They count as infinitely wrong." if failed else "None.")
    if failed:
        rows = [[*key, str(count)] for key, count in sorted(failed.items())]
        yield Grid(["method", "setting", "error", "fits"], rows, wordy=True)


def how(
    plan: Plan, command: Sequence[str], machines: Sequence[Mapping[str, str]]
) -> Iterator[Block]:
    """Yield how a run was done, and with what."""
    methods = [method for method in METHODS.values() if method.name in plan.methods]
    rows = [
        [
            method.label,
            ", ".join(f"{k}={v}" for k, v in method.fixed.items()) or "–",
            _ranges(plan.space_of(method)),
            str(plan.trials_of(method)) if method.space else "–",
        ]
        for method in methods
    ]
    slow = ", ".join(method.label for method in methods if method.slow)
    yield Heading("How it was done")
    yield Text(_METHOD.format(seeds=plan.seeds, delta=plan.delta))
    yield Text(_TUNING)
    yield Text(_TOLD)
    yield Text(_SLOW_NOTE.format(rows=plan.tuning_rows, names=slow or "none"))
    most = METHODS["dp_ebm"].space["max_rounds"]
    if isinstance(most, Range) and plan.ebm_rounds < most.high:
        yield Text(_ROUNDS_NOTE.format(rounds=plan.ebm_rounds, paper=most.high))
    yield Grid(["method", "fixed", "tuned within (logarithmic)", "trials"], rows, wordy=True)
    yield Heading("Command", level=3)
    yield Code(shlex.join(command))
    yield Heading("Machines and versions", level=3)
    names = list(dict.fromkeys(name for facts in machines for name in facts))
    rows = [[name, *(facts.get(name, "–") for facts in machines)] for name in names]
    numbers = [f"machine {number}" for number in range(1, len(machines) + 1)]
    yield Grid(["what", *(numbers if len(machines) > 1 else ["which"])], rows, wordy=True)


_ROUNDS_NOTE = (
    "DP-EBM was tuned within at most {rounds:,} rounds, not {paper:,.0f} as in the paper's table: "
    "its time grows with rounds times columns, and most of a run's time is its tuning."
)
_SLOW_NOTE = (
    "Rows were capped at {rows:,} for tuning the slow methods ({names}); final fits use all rows."
)
_METHOD = (
    "Rows with missing values are dropped, levels are one-hot and public, columns are not scaled, "
    "and a fifth of the rows is for testing, all as in the paper's own script (seed 42 for the "
    "split). Errors are medians over {seeds} seeds of the noise; δ = {delta:g}. Fixed settings are "
    "the paper's for BoostedAdaSSP and AdaSSP, its authors' for TukeyEM, InterpretML's for DP-EBM, "
    "and our choice for gradient descent. All privacy is for adding or removing one row, but for "
    "DP-EBM, which has its own definition."
)
_TUNING = (
    "Tuning is not private: Optuna's TPE, seeded, judges each trial on a fifth of the fitted rows, "
    "and the first trial is the fixed setting. The three best and the fixed setting are judged "
    "again by the median of three draws of the noise (not those of DP-EBM, whose fits are dear), "
    "and the winner is fitted on all rows that are not for testing. The paper does not say what it "
    "tuned on. What tuning finds is not the best there is: a method is now and then worse at a "
    "larger ε than at a smaller one. Whether to add a constant is tuned, too, which the paper does "
    "not list."
)
_TOLD = (
    "DP-EBM is InterpretML's own class and is told the true range of every column and of the "
    "target; columns of two values are levels to it, by its own look at the data. Ours are told "
    "which columns stand for levels, and always have a constant; what is called linear is a line "
    "within the range that the fit finds for a column, and flat beyond. The others are told "
    "nothing. BoostedAdaSSP and AdaSSP split their budget evenly, and predict for rows that are "
    "clipped as in the fit."
)
