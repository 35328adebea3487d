"""``dpfit evaluate``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from dpfit.cli import inputs
from dpfit.cli.errors import wrong_use
from dpfit.cli.options import (
    Data,
    Delimiter,
    Delta,
    Json,
    LedgerFile,
    MaxRows,
    MaxWeight,
    Model,
    Mu,
    TableFormat,
    Unit,
    Weight,
    check_privacy,
    privacy,
)
from dpfit.cli.outputs import STANDARD
from dpfit.cli.printing import paragraph, print_json, print_note, print_text

if TYPE_CHECKING:
    from dpfit.models.base import PrivateModel
    from dpfit.sources import Scan

__all__ = ["EXAMPLES", "evaluate"]

EXAMPLES = (
    "dpfit evaluate model.json data.csv --target price --epsilon 1",
    "dpfit evaluate model.json data.csv -t price -e 1 --json > quality.json",
)


def evaluate(
    model: Model,
    data: Data,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="The column with the observed target.",
            show_default=False,
        ),
    ],
    epsilon: Annotated[
        float | None,
        privacy(
            "--epsilon",
            "-e",
            metavar="NUMBER",
            help="Privacy budget for the rows of DATA. Required unless --mu is given.",
        ),
    ] = None,
    delta: Delta = None,
    mu: Mu = None,
    unit: Unit = None,
    max_rows: MaxRows = None,
    weight: Weight = None,
    max_weight: MaxWeight = None,
    ledger: LedgerFile = None,
    format: TableFormat = None,
    delimiter: Delimiter = ",",
    json: Json = False,
) -> None:
    """Measure how good a model is on the rows of DATA, privately.

    Prints R², RMSE, quantiles of residuals and a calibration curve, each with its errors. DATA
    should contain rows that the model was not fitted to. Each run spends its budget on the rows of
    DATA, in addition to all other releases from them. Columns are matched by name; other columns
    are ignored.
    """
    check_privacy(
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        unit=unit,
        max_rows=max_rows,
        weight=weight,
        max_weight=max_weight,
    )
    if str(model) == str(data) == STANDARD:
        raise wrong_use("MODEL and DATA cannot both be standard input")
    if data.suffix.lower() == ".json" and inputs.is_table(str(model)):
        command = f"dpfit evaluate {shlex.quote(str(data))} {shlex.quote(str(model))} ..."
        raise wrong_use("MODEL comes before DATA", command)
    scan, _ = inputs.open_table(data, format, delimiter)
    fitted = inputs.open_model(model)
    roles = {"--target": target, "--unit": unit, "--weight": weight}
    scan = _prepared(fitted, scan, roles)
    if unit is None and fitted.privacy_.max_rows is not None:
        name = fitted.privacy_.unit_name or "unit"
        print_note(
            f"The model protects each {name}, and this evaluation each row. If a {name} can have "
            "several rows, use --unit and --max-rows."
        )
    found = fitted.evaluate(
        scan,
        target,
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        unit=unit,
        max_rows=max_rows,
        sample_weight=weight,
        max_weight=max_weight,
        ledger=ledger,
    )
    if fitted.privacy_.insecure_seed:
        print_note(f"NOT PRIVATE: the noise of {model} came from a fixed seed.")
    if json:
        print_json({**found.to_dict(), "statement": found.statement()})
        return
    print_text(str(found))
    print_text()
    print_text(paragraph(found.statement()))


def _prepared(model: PrivateModel, scan: Scan, roles: dict[str, str | None]) -> Scan:
    """Check the columns, and return the table without those that are not used."""
    from dpfit.sources import declared_kinds

    declared = declared_kinds(scan)
    target, *others = inputs.check_roles(declared, roles)
    names = model.model_.names
    if names is None:
        return scan
    inputs.check_columns(names, declared, "needed by the model")
    if target in names:
        raise wrong_use(f"column {target!r} is a feature of the model and cannot be the target")
    unused = [name for name in declared if name not in (*names, target, *others)]
    return inputs.without_columns(scan, unused) if unused else scan
