"""``dpfit show``."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from dpfit.cli.errors import needs_extra, wrong_use
from dpfit.cli.files import STANDARD, written
from dpfit.cli.inputs import open_model
from dpfit.cli.options import Json, Model
from dpfit.cli.text import epilog, note, paragraph, say, say_json, unwrapped

__all__ = ["add", "as_plain"]

EXAMPLES = (
    "dpfit show model.json",
    "dpfit show model.json --plot model.png",
    "dpfit show model.json --sql new_rows > predict.sql",
    "dpfit show model.json --json",
)


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show", help=unwrapped(show), epilog=epilog(EXAMPLES))(show)


def show(
    model: Model,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw it: a .png, .svg or .pdf file."),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Print a query instead, which predicts in a database."),
    ] = None,
    json: Json = False,
) -> None:
    """Print a model and what it promises to the people in its data.

    Everything that is shown was released by the fit, and costs nothing more.
    """
    if json and sql is not None:
        raise wrong_use("--json and --sql would both go to standard output", "choose one of them")
    if plot is None:
        fitted: Any = open_model(model)
    else:
        format = _picture_format(plot)
        _use_matplotlib()
        with written(str(plot)) as file:
            fitted = open_model(model)
            file.write(_picture(fitted, format))
    if sql is not None:
        say(fitted.to_sql(sql) + ";")
    elif json:
        say_json(as_plain(fitted))
    elif plot is None or str(plot) != STANDARD:
        say(str(fitted.summary()))
        say()
        say(paragraph(fitted.privacy_.statement()))
    if plot is not None and str(plot) != STANDARD:
        note(f"The picture is in {plot}.")


def as_plain(model: Any) -> dict[str, Any]:
    """Return a fitted model as what JSON has words for.

    Privacy
    -------
    All of it was released, or is public.
    """
    record, variance = model.privacy_, model.residual_variance_
    found: dict[str, Any] = {
        "class": type(model).__name__,
        "epsilon": record.epsilon,
        "delta": record.delta,
        "mu": record.mu,
        "neighbors": record.neighbors,
        "unit": record.unit,
        "unit_column": record.unit_column,
        "private": not record.insecure_seed,
        "rows_as_released": model.n_rows_,
        "residual_std": None if variance is None else math.sqrt(variance),
        "intercept": model.intercept_,
    }
    names = model._names()
    if hasattr(model, "coef_"):
        ends = model.coef_interval()
        found["coefficients"] = [
            {
                "name": name,
                "coef": float(coef),
                # Of a level that was not seen nothing is known.
                "interval": [float(low), float(high)] if math.isfinite(high - low) else None,
                "range": [float(end) if math.isfinite(end) else None for end in width],
            }
            for name, coef, (low, high), width in zip(
                model.coef_names_, model.coef_, ends[:-1], model.feature_range_, strict=True
            )
        ]
    else:
        curves = [(name, *model.curve(place)) for place, name in enumerate(names)]
        found["curves"] = [
            {
                "name": name,
                "levels" if isinstance(x, list) else "x": x if isinstance(x, list) else x.tolist(),
                "height": height.tolist(),
            }
            for name, x, height in curves
        ]
    found["statement"] = record.statement()
    return found


def _use_matplotlib() -> None:
    try:
        import matplotlib
    except ImportError:
        raise needs_extra("a picture", "plot") from None
    # Into a file, whatever screen there is.
    matplotlib.use("Agg")


def _picture(model: Any, format: str) -> bytes:
    figure = (
        model.plot_coefficients().get_figure() if hasattr(model, "coef_") else model.plot_curves()
    )
    file = io.BytesIO()
    figure.savefig(file, format=format, dpi=150)
    return file.getvalue()


def _picture_format(path: Path) -> str:
    ending = path.suffix.lower().lstrip(".")
    if str(path) == STANDARD:
        return "png"
    if ending not in ("png", "svg", "pdf"):
        raise wrong_use(f"--plot {str(path)!r} must end in .png, .svg or .pdf")
    return ending
