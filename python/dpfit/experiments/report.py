"""The report: what is in it, in order, and the files behind it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from dpfit.experiments.catalogue import Entry
from dpfit.experiments.claims import Claim, check_claims
from dpfit.experiments.coverage import Gap, gaps
from dpfit.experiments.document import Block, Code, Folded, Grid, Heading, Picture, Text
from dpfit.experiments.environment import hardware, versions
from dpfit.experiments.errors import Errors
from dpfit.experiments.export import write_json, write_results
from dpfit.experiments.markdown import to_markdown
from dpfit.experiments.methods import METHODS, OURS, PEERS, Choice, Range
from dpfit.experiments.overview import draw_errors, draw_wins
from dpfit.experiments.page import to_html
from dpfit.experiments.plan import Plan
from dpfit.experiments.regimes import PAPER, REGIMES, SCALED, Regime
from dpfit.experiments.scatter import draw_ours, draw_paper, draw_scaled
from dpfit.experiments.store import Store
from dpfit.experiments.summary import headline, means, summarise, wins
from dpfit.experiments.theory_figures import THEORY

__all__ = ["Figures", "write_report"]

Figures = Literal["all", "results", "none"]


def write_report(
    folder: Path,
    store: Store,
    entries: Sequence[Entry],
    plan: Plan,
    *,
    command: Sequence[str],
    message: str = "",
    missing: Sequence[int] = (),
    figures: Figures = "all",
    repeats: int = 20,
) -> Path:
    """Write the report and the files behind it.

    Parameters
    ----------
    folder : Path
        Where ``report.html``, ``results.md``, CSV and JSON files and ``figures/`` go.
    store : Store
        What was measured.
    entries : sequence of Entry
        The tables.
    plan : Plan
        How the run was done.
    command : sequence of str
        What makes this report.
    message : str
        Shown on top; for a demonstration.
    missing : sequence of int
        The paper's tasks that were not there.
    figures : {"all", "results", "none"}
        Which figures: all, those of results but not the theory's, or none.
    repeats : int
        Repetitions behind each point of the theory's figures.

    Returns
    -------
    Path
        The page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results, trials = store.all_results(), store.all_trials()
    write_results(folder, entries, results, trials)
    errors = Errors(results, plan, [e.number for e in entries if e.group != "extra"])
    apart = Errors(results, plan, [e.number for e in entries if e.group == "extra"])
    claims = check_claims(errors, results, plan)
    write_json(
        folder / "summary.json",
        {
            "settings": plan.must_agree(),
            "headline": summarise(errors),
            "extra": summarise(apart) if apart.tasks else {},
            "claims": [
                {
                    "claim": claim.text,
                    "criterion": claim.criterion,
                    "measured": claim.measured,
                    "holds": claim.holds,
                    "why": claim.why,
                }
                for claim in claims
            ],
        },
    )
    blocks: list[Block] = [Text(message, "warn")] if message else []
    blocks += _missing(gaps(entries, plan, results))
    blocks += _results(errors, claims, figures)
    if figures == "all":
        blocks += _theory(repeats)
    if apart.tasks:
        blocks += _apart(apart)
    blocks += _tables(entries, missing)
    blocks += _every_number(errors, entries)
    blocks += _how(plan, command)
    for block in blocks:
        if isinstance(block, Picture):
            (folder / "figures").mkdir(exist_ok=True)
            (folder / "figures" / f"{block.name}.svg").write_text(block.svg, "utf-8")
    title = "Demonstration on generated tables" if message else "The paper's experiments"
    (folder / "results.md").write_text(to_markdown(title, blocks), "utf-8")
    target = folder / "report.html"
    target.write_text(to_html(f"dpfit: {title}", blocks), "utf-8")
    return target


def _missing(found: Sequence[Gap]) -> Iterator[Block]:
    """Yield what this report is not yet about."""
    if not found:
        return
    yield Text(_PARTIAL, "warn")
    rows = [
        [
            f"{METHODS[gap.method].label}, {gap.setting}",
            gap.group,
            f"{gap.missing} of {gap.total}",
            ", ".join(gap.tables),
        ]
        for gap in found
    ]
    yield Grid(["not done", "group", "pieces of work", "tables"], rows, wordy=True)


