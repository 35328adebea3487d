"""``dpfit plan``."""

from __future__ import annotations

from typing import Annotated

import typer

from dpfit.cli.errors import wrong_use
from dpfit.cli.options import Json, privacy
from dpfit.cli.printing import print_json, print_text

__all__ = ["EXAMPLES", "plan"]

EXAMPLES = (
    "dpfit plan --rows 20000 --columns 9 --levels 3,5 --epsilon 1",
    "dpfit plan --rows 50000 --columns 4 --epsilon 0.3,1,3 --width 1.5",
    "dpfit plan --rows 20000 --levels 2,0.6/0.3/0.1 --epsilon 1,3 --json",
)


def plan(
    rows: Annotated[int, typer.Option(metavar="NUMBER", help="The number of rows, approximately.")],
    columns: Annotated[
        int, typer.Option(metavar="NUMBER", help="The number of numeric columns.")
    ] = 0,
    levels: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="One entry for each categorical or binary column: the number of its levels, or "
            "their shares of the rows, such as 0.6/0.3/0.1.",
            show_default=False,
        ),
    ] = "",
    epsilon: Annotated[
        str, privacy("--epsilon", "-e", metavar="LIST", help="Budgets to compare.")
    ] = "0.3,1,3",
    delta: Annotated[float, privacy(metavar="NUMBER", help="Delta.")] = 1e-6,
    max_rows: Annotated[
        int | None,
        privacy(metavar="NUMBER", help="Largest number of rows per person."),
    ] = None,
    bounds: Annotated[
        bool,
        privacy(
            "--bounds", metavar="", help="Columns and target have public bounds in the schema."
        ),
    ] = False,
    r_squared: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="The share of the target's variance that is explained."
        ),
    ] = 0.5,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="Look for the smallest epsilon that gives this relative width."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print the expected widths of the confidence intervals of a linear model.

    Widths are relative to least squares without privacy. No data are read, and nothing is spent:
    the plan fits simulated tables.
    """
    epsilons = [_number("--epsilon", part) for part in epsilon.split(",")]
    shapes = [_levels(part) for part in levels.split(",")] if levels.strip() else []
    from dpfit.models.plan import plan as make_plan

    found = make_plan(
        rows,
        columns,
        shapes,
        epsilon=epsilons,
        delta=delta,
        r_squared=r_squared,
        bounds=bounds,
        max_rows=max_rows,
        width=width,
    )
    if json:
        print_json(found.to_dict())
        return
    print_text(str(found))


def _levels(text: str) -> int | list[float]:
    if "/" in text:
        return [_number("--levels", part) for part in text.split("/")]
    number = _number("--levels", text)
    if number != int(number):
        raise wrong_use("--levels must be a list of integers or of shares", EXAMPLES[2])
    return int(number)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise wrong_use(f"{option} must be a list of numbers", EXAMPLES[0]) from None
