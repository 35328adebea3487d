"""Write the report and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from paper.appendix import every_number, failures, how, tables, value_text
from paper.catalogue import Catalogue
from paper.claims import check_claims
from paper.design import Design
from paper.document import Block, Grid, Heading, Picture, Text
from paper.errors import Errors
from paper.export import write_json, write_results
from paper.gaps import Gap, gaps
from paper.html_page import to_html
from paper.judge import Claim
from paper.markdown import to_markdown
from paper.methods import METHODS, OURS, PEERS, REFERENCES
from paper.options import Figures, Options
from paper.overview import draw_errors, draw_wins
from paper.regimes import CONSTANT, PAPER, REGIMES, SCALED, SETTINGS, Regime
from paper.scatter import draw_ours, draw_paper, draw_scaled
from paper.store import Store
from paper.summary import headline, means, shared, summarise, untouched, wins
from paper.theory_figures import THEORY

__all__ = ["write_report"]

_TITLE = "The paper's experiments"


def write_report(store: Store, catalogue: Catalogue, design: Design, options: Options) -> Path:
    """Write the report and the files behind it.

    Parameters
    ----------
    store : Store
        The results.
    catalogue : Catalogue
        The tables.
    design : Design
        The design of the run.
    options : Options
        Where ``report.html``, ``results.md``, CSV and JSON files and ``figures/`` go, and which
        figures are drawn.

    Returns
    -------
    Path
        The HTML page.
    """
    folder, entries, message = options.report_folder, catalogue.entries, catalogue.message
    folder.mkdir(parents=True, exist_ok=True)
    results, machines = store.all_results(), store.machines()
    write_results(folder, entries, results, store.all_trials())
    write_json(
        folder / "run.json",
        {
            "settings": design.must_agree(),
            "tables": {entry.number: entry.checksum for entry in entries},
            "machines": machines,
        },
    )
    errors = Errors(results, design, [e.number for e in entries if e.group != "extra"])
    extra = Errors(results, design, [e.number for e in entries if e.group == "extra"])
    rows_per_column = {entry.number: entry.n / entry.d for entry in entries}
    claims = check_claims(errors, results, design, rows_per_column)
    write_json(
        folder / "summary.json",
        {
            "headline": summarise(errors),
            "extra": summarise(extra) if extra.tasks else {},
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
    undone = gaps(entries, design, results)
    blocks += _missing([gap for gap in undone if gap.group != "extra"], _PARTIAL)
    exact = [entry.number for entry in entries if entry.group != "extra" and not entry.note]
    blocks += _results(errors, errors.only(exact), claims, options.figures)
    if options.figures == "all":
        blocks += _theory(options.repeats)
    if extra.tasks:
        blocks += _extra(extra, [gap for gap in undone if gap.group == "extra"])
    blocks += tables(entries, catalogue.missing)
    blocks += every_number(errors, entries)
    blocks += failures(results)
    blocks += how(design, options.command(), machines)
    return _write(folder, "Demonstration on generated tables" if message else _TITLE, blocks)


def _write(folder: Path, title: str, blocks: Sequence[Block]) -> Path:
    """Write the figures, the Markdown file and the HTML page, whose path is returned."""
    for block in blocks:
        if isinstance(block, Picture):
            (folder / "figures").mkdir(exist_ok=True)
            (folder / "figures" / f"{block.name}.svg").write_text(block.svg, "utf-8")
    (folder / "results.md").write_text(to_markdown(title, blocks), "utf-8")
    target = folder / "report.html"
    target.write_text(to_html(f"dpfit: {title}", blocks), "utf-8")
    return target


def _missing(found: Sequence[Gap], words: str) -> Iterator[Block]:
    """Yield which results are missing."""
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
    yield Grid(["missing", "work items", "tables"], rows, wordy=True)


def _results(
    errors: Errors, exact: Errors, claims: Sequence[Claim], figures: Figures
) -> Iterator[Block]:
    """Yield the results on the headline tables; `exact` is about those equal to the paper's."""
    epsilons = errors.design.epsilons

    def drawn(name: str, draw: Callable[[], str], title: str, caption: str) -> Iterator[Block]:
        if figures != "none":
            yield Picture(name, draw(), title, caption)

    yield Heading("Summary")
    yield _brief(errors)
    if 0 < len(exact.tasks) < len(errors.tasks):
        yield Text(_EXACT.format(exact=len(exact.tasks), all=len(errors.tasks)))
        yield _brief(exact)
    yield from drawn("errors", partial(draw_errors, errors, epsilons), "Errors", _ERRORS)
    yield from drawn("wins", partial(draw_wins, errors, epsilons), "Wins", _WINS)
    yield Heading("The paper's claims about its experiments")
    yield Text(_CHANCE)
    yield _claims(claims)
    for regime in REGIMES[:3]:
        yield Heading(f"Regime ({regime.key}): {regime.title}")
        yield from _regime(errors, regime)
    for peer in PEERS:
        if peer != PAPER:
            title = f"BoostedAdaSSP and {METHODS[peer].label}"
            yield Heading(title)
            draw = partial(draw_paper, errors, peer, epsilons)
            yield from drawn(f"scatter_{peer}", draw, title, _SCATTER)
    yield Heading(f"Regime (d): {REGIMES[3].title}")
    yield _ours(errors)
    yield Text(_EVEN)
    yield _ours(errors.only(untouched(errors.tasks)), every=True)
    for ours in OURS:
        title = f"{METHODS[ours].label}, untuned, against all tuned methods"
        draw = partial(draw_ours, errors, ours, epsilons)
        yield from drawn(f"scatter_{ours}", draw, title, _SCATTER)
    yield Heading("The effect of an intercept and of scaled features")
    yield Text(_SCALED)
    for regime in (CONSTANT, SCALED):
        yield Heading(regime.title, level=3)
        yield from _regime(errors, regime)
    draw = partial(draw_scaled, errors, epsilons)
    yield from drawn("scatter_scaled", draw, SCALED.title, _SCATTER)


