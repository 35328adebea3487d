"""The report: what is in it, in order, and the files behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from dpfit.experiments.catalogue import Entry
from dpfit.experiments.claims import check_claims
from dpfit.experiments.coverage import Gap, gaps
from dpfit.experiments.document import Block, Grid, Heading, Picture, Text
from dpfit.experiments.errors import Errors
from dpfit.experiments.export import write_json, write_results
from dpfit.experiments.judge import Claim
from dpfit.experiments.markdown import to_markdown
from dpfit.experiments.methods import METHODS, OURS, PEERS, REFERENCES
from dpfit.experiments.overview import draw_errors, draw_wins
from dpfit.experiments.page import to_html
from dpfit.experiments.particulars import every_number, failures, how, tables, value_text
from dpfit.experiments.plan import Plan
from dpfit.experiments.regimes import CONSTANT, PAPER, REGIMES, SCALED, Regime
from dpfit.experiments.scatter import draw_ours, draw_paper, draw_scaled
from dpfit.experiments.store import Store
from dpfit.experiments.summary import headline, means, shared, summarise, untouched, wins
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
    rows_per_column = {entry.number: entry.n / entry.d for entry in entries}
    claims = check_claims(errors, results, plan, rows_per_column)
    write_json(folder / "machines.json", store.machines())
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
    undone = gaps(entries, plan, results)
    blocks += _missing([gap for gap in undone if gap.group != "extra"], _PARTIAL)
    exact = [entry.number for entry in entries if entry.group != "extra" and not entry.note]
    blocks += _results(errors, errors.only(exact), claims, figures)
    if figures == "all":
        blocks += _theory(repeats)
    if apart.tasks:
        blocks += _apart(apart, [gap for gap in undone if gap.group == "extra"])
    blocks += tables(entries, missing)
    blocks += every_number(errors, entries)
    blocks += failures(results)
    blocks += how(plan, command, store.machines())
    for block in blocks:
        if isinstance(block, Picture):
            (folder / "figures").mkdir(exist_ok=True)
            (folder / "figures" / f"{block.name}.svg").write_text(block.svg, "utf-8")
    title = "Demonstration on generated tables" if message else "The paper's experiments"
    (folder / "results.md").write_text(to_markdown(title, blocks), "utf-8")
    target = folder / "report.html"
    target.write_text(to_html(f"dpfit: {title}", blocks), "utf-8")
    return target


def _missing(found: Sequence[Gap], words: str) -> Iterator[Block]:
    """Yield what this report is not yet about."""
    if not found:
        return
    yield Text(words, "warn")
    rows = [
        [
            f"{METHODS[gap.method].label}, {gap.setting}",
            f"{gap.missing} of {gap.total}",
            ", ".join(gap.tables),
        ]
        for gap in found
    ]
    yield Grid(["not done", "pieces of work", "tables"], rows, wordy=True)


def _results(
    errors: Errors, exact: Errors, claims: Sequence[Claim], figures: Figures
) -> Iterator[Block]:
    """Yield everything about the tables that count; `exact` has those that are the paper's."""
    levels = errors.plan.epsilons

    def drawn(name: str, draw: Callable[[], str], title: str, caption: str) -> Iterator[Block]:
        if figures != "none":
            yield Picture(name, draw(), title, caption)

    yield Heading("In brief")
    yield _brief(errors)
    if 0 < len(exact.tasks) < len(errors.tasks):
        yield Text(_EXACT.format(exact=len(exact.tasks), all=len(errors.tasks)))
        yield _brief(exact)
    yield from drawn("errors", partial(draw_errors, errors, levels), "Errors", _ERRORS)
    yield from drawn("wins", partial(draw_wins, errors, levels), "Wins", _WINS)
    yield Heading("Claims of the paper about its experiments")
    yield Text(_CHANCE)
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
    yield _ours(errors.only(untouched(errors.tasks)), every=True)
    for ours in OURS:
        title = f"{METHODS[ours].label}, untuned, against everybody tuned"
        draw = partial(draw_ours, errors, ours, levels)
        yield from drawn(f"scatter_{ours}", draw, title, title)
    yield Heading("Why: a constant, and features of one size")
    yield Text(_SCALED)
    for regime in (CONSTANT, SCALED):
        yield Heading(regime.title, level=3)
        yield from _regime(errors, regime)
    draw = partial(draw_scaled, errors, levels)
    yield from drawn("scatter_scaled", draw, SCALED.title, _SCATTER)


