"""``dpfit predict``."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dpfit._typing import Missing
from dpfit.cli import inputs
from dpfit.cli.copied_columns import Copies, read_with_copies
from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.options import Data, Delimiter, Json, Model, Output, TableFormat
from dpfit.cli.outputs import STANDARD, open_output
from dpfit.cli.printing import print_json, print_note, print_text, progress
from dpfit.cli.table_writer import OutputFormat, TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfit.models.base import PrivateModel
    from dpfit.models.model import Model as FittedModel
    from dpfit.sources.files.formats import Format
    from dpfit.sources.files.scan import Reader

__all__ = ["EXAMPLES", "predict"]

EXAMPLES = (
    "dpfit predict model.json new.parquet -o predictions.parquet",
    "dpfit predict model.json new.csv --keep -o predictions.csv",
    "cat new.csv | dpfit predict model.json - -o - | head",
)

# Notes on models that are not complete, by their status.
_NOTES = {
    "mean": ["This is a mean-only model: its prediction is the same for every row."],
    "nothing": ["The noise hides the range of the target: predictions are not informative."],
}


def predict(
    model: Model,
    data: Data,
    output: Output,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            metavar="",
            help="Also write the columns of DATA, with the prediction last. From CSV to CSV, "
            "values are copied as they are written, except for unnecessary quotes.",
        ),
    ] = False,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the prediction column.")
    ] = "prediction",
    missing: Annotated[
        Literal["error", "empty"] | None,
        typer.Option(
            help="What to do with a row that has a missing value: stop with an error, or leave the "
            "prediction empty. Default: as in the fit, where `drop` means empty. Models fitted "
            "with `indicator` predict for such rows.",
        ),
    ] = None,
    format: TableFormat = None,
    output_format: Annotated[
        OutputFormat | None,
        typer.Option(
            help="Format to write, if the name of FILE does not show it. Default: that of DATA."
        ),
    ] = None,
    delimiter: Delimiter = ",",
    json: Json = False,
) -> None:
    """Predict for the rows of DATA, in their order.

    Columns are matched by name; other columns are ignored. The output contains only the column
    `prediction`: no personal data are copied unless you use --keep. Predictions keep the privacy
    guarantee of the model for the people in its training data. The rows of DATA are not protected.
    """
    if not name:
        raise wrong_use("--name must not be empty", "without --name it is `prediction`")
    if str(output) == STANDARD and json:
        raise wrong_use("-o - and --json both write to standard output", "choose one of them")
    if str(model) == str(data) == STANDARD:
        raise wrong_use("MODEL and DATA cannot both be standard input")
    if data.suffix.lower() == ".json" and inputs.is_table(str(model)):
        raise wrong_use("MODEL comes before DATA", f"dpfit predict {data} {model} ...")
    read = (*inputs.files_of(data, format), model)
    with open_output(str(output), *read) as file, _progress(str(output)) as show_progress:
        scan, read_format = inputs.open_table(data, format, delimiter)
        fitted = inputs.open_model(model)
        if fitted.privacy_.insecure_seed:
            print_note(f"NOT PRIVATE: the noise of {model} came from a fixed seed.")
        if missing is not None and fitted.model_.indicators is not None:
            raise wrong_use(
                "--missing does not apply to this model, which was fitted with --missing indicator",
                "it predicts for rows with missing values",
            )
        if missing is not None:
            policy: Missing = "error" if missing == "error" else "drop"
            fitted.model_ = dataclasses.replace(fitted.model_, missing=policy)
        written = _output_format(str(output), output_format, read_format)
        if written == "parquet" and str(output) == STANDARD and sys.stdout.isatty():
            raise wrong_use(
                "Parquet cannot be shown in a terminal", "--output-format csv, or -o FILE"
            )
        counts = _Counts()
        copies: Copies = "none"
        if keep:
            as_text: Copies = "strings" if written == "csv" else "guessed"
            copies = "typed" if read_format.has_types else as_text
        batches = _predicted(fitted, scan.reader, name, counts, copies)
        with TableWriter(file, written, inputs.resolve_delimiter(str(output), delimiter)) as writer:
            for batch in batches:
                writer.write(batch)
                show_progress(f"{counts.rows:,} rows")
    if json:
        found = {"predictions": str(output), "format": written, "column": name}
        print_json({**found, "status": fitted.status_, **dataclasses.asdict(counts)})
        return
    if str(output) != STANDARD:
        print_text(f"The predictions were written to {output}, in the order of the rows of {data}.")
    for note in [*_NOTES.get(fitted.status_, []), *counts.notes()]:
        print_note(note)


def _progress(output: str) -> contextlib.AbstractContextManager[Callable[[str], Any]]:
    """Show progress, unless the rows go to the same terminal."""
    if output == STANDARD and sys.stdout.isatty():
        return contextlib.nullcontext(lambda text: None)
    return progress("Reading")


def _output_format(name: str, given: OutputFormat | None, read: Format) -> OutputFormat:
    """Return the format to write: as given, by the name of the file, or as read."""
    from dpfit.sources.files.formats import format_of_name

    suffix = Path(name).suffix.lower()
    if suffix in (".gz", ".bz2", ".zst"):
        raise wrong_use(
            f"{name!r}: compressed output is not supported", "-o - | gzip, or write Parquet"
        )
    if given is not None:
        return given
    format = format_of_name(name) if suffix else read
    if format is not None and format.name == "parquet":
        return "parquet"
    if format is not None and (format.name == "csv" or not suffix):
        return "csv"
    raise wrong_use(
        f"{name!r}: predictions are written as CSV or Parquet",
        "use the suffix .csv or .parquet, or --output-format",
    )


@dataclasses.dataclass
class _Counts:
    """Counts of rows, for notes and JSON.

    Privacy
    -------
    They are of the rows to predict for, which are not protected, and not of those of the fit.
    """

    rows: int = 0
    empty: int = 0
    unlisted: dict[str, int] = dataclasses.field(default_factory=dict)

    def add(self, model: PrivateModel, table: pa.Table, predictions: pa.Array) -> None:
        """Count some rows: columns that the model uses, and its predictions."""
        from dpfit.sources.columns import UNKNOWN, encode_arrow

        self.rows += len(predictions)
        self.empty += predictions.null_count
        kinds = model.model_.kinds
        for column, kind, name in zip(table.columns, kinds, table.column_names, strict=True):
            if kind.listed:
                count = int((encode_arrow(column, kind, name) == UNKNOWN).sum())
                if count:
                    self.unlisted[name] = self.unlisted.get(name, 0) + count

    def notes(self) -> list[str]:
        """Return notes on missing values and on levels that the model does not list."""
        found = []
        if self.empty:
            found.append(
                f"{self.empty:,} of {self.rows:,} predictions are empty because a value is missing."
            )
        for name, count in self.unlisted.items():
            found.append(
                f"In {count:,} of {self.rows:,} rows, column {name!r} has a level that the model "
                "does not list; it has no effect on the prediction."
            )
        return found


def _predicted(
    model: PrivateModel,
    reader: Reader,
    name: str,
    counts: _Counts,
    copies: Copies,
) -> Iterator[pa.Table]:
    """Yield the rows of the output, batch by batch; at least one batch, which may be empty.

    Parameters
    ----------
    model : PrivateModel
        The model.
    reader : Reader
        The table.
    name : str
        The name of the prediction column.
    counts : _Counts
        Updated with every batch.
    copies : Copies
        How the columns of the table are copied.
    """
    import pyarrow as pa

    columns = reader.schema()
    features = _features(model.model_, columns.names)
    if copies != "none" and name in columns.names:
        raise wrong_use(f"the table already has a column {name!r}", "choose another --name")
    is_empty = True
    for table, others in read_with_copies(reader, features, model.model_.kinds, copies):
        predictions = _predictions(model, table)
        counts.add(model, table, predictions)
        is_empty = False
        yield others.append_column(name, predictions)
    if is_empty:
        fields = [] if copies == "none" else list(columns)
        yield pa.schema([*fields, (name, pa.float64())]).empty_table()


def _features(model: FittedModel, columns: list[str]) -> list[str]:
    """Return the columns of the table that the model uses."""
    if model.names is not None:
        inputs.check_columns(model.names, columns, "needed by the model")
        return list(model.names)
    # Fitted on an array, whose columns have positions and no names.
    features = [column for column in columns if column not in model.not_features]
    if len(features) != len(model.kinds):
        raise failure(
            f"the model has {len(model.kinds)} columns without names, but the table has "
            f"{len(features)} columns"
        )
    return features


def _predictions(model: PrivateModel, table: pa.Table) -> Any:
    import numpy as np
    import pyarrow as pa

    with warnings.catch_warnings():
        # scikit-learn warns of a table with names if the model has none.
        warnings.simplefilter("ignore", UserWarning)
        found = model.predict(table)
    # NaN is written as a missing value.
    return pa.array(np.asarray(found, dtype=np.float64), from_pandas=True)
