"""Arguments and options that several commands have."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from dpfit.cli.errors import wrong_use
from dpfit.cli.files import STANDARD

__all__ = [
    "Data",
    "Delimiter",
    "Format",
    "FormatOption",
    "Json",
    "Model",
    "Output",
    "input_path",
    "output_path",
]

_STANDARD_INPUT = ("/dev/stdin", "/dev/fd/0")
_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1")


def input_path(text: str | Path) -> Path:
    """Return the name of something to read."""
    if not str(text):
        # As a path it would be the folder that one is in.
        raise wrong_use("the name of an input is empty", "a variable may be without a value")
    return Path(STANDARD if str(text) in _STANDARD_INPUT else text)


def output_path(text: str | Path) -> Path:
    """Return the name of a file to write."""
    if not str(text):
        raise wrong_use("the name of the output is empty", "a variable may be without a value")
    if str(text).endswith("/"):
        raise wrong_use(f"{str(text)!r} is a folder", "give the name of a file in it")
    return Path(STANDARD if str(text) in _STANDARD_OUTPUT else text)


class Format(enum.StrEnum):
    """What a file holds."""

    CSV = "csv"
    PARQUET = "parquet"


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
        help="What `dpfit fit` wrote; - for standard input.",
        show_default=False,
    ),
]
FormatOption: TypeAlias = Annotated[
    Format | None,
    typer.Option("--format", help="What DATA holds, if its name does not tell."),
]
Delimiter: TypeAlias = Annotated[
    str,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="What is between the values of a CSV file; or: tab.",
    ),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", metavar="", help="Print what a program can read, instead of text.")
]
Output: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        parser=output_path,
        help="Where to write to; - for standard output. The file appears whole or not at all.",
        show_default=False,
    ),
]