def _results(errors: Errors, claims: Sequence[Claim], figures: Figures) -> Iterator[Block]:
    """Yield everything about the tables that count."""
    levels = errors.plan.epsilons

    def drawn(name: str, draw: Callable[[], str], title: str, caption: str) -> Iterator[Block]:
        if figures != "none":
            yield Picture(name, draw(), title, caption)

    yield Heading("In brief")
    yield _brief(errors)
    yield from drawn("errors", partial(draw_errors, errors, levels), "Errors", _ERRORS)
    yield from drawn("wins", partial(draw_wins, errors, levels), "Wins", _WINS)
    yield Heading("Claims of the paper's section on experiments")
    yield _claims(claims)
    for regime in REGIMES[:3]:
        yield Heading(f"Regime ({regime.key}): {regime.title}")
        yield from _regime(errors, regime)
    for peer in PEERS:
        if peer != PAPER:
            title = f"BoostedAdaSSP and {METHODS[peer].label}"
            yield Heading(title)
            draw = partial(draw_paper, errors, peer, levels)
            yield from drawn(f"scatter_{peer}", draw, title, _SCATTER)
    yield Heading(f"Regime (d): {REGIMES[3].title}")
    yield _ours(errors)
    yield Text(_EVEN)
    yield _ours(errors.only(task for task in errors.tasks if task % 2 == 0), every=True)
    for ours in OURS:
        title = f"{METHODS[ours].label}, untuned, against everybody tuned"
        draw = partial(draw_ours, errors, ours, levels)
        yield from drawn(f"scatter_{ours}", draw, title, title)
    yield Heading("Why: features of one size")
    yield Text(_SCALED)
    yield from _regime(errors, SCALED)
    draw = partial(draw_scaled, errors, levels)
    yield from drawn("scatter_scaled", draw, SCALED.title, _SCATTER)


_PARTIAL = (
    "This run is not finished. Each comparison below is of the tables that have all results it "
    "needs, and says of how many; the same command goes on with what is missing."
)
_ERRORS = (
    "Test MSE / Var(y), geometric mean over the tables that have a result of every method. 1 is "
    "what the mean of the target gives; means above 100 are drawn at 100."
)
_WINS = (
    "Share of tables with the smaller error. In (a) to (c) it is BoostedAdaSSP against each peer; "
    "in (d) it is ours, untuned, against each tuned method."
)
_SCATTER = (
    "One point for each table: test MSE / Var(y), median of seeds. Below the diagonal the method "
    "of the vertical axis has the smaller error. Points beyond 1000 are drawn at the edge."
)
_EVEN = (
    "Constants of ours were chosen on tables with an odd task number (docs/no_tuning.md). On the "
    "even ones alone:"
)
_SCALED = (
    "The paper's methods see columns as they are. Here every column was brought to [0, 1] / √d by "
    "its true range beforehand, which is not private; hyperparameters are fixed. The difference to "
    "(c) is what raw columns cost the methods that clip rows by their norm."
)


def _value(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:.3f}" if value < 10 else f"{value:.3g}"


def _of(pair: tuple[int, int]) -> str:
    won, of = pair
    return f"{won} of {of} ({won / of:.0%})" if of else "–"


def _levels(plan: Plan) -> list[str]:
    return [f"ε = {epsilon:g}" for epsilon in plan.epsilons]


def _brief(errors: Errors) -> Grid:
    found = headline(errors)
    rows = [
        [
            f"{METHODS[ours].label}, untuned, beats {what}, tuned",
            *map(_of, found[f"{ours} / {key}"]),
        ]
        for ours in OURS
        for key, what in (
            ("every peer", "every method on the table"),
            ("every linear peer", "every linear method on the table"),
        )
    ]
    rows += [
        [f"BoostedAdaSSP fixed beats {METHODS[peer].label} fixed", *map(_of, pairs)]
        for peer, pairs in wins(errors, REGIMES[2]).items()
    ]
    return Grid(["tables won", *_levels(errors.plan)], rows)


def _claims(claims: Sequence[Claim]) -> Grid:
    rows = [[c.text, c.criterion, c.measured, c.verdict, c.why] for c in claims]
    marks = {
        (y, 3): "holds" if claim.holds else "fails"
        for y, claim in enumerate(claims)
        if claim.holds is not None
    }
    header = ["the paper's claim", "taken to mean", "measured", "outcome", "why"]
    return Grid(header, rows, wordy=True, marks=marks)


def _regime(errors: Errors, regime: Regime) -> Iterator[Block]:
    found = means(errors, regime)
    rows, marks = [], {}
    for y, (name, values) in enumerate(found.items()):
        setting = regime.side(name)[1] if METHODS[name].space else "nothing to set"
        rows.append([METHODS[name].label, setting, *map(_value, values)])
        for x, value in enumerate(values):
            others = [v[x] for n, v in found.items() if n != "least_squares"]
            if name != "least_squares" and value == min(others):
                marks[y, x + 2] = "best"
    header = ["geometric mean of test MSE / Var(y)", "hyperparameters", *_levels(errors.plan)]
    yield Grid(header, rows, marks=marks)
    yield Grid(
        ["tables won", *_levels(errors.plan)],
        [
            [f"BoostedAdaSSP beats {METHODS[peer].label}", *map(_of, pairs)]
            for peer, pairs in wins(errors, regime).items()
        ],
    )


