"""Arguments and options that several commands have."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["Data", "Delimiter", "Format", "FormatOption", "Json", "Model", "Output"]


class Format(enum.StrEnum):
    """What a file holds."""

    CSV = "csv"
    PARQUET = "parquet"


Data: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A CSV file with a header, a Parquet file, a folder of either, a pattern in quotes, "
        "or - for standard input.",
        show_default=False,
    ),
]
Model: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="What `dpfit fit` wrote; - for standard input.", show_default=False
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
        help="Where to write to; - for standard output. The file appears whole or not at all.",
        show_default=False,
    ),
]
