"""``dpfit predict``."""

from __future__ import annotations

import contextlib
import enum
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfit.cli import inputs
from dpfit.cli.copies import with_copies
from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.files import STANDARD, written
from dpfit.cli.options import Data, Delimiter, Format, FormatOption, Json, Model, Output
from dpfit.cli.text import epilog, note, progress, say, say_json, unwrapped
from dpfit.cli.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfit._private import PrivateModel
    from dpfit.schema import Kind
    from dpfit.sources import Scan
    from dpfit.sources.scan import Reader

__all__ = ["add"]

EXAMPLES = (
    "dpfit predict model.json new.parquet -o predictions.parquet",
    "dpfit predict model.json new.csv --keep -o predictions.csv",
    "cat new.csv | dpfit predict model.json - -o - | head",
)


# What is to be said of models that say little.
_LITTLE = {
    "mean": ["The model is a mean: its prediction is the same for every row."],
    "nothing": ["The model is noise: its predictions say nothing."],
}


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
            help="Write the columns of DATA, too, with the prediction as the last. From CSV to CSV "
            "every value is copied as it is written, but for quotes that it does not need.",
        ),
    ] = False,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="What the column is called.")
    ] = "prediction",
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
    if not name:
        raise wrong_use("--name must not be empty", "prediction is what it is without --name")
    if str(output) == STANDARD and json:
        raise wrong_use("-o - and --json would both go to standard output", "choose one of them")
    if str(model) == str(data) == STANDARD:
        raise wrong_use("MODEL and DATA cannot both be standard input")
    if inputs.format_of(str(model)) is not None and data.suffix.lower() == ".json":
        raise wrong_use("MODEL comes first, and DATA after it", f"dpfit predict {data} {model} ...")
    read = (*inputs.files_of(data, format), model)
    with written(str(output), *read) as file, _progress(str(output)) as tell:
        scan, read_format = inputs.open_table(data, format, delimiter)
        fitted = inputs.open_model(model)
        if fitted.privacy_.insecure_seed:
            note(f"NOT PRIVATE: the noise of {model} came from a fixed seed.")
        if missing is not None:
            fitted.missing = "error" if missing is Missing.ERROR else "drop"
        format = _output_format(str(output), output_format) or read_format
        if format is Format.PARQUET and str(output) == STANDARD and sys.stdout.isatty():
            raise wrong_use("Parquet is not for a terminal", "--output-format csv, or -o FILE")
        seen = _Seen()
        delimiter = inputs.delimiter_of(str(output), delimiter)
        with TableWriter(file, format, delimiter) as writer:
            for batch in _predicted(fitted, scan, name, format if keep else None, seen):
                writer.write(batch)
                tell(f"{seen.rows:,} rows")
    worth = fitted.status_
    if json:
        found = {"predictions": str(output), "format": format.value, "column": name}
        found["status"] = worth
        say_json({**found, "rows": seen.rows, "empty": seen.empty, "unlisted": seen.unlisted})
        return
    if str(output) != STANDARD:
        say(f"Predictions are in {output}, in the order of the rows of {data}.")
    for line in [*_LITTLE.get(worth, []), *seen.remarks()]:
        note(line)


def _progress(output: str) -> contextlib.AbstractContextManager[Any]:
    """Show that something goes on, unless the rows go to the same terminal."""
    if output == STANDARD and sys.stdout.isatty():
        return contextlib.nullcontext(lambda text: None)
    return progress("Reading")


@dataclass
class _Seen:
    """What there was in the rows that somebody should know of.

    Privacy
    -------
    Of the rows that are predicted for, which have no promise, and not of those of the fit.
    """

    rows: int = 0
    empty: int = 0
    unlisted: dict[str, int] = field(default_factory=dict)

    def add(self, model: PrivateModel, table: pa.Table, predictions: pa.Array) -> None:
        """Look at some rows: columns as the model has them, and what it says."""
        from dpfit.schema import Categorical
        from dpfit.sources.columns import UNKNOWN, encode_arrow

        self.rows += len(predictions)
        self.empty += predictions.null_count
        for column, kind, name in zip(table.columns, model._kinds, table.column_names, strict=True):
            if isinstance(kind, Categorical):
                count = int((encode_arrow(column, kind, name) == UNKNOWN).sum())
                if count:
                    self.unlisted[name] = self.unlisted.get(name, 0) + count

    def remarks(self) -> list[str]:
        """Return sentences, none if all is well."""
        found = []
        if self.empty:
            found.append(
                f"{self.empty:,} of {self.rows:,} predictions are empty: a value is missing there."
            )
        for name, count in self.unlisted.items():
            found.append(
                f"Column {name!r} has a level that the model does not list in {count:,} of "
                f"{self.rows:,} rows, which counts as none."
            )
        return found


def _output_format(name: str, given: Format | None) -> Format | None:
    """Return what to write by the name of the file, None if that does not tell."""
    ending = Path(name).suffix.lower()
    if ending in (".gz", ".bz2", ".zst"):
        raise wrong_use(
            f"{name!r}: the output is not compressed", "-o - | gzip, or write Parquet, which is"
        )
    found = given or inputs.format_of(name)
    if found is None and ending:
        raise wrong_use(
            f"{name!r}: predictions are CSV or Parquet", "end it so, or --output-format csv"
        )
    return found


def _predicted(
    model: PrivateModel, scan: Scan, name: str, kept: Format | None, seen: _Seen
) -> Iterator[pa.Table]:
    """Give the output's rows, batch by batch; at least one batch, which may be empty.

    Parameters
    ----------
    model : PrivateModel
        The model.
    scan : Scan
        The table.
    name : str
        What the predictions are called.
    kept : Format or None
        What the columns of the table are copied to, None if they are not.
    seen : _Seen
        Told of all rows.
    """
    import pyarrow as pa

    columns = scan.reader.schema()
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        # Fitted on an array: columns have places and no names.
        features = [column for column in columns.names if column not in model._aside]
    else:
        features = [str(feature) for feature in known]
        inputs.check_columns(features, columns.names, "needed by the model")
    if len(features) != len(model._kinds):
        raise failure(
            f"the model has {len(model._kinds)} columns and no names for them, the table has "
            f"{len(features)}"
        )
    if kept is not None and name in columns.names:
        raise wrong_use(f"the table has a column {name!r} already", "--name calls it otherwise")
    none = True
    for table, others in _batches(scan.reader, features, model._kinds, kept):
        predictions = _predictions(model, table)
        seen.add(model, table, predictions)
        none = False
        yield others.append_column(name, predictions)
    if none:
        copied = [] if kept is None else list(columns)
        yield pa.schema([*copied, (name, pa.float64())]).empty_table()


def _batches(
    reader: Reader, features: list[str], kinds: list[Kind], kept: Format | None
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Give what the model uses, and what goes to the output beside its predictions."""
    import pyarrow as pa

    if kept is not None:
        yield from with_copies(reader, features, kinds, as_text=kept is Format.CSV)
        return
    for batch in reader.read(features, kinds):
        table = pa.Table.from_batches([batch])
        yield table, table.select([])


def _predictions(model: PrivateModel, table: pa.Table) -> Any:
    import numpy as np
    import pyarrow as pa

    with warnings.catch_warnings():
        # Of scikit-learn, about names where a model has none.
        warnings.simplefilter("ignore", UserWarning)
        found = model.predict(table)
    # What is not known is missing, in either format.
    return pa.array(np.asarray(found, dtype=np.float64), from_pandas=True)