_PARTIAL = (
    "This run is not finished. Each comparison uses the tables that have all the results it needs, "
    "and states their number. The same command continues the run."
)
_PARTIAL_EXTRA = (
    "Some results on these tables are missing. Each comparison uses the tables that have all the "
    "results it needs."
)
_ERRORS = (
    "Test MSE / Var(y), geometric mean over the tables with results of all methods. The mean of "
    "the target has an error of 1. Arrows with numbers show means above 100."
)
_WINS = (
    "Share of tables with the smaller error: in (a) to (c) for BoostedAdaSSP against each peer, in "
    "(d) for dpfit's models, untuned, against each tuned method. Ties count for neither."
)
_SCATTER = (
    "One point per table: test MSE / Var(y), median of seeds. Below the diagonal, the method on "
    "the vertical axis has the smaller error. Points beyond 1000 are drawn at the edge."
)
_EXACT = (
    "The same on the {exact} of {all} tables that agree with the paper's in rows, columns and "
    "largest |y|. The others are close to the paper's (see Tables)."
)
_CHANCE = (
    "p is the p-value of a sign test: the probability of a result at least as uneven if each table "
    "were decided by a fair coin. Some tables share data, so p is too small. Ratios are geometric "
    "means of the first error over the second. Whether a claim holds depends on its criterion "
    "alone."
)
_EVEN = (
    "The constants of dpfit's models were chosen on tables with an odd task number. Even ones were "
    "looked at during development: one rule was motivated by cpu_act, and one by diamonds and "
    "SGEMM (benches/python/NOTES.md). Results on the even tasks that share no data with an odd one:"
)
_SCALED = (
    "The paper's methods use unscaled columns and no intercept. This section changes that in two "
    "steps, with the fixed hyperparameters of (c): first, an intercept is added; second, every "
    "column is scaled to [0, 1] / √d by its true range, which is not private. The differences show "
    "what the lack of each costs in (c). DP-EBM and dpfit's models are the same in all three."
)