_PARTIAL = (
    "This run is not finished. Each comparison below is of the tables that have all results it "
    "needs, and says of how many; the same command goes on with what is missing."
)
_PARTIAL_APART = (
    "Of these tables not everything was run. Each comparison is of the tables that have all "
    "results it needs."
)
_ERRORS = (
    "Test MSE / Var(y), geometric mean over the tables that have a result of every method. 1 is "
    "what the mean of the target gives; arrows with numbers stand for means above 100."
)
_WINS = (
    "Share of tables with the smaller error. In (a) to (c) it is BoostedAdaSSP against each peer; "
    "in (d) it is ours, untuned, against each tuned method. Ties count for neither."
)
_SCATTER = (
    "One point for each table: test MSE / Var(y), median of seeds. Below the diagonal the method "
    "of the vertical axis has the smaller error. Points beyond 1000 are drawn at the edge."
)
_EXACT = (
    "The same on the {exact} of {all} tables that agree with the paper's in rows, columns and "
    "largest |y|; the others are near to it (see Tables)."
)
_CHANCE = (
    "Beside a number of tables stands p, how probable so uneven a result is if each table is "
    "decided by a fair coin; ratios are geometric means of the first error over the second. A "
    "claim holds or not by its criterion alone. Some tables are made of the same data, so p is "
    "optimistic."
)
_EVEN = (
    "Constants of ours were chosen on tables with an odd task number; even ones were looked at on "
    "the way: one rule was prompted by cpu_act, and one by diamonds and SGEMM "
    "(docs/no_tuning.md). On the even ones whose data is in no odd one alone:"
)
_SCALED = (
    "The paper's methods see columns as they are, without a constant. Two steps away from (c), "
    "hyperparameters still fixed: a constant is added; and every column is brought to [0, 1] / √d "
    "by its true range beforehand, which is not private. What each step changes is what its lack "
    "costs in (c). DP-EBM and ours are the same in all three."
)


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
    counts = [errors.column((PAPER, "fixed"), e).values() for e in errors.plan.epsilons]
    useless = [_of((sum(v >= 1 for v in found), len(found))) for found in counts]
    rows.append(["BoostedAdaSSP fixed is no better than the mean of the target", *useless])
    return Grid(["tables", *_levels(errors.plan)], rows)


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
        rows.append([METHODS[name].label, setting, *map(value_text, values)])
        for x, value in enumerate(values):
            others = [v[x] for n, v in found.items() if n not in REFERENCES]
            if name not in REFERENCES and value == min(others):
                marks[y, x + 2] = "best"
    common = [shared(errors, regime, epsilon) for epsilon in errors.plan.epsilons]
    rows.append(["tables in these means", "", *(str(len(tasks)) for tasks in common)])
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


def _apart(errors: Errors, undone: Sequence[Gap]) -> Iterator[Block]:
    yield Heading("Tables apart")
    yield Text("Partly reconstructed, or much smaller than the paper's; in no figure above.")
    yield from _missing(undone, _PARTIAL_APART)
    for regime in (REGIMES[0], REGIMES[2]):
        yield Heading(f"({regime.key}) {regime.title}", level=3)
        yield from _regime(errors, regime)
    yield Heading(f"(d) {REGIMES[3].title}", level=3)
    yield _ours(errors)
