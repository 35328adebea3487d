"""``dpfit reproduce``."""

from __future__ import annotations

import importlib
from typing import Any

import typer

from dpfit.cli.errors import needs_extra
from dpfit.cli.text import epilog, unwrapped

__all__ = ["add"]

EXAMPLES = ("dpfit reproduce --quick", "dpfit reproduce --data FOLDER --out results")


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "reproduce",
        help=unwrapped(reproduce),
        epilog=epilog(EXAMPLES),
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(reproduce)


def reproduce(context: typer.Context) -> None:
    """Run the paper's experiments, and write tables, figures and a report.

    All arguments go to `python -m dpfit.experiments`, which `dpfit reproduce -- --help` explains.
    """
    try:
        experiments: Any = importlib.import_module("dpfit.experiments")
        code = experiments.main(context.args)
    except ImportError:
        raise needs_extra("running the experiments", "experiments") from None
    raise typer.Exit(code)
