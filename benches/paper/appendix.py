"""The end of the report: tables, all errors, and methods."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from paper.catalogue import Entry
from paper.design import Design
from paper.document import Block, Code, Folded, Grid, Heading, Text
from paper.errors import Errors
from paper.methods import METHODS, OURS, PEERS, REFERENCES, Choice, Range
from paper.store import Result

__all__ = ["every_number", "failures", "how", "tables", "value_text"]


# Longer names of tables are cut where columns are many.
_NAME = 20


def value_text(value: float) -> str:
    """Return an error as a string."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:.3f}" if value < 10 else f"{value:.3g}"


def tables(entries: Sequence[Entry], missing: Sequence[int]) -> Iterator[Block]:
    """Yield the tables, and how they differ from the paper's."""
    yield Heading("Tables")
    yield Grid(
        ["task", "table", "group", "n", "d", "max |y|"],
        [[str(e.number), e.name, e.group, f"{e.n:,}", str(e.d), f"{e.bound:.6g}"] for e in entries],
        wordy=True,
    )
    lost = ", ".join(map(str, missing))
    yield Text(f"Tasks of the paper that are not available: {lost or 'none'}.")
    noted = [e for e in entries if e.note or e.remark]
    if noted:
        yield Text("Differences from the paper's tables, and remarks on where tables come from:")
        rows = [[f"{e.number} {e.name}", e.note or "none", e.remark or "none"] for e in noted]
        yield Grid(["table", "difference", "remark"], rows, wordy=True)


def every_number(errors: Errors, entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the errors on every table."""
    names = {entry.number: _cut(entry.name) for entry in entries}
    yield Heading("Every table")
    yield Text(
        "Test MSE / Var(y), median of seeds. The smallest error of a private method is bold; least "
        "squares and EBM are not private. results.csv has every fit."
    )
    for setting in ("fixed", "tuned"):
        for epsilon in errors.design.epsilons:
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
            labels = [METHODS[name].label for name, _ in columns]
            header = ["table", *map(_short_label, labels)]
            title = f"ε = {epsilon:g}, peers {setting}"
            yield Folded(title, (Grid(header, rows, marks=marks),))


def _cut(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[:_NAME]}…"


def _short_label(label: str) -> str:
    return label.removesuffix(", no privacy").replace("gradient descent", "GD")


def _ranges(space: Mapping[str, Range | Choice]) -> str:
    found = []
    for name, values in space.items():
        if isinstance(values, Choice):
            found.append(f"{name} in {{{', '.join(map(str, values.values))}}}")
        else:
            found.append(f"{name} in [{values.low:g}, {values.high:g}]")
    return "; ".join(found)


def failures(results: Sequence[Result]) -> Iterator[Block]:
    """Yield the fits that failed. They count as infinite errors."""
    failed = Counter(
        (METHODS[row.method].label, row.setting, row.note)
        for row in results
        if row.note.startswith("failed")
    )
    yield Heading("Failed fits")
    yield Text("These count as infinite errors." if failed else "None.")
    if failed:
        rows = [[*key, str(count)] for key, count in sorted(failed.items())]
        yield Grid(["method", "setting", "error", "fits"], rows, wordy=True)


def how(
    design: Design, command: Sequence[str], machines: Sequence[Mapping[str, str]]
) -> Iterator[Block]:
    """Yield the methods, the command and the machines of a run."""
    methods = [method for method in METHODS.values() if method.name in design.methods]
    rows = [
        [
            method.label,
            ", ".join(f"{k}={v}" for k, v in method.fixed.items()),
            _ranges(design.space_of(method)),
            str(design.trials_of(method)),
        ]
        for method in methods
        if method.space
    ]
    slow = "; ".join(method.label for method in methods if method.slow)
    yield Heading("Methods")
    yield Text(_METHOD.format(seeds=design.seeds, delta=design.delta))
    yield Text(_TUNING)
    yield Text(_TOLD)
    yield Text(_SLOW_NOTE.format(rows=design.tuning_rows, names=slow or "none"))
    most = METHODS["dp_ebm"].space["max_rounds"]
    if isinstance(most, Range) and design.ebm_rounds < most.high:
        yield Text(_ROUNDS_NOTE.format(rounds=design.ebm_rounds, paper=most.high))
    if rows:
        yield Text("Hyperparameters of the methods that have any, on logarithmic scales:")
        yield Grid(["method", "fixed", "tuning range", "trials"], rows, wordy=True)
    yield Heading("Command", level=3)
    yield Code(shlex.join(command))
    yield Heading("Machines and versions", level=3)
    names = list(dict.fromkeys(name for facts in machines for name in facts))
    rows = [[name, *(facts.get(name, "–") for facts in machines)] for name in names]
    numbers = [f"machine {number}" for number in range(1, len(machines) + 1)]
    yield Grid(["", *(numbers if len(machines) > 1 else ["machine"])], rows, wordy=True)


_ROUNDS_NOTE = (
    "DP-EBM was tuned with at most {rounds:,} rounds, not with {paper:,.0f} as in the paper's "
    "table. Its time is proportional to rounds times columns, and its tuning takes most of the "
    "time of a run."
)
_SLOW_NOTE = (
    "Rows were capped at {rows:,} for tuning the slow methods ({names}); final fits use all rows."
)
_METHOD = (
    "As in the paper's own script, rows with missing values are dropped, levels are public and "
    "one-hot encoded, columns are not scaled, and a fifth of the rows is the test set (seed 42 for "
    "the split). Errors are medians over {seeds} seeds of the noise; δ = {delta:g}. Fixed "
    "hyperparameters are the paper's for BoostedAdaSSP and AdaSSP, its authors' for TukeyEM, "
    "InterpretML's for DP-EBM, and our choice for gradient descent. Privacy is with respect to "
    "adding or removing one row, except for DP-EBM, which has its own definition."
)
_TUNING = (
    "Tuning is not private. Optuna's TPE sampler, seeded, evaluates each trial on a fifth of the "
    "training rows, and the first trial is the fixed setting. The three best trials and the fixed "
    "setting are then compared by their medians over three draws of the noise (one draw for "
    "DP-EBM, whose fits are slow), and the winner is fitted on all training rows. The paper does "
    "not say which rows it tuned on. Tuning does not find the optimum: some methods are worse at "
    "a larger ε than at a smaller one. Whether to fit an intercept is tuned as well, which is not "
    "in the paper's table."
)
_TOLD = (
    "DP-EBM is InterpretML's own class. It is given the true range of every column and of the "
    "target, and treats columns of two values as levels, which it finds by looking at the data. "
    "dpfit's models are given which columns are levels, and always fit an intercept. Their linear "
    "model is a line within the range that the fit finds for a column, and flat beyond. The other "
    "methods are given nothing. BoostedAdaSSP and AdaSSP split their budget evenly, and clip rows "
    "for predictions as in the fit."
)
