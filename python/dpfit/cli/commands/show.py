"""``dpfit show``."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dpfit.accounting import Ledger
from dpfit.cli.errors import wrong_use
from dpfit.cli.inputs import open_model
from dpfit.cli.model_json import model_as_json
from dpfit.cli.options import Json, Model, output_path, plot_format
from dpfit.cli.outputs import STANDARD, open_output, use_matplotlib
from dpfit.cli.printing import print_json, print_model, print_note, print_sql

__all__ = ["EXAMPLES", "show"]

EXAMPLES = (
    "dpfit show model.json",
    "dpfit show model.json --plot model.png",
    "dpfit show model.json --html model.html",
    "dpfit show model.json --sql new_rows > predict.sql",
    "dpfit show model.json --json",
)


def show(
    model: Model,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=output_path,
            help="Also draw the model, to a .png, .svg or .pdf file.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=output_path,
            help="Also write a report for people: one HTML file, which loads nothing and prints "
            "well.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="LEDGER",
            help="The ledger that paid for the fit. The report shows its history, and MODEL is "
            "compared with the checksum in it.",
        ),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Print an SQL query instead, which predicts for the rows of TABLE.",
        ),
    ] = None,
    dialect: Annotated[
        Literal["standard", "sqlite"],
        typer.Option(
            help="SQL dialect of the query. It matters only for dates: use `standard` for DuckDB "
            "and PostgreSQL."
        ),
    ] = "standard",
    json: Json = False,
) -> None:
    """Print a model and its privacy guarantee.

    All numbers were released by the fit; showing them has no further privacy cost.
    """
    printed = {
        "--json": json,
        "--sql": sql is not None,
        "--plot -": str(plot) == STANDARD,
        "--html -": str(html) == STANDARD,
    }
    if len(both := [option for option, is_given in printed.items() if is_given]) > 1:
        raise wrong_use(
            f"{both[0]} and {both[1]} both write to standard output", "choose one of them"
        )
    if ledger is not None and html is None:
        raise wrong_use("--ledger is for the report", "add --html FILE")
    if plot is not None and html is not None and plot.resolve() == html.resolve():
        raise wrong_use("--plot and --html have the same name", "give them different names")
    writers: list[tuple[Path, Callable[[Any], bytes]]] = []
    if plot is not None:
        format = _format(plot)
        use_matplotlib()
        writers.append((plot, lambda fitted: _plot(fitted, format)))
    account = None if ledger is None else Ledger(ledger)
    if html is not None:
        writers.append((html, lambda fitted: fitted.report_html(ledger=account).encode()))
    fitted: Any = None
    for path, write in writers:
        with open_output(str(path), model, ledger) as file:
            # Once: it may come from standard input.
            fitted = open_model(model) if fitted is None else fitted
            file.write(write(fitted))
    fitted = open_model(model) if fitted is None else fitted
    if sql is not None:
        print_sql(fitted.to_sql(sql, dialect) + ";")
    elif json:
        print_json(model_as_json(fitted))
    elif STANDARD not in (str(plot), str(html)):
        print_model(fitted)
    for written, what in ((plot, "plot"), (html, "report")):
        if written is not None and str(written) != STANDARD:
            print_note(f"The {what} was written to {written}.")
    if account is not None and str(model) != STANDARD:
        print_note(_as_recorded(fitted, model, account))


def _as_recorded(fitted: Any, path: Path, ledger: Ledger) -> str:
    """Return whether the ledger has the checksum of a model file."""
    own = fitted.provenance_.ledger_entry
    entry = next(entry for entry in ledger.history() if entry.id == own)
    checksum = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    if not entry.files:
        return f"The ledger has no checksum of a model file for entry {entry.number}."
    if checksum in {file.checksum for file in entry.files}:
        return f"The checksum of {path} is that of entry {entry.number} of the ledger."
    return (
        f"WARNING: {path} is not the file that entry {entry.number} of the ledger recorded. It was "
        "changed, or written again."
    )


def _plot(model: Any, format: str) -> bytes:
    figure = (
        model.plot_coefficients().get_figure() if hasattr(model, "coef_") else model.plot_curves()
    )
    file = io.BytesIO()
    figure.savefig(file, format=format, dpi=150)
    return file.getvalue()


def _format(path: Path) -> str:
    if str(path) != STANDARD:
        return plot_format(path)
    if sys.stdout.isatty():
        raise wrong_use("a plot cannot be shown in a terminal", "--plot FILE.png, or > FILE.png")
    return "png"
