"""``dpfit ledger``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfit._typing import Neighbors
from dpfit.accounting import Charge, Ledger, LedgerEntry
from dpfit.accounting.statement import rounded_down, rounded_up
from dpfit.cli.costs import (
    Cost,
    cost_of_fit,
    cost_of_model,
    cost_of_mu,
    cost_of_other,
)
from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.options import Fits, Json, Models, Mus, Others, input_path, output_path
from dpfit.cli.printing import epilog, print_json, print_note, print_text, unwrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app"]

EXAMPLES = (
    "dpfit ledger create study.dpl --epsilon 2 --dataset NHANES --unit person",
    "dpfit ledger create stays.dpl -e 2 --dataset Stays --unit patient --only-units",
)
SHOW_EXAMPLES = ("dpfit ledger show study.dpl", "dpfit ledger show study.dpl --json")
ADD_EXAMPLES = (
    "dpfit ledger add study.dpl model.json",
    "dpfit ledger add study.dpl --other 0.5,1e-7 --what 'published table'",
)
ADOPT_EXAMPLES = ("dpfit ledger adopt study.dpl",)

_BAR = 40
_ASIDE = "EPSILON[,DELTA]"

app = typer.Typer(no_args_is_help=True)

File = Annotated[
    Path,
    typer.Argument(metavar="LEDGER", parser=input_path, help="A ledger.", show_default=False),
]


def _ledger() -> None:
    """Keep a privacy budget in a file, from which all fits on a data set are paid.

    `dpfit fit --ledger LEDGER` charges a fit before it releases anything, and refuses if the budget
    does not allow it.
    """


def create(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="LEDGER", parser=output_path, help="File to create.", show_default=False
        ),
    ],
    dataset: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the data set.", show_default=False)
    ],
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon", "-e", metavar="NUMBER", help="Budget of all fits together, with --delta."
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Delta. Default: 1e-6.")
    ] = None,
    mu: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Budget as the mu of Gaussian differential privacy, instead of --epsilon.",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What is protected, such as `person`. Default: each row."
        ),
    ] = None,
    rows_per_unit: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Largest number of rows of a person in the data. Fits without --unit cost this "
            "many times their mu. Needs --unit.",
        ),
    ] = 1,
    only_units: Annotated[
        bool,
        typer.Option("--only-units", metavar="", help="Refuse fits without --unit. Needs --unit."),
    ] = False,
    neighbors: Annotated[
        Neighbors, typer.Option(help="What all fits hide: see `dpfit fit --help`.")
    ] = "add_remove",
    other: Annotated[
        str | None,
        typer.Option(
            metavar=_ASIDE,
            help="Part of the budget to set aside for releases that are not Gaussian. Without it, "
            "they can be paid only before the first Gaussian one.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Create a ledger. Its budget cannot be changed later."""
    if (epsilon is None) == (mu is None):
        raise wrong_use("give --epsilon or --mu", EXAMPLES[0])
    if unit is None and (only_units or rows_per_unit != 1):
        raise wrong_use("--rows-per-unit and --only-units need --unit")
    if only_units and rows_per_unit != 1:
        raise wrong_use("--rows-per-unit and --only-units exclude each other")
    if other is not None and mu is not None:
        raise wrong_use("--other is a part of --epsilon and --delta, not of --mu")
    aside = None if other is None else cost_of_other(other)
    if aside is not None and aside.times != 1:
        raise wrong_use(f"--other {other!r} must be {_ASIDE}")
    ledger = Ledger.create(
        path,
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        dataset=dataset,
        unit=unit,
        rows_per_unit=None if only_units else rows_per_unit,
        neighbors=neighbors,
        other_epsilon=0.0 if aside is None else aside.epsilon or 0.0,
        other_delta=0.0 if aside is None else aside.delta or 0.0,
    )
    _print(ledger, str(path), json=json)


def show(path: File, json: Json = False) -> None:
    """Print a ledger: its budget, what is left of it, and all entries."""
    _print(Ledger(path), str(path), json=json)