def _ours(errors: Errors, *, every: bool = False) -> Grid:
    """Return wins of ours; `every` for only those against all peers at once."""
    rows = []
    for name, pairs in headline(errors).items():
        ours, _, other = name.partition(" / ")
        if every and other in METHODS:
            continue
        label = METHODS[other].label if other in METHODS else other
        rows.append([f"{METHODS[ours].label} beats {label}", *map(_of, pairs)])
    return Grid(["tables won", *_levels(errors.plan)], rows)


def _theory(repeats: int) -> Iterator[Block]:
    yield Heading("Theory, shown")
    for shown in THEORY:
        yield Heading(shown.title, level=3)
        yield Picture(shown.name, shown.draw(repeats), shown.title, shown.text)


def _apart(errors: Errors) -> Iterator[Block]:
    yield Heading("Tables apart")
    yield Text("Partly reconstructed, or much smaller than the paper's; in no figure above.")
    for regime in (REGIMES[0], REGIMES[2]):
        yield Heading(f"({regime.key}) {regime.title}", level=3)
        yield from _regime(errors, regime)
    yield Heading(f"(d) {REGIMES[3].title}", level=3)
    yield _ours(errors)


def _tables(entries: Sequence[Entry], missing: Sequence[int]) -> Iterator[Block]:
    rows = [
        [str(e.number), e.name, e.group, f"{e.n:,}", str(e.d), f"{e.bound:.6g}", e.note or "–"]
        for e in entries
    ]
    header = ["task", "table", "group", "n", "d", "max |y|", "where it differs from the paper"]
    yield Heading("Tables")
    yield Grid(header, rows)
    lost = ", ".join(map(str, missing))
    yield Text(f"Tasks of the paper that were not there: {lost or 'none'}.")


def _every_number(errors: Errors, entries: Sequence[Entry]) -> Iterator[Block]:
    names = {entry.number: entry.name for entry in entries}
    yield Heading("Every table")
    yield Text("Test MSE / Var(y), median of seeds; all numbers are in results.csv.")
    for setting in ("fixed", "tuned"):
        for epsilon in errors.plan.epsilons:
            columns = [(name, setting) for name in PEERS]
            columns += [(name, "fixed") for name in (*OURS, "least_squares")]
            rows, marks = [], {}
            for y, task in enumerate(errors.tasks):
                cells = [errors.of(task, side, epsilon) for side in columns]
                private = [c for c in cells[:-1] if c is not None]
                for x, cell in enumerate(cells[:-1]):
                    if cell is not None and cell == min(private):
                        marks[y, x + 1] = "best"
                shown = ["–" if cell is None else _value(cell) for cell in cells]
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


def _how(plan: Plan, command: Sequence[str]) -> Iterator[Block]:
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
    yield Text(_SLOW_NOTE.format(rows=plan.tuning_rows, names=slow or "none"))
    most = METHODS["dp_ebm"].space["max_rounds"]
    if isinstance(most, Range) and plan.ebm_rounds < most.high:
        yield Text(_ROUNDS_NOTE.format(rounds=plan.ebm_rounds, paper=most.high))
    yield Grid(["method", "fixed", "tuned within (logarithmic)", "trials"], rows, wordy=True)
    yield Heading("Command", level=3)
    yield Code(shlex.join(command))
    yield Heading("Machine and versions", level=3)
    facts = [[name, value] for name, value in (*hardware().items(), *versions().items())]
    yield Grid(["what", "which"], facts, wordy=True)


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
    "split). Errors are medians over {seeds} seeds of the noise; δ = {delta:g}. Tuning is not "
    "private: Optuna's TPE, seeded, judges each trial on a fifth of the fitted rows, and the first "
    "trial is the fixed setting. The three best and the fixed setting are judged again by the "
    "median of three draws of the noise (one for DP-EBM), and the winner is fitted on all rows "
    "that are not for testing. The paper does not say what it tuned on. Whether to add a constant "
    "is tuned, too, which the paper does not list and which can only help. DP-EBM is InterpretML's "
    "own class and is given the true range of every column and of the target; the others are given "
    "nothing. All privacy is for adding or removing one row, but for DP-EBM, which has its own "
    "definition."
)
