"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
import typer.core

from dpfit.cli.costs import FIT, MU, OTHER
from dpfit.cli.errors import wrong_use
from dpfit.cli.outputs import STANDARD

__all__ = [
    "Command",
    "Data",
    "Delimiter",
    "Delta",
    "Fits",
    "Json",
    "LedgerFile",
    "MaxRows",
    "MaxWeight",
    "Model",
    "Models",
    "Mu",
    "Mus",
    "Others",
    "Output",
    "TableFormat",
    "Unit",
    "Weight",
    "check_privacy",
    "input_path",
    "output_path",
    "plot_format",
    "privacy",
]

_STANDARD_INPUT = ("/dev/stdin", "/dev/fd/0")
_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1")

privacy = functools.partial(typer.Option, rich_help_panel="Privacy")
"""An option in the panel of the help that is about privacy."""


def input_path(text: str | Path) -> Path:
    """Return the path of a file to read, ``-`` for standard input."""
    if not str(text):
        # As a path, the empty string would be the current folder.
        raise wrong_use("the name of an input is empty", "is a shell variable unset?")
    return Path(STANDARD if str(text) in _STANDARD_INPUT else text)


def output_path(text: str | Path) -> Path:
    """Return the path of a file to write, ``-`` for standard output."""
    if not str(text):
        raise wrong_use("the name of the output is empty", "is a shell variable unset?")
    if str(text).endswith("/"):
        raise wrong_use(f"{str(text)!r} is a folder", "give the name of a file in it")
    return Path(STANDARD if str(text) in _STANDARD_OUTPUT else text)


def plot_format(path: Path) -> str:
    """Return the format of a plot, given by the ending of its name."""
    ending = path.suffix.lower().lstrip(".")
    if ending not in ("png", "svg", "pdf"):
        raise wrong_use(f"--plot {str(path)!r} must end in .png, .svg or .pdf")
    return ending


def check_privacy(
    *,
    epsilon: float | None,
    delta: float | None,
    mu: float | None,
    unit: str | None,
    max_rows: int | None,
    weight: str | None,
    max_weight: float | None,
) -> None:
    """Check what a fit or an evaluation may spend and protects, before anything is read."""
    from dpfit._parameters import budget

    if epsilon is None and mu is None:
        raise wrong_use("no privacy budget is given", "--epsilon 1 is a common choice")
    if (unit is None) != (max_rows is None):
        raise wrong_use("--unit and --max-rows go together", "give both or neither")
    if (weight is None) != (max_weight is None):
        raise wrong_use("--weight and --max-weight go together", "give both or neither")
    budget(epsilon, delta, mu)


def _format_names() -> list[str]:
    # The registry imports NumPy, which help and completion of other options need not wait for.
    from dpfit.sources.files.formats import FORMATS

    return sorted(FORMATS)


def _format_name(text: str) -> str:
    if text not in _format_names():
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(_format_names())}.")
    return text


class Command(typer.core.TyperCommand):
    """A command whose help lists the file formats next to ``--format``."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        for parameter in self.params:
            if parameter.name == "format":
                parameter.metavar = f"<{'|'.join(_format_names())}>"
        super().format_help(ctx, formatter)


Data: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        parser=input_path,
        help="A CSV file with a header, a Parquet file, a folder of either, a pattern in quotes, "
        "or - for standard input.",
        show_default=False,
    ),
]
Model: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        parser=input_path,
        help="A model file from `dpfit fit`, or - for standard input.",
        show_default=False,
    ),
]
TableFormat: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        parser=_format_name,
        autocompletion=_format_names,
        help="Format of DATA, if its name does not show it.",
    ),
]
Delimiter: TypeAlias = Annotated[
    str,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="CSV delimiter: one character, or `tab`.",
    ),
]
Weight: TypeAlias = Annotated[
    str | None,
    privacy(
        metavar="COLUMN",
        help="A column of weights, such as survey weights. It is not a feature. Needs "
        "--max-weight.",
    ),
]
MaxWeight: TypeAlias = Annotated[
    float | None,
    privacy(
        metavar="NUMBER",
        help="Public upper bound on weights; larger ones are clipped. Needs --weight.",
    ),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", metavar="", help="Print JSON instead of text.")
]
Output: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        parser=output_path,
        help="File to write, or - for standard output. It is written completely or not at all.",
        show_default=False,
    ),
]
Delta: TypeAlias = Annotated[
    float | None,
    privacy(
        metavar="NUMBER",
        help="Small probability by which the epsilon bound may be exceeded. Choose it far below "
        "1 / (number of people). Default: 1e-6.",
    ),
]
Mu: TypeAlias = Annotated[
    float | None,
    privacy(
        metavar="NUMBER",
        help="Budget as the mu of Gaussian differential privacy, instead of --epsilon.",
    ),
]
Unit: TypeAlias = Annotated[
    str | None,
    privacy(
        metavar="COLUMN",
        help="A person-ID column, if a person can have several rows. All rows of a person are then "
        "protected together. The column is not a feature. Needs --max-rows.",
    ),
]
MaxRows: TypeAlias = Annotated[
    int | None,
    privacy(
        min=1,
        metavar="NUMBER",
        help="Largest number of rows to use per person. Needs --unit.",
    ),
]
LedgerFile: TypeAlias = Annotated[
    Path | None,
    privacy(
        metavar="LEDGER",
        parser=input_path,
        help="The ledger that pays (see `dpfit ledger create`). It refuses if its budget does not "
        "allow it.",
    ),
]
# Costs of releases, which are added up or charged to a ledger.
Models: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[MODEL]...", parser=input_path, help="Model files.", show_default=False
    ),
]
Fits: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--fit",
        metavar=FIT,
        help="A dpfit fit with this budget, counted TIMES times. Can be repeated.",
    ),
]
Mus: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--mu", metavar=MU, help="A Gaussian release. Can be repeated."),
]
Others: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--other", metavar=OTHER, help="A release by any other method. Can be repeated."),
]