def add(
    path: File,
    models: Models = None,
    fits: Fits = None,
    mus: Mus = None,
    others: Others = None,
    what: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What was released, for --fit, --mu and --other."),
    ] = None,
    json: Json = False,
) -> None:
    """Charge a ledger for releases that were made without it: all of them, or none.

    Models must not contain an entry of the ledger already. Costs that are given as numbers must
    hold for what the ledger protects.
    """
    other = [*map(cost_of_other, others or [])]
    gaussian = [*map(cost_of_fit, fits or []), *map(cost_of_mu, mus or [])]
    stated = [*other, *gaussian]
    if not (models or stated):
        raise wrong_use("nothing to add", ADD_EXAMPLES[0])
    if stated and what is None:
        raise wrong_use("--fit, --mu and --other need --what", ADD_EXAMPLES[1])
    ledger = Ledger(path)
    contents = [_new_model(ledger, model) for model in models or []]
    # Releases that are not Gaussian come first: they are all decided at once.
    charges = [
        *(_stated(cost, what or "", ledger) for cost in other),
        *(_charge(cost_of_model(model)) for model in models or []),
        *(_stated(cost, what or "", ledger) for cost in gaussian),
    ]
    entries = ledger.reserve(*charges)[len(other) :]
    for entry, model, content in zip(entries, models or [], contents, strict=False):
        ledger.add_checksum(entry.id, model.name, content)
    _print(ledger, str(path), json=json)


def adopt(path: File, json: Json = False) -> None:
    """Continue to use a ledger that was copied, restored or moved to another disk.

    Do this only if the other file is no longer used. Otherwise both spend the same budget.
    """
    ledger = Ledger(path)
    ledger.adopt()
    _print(ledger, str(path), json=json)


app.callback(help=unwrapped(_ledger), epilog=epilog([*EXAMPLES, SHOW_EXAMPLES[0]]))(_ledger)
for _command, _examples in (
    (create, EXAMPLES),
    (show, SHOW_EXAMPLES),
    (add, ADD_EXAMPLES),
    (adopt, ADOPT_EXAMPLES),
):
    app.command(help=unwrapped(_command), epilog=epilog(_examples))(_command)


def _new_model(ledger: Ledger, path: Path) -> bytes:
    """Return the content of a model file; refuse one that was charged already."""
    from dpfit.models.file import load

    provenance = load(path).model_.provenance
    content = path.read_bytes()
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
    for entry in ledger.history():
        known = provenance is not None and provenance.ledger_entry == entry.id
        if known or checksum in {file.checksum for file in entry.files}:
            raise failure(f"{path} was charged already, as entry {entry.number} of the ledger")
    return content


def _charge(model: Cost) -> Charge:
    """Return the cost of a model.

    Privacy
    -------
    Its record says what it protects, as a fit would.
    """
    record = model.record
    assert record is not None
    if record.insecure_seed:
        raise failure(f"{model.name} is not private: its noise came from a fixed seed")
    return Charge(
        what=model.name,
        mu=record.mu,
        epsilon=record.epsilon,
        delta=record.delta,
        kind="added",
        neighbors=record.neighbors,
        protects_units=record.max_rows is not None,
        unit_name=record.unit_name,
        max_rows=record.max_rows,
    )


def _stated(cost: Cost, what: str, ledger: Ledger) -> Charge:
    return Charge(
        what=what,
        mu=cost.mu,
        epsilon=cost.epsilon,
        delta=cost.delta,
        times=cost.times,
        kind="added",
        neighbors=ledger.neighbors,
    )


