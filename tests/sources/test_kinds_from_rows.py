"""A row cannot decide what kind a column has: types do if there are any, and the schema."""

import datetime
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfit import (
    Binary,
    Date,
    InsecureSeedWarning,
    Numeric,
    ParameterError,
    PrivateLinearRegression,
    Schema,
    scan_batches,
    scan_csv,
    scan_parquet,
)
from dpfit.exceptions import Code

ROWS = 300
DAY = datetime.date(2031, 7, 19)
MOMENT = datetime.datetime(2031, 7, 19, 3, tzinfo=datetime.UTC)
DAYS = [DAY + datetime.timedelta(days=i) for i in range(ROWS)]


def write_csv(path, values):
    lines = [f"{i},{value},{2 * i}\n" for i, value in enumerate(values)]
    path.write_text("x,when,y\n" + "".join(lines))


def part(values, kind):
    x = np.arange(len(values), dtype=float)
    return pa.table({"x": x, "when": pa.array(values, kind), "y": 2 * x})


def csv(*parts):
    def scan(folder):
        for number, values in enumerate(parts):
            write_csv(folder / f"{number}.csv", ["" if v is None else v for v in values])
        return scan_csv(folder, target="y")

    return scan


def parquet(*parts):
    def scan(folder):
        for number, table in enumerate(parts):
            pq.write_table(table, folder / f"{number}.parquet")
        return scan_parquet(folder, target="y")

    return scan


def batches(*parts):
    return lambda folder: scan_batches(lambda: list(parts), target="y")


EMPTY = [None] * ROWS
NULL = part(EMPTY, pa.null())
# Tables whose rows, but for one at most, say nothing about the column `when`.
ONE_DATE = {
    "one CSV file": csv([DAY, *EMPTY]),
    "one CSV file with a time": csv([f"{DAY}T03:04:05", *EMPTY]),
    "the second CSV file": csv(EMPTY, [DAY, *EMPTY]),
    "the second Parquet file": parquet(NULL, part([DAY, *EMPTY], pa.date32())),
    "a timestamp in the second Parquet file": parquet(
        NULL, part([MOMENT, *EMPTY], pa.timestamp("us", "UTC"))
    ),
    "the second batch": batches(NULL, part([DAY, *EMPTY], pa.date32())),
}
NO_DATE = {
    "one CSV file": csv(EMPTY),
    "one CSV file with a time": csv(EMPTY),
    "the second CSV file": csv(EMPTY, EMPTY),
    "the second Parquet file": parquet(NULL, NULL),
    "a timestamp in the second Parquet file": parquet(NULL, NULL),
    "the second batch": batches(NULL, NULL),
}


def kinds_of(scan, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        model = PrivateLinearRegression(epsilon=1.0, random_state=0, missing="drop", **options)
        return model.fit(scan).model_.kinds


@pytest.mark.parametrize("schema", [None, Schema({"when": Numeric(-1e5, 1e5)})])
@pytest.mark.parametrize("name", ONE_DATE)
def test_one_date_does_not_make_a_column_of_dates(name, schema, tmp_path):
    """It is an error; once it was `Date()` in the model, in SQL, and in what `predict` accepts."""
    with pytest.raises(ParameterError, match=r"column 'when' contains dates; schema=") as caught:
        kinds_of(ONE_DATE[name](tmp_path), schema=schema)
    assert caught.value.code is Code.DATE_COLUMN
    assert str(DAY.year) not in str(caught.value)


@pytest.mark.parametrize("name", NO_DATE)
def test_a_column_without_values_is_numeric(name, tmp_path):
    # All rows are dropped, which is an ordinary table for a fit.
    assert kinds_of(NO_DATE[name](tmp_path)) == (Numeric(), Numeric())


@pytest.mark.parametrize("name", [*ONE_DATE])
def test_the_schema_decides(name, tmp_path):
    schema = Schema({"when": Date()})
    folders = [tmp_path / "one", tmp_path / "none"]
    for folder, table in zip(folders, (ONE_DATE, NO_DATE), strict=True):
        folder.mkdir()
        assert kinds_of(table[name](folder), schema=schema) == (Numeric(), Date())


def test_all_rows_of_a_csv_file_do_not_decide_either(tmp_path):
    with pytest.raises(ParameterError, match="contains dates"):
        kinds_of(csv(DAYS)(tmp_path))
    assert kinds_of(csv(DAYS)(tmp_path), schema=Schema({"when": Date()}))[1] == Date()


def test_dates_with_bounds_in_days_are_declared_by_a_type_alone(tmp_path):
    """In Parquet, the type says that numbers are bounds of dates; in CSV, nothing does."""
    schema = Schema({"when": Numeric(0, 30_000)})
    typed = parquet(part(DAYS, pa.date32()))(tmp_path)
    assert kinds_of(typed, schema=schema)[1] == Date(0, 30_000)


def test_booleans_of_csv_files_are_numbers_unless_the_schema_says_otherwise(tmp_path):
    scan = csv(["true", "false"] * ROWS)(tmp_path)
    assert kinds_of(scan)[1] == Numeric()
    assert kinds_of(scan, schema=Schema({"when": Binary()}))[1] == Binary()


def test_a_model_of_numbers_refuses_dates_of_csv_files(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table(
        {"x": rng.normal(size=ROWS), "when": rng.normal(size=ROWS), "y": rng.normal(size=ROWS)}
    )
    model = PrivateLinearRegression(epsilon=1.0).fit(table, "y")
    with pytest.raises(ParameterError, match="contains dates, but contained numbers in the fit"):
        model.predict(csv(DAYS)(tmp_path))
