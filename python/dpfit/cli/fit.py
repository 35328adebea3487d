"""``dpfit fit``."""

from __future__ import annotations

import contextlib
import enum
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfit.cli import inputs
from dpfit.cli.errors import CommandError, wrong_use
from dpfit.cli.files import STANDARD, written
from dpfit.cli.options import Data, Delimiter, FormatOption, Json, Output, input_path
from dpfit.cli.text import epilog, is_terminal, note, paragraph, program, say, say_json, unwrapped

if TYPE_CHECKING:
    from dpfit._private import PrivateModel
    from dpfit.schema import Schema
    from dpfit.sources import Scan

__all__ = ["add"]

EXAMPLES = (
    "dpfit fit data.parquet --target price --epsilon 1 -o model.json",
    "dpfit fit data.csv --target price --epsilon 1 --schema s.json -o model.json",
    "dpfit fit data.csv -t price -e 1 --additive --without cut -o model.json",
    "dpfit fit visits.csv -t cost -e 1 --unit patient --max-rows 5 -o model.json",
    "cat data.csv | dpfit fit - -t price -e 1 --without cut -o - > model.json",
)


class Missing(enum.StrEnum):
    """What to do with a row in which a value is missing."""

    ERROR = "error"
    DROP = "drop"


class Neighbors(enum.StrEnum):
    """What is hidden."""

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"


_PRIVACY, _MODEL, _READING = "Privacy", "Model", "Reading the data"


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fit", help=unwrapped(fit), epilog=epilog(EXAMPLES))(fit)


def fit(
    data: Data,
    target: Annotated[
        str,
        typer.Option(
            "--target", "-t", metavar="COLUMN", help="The column to predict.", show_default=False
        ),
    ],
    output: Output,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="NUMBER",
            help="The privacy budget: small is private, large is exact. 1 is a common choice. "
            "Needed, unless --mu is given.",
            rich_help_panel=_PRIVACY,
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="The chance of more than epsilon; far below one in the number of people. "
            "1e-6 if not given.",
            rich_help_panel=_PRIVACY,
        ),
    ] = None,
    mu: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="The budget in Gaussian differential privacy, instead of epsilon and delta.",
            rich_help_panel=_PRIVACY,
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Whose row it is, if a person has several; no feature. Needs --max-rows.",
            rich_help_panel=_PRIVACY,
        ),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="How many rows of one unit are used at most.",
            rich_help_panel=_PRIVACY,
        ),
    ] = None,
    neighbors: Annotated[
        Neighbors,
        typer.Option(
            help="Hide whether a row is there (add_remove), or what is in it (replace; the number "
            "of rows is public then).",
            rich_help_panel=_PRIVACY,
        ),
    ] = Neighbors.ADD_REMOVE,
    additive: Annotated[
        bool,
        typer.Option(
            "--additive",
            metavar="",
            help="A curve for each column instead of a line.",
            rich_help_panel=_MODEL,
        ),
    ] = False,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=input_path,
            help="What is public: bounds and levels. `dpfit schema infer` begins one.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column that is no feature, such as a name; may be repeated.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    missing: Annotated[
        Missing,
        typer.Option(
            help="What to do with a row in which a value is missing.", rich_help_panel=_READING
        ),
    ] = Missing.ERROR,
    format: FormatOption = None,
    delimiter: Delimiter = ",",
    memory_limit: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="What may be held in memory of the rows; the rest is in temporary files.",
            rich_help_panel=_READING,
        ),
    ] = "1GB",
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Threads; as many as there are cores if not given.",
            rich_help_panel=_READING,
        ),
    ] = None,
    json: Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", metavar="", help="Print nothing but errors.")
    ] = False,
) -> None:
    """Fit a model on DATA, write it to a file, and print it.

    Every fit spends its budget anew: what is released from the same data adds up (see
    `dpfit budget add`). Nothing is spent by a fit that ends with an error, unless it says that the
    model is there.
    """
    from dpfit._parameters import budget

    if epsilon is None and mu is None:
        raise wrong_use("how much privacy may be spent is not given", "--epsilon 1 is common")
    if (unit is None) != (max_rows is None):
        raise wrong_use("--unit and --max-rows go together", "give both or none")
    if str(output) == STANDARD and json:
        raise wrong_use("-o - and --json would both go to standard output", "choose one of them")
    budget(epsilon, delta, mu)  # refused before anything is read
    replaced = _is_model(output)
    with _what_is_spent(str(output)) as is_out:
        # Opened first: a fit whose model cannot be kept would be for nothing.
        with written(str(output), *inputs.files_of(data, format), schema) as file:
            scan, _ = inputs.open_table(data, format, delimiter, memory_limit)
            infer = f"dpfit schema infer {shlex.quote(str(data))} -o s.json"
            if delimiter != ",":
                infer += f" --delimiter {shlex.quote(delimiter)}"
            scan, known = _prepared(scan, infer, schema, target, unit, without or [])
            # Takes a second, which a wrong name need not wait for.
            from dpfit import PrivateAdditiveRegression, PrivateLinearRegression

            model = (PrivateAdditiveRegression if additive else PrivateLinearRegression)(
                epsilon=epsilon,
                delta=delta,
                mu=mu,
                schema=known,
                neighbors=neighbors.value,
                max_rows=max_rows,
                missing=missing.value,
                n_jobs=jobs,
                verbose=is_terminal() and not quiet,
            )
            model.fit(scan, target, unit=unit)
            if str(output) == STANDARD or not os.path.isfile(file.name):
                # What goes to a pipe or a device is read while it is written.
                is_out()
            file.write(_as_file(model))
        is_out()
        if str(output) != STANDARD and not quiet:
            _print(model, str(output), json=json)
    if replaced and not (quiet or json):
        note(f"{output} was replaced; what its fit has spent stays spent.")