def _of(pair: tuple[int, int]) -> str:
    won, of = pair
    return f"{won} of {of} ({won / of:.0%})" if of else "–"


def _epsilons(design: Design) -> list[str]:
    return [f"ε = {epsilon:g}" for epsilon in design.epsilons]


def _brief(errors: Errors) -> Grid:
    found = headline(errors)
    rows = [
        [
            f"{METHODS[ours].label}, untuned, beats {what}, tuned",
            *map(_of, found[f"{ours} / {key}"]),
        ]
        for ours in OURS
        for key, what in (
            ("every peer", "all methods"),
            ("every linear peer", "all linear methods"),
        )
    ]
    rows += [
        [f"BoostedAdaSSP fixed beats {METHODS[peer].label} fixed", *map(_of, pairs)]
        for peer, pairs in wins(errors, REGIMES[2]).items()
    ]
    counts = [errors.column((PAPER, "fixed"), e).values() for e in errors.design.epsilons]
    useless = [_of((sum(v >= 1 for v in found), len(found))) for found in counts]
    rows.append(["BoostedAdaSSP fixed is no better than the mean of the target", *useless])
    return Grid(["tables", *_epsilons(errors.design)], rows)


def _claims(claims: Sequence[Claim]) -> Grid:
    rows = [[c.text, c.criterion, c.measured, c.verdict, c.why] for c in claims]
    marks = {
        (y, 3): "holds" if claim.holds else "fails"
        for y, claim in enumerate(claims)
        if claim.holds is not None
    }
    header = ["claim", "criterion", "measured", "outcome", "explanation"]
    return Grid(header, rows, wordy=True, marks=marks)


def _regime(errors: Errors, regime: Regime) -> Iterator[Block]:
    found = means(errors, regime)
    rows, marks = [], {}
    for y, (name, values) in enumerate(found.items()):
        setting = SETTINGS[regime.side(name)[1]] if METHODS[name].space else "none"
        rows.append([METHODS[name].label, setting, *map(value_text, values)])
        for x, value in enumerate(values):
            others = [v[x] for n, v in found.items() if n not in REFERENCES]
            if name not in REFERENCES and value == min(others):
                marks[y, x + 2] = "best"
    common = [shared(errors, regime, epsilon) for epsilon in errors.design.epsilons]
    rows.append(["tables in these means", "", *(str(len(tasks)) for tasks in common)])
    header = ["geometric mean of test MSE / Var(y)", "hyperparameters", *_epsilons(errors.design)]
    yield Grid(header, rows, marks=marks)
    yield Grid(
        ["tables won", *_epsilons(errors.design)],
        [
            [f"BoostedAdaSSP beats {METHODS[peer].label}", *map(_of, pairs)]
            for peer, pairs in wins(errors, regime).items()
        ],
    )


def _ours(errors: Errors, *, every: bool = False) -> Grid:
    """Return the wins of dpfit's models; `every` for only those against all peers at once."""
    rows = []
    for name, pairs in headline(errors).items():
        ours, _, other = name.partition(" / ")
        if every and other in METHODS:
            continue
        label = METHODS[other].label if other in METHODS else other
        rows.append([f"{METHODS[ours].label} beats {label}", *map(_of, pairs)])
    return Grid(["tables won", *_epsilons(errors.design)], rows)


def _theory(repeats: int) -> Iterator[Block]:
    yield Heading("Theory")
    for shown in THEORY:
        yield Heading(shown.title, level=3)
        yield Picture(shown.name, shown.draw(repeats), shown.title, shown.text)


def _extra(errors: Errors, undone: Sequence[Gap]) -> Iterator[Block]:
    yield Heading("Extra tables")
    yield Text(
        "These tables are partly reconstructed or much smaller than the paper's. They are not in "
        "the results above."
    )
    yield from _missing(undone, _PARTIAL_EXTRA)
    for regime in (REGIMES[0], REGIMES[2]):
        yield Heading(f"({regime.key}) {regime.title}", level=3)
        yield from _regime(errors, regime)
    yield Heading(f"(d) {REGIMES[3].title}", level=3)
    yield _ours(errors)