def _print(ledger: Ledger, path: str, *, json: bool) -> None:
    left, entries = ledger.remaining(), ledger.history()
    spent = 1.0 - (left.mu / ledger.mu) ** 2
    if ledger.is_copy():
        print_note(
            f"{path} was copied, restored or moved to another disk. Fits refuse it until you "
            "decide that the other file is no longer used (dpfit ledger adopt)."
        )
    if json:
        print_json(
            {
                "ledger": path,
                "dataset": ledger.dataset,
                "unit": ledger.unit,
                "rows_per_unit": ledger.rows_per_unit,
                "neighbors": ledger.neighbors,
                "created": ledger.created,
                "budget": {"epsilon": ledger.epsilon, "delta": ledger.delta, "mu": ledger.mu},
                "set_aside": dict(zip(("epsilon", "delta"), ledger.set_aside, strict=True)),
                "left": {"epsilon": left.epsilon, "delta": left.delta, "mu": left.mu},
                "spent_share": spent,
                "entries": [entry.to_dict() for entry in entries],
            }
        )
        return
    for name, value in (
        ("Ledger", path),
        ("Data set", ledger.dataset),
        ("Protects", _protects(ledger)),
        ("Budget", _budget(ledger.epsilon, ledger.delta, ledger.mu)),
        *_aside(ledger),
        ("Left", _budget(left.epsilon, left.delta, left.mu)),
    ):
        print_text(f"{name:<9} {value}")
    filled = min(round(spent * _BAR), _BAR)
    print_text(f"Spent     [{'#' * filled}{'.' * (_BAR - filled)}] {_percent(spent)} %")
    if entries:
        print_text()
        _print_table(entries, has_units=ledger.unit is not None)


def _percent(share: float) -> str:
    """Return a share of mu squared in percent: neither 0 nor 100 unless it is."""
    return f"{min(max(share * 100, 0.1), 99.9):.1f}" if 0.0 < share < 1.0 else f"{share * 100:.0f}"


def _budget(epsilon: float | None, delta: float, mu: float) -> str:
    known = "" if epsilon is None else f"epsilon {rounded_down(epsilon)}, delta {delta:g}, "
    return f"{known}mu {rounded_down(mu)}"


def _aside(ledger: Ledger) -> list[tuple[str, str]]:
    epsilon, delta = ledger.set_aside
    if not (epsilon or delta):
        return []
    text = f"epsilon {epsilon:g}, delta {delta:g}, for releases that are not Gaussian"
    return [("Set aside", text)]


def _protects(ledger: Ledger) -> str:
    if ledger.unit is None:
        return f"each row ({ledger.neighbors})"
    rows = ledger.rows_per_unit
    without = (
        "are refused"
        if rows is None
        else f"are charged for {rows} row{'' if rows == 1 else 's'} of each"
    )
    return f"each {ledger.unit} ({ledger.neighbors}); fits without a unit {without}"


def _print_table(entries: Sequence[LedgerEntry], *, has_units: bool) -> None:
    heads = ("no.", "time", "user", "what", "protects", "cost", "model file, remark")
    rows = [heads, *map(_row, entries)]
    if not has_units:
        # All entries protect rows.
        rows = [(*row[:4], *row[5:]) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print_text("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip())


def _row(entry: LedgerEntry) -> tuple[str, ...]:
    times = f"{entry.times} x " if entry.times > 1 else ""
    cost: Any = ""
    if entry.mu is not None:
        cost = f"{times}mu {rounded_up(entry.mu)}"
    elif entry.epsilon is not None:
        cost = f"{times}epsilon {rounded_up(entry.epsilon)}, delta {rounded_up(entry.delta or 0.0)}"
    files = ", ".join(f"{f.name} ({f.checksum[:15]}...)" for f in entry.files)
    last = "; ".join(part for part in (files, entry.remark) if part)
    # To the minute; --json has the rest.
    time = entry.time[:16].replace("T", " ")
    return str(entry.number), time, entry.user, entry.what, _protected(entry), cost, last


def _protected(entry: LedgerEntry) -> str:
    """Return what a fit protects; nothing for costs that a person stated."""
    if entry.max_rows is not None:
        rows = f"{entry.max_rows} row{'' if entry.max_rows == 1 else 's'}"
        return f"each {entry.unit_name or 'unit'} ({rows})"
    return "each row" if entry.kind == "fit" else ""
