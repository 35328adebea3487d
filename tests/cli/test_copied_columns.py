"""Columns that ``predict --keep`` copies do not change."""

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import dpfit
from dpfit.cli.table_writer import TableWriter

from .tool import dpfit as run
from .tool import error_of

HEADER = "id,day,x,note,code,group"
ROWS = [
    '100001,2023-11-15,1.50,plain,007,"a"',
    '100002,2023-11-15 12:00:00,2,"a, ""b""",008,b',
    "100003,2023-11-16,3e0,NA,1,b",
    "100004,2023-11-16,4,,1.50,a",
    "100005,2023-11-17, 5 ,two\tin one,true,elsewhere",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a model of a numeric and a categorical column."""
    place = tmp_path_factory.mktemp("kept")
    x = np.random.default_rng(0).uniform(0, 10, 4000)
    table = pa.table({"x": x, "group": np.where(x > 5, "a", "b"), "y": 3.0 * x})
    schema = dpfit.Schema({"group": dpfit.Categorical(["a", "b"])})
    dpfit.PrivateLinearRegression(epsilon=1.0, schema=schema).fit(table, "y").save(place / "m.json")
    (place / "rows.csv").write_text("\n".join([HEADER, *ROWS, ""]))
    return place


def test_csv_is_copied_as_it_is_written(place, quick):
    done = run(place, "predict m.json rows.csv --keep -o p.csv", program=quick)
    assert done.returncode == 0, done.stderr
    header, *lines = (place / "p.csv").read_text().splitlines()
    assert header == f"{HEADER},prediction"
    # Only the value that needs quotes has them.
    assert [line.rpartition(",")[0] for line in lines] == [row.replace('"a"', "a") for row in ROWS]
    alone = run(place, "predict m.json rows.csv -o -", program=quick).stdout.decode().split()
    assert [line.rpartition(",")[2] for line in lines] == alone[1:]
    # Another delimiter, and other values that need quotes.
    line = "predict m.json rows.csv --keep -o p.tsv"
    assert run(place, line, program=quick).returncode == 0
    assert '"two\tin one"' in (place / "p.tsv").read_text()
    rows = list(csv.reader((place / "p.tsv").read_text().splitlines(), delimiter="\t"))
    assert [row[:-1] for row in rows[1:]] == list(csv.reader(ROWS))


def test_a_long_stream_is_copied_row_by_row(place, quick):
    # More than one block.
    x = np.arange(300_000)
    rows = pa.table({"id": x, "x": x % 10, "group": np.where(x % 3, "a", "b"), "more": x * 7})
    stream = io.BytesIO()
    pc.write_csv(rows, stream)
    assert len(stream.getvalue()) > 1 << 22
    done = run(place, "predict m.json - --keep -o -", stream.getvalue(), quick)
    assert done.returncode == 0, done.stderr
    found = pc.read_csv(io.BytesIO(done.stdout))
    assert found.drop_columns(["prediction"]).equals(rows)
    model = dpfit.load(place / "m.json")
    np.testing.assert_array_equal(found["prediction"], model.predict(rows.select(["x", "group"])))


def test_types_go_to_parquet(place, quick):
    days = [line.replace(" 12:00:00", "") for line in ROWS[:4]]
    (place / "typed.csv").write_text("\n".join([HEADER, *days, ""]))
    done = run(place, "predict m.json typed.csv --keep -o p.parquet", program=quick)
    assert done.returncode == 0, done.stderr
    found = pq.read_table(place / "p.parquet")
    assert found["id"].to_pylist() == [100001, 100002, 100003, 100004]
    assert pa.types.is_date(found.schema.field("day").type)
    assert found["x"].to_pylist() == [1.5, 2.0, 3.0, 4.0]
    assert found["note"].to_pylist() == ["plain", 'a, "b"', "NA", ""]


def test_codes_with_leading_zeros_are_not_numbers(place, quick):
    (place / "codes.csv").write_text("x,group,code,gap\n1,a,007,1\n2,b,12,NA\n")
    done = run(place, "predict m.json codes.csv --keep -o codes.parquet", program=quick)
    assert done.returncode == 0, done.stderr
    found = pq.read_table(place / "codes.parquet")
    assert found["code"].to_pylist() == ["007", "12"]
    assert found["gap"].to_pylist() == [1, None]


def test_a_type_that_changes_later_is_an_error(place, quick):
    lines = ["x,group,id", *["1,a,1000000"] * 400_000, "1,a,A17"]
    (place / "late.csv").write_text("\n".join(lines))
    done = run(place, "predict m.json late.csv --keep -o late.parquet", program=quick)
    line = error_of(done, 1)
    assert "column 'id'" in line
    assert "A17" not in line
    assert run(place, "predict m.json late.csv --keep -o late2.csv", program=quick).returncode == 0


def test_a_row_with_only_an_empty_prediction_is_a_row():
    file = io.BytesIO()
    with TableWriter(file, "csv", ",") as writer:
        writer.write(pa.table({"prediction": [1.5, None, 2.0]}))
    assert file.getvalue() == b'prediction\n1.5\n""\n2\n'
    assert pc.read_csv(io.BytesIO(file.getvalue())).num_rows == 3
