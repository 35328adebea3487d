"""``dpfit reproduce``."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from dpfit.cli.errors import failure, needs_extra
from dpfit.cli.text import epilog, say, unwrapped

__all__ = ["add"]

EXAMPLES = (
    "dpfit reproduce --quick",
    "dpfit reproduce --data FOLDER --out results",
    "dpfit reproduce --data FOLDER --epsilon 0.5 --method additive --method dp_ebm",
)


class Figures(enum.StrEnum):
    """Which figures are drawn."""

    ALL = "all"
    RESULTS = "results"
    NONE = "none"


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce", help=unwrapped(reproduce), epilog=epilog(EXAMPLES))(reproduce)


def reproduce(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Parquet files named like 361072_cpu_act.parquet, with a column `target`. Without "
            "it tables are fetched from openml.org; without a network they are generated.",
            show_default="DPFIT_DATA",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where results are kept, to go on from there.",
            show_default="dpfit-experiments",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where the report goes, if not to --out."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", metavar="", help="A few minutes: fewer rows, trials, seeds and levels."
        ),
    ] = False,
    epsilon: Annotated[
        list[float] | None,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="NUMBER",
            help="A privacy level; may be repeated.",
            show_default="0.1, 1, 10",
        ),
    ] = None,
    delta: Annotated[
        float, typer.Option(metavar="NUMBER", help="The other half of each budget.")
    ] = 1e-6,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Optuna trials of each table, method and level, or a multiple for cheap methods.",
            show_default="20",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Final fits of each.", show_default="3"),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Rows of each table that are used at most.", show_default="all"
        ),
    ] = None,
    ebm_rounds: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Upper end of DP-EBM's range of rounds; 4000 is the paper's.",
            show_default="4000",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only these; may be repeated: boosted_adassp, adassp, gradient_descent, tukey_em, "
            "dp_ebm, dp_ebm_blind, linear, additive, least_squares.",
            show_default="all",
        ),
    ] = None,
    task: Annotated[
        list[int] | None,
        typer.Option(
            metavar="NUMBER", help="Only these of the paper's; may be repeated.", show_default="all"
        ),
    ] = None,
    extra: Annotated[
        bool,
        typer.Option("--extra", metavar="", help="Also tables in FOLDER/extra, reported apart."),
    ] = False,
    adopt: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Report of an earlier run; what is whole in it is not done again.",
        ),
    ] = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", metavar="", help="Run nothing, report what is there.")
    ] = False,
    figures: Annotated[
        Figures, typer.Option(help="Which figures; the theory's take a minute.")
    ] = Figures.ALL,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Processes.", show_default="one for each core"),
    ] = None,
) -> None:
    """Run the paper's experiments, and write tables, figures and a report.

    A run may be stopped in any way at any moment; the same command goes on where it was and ends
    with the same files.
    """
    try:
        from dpfit import experiments
    except ImportError:
        raise needs_extra("running the experiments", "experiments") from None
    try:
        experiments.reproduce(
            data=data,
            out=out,
            report=report,
            epsilons=epsilon,
            delta=delta,
            trials=trials,
            seeds=seeds,
            most_rows=rows,
            ebm_rounds=ebm_rounds,
            methods=method,
            tasks=task,
            extra=extra,
            quick=quick,
            adopted=adopt,
            run_missing=not report_only,
            jobs=jobs,
            figures=figures.value,
            say=say,
        )
    except FileNotFoundError as error:
        message = str(error) if error.filename is None else f"no file {str(error.filename)!r}"
        raise failure(message) from None
