"""``dpfit show``."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

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
    if json and sql is not None:
        raise wrong_use("--json and --sql both write to standard output", "choose one of them")
    if plot is None:
        fitted: Any = open_model(model)
    else:
        format = _format(plot)
        use_matplotlib()
        with open_output(str(plot), model) as file:
            fitted = open_model(model)
            file.write(_plot(fitted, format))
    if sql is not None:
        print_sql(fitted.to_sql(sql, dialect) + ";")
    elif json:
        print_json(model_as_json(fitted))
    elif plot is None or str(plot) != STANDARD:
        print_model(fitted)
    if plot is not None and str(plot) != STANDARD:
        print_note(f"The plot was written to {plot}.")


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
