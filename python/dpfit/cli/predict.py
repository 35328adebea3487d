"""``dpfit predict``."""

from __future__ import annotations

import csv
import enum
import io
import sys
import warnings
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from dpfit.cli import inputs
from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.files import STANDARD, written
from dpfit.cli.options import Data, Delimiter, Format, FormatOption, Json, Model, Output
from dpfit.cli.text import epilog, progress, say, say_json, unwrapped

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfit._private import PrivateModel
    from dpfit.schema import Kind
    from dpfit.sources import Scan
    from dpfit.sources.scan import ReadKind

__all__ = ["add"]

EXAMPLES = (
    "dpfit predict model.json new.parquet -o predictions.parquet",
    "dpfit predict model.json new.csv --keep -o predictions.csv",
    "cat new.csv | dpfit predict model.json - -o - | head",
)


class Missing(enum.StrEnum):
    """What to do with a row in which a value is missing."""

    ERROR = "error"
    EMPTY = "empty"


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("predict", help=unwrapped(predict), epilog=epilog(EXAMPLES))(predict)


def predict(
    model: Model,
    data: Data,
    output: Output,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            metavar="",
            help="Write the columns of DATA, too, with the prediction as the last.",
        ),
    ] = False,
    name: Annotated[str, typer.Option(help="What the column is called.")] = "prediction",
    missing: Annotated[
        Missing | None,
        typer.Option(
            help="What to do with a row in which a value is missing: stop, or leave the prediction "
            "empty. As in the fit if not given, where `drop` means empty.",
        ),
    ] = None,
    format: FormatOption = None,
    output_format: Annotated[
        Format | None,
        typer.Option(help="What to write, if the name of FILE does not tell; else as DATA."),
    ] = None,
    delimiter: Delimiter = ",",
    json: Json = False,
) -> None:
    """Predict for the rows of DATA, batch by batch, in their order.

    Columns are found by name; others may be there. The output has the column `prediction` alone,
    so that no personal data is copied unless --keep says so. Predictions are as private as the
    model. What they say of a row of DATA comes from the row, which is not protected here.
    """
    if str(output) == STANDARD and json:
        raise wrong_use("-o - and --json would both go to standard output", "choose one of them")
    if str(model) == str(data) == STANDARD:
        raise wrong_use("MODEL and DATA cannot both be standard input")
    with written(str(output), data, model) as file, progress("Reading") as tell:
        scan, read_format = inputs.open_table(data, format, delimiter)
        fitted = inputs.open_model(model)
        if missing is not None:
            fitted.missing = "error" if missing is Missing.ERROR else "drop"
        format = output_format or inputs.format_of(str(output)) or read_format
        if format is Format.PARQUET and str(output) == STANDARD and sys.stdout.isatty():
            raise wrong_use("Parquet is not for a terminal", "--output-format csv, or -o FILE")
        rows = 0
        delimiter = inputs.delimiter_of(str(output), delimiter)
        with _Writer(file, format, delimiter) as writer:
            for batch in _predicted(fitted, scan, name, keep, format):
                writer.write(batch)
                rows += len(batch)
                tell(f"{rows:,} rows")
    if str(output) == STANDARD:
        return
    if json:
        say_json({"predictions": str(output), "format": format.value, "column": name})
    else:
        say(f"Predictions are in {output}, in the order of the rows of {data}.")


def _predicted(
    model: PrivateModel, scan: Scan, name: str, keep: bool, format: Format
) -> Iterator[pa.Table]:
    """Give the output's rows, batch by batch; at least one batch, which may be empty."""
    import pyarrow as pa

    columns = scan.reader.schema()
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        # Fitted on an array: columns have places and no names.
        features = [column for column in columns.names if column not in model._aside]
    else:
        features = [str(feature) for feature in known]
        for feature in features:
            inputs.check_column(feature, columns.names, "the model needs it")
    names = columns.names if keep else features
    if keep and name in names:
        raise wrong_use(f"the table has a column {name!r} already", "--name calls it otherwise")
    kinds = _kinds(model, features, names)
    empty = pa.schema([*(columns.field(n) for n in names), (name, pa.float64())])
    none = True
    for batch in scan.reader.read(names, kinds):
        table = pa.Table.from_batches([batch])
        predictions = _predictions(model, table.select(features))
        if not keep:
            table = table.select([])
        none = False
        yield table.append_column(name, predictions)
    if none:
        chosen = empty if keep else pa.schema([empty.field(name)])
        yield chosen.empty_table()


def _kinds(model: PrivateModel, features: list[str], names: list[str]) -> list[ReadKind]:
    """Return how columns are to be read."""
    if len(features) != len(model._kinds):
        raise failure(
            f"the model has {len(model._kinds)} columns and no names for them, the table has "
            f"{len(features)}"
        )
    found: dict[str, Kind] = dict(zip(features, model._kinds, strict=True))
    # In CSV a number may be written in many ways, and a code may begin with a zero: what is not
    # used, and has no kind, is copied as text.
    return [found.get(name, "text") for name in names]


def _predictions(model: PrivateModel, table: pa.Table) -> Any:
    import numpy as np
    import pyarrow as pa

    with warnings.catch_warnings():
        # Of scikit-learn, about names where a model has none.
        warnings.simplefilter("ignore", UserWarning)
        found = model.predict(table)
    # What is not known is missing, in either format.
    return pa.array(np.asarray(found, dtype=np.float64), from_pandas=True)


class _Writer:
    """Writes tables one after the other, as CSV or Parquet."""

    def __init__(self, file: IO[bytes], format: Format, delimiter: str) -> None:
        self._file, self._format, self._delimiter = file, format, delimiter
        self._writer: Any = None

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._writer is not None and kind is None:
            self._writer.close()

    def write(self, table: pa.Table) -> None:
        if self._format is Format.PARQUET:
            if self._writer is None:
                import pyarrow.parquet as pq

                self._writer = pq.ParquetWriter(self._file, table.schema)
            self._writer.write_table(table.cast(self._writer.schema))
            return
        import pyarrow as pa
        import pyarrow.csv as pc

        if self._writer is None:
            text = io.StringIO()
            csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerow(
                table.column_names
            )
            self._file.write(text.getvalue().encode())
            options = pc.WriteOptions(
                include_header=False, delimiter=self._delimiter, quoting_style="needed"
            )
            try:
                self._writer = pc.CSVWriter(self._file, table.schema, write_options=options)
            except pa.ArrowException:
                raise failure(
                    "a column cannot be written as CSV", "write Parquet, or leave --keep"
                ) from None
        self._writer.write_table(table)
