"""``dpfit fit``."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfit._typing import Missing, Neighbors
from dpfit.accounting import Ledger
from dpfit.cli import inputs
from dpfit.cli.errors import wrong_use
from dpfit.cli.interrupts import last_words
from dpfit.cli.model_json import model_as_json
from dpfit.cli.options import (
    Data,
    Delimiter,
    Delta,
    Json,
    LedgerFile,
    MaxRows,
    MaxWeight,
    Mu,
    Output,
    TableFormat,
    Unit,
    Weight,
    check_privacy,
    input_path,
    privacy,
)
from dpfit.cli.outputs import STANDARD, open_output
from dpfit.cli.printing import (
    is_terminal,
    print_json,
    print_model,
    print_note,
    print_text,
    program,
)
from dpfit.cli.schema_file import read_schema

if TYPE_CHECKING:
    from dpfit.models.base import PrivateModel
    from dpfit.schema import Schema
    from dpfit.sources import Scan

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = (
    "dpfit fit data.parquet --target price --epsilon 1 -o model.json",
    "dpfit fit data.csv --target price --epsilon 1 --schema s.json -o model.json",
    "dpfit fit data.csv -t price -e 1 --additive --without cut -o model.json",
    "dpfit fit visits.csv -t cost -e 1 --unit patient --max-rows 5 -o model.json",
    "dpfit fit data.parquet -t price -e 0.5 --ledger study.dpl -o model.json",
    "cat data.csv | dpfit fit - -t price -e 1 --without cut -o - > model.json",
)

# Options by their panel in the help.
_model = functools.partial(typer.Option, rich_help_panel="Model")
_reading = functools.partial(typer.Option, rich_help_panel="Reading the data")


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
        privacy(
            "--epsilon",
            "-e",
            metavar="NUMBER",
            help="Privacy budget: smaller is more private, larger is more accurate. 1 is a common "
            "choice. Required unless --mu is given.",
        ),
    ] = None,
    delta: Delta = None,
    mu: Mu = None,
    unit: Unit = None,
    max_rows: MaxRows = None,
    weight: Weight = None,
    max_weight: MaxWeight = None,
    neighbors: Annotated[
        Neighbors,
        privacy(
            help="What to hide: whether a row is in the data (add_remove), or what it contains "
            "(replace; the number of rows is then public)."
        ),
    ] = "add_remove",
    ledger: LedgerFile = None,
    additive: Annotated[
        bool,
        _model("--additive", metavar="", help="Fit a curve instead of a line for each column."),
    ] = False,
    schema: Annotated[
        Path | None,
        _model(
            metavar="FILE",
            parser=input_path,
            help="Public facts about the columns: bounds and levels. `dpfit schema infer` writes a "
            "draft.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        _model(
            metavar="COLUMN",
            help="A column to leave out, such as a name. Can be repeated.",
        ),
    ] = None,
    missing: Annotated[
        Missing,
        _reading(
            help="What to do with a row that has a missing value: stop with an error, drop the "
            "row, or keep it and add a flag for every column (indicator)."
        ),
    ] = "error",
    format: TableFormat = None,
    delimiter: Delimiter = ",",
    memory_limit: Annotated[
        str,
        _reading(metavar="SIZE", help="Memory to use for rows; the rest goes to temporary files."),
    ] = "1GB",
    jobs: Annotated[
        int | None,
        _reading(min=1, metavar="NUMBER", help="Number of threads. Default: all cores."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", metavar="", help="Replace FILE, even if it is a model."),
    ] = False,
    json: Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", metavar="", help="Print only errors.")
    ] = False,
) -> None:
    """Fit a private model on DATA, write it to a file, and print it.

    Every fit spends its own budget, and the costs of all fits on the same data add up (see
    `dpfit budget add`). A fit that ends with an error spends nothing, unless the message says that
    the model was written. With --ledger, the cost is written down before anything is released.
    """
    if str(output) == STANDARD and json:
        raise wrong_use("-o - and --json both write to standard output", "choose one of them")
    check_privacy(
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        unit=unit,
        max_rows=max_rows,
        weight=weight,
        max_weight=max_weight,
    )
    replaces_model = _is_model(output)
    if replaces_model and not force:
        raise wrong_use(
            f"{str(output)!r} is a model, and the record of its cost would be lost",
            "give another name; --force replaces it",
        )
    # Opened early, for its errors.
    account = None if ledger is None else Ledger(ledger)
    with _reporting_spent_budget(str(output)) as model_is_out:
        # Opened first: a fit whose model cannot be written would waste its budget.
        with open_output(str(output), *inputs.files_of(data, format), schema, ledger) as file:
            scan, _ = inputs.open_table(data, format, delimiter, memory_limit)
            infer = f"dpfit schema infer {shlex.quote(str(data))} -o s.json"
            if delimiter != ",":
                infer += f" --delimiter {shlex.quote(delimiter)}"
            roles = {"--target": target, "--unit": unit, "--weight": weight}
            scan, known = _prepare(scan, infer, schema, roles, without or [])
            # Importing the models takes a second, after the quick checks.
            from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
            from dpfit.models.file import to_json

            model = (PrivateAdditiveRegression if additive else PrivateLinearRegression)(
                epsilon=epsilon,
                delta=delta,
                mu=mu,
                schema=known,
                neighbors=neighbors,
                max_rows=max_rows,
                max_weight=max_weight,
                missing=missing,
                ledger=account,
                n_jobs=jobs,
                verbose=is_terminal() and not quiet,
            )
            model.fit(scan, target, unit=unit, sample_weight=weight)
            if str(output) == STANDARD or not os.path.isfile(file.name):
                # A pipe or a device is read while it is written.
                model_is_out()
            content = to_json(model).encode()
            file.write(content)
        model_is_out()
        entry = model.provenance_.ledger_entry
        if account is not None and entry is not None:
            name = "standard output" if str(output) == STANDARD else output.name
            account.add_checksum(entry, name, content)
        if str(output) != STANDARD and not quiet:
            _print(model, str(output), json=json)
    if replaces_model and not (quiet or json):
        print_note(f"{output} replaces an earlier model, whose budget remains spent.")


@contextlib.contextmanager
def _reporting_spent_budget(output: str) -> Iterator[Callable[[], None]]:
    """Say that the budget is spent if an error occurs after the model was written.

    Yields
    ------
    callable
        To be called as soon as others can read the model.

    Privacy
    -------
    A released model has cost its budget, whether or not the command succeeds.
    """
    is_out = False

    def model_is_out() -> None:
        nonlocal is_out
        is_out = True

    def note() -> str:
        if not is_out:
            return ""
        where = "standard output, at least in part," if output == STANDARD else output
        return f"dpfit: the model was written to {where} and its budget is spent\n"

    with last_words(note):
        try:
            yield model_is_out
            sys.stdout.flush()
        except BaseException as error:
            for added in getattr(error, "__notes__", ()):
                with contextlib.suppress(OSError):
                    print_note(f"dpfit: {added}")
            if is_out:
                with contextlib.suppress(OSError):
                    print_note(note().rstrip())
            raise


def _prepare(
    scan: Scan,
    infer: str,
    schema_file: Path | None,
    roles: dict[str, str | None],
    left_out: list[str],
) -> tuple[Scan, Schema]:
    """Check the columns, and return the table and the schema of its features.

    Parameters
    ----------
    scan : Scan
        The table.
    infer : str
        The command that drafts a schema of the table, for a hint.
    schema_file : Path or None
        The option ``--schema``.
    roles : dict of str to str or None
        Columns that are not features by their options: ``--target``, ``--unit``, ``--weight``.
    left_out : list of str
        Further columns that are not features.
    """
    from dpfit.schema import Numeric, Schema
    from dpfit.sources import declared_kinds

    declared = declared_kinds(scan)
    target, *others = inputs.check_roles(declared, roles)
    for name in left_out:
        parts = [part.strip() for part in name.split(",")]
        if name not in declared and len(parts) > 1 and set(parts) <= declared.keys():
            hint = " ".join(f"--without {shlex.quote(part)}" for part in parts)
            raise wrong_use(f"the table has no column {name!r} (--without)", hint)
        inputs.check_columns([name], declared, "--without")
        for option, column in roles.items():
            if name == column:
                raise wrong_use(
                    f"column {name!r} is given by {option} and by --without",
                    f"a column given by {option} is not a feature: remove --without {name!r}",
                )
    ignored = [*left_out, *others]
    schema = Schema() if schema_file is None else read_schema(schema_file, declared, ignored)
    known = dict(schema)
    bounds = known.pop(target, None)
    if isinstance(bounds, Numeric) and schema.target == Numeric():
        # Without --target, `schema infer` lists the target among the features.
        schema.target = bounds
    for name in ignored:
        known.pop(name, None)
    features = [name for name in declared if name not in (target, *ignored)]
    strings = [name for name in features if declared[name] is None and name not in known]
    if strings and not any(isinstance(key, int) for key in known):
        raise wrong_use(
            f"string columns without levels: {', '.join(map(repr, strings))}",
            f"{infer} and add the levels; use --unit for a person-ID column, --without for others "
            f"that are not features; {inputs.NUMBERS_AS_STRINGS}",
        )
    if left_out:
        scan = inputs.without_columns(scan, left_out)
    return scan, Schema(known, target=schema.target)


def _is_model(path: Path) -> bool:
    """Return whether a file is a model, of any version, and even if it is damaged."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return b'"dpfit_model"' in file.read(1 << 10)
    except OSError:
        return False


def _print(model: PrivateModel, output: str, *, json: bool) -> None:
    if json:
        print_json({"model": output, **model_as_json(model)})
        return
    print_model(model)
    print_text()
    next_command = f"{program()} predict {shlex.quote(output)} NEW_DATA -o predictions.csv"
    # Predictions of a model that is only noise are not a sensible next step.
    next_step = "" if model.status_ == "nothing" else f" Next: {next_command}"
    print_text(f"The model was written to {output}.{next_step}")
