"""One page with everything, and the files behind it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from dpfit.experiments import page
from dpfit.experiments.catalogue import Entry
from dpfit.experiments.claims import Claim, check_claims
from dpfit.experiments.environment import hardware, versions
from dpfit.experiments.errors import Errors
from dpfit.experiments.export import write_json, write_results
from dpfit.experiments.methods import METHODS, OURS, PEERS, Choice, Method
from dpfit.experiments.overview import draw_errors, draw_wins
from dpfit.experiments.plan import Plan
from dpfit.experiments.regimes import PAPER, REGIMES, SCALED, Regime
from dpfit.experiments.scatter import draw_ours, draw_paper, draw_scaled
from dpfit.experiments.store import Store
from dpfit.experiments.summary import headline, means, summarise, wins
from dpfit.experiments.theory_figures import THEORY

__all__ = ["Figures", "write_report"]

Figures = Literal["all", "results", "none"]
# Behind each point of the theory's figures.
_REPEATS = 20

_SLOW_NOTE = (
    "Rows were capped at {rows:,} for tuning the slow methods ({names}); final fits use all rows."
)


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
) -> Path:
    """Write the report and the files behind it.

    Parameters
    ----------
    folder : Path
        Where ``report.html``, CSV and JSON files and ``figures/`` go.
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

    Returns
    -------
    Path
        The page.
    """
    drawings = folder / "figures"
    drawings.mkdir(parents=True, exist_ok=True)
    results, trials = store.all_results(), store.all_trials()
    write_results(folder, entries, results, trials)
    apart = [entry.number for entry in entries if entry.group == "extra"]
    errors = Errors(results, plan, [e.number for e in entries if e.group != "extra"])
    claims = check_claims(errors, results, plan)
    write_json(
        folder / "summary.json",
        {
            "headline": summarise(errors),
            "extra": summarise(Errors(results, plan, apart)) if apart else {},
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

    def drawn(name: str, draw: Callable[[], str], title: str, caption: str) -> str:
        if figures == "none":
            return ""
        svg = draw()
        (drawings / f"{name}.svg").write_text(svg, "utf-8")
        return page.image(svg, title, caption)

    parts = [page.paragraph(message, "warn")] if message else []
    parts += [
        _result_in_brief(errors, plan),
        drawn(
            "errors", lambda: draw_errors(errors, plan.epsilons), "errors of all methods", _ERRORS
        ),
        drawn("wins", lambda: draw_wins(errors, plan.epsilons), "wins", _WINS),
        _claims(claims),
    ]
    for regime in REGIMES[:3]:
        parts.append(_regime(errors, regime))
    for peer in PEERS:
        if peer != PAPER:
            title = f"BoostedAdaSSP and {METHODS[peer].label}"
            picture = partial(draw_paper, errors, peer, plan.epsilons)
            parts.append(page.section(title, drawn(f"scatter_{peer}", picture, title, _SCATTER)))
    parts.append(_ours(errors))
    for ours in OURS:
        title = f"{METHODS[ours].label}, untuned, against everybody tuned"
        picture = partial(draw_ours, errors, ours, plan.epsilons)
        parts.append(drawn(f"scatter_{ours}", picture, title, title))
    parts.append(
        page.section(
            "Why: features of one size",
            page.paragraph(_SCALED),
            _regime_table(errors, SCALED),
            drawn(
                "scatter_scaled",
                lambda: draw_scaled(errors, plan.epsilons),
                SCALED.title,
                _SCATTER,
            ),
        )
    )
    if figures == "all":
        parts.append(page.section("Theory, shown"))
        for shown in THEORY:
            parts.append(page.section(shown.title, level=3))
            parts.append(drawn(shown.name, partial(shown.draw, _REPEATS), shown.title, shown.text))
    if apart:
        parts.append(_extra(Errors(results, plan, apart)))
    parts += [
        _tables(entries, missing),
        _every_number(errors, entries),
        _how(plan, command),
    ]
    title = "Demonstration on generated tables" if message else "The paper's experiments"
    target = folder / "report.html"
    target.write_text(page.whole_page(f"dpfit: {title}", *parts), "utf-8")
    return target


_ERRORS = (
    "Test MSE / Var(y), geometric mean over the tables. 1 is what the mean of the target gives; "
    "means above 100 are drawn at 100."
)
_WINS = (
    "Share of tables with the smaller error. In (a) to (c) it is BoostedAdaSSP against each peer; "
    "in (d) it is ours, untuned, against each tuned method."
)
_SCATTER = (
    "One point for each table: test MSE / Var(y), median of seeds. Below the diagonal the method "
    "of the vertical axis has the smaller error. Points beyond 1000 are drawn at the edge."
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


def _result_in_brief(errors: Errors, plan: Plan) -> str:
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
    fixed = wins(errors, REGIMES[2])
    rows += [
        [f"BoostedAdaSSP fixed beats {METHODS[peer].label} fixed", *map(_of, pairs)]
        for peer, pairs in fixed.items()
    ]
    return page.section("In brief", page.table(["tables won", *_levels(plan)], rows))


def _claims(claims: Sequence[Claim]) -> str:
    rows = [[c.text, c.criterion, c.measured, c.verdict, c.why] for c in claims]
    marks = {
        (y, 3): "holds" if claim.holds else "fails"
        for y, claim in enumerate(claims)
        if claim.holds is not None
    }
    header = ["the paper's claim", "taken to mean", "measured", "", "why"]
    return page.section(
        "Claims of the paper's section on experiments",
        page.table(header, rows, text=True, marks=marks),
    )


def _regime_table(errors: Errors, regime: Regime) -> str:
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
    against = [
        [f"BoostedAdaSSP beats {METHODS[peer].label}", *map(_of, pairs)]
        for peer, pairs in wins(errors, regime).items()
    ]
    return page.table(header, rows, marks=marks) + page.table(
        ["tables won", *_levels(errors.plan)], against
    )


def _regime(errors: Errors, regime: Regime) -> str:
    return page.section(f"Regime ({regime.key}): {regime.title}", _regime_table(errors, regime))


def _ours(errors: Errors) -> str:
    rows = []
    for name, pairs in headline(errors).items():
        ours, _, other = name.partition(" / ")
        label = METHODS[other].label if other in METHODS else other
        rows.append([f"{METHODS[ours].label} beats {label}", *map(_of, pairs)])
    return page.section(
        f"Regime (d): {REGIMES[3].title}",
        page.table(["tables won", *_levels(errors.plan)], rows),
    )


def _extra(errors: Errors) -> str:
    return page.section(
        "Tables apart",
        page.paragraph(
            "Partly reconstructed or much smaller than the paper's; not in any figure above."
        ),
        *(
            page.section(f"({regime.key}) {regime.title}", _regime_table(errors, regime), level=3)
            for regime in (REGIMES[0], REGIMES[2])
        ),
        _ours(errors).replace("<h2>", "<h3>").replace("</h2>", "</h3>"),
    )


def _tables(entries: Sequence[Entry], missing: Sequence[int]) -> str:
    rows = [
        [str(e.number), e.name, e.group, f"{e.n:,}", str(e.d), f"{e.bound:.6g}", e.note or "–"]
        for e in entries
    ]
    lost = ", ".join(map(str, missing))
    header = ["task", "table", "group", "n", "d", "max |y|", "where it differs from the paper"]
    return page.section(
        "Tables",
        page.table(header, rows),
        page.paragraph(f"Tasks of the paper that were not there: {lost or 'none'}.", "note"),
    )


def _every_number(errors: Errors, entries: Sequence[Entry]) -> str:
    parts = []
    names = {entry.number: entry.name for entry in entries}
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
                rows.append(
                    [f"{task} {names[task]}", *("–" if c is None else _value(c) for c in cells)]
                )
            header = ["table", *(METHODS[name].label for name, _ in columns)]
            parts.append(
                page.details(
                    f"ε = {epsilon:g}, peers {setting}", page.table(header, rows, marks=marks)
                )
            )
    return page.section("Every table: test MSE / Var(y), median of seeds", *parts)


def _ranges(method: Method) -> str:
    found = []
    for name, values in method.space.items():
        if isinstance(values, Choice):
            found.append(f"{name} in {{{', '.join(map(str, values.values))}}}")
        else:
            found.append(f"{name} in [{values.low:g}, {values.high:g}]")
    return "; ".join(found) or "–"


def _how(plan: Plan, command: Sequence[str]) -> str:
    rows = [
        [
            method.label,
            ", ".join(f"{k}={v}" for k, v in method.fixed.items()) or "–",
            _ranges(method),
            str(plan.trials_of(method)) if method.space else "–",
        ]
        for method in METHODS.values()
        if method.name in plan.methods
    ]
    slow = ", ".join(m.label for m in METHODS.values() if m.slow)
    facts = [[name, value] for name, value in (*hardware().items(), *versions().items())]
    return page.section(
        "How it was done",
        page.paragraph(_METHOD.format(seeds=plan.seeds, delta=plan.delta)),
        page.paragraph(_SLOW_NOTE.format(rows=plan.tuning_rows, names=slow)),
        page.table(["method", "fixed", "tuned within (logarithmic)", "trials"], rows, text=True),
        page.section("Command", page.code(shlex.join(command)), level=3),
        page.section("Machine and versions", page.table(["", ""], facts, text=True), level=3),
    )


_METHOD = (
    "Rows with missing values are dropped, levels are one-hot and public, columns are not scaled, "
    "and a fifth of the rows is for testing, all as in the paper's own script (seed 42 for the "
    "split). Errors are medians over {seeds} seeds of the noise; δ = {delta:g}. Tuning is not "
    "private: Optuna's TPE, seeded, judges each trial on a fifth of the fitted rows, the first "
    "trial is the fixed setting, and the best is fitted again on all rows that are not for "
    "testing. The paper does not say what it tuned on. Whether to add a constant is tuned, too, "
    "which the paper does not list and which can only help. DP-EBM is InterpretML's own class and "
    "is given the true range of every column and of the target; the others are given nothing. "
    "All privacy is for adding or removing one row, but for DP-EBM, which has its own definition."
)
