"""``dpfit show``."""

from __future__ import annotations

import enum
import io
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from dpfit.cli.errors import needs_extra, wrong_use
from dpfit.cli.files import STANDARD, written
from dpfit.cli.inputs import open_model
from dpfit.cli.options import Json, Model, output_path
from dpfit.cli.text import epilog, note, paragraph, say, say_json, say_sql, unwrapped

__all__ = ["add", "as_plain"]

# How often the intervals hold, as in the text.
_LEVEL = 0.95

EXAMPLES = (
    "dpfit show model.json",
    "dpfit show model.json --plot model.png",
    "dpfit show model.json --sql new_rows > predict.sql",
    "dpfit show model.json --json",
)


class Dialect(enum.StrEnum):
    """What kind of database a query is for."""

    STANDARD = "standard"
    SQLITE = "sqlite"


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show", help=unwrapped(show), epilog=epilog(EXAMPLES))(show)


def show(
    model: Model,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", parser=output_path, help="Also draw it: a .png, .svg or .pdf file."
        ),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Print a query instead, which predicts in a database."),
    ] = None,
    dialect: Annotated[
        Dialect,
        typer.Option(
            help="Whose SQL it is. Matters for dates: standard is for DuckDB and PostgreSQL, too."
        ),
    ] = Dialect.STANDARD,
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
        with written(str(plot), model) as file:
            fitted = open_model(model)
            file.write(_picture(fitted, format))
    if sql is not None:
        say_sql(fitted.to_sql(sql, dialect.value) + ";")
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
    record, variance, summary = model.privacy_, model.residual_variance_, model.summary()
    found: dict[str, Any] = {
        "class": type(model).__name__,
        "status": model.status_,
        "epsilon": record.epsilon,
        "delta": record.delta,
        "mu": record.mu,
        "neighbors": record.neighbors,
        "unit": record.unit,
        "unit_column": record.unit_column,
        "private": not record.insecure_seed,
        "rows_as_released": model.n_rows_,
        "rounds": model.n_rounds_,
        "residual_std": None if variance is None else math.sqrt(variance),
        "target_range": _finite(model.target_range_),
        "intercept": model.intercept_,
        **(_coefficients(model) if hasattr(model, "coef_") else _curves(model)),
        "warning": summary.warning or None,
        "notes": list(summary.notes),
        "statement": record.statement(),
    }
    return found


def _coefficients(model: Any) -> dict[str, Any]:
    """Return slopes and the intercept, with how far they may be off."""
    parts = {"noise": model.coef_noise_, "sampling": model.coef_sampling_}
    deviations = {
        "std_error": model._standard_errors(sampling=True),
        **{name: part.diagonal().clip(min=0.0) ** 0.5 for name, part in parts.items()},
        "bias": model.coef_bias_,
    }
    errors: list[dict[str, Any]] = [
        {
            **{name: _number(part[place]) for name, part in deviations.items()},
            "interval": _finite(ends),
        }
        for place, ends in enumerate(model.coef_interval(_LEVEL))
    ]
    found = []
    for name, coef, error, ends in zip(
        model.coef_names_, model.coef_, errors[:-1], model.feature_range_, strict=True
    ):
        # Of what has no range nothing is known: a level that was not seen, or all of a mean.
        known = error if _finite(ends) else dict.fromkeys(error)
        found.append({"name": name, "coef": float(coef), **known, "range": _finite(ends)})
    intercept = {f"intercept_{name}": value for name, value in errors[-1].items()}
    return {**intercept, "interval_level": _LEVEL, "coefficients": found}


def _curves(model: Any) -> dict[str, Any]:
    """Return the curves of an additive model."""
    found = []
    for place, (name, ends) in enumerate(zip(model._names(), model.feature_range_, strict=True)):
        x, height = model.curve(place)
        levels = isinstance(x, list)
        known = _finite(ends) is not None
        found.append(
            {
                "name": name,
                "range": None if levels else _finite(ends),
                "importance": float(height.max() - height.min()) if known else None,
                "levels" if levels else "x": x if levels else x.tolist(),
                "height": height.tolist(),
            }
        )
    return {"curves": found}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _finite(ends: Iterable[float]) -> list[float] | None:
    """Return two ends, None if they say nothing."""
    found = [float(end) for end in ends]
    return found if all(map(math.isfinite, found)) else None


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
        if sys.stdout.isatty():
            raise wrong_use("a picture is not for a terminal", "--plot FILE.png, or > FILE.png")
        return "png"
    if ending not in ("png", "svg", "pdf"):
        raise wrong_use(f"--plot {str(path)!r} must end in .png, .svg or .pdf")
    return ending
