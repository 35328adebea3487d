"""``dpfit demo``."""

from __future__ import annotations

import io
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from dpfit.cli.errors import failure, needs_extra, wrong_use
from dpfit.cli.files import written
from dpfit.cli.options import Json
from dpfit.cli.text import epilog, paragraph, program, progress, say, say_json, unwrapped

__all__ = ["add"]

EXAMPLES = ("dpfit demo", "dpfit demo --epsilon 0.1 -o demo")


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", help=unwrapped(demo), epilog=epilog(EXAMPLES))(demo)


def demo(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where the files go."),
    ] = Path("dpfit-demo"),
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="The budget of each private fit.")
    ] = 1.0,
    all_columns: Annotated[
        bool,
        typer.Option(
            "--all-columns",
            metavar="",
            help="Also use length, width and depth, which say nearly the same as the weight.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Fit private models on a real table that comes with dpfit, and compare them.

    Writes pictures, two models and a schema to a folder. Takes a few seconds. The noise is real:
    every run gives other numbers.
    """
    began = time.monotonic()
    if output.exists() and not output.is_dir():
        raise wrong_use(f"{str(output)!r} is no folder")
    try:
        import matplotlib
    except ImportError:
        raise needs_extra("the demo's picture", "plot") from None
    matplotlib.use("Agg")
    from dpfit import demo as subject
    from dpfit.model_file import to_json

    _check_writable(output)
    with progress("Fitting five models"):
        found = subject.run(epsilon, all_columns=all_columns)
    with progress("Drawing"):
        picture, curves = io.BytesIO(), io.BytesIO()
        found.draw().savefig(picture, dpi=150)
        found.additive.plot_curves().savefig(curves, dpi=150)
    contents = {
        "comparison.png": picture.getvalue(),
        "curves.png": curves.getvalue(),
        "linear.json": to_json(found.linear).encode(),
        "additive.json": to_json(found.additive).encode(),
        "schema.json": (subject.SCHEMA.to_json() + "\n").encode(),
    }
    for name, content in contents.items():
        with written(str(output / name)) as file:
            file.write(content)
    if json:
        say_json(
            {
                "epsilon": found.epsilon,
                "delta": found.delta,
                "errors": {result.name: result.error for result in found.results},
                "files": [str(output / name) for name in contents],
            }
        )
        return
    _tell(found, output, time.monotonic() - began)


def _check_writable(folder: Path) -> None:
    """Make a folder, and try whether a file can be in it: before the fits, which take seconds."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise failure(f"{str(folder)!r} cannot be written to: {error.strerror}") from None


def _tell(found: Any, output: Path, seconds: float) -> None:
    say(_title("A private model of the price of diamonds"))
    say(
        paragraph(
            "The table has 53,940 diamonds: their price, weight, grades and proportions. Think of "
            "a row as a person's. A linear model is fitted so that it tells about all rows "
            "together, and next to nothing about any one of them. The scales of the grades are "
            "published, and were told to it; nothing else was."
        )
    )
    say()
    say(str(found.linear.summary()))
    say()
    say(_title("What it promises"))
    say(paragraph(found.linear.privacy_.statement()))
    say()
    say(_title("What privacy costs, and what it need not cost"))
    say(found.words())
    say()
    say(
        paragraph(
            "The errors were measured on a fifth of the table that no fit has seen. That look "
            "costs no privacy here because the table is public; with your own data it would. The "
            "noise is real: another run gives other numbers."
        )
    )
    say()
    say(f"In {output}, after {seconds:.0f} seconds:")
    say("  comparison.png   the comparison as a picture")
    say("  curves.png       the curves of the additive model")
    say("  linear.json      the models, for `dpfit show` and `dpfit predict`")
    say("  additive.json")
    say("  schema.json      what was told about the columns: the scales of the grades")
    say(f"Next: {program()} fit YOUR_DATA.csv --target COLUMN --epsilon 1 -o model.json")


def _title(text: str) -> str:
    return f"{text}\n{'~' * len(text)}"