@contextlib.contextmanager
def _what_is_spent(output: str) -> Iterator[Callable[[], None]]:
    """Say that a budget is spent if something goes wrong when a model is out already.

    Yields
    ------
    callable
        To be called when the model can be read by others.

    Privacy
    -------
    A model that was released has cost its budget, whether or not the command came to its end.
    """
    out = False

    def is_out() -> None:
        nonlocal out
        out = True

    try:
        yield is_out
        sys.stdout.flush()
    except BaseException:
        if out:
            where = "standard output, at least in part" if output == STANDARD else output
            with contextlib.suppress(OSError):
                note(f"dpfit: the model is in {where}, and its budget is spent")
        raise


def _prepared(
    scan: Scan,
    infer: str,
    schema_file: Path | None,
    target: str,
    unit: str | None,
    left_out: list[str],
) -> tuple[Scan, Schema]:
    """Return the table and the schema of what is a feature in it."""
    from dpfit.cli.schema import read_schema
    from dpfit.schema import Numeric, Schema
    from dpfit.sources import declared_kinds

    declared = declared_kinds(scan)
    for name, what in ((target, "--target"), (unit, "--unit")):
        if name is not None:
            inputs.check_column(name, declared, what)
    if declared[target] is None:
        raise wrong_use(f"column {target!r} holds text: a target holds numbers", inputs.POINTS)
    for name in left_out:
        inputs.check_column(name, declared, "--without")
        if name in (target, unit):
            raise wrong_use(f"column {name!r} is needed and cannot be left out")
    aside = [*left_out, *([unit] if unit is not None else [])]
    schema = Schema() if schema_file is None else read_schema(schema_file, declared, aside)
    known = dict(schema)
    bounds = known.pop(target, None)
    if isinstance(bounds, Numeric) and schema.target == Numeric():
        # `schema infer` does not know the target unless it is told.
        schema.target = bounds
    for name in aside:
        known.pop(name, None)
    features = [name for name in declared if name not in (target, unit, *left_out)]
    texts = [n for n in features if declared[n] is None and n not in known]
    if texts and not any(isinstance(key, int) for key in known):
        names = ", ".join(map(repr, texts))
        raise wrong_use(
            f"text without levels: {names}",
            f"{infer} and write the levels into it; or --unit for one that says whose row it is, "
            "--without for others; in CSV one word makes a column of numbers text",
        )
    if left_out:
        scan = inputs.without(scan, left_out)
    return scan, Schema(known, target=schema.target)


def _is_model(path: Path) -> bool:
    """Return whether there is a model already."""
    if not os.path.isfile(path):
        return False
    try:
        inputs.open_model(path)
    except (CommandError, OSError):
        return False
    return True


def _as_file(model: PrivateModel) -> bytes:
    from dpfit.model_file import to_json

    return to_json(model).encode()


def _print(model: Any, output: str, *, json: bool) -> None:
    if json:
        from dpfit.cli.show import as_plain

        say_json({"model": output, **as_plain(model)})
        return
    say(str(model.summary()))
    say()
    say(paragraph(model.privacy_.statement()))
    say()

    # To predict from a model that says nothing is not what to do next.
    next = f" Next: {program()} predict {shlex.quote(output)} NEW_DATA -o predictions.csv"
    say(f"The model is in {output}.{'' if model.status_ == 'nothing' else next}")
