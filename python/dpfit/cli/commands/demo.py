"""``dpfit demo``."""

from __future__ import annotations

import io
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.options import Json
from dpfit.cli.outputs import open_output, use_matplotlib
from dpfit.cli.printing import (
    paragraph,
    print_json,
    print_text,
    program,
    progress,
)

__all__ = ["EXAMPLES", "demo"]

EXAMPLES = ("dpfit demo", "dpfit demo --epsilon 0.1 -o demo")


def demo(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write to."),
    ] = Path("dpfit-demo"),
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", "-e", metavar="NUMBER", help="Privacy budget of each fit."),
    ] = 1.0,
    all_columns: Annotated[
        bool,
        typer.Option(
            "--all-columns",
            metavar="",
            help="Also use length, width and depth, which are closely related to the weight.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Fit private models on a table that comes with dpfit, and compare them.

    Writes plots, two models and a schema to a folder, and takes a few seconds. The noise is random:
    every run gives different numbers.
    """
    began = time.monotonic()
    if output.exists() and not output.is_dir():
        raise wrong_use(f"{str(output)!r} is not a folder")
    use_matplotlib()
    from dpfit import demo as subject
    from dpfit.models.file import to_json

    _check_writable(output)
    with progress("Fitting five models"):
        found = subject.run(epsilon, all_columns=all_columns)
    with progress("Drawing"):
        comparison, curves = io.BytesIO(), io.BytesIO()
        found.draw().savefig(comparison, dpi=150)
        found.additive.plot_curves().savefig(curves, dpi=150)
    contents = {
        "comparison.png": comparison.getvalue(),
        "curves.png": curves.getvalue(),
        "linear.json": to_json(found.linear).encode(),
        "additive.json": to_json(found.additive).encode(),
        "schema.json": (subject.SCHEMA.to_json() + "\n").encode(),
    }
    for name, content in contents.items():
        with open_output(str(output / name)) as file:
            file.write(content)
    if json:
        print_json(
            {
                "epsilon": found.epsilon,
                "delta": found.delta,
                "errors": {result.name: result.error for result in found.results},
                "files": [str(output / name) for name in contents],
            }
        )
        return
    print_text(_report(found, output, time.monotonic() - began))


def _check_writable(folder: Path) -> None:
    """Create a folder and check that files can be written to it, before the fits take seconds."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise failure(f"cannot write to {str(folder)!r}: {error.strerror}") from None


_REPORT = """\
A private model of diamond prices
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
{introduction}

{summary}

Its privacy guarantee
~~~~~~~~~~~~~~~~~~~~~
{guarantee}

What privacy costs
~~~~~~~~~~~~~~~~~~
{comparison}

{remark}

Files in {folder}, after {seconds:.0f} seconds:
  comparison.png   plot of the comparison
  curves.png       plot of the curves of the additive model
  linear.json      the models, for `dpfit show` and `dpfit predict`
  additive.json
  schema.json      the schema: the scales of the grades
Next: {program} fit YOUR_DATA.csv --target COLUMN --epsilon 1 -o model.json"""


def _report(found: Any, folder: Path, seconds: float) -> str:
    return _REPORT.format(
        introduction=paragraph(
            "The table has 53,940 diamonds with their price, weight, grades and proportions. Think "
            "of each row as a person. The linear model below describes all rows together and "
            "reveals almost nothing about any single row. It was given the published scales of "
            "the grades, and nothing else about the data."
        ),
        summary=found.linear.summary(),
        guarantee=paragraph(found.linear.privacy_.statement()),
        comparison=found.words(),
        remark=paragraph(
            "The errors were measured on a fifth of the table that no fit has used. This costs no "
            "privacy here because the table is public; with your own data it would. The noise is "
            "random: another run gives different numbers."
        ),
        folder=folder,
        seconds=seconds,
        program=program(),
    )
