"""``dpfit schema infer``."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpfit

from .tool import dpfit as run

ROWS = """,customer,admitted,smoker,later,cost
0,100001,2023-11-15,TRUE,,1.5
1,100002,2023-11-16,FALSE,,2.5
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def test_types_are_guessed_from_the_start_of_the_file(place, quick):
    done = run(place, "schema infer rows.csv -t cost -o s.json", program=quick)
    assert done.returncode == 0, done.stderr
    schema = dpfit.Schema.from_json(place / "s.json")
    assert dict(schema) == {
        "": dpfit.Numeric(),
        "customer": dpfit.Numeric(),
        "admitted": dpfit.Date(),
        "smoker": dpfit.Binary(),
        "later": dpfit.Numeric(),
    }
    text = " ".join(done.stdout.decode().split())
    assert "Numeric columns without bounds: '', customer, later" in text
    assert "are not features: leave them out of the fit with --without" in text
    assert "Date columns without bounds: admitted Dates become days since 1970-01-01" in text
    assert "missing values only, assumed to be numeric: later" in text
    found = json.loads(run(place, "schema infer rows.csv --json", program=quick).stdout)
    assert found["empty"] == ["later"]
    assert "admitted" in found["open"]


def test_a_fit_does_not_guess(place, quick):
    lines = ["flag,y", *["TRUE,1", "FALSE,2"] * 500]
    (place / "flags.csv").write_text("\n".join(lines))
    line = "fit flags.csv -t y -e 5 -q -o m.json"
    assert run(place, line, program=quick).returncode == 0
    assert dpfit.load(place / "m.json").model_.kinds == (dpfit.Numeric(),)
    assert run(place, "schema infer flags.csv -t y -o s.json", program=quick).returncode == 0
    assert run(place, f"{line} --force --schema s.json", program=quick).returncode == 0
    assert dpfit.load(place / "m.json").model_.kinds == (dpfit.Binary(),)


def test_bounds_may_be_dates(place, quick):
    lines = ["day,y", *(f"2023-11-{day:02d},{day}" for day in range(1, 31))]
    (place / "days.csv").write_text("\n".join(lines))
    run(place, "schema infer days.csv -t y -o s.json", program=quick)
    plain = json.loads((place / "s.json").read_text())
    plain["columns"][0].update(low="2023-01-01", high="2023-12-31")
    (place / "s.json").write_text(json.dumps(plain))
    done = run(place, "fit days.csv -t y -e 5 -q --schema s.json -o m.json", program=quick)
    assert done.returncode == 0, done.stderr
    assert dpfit.load(place / "m.json").model_.kinds == (dpfit.Date("2023-01-01", "2023-12-31"),)
    (place / "numbers.csv").write_text("day\n151123\n")
    done = run(place, "predict m.json numbers.csv -o -", program=quick)
    assert done.returncode == 2
    assert b"column 'day' must contain dates" in done.stderr


def test_a_query_converts_dates(place, quick):
    lines = ["day,y", *(f"2023-11-{1 + day % 30:02d},{day % 30}" for day in range(3000))]
    (place / "days.csv").write_text("\n".join(lines))
    done = run(place, "fit days.csv -t y -e 5 -q -o m.json", program=quick)
    assert done.returncode == 2
    assert b"column 'day' contains dates (hint: give it the kind \"date\" in" in done.stderr
    run(place, "schema infer days.csv -t y -o s.json", program=quick)
    done = run(place, "fit days.csv -t y -e 5 -q --schema s.json -o m.json", program=quick)
    assert done.returncode == 0, done.stderr
    for dialect, word in (("standard", b"EXTRACT(EPOCH"), ("sqlite", b"julianday")):
        line = f"show m.json --sql rows --dialect {dialect}"
        assert word in run(place, line, program=quick).stdout


def test_columns_that_cannot_be_features_are_listed(quick, tmp_path):
    rows = {"x": [1.0], "list": [[1.0]], "record": [{"a": 1}], "bytes": [b"a"], "y": [1.0]}
    pq.write_table(pa.table(rows), tmp_path / "d.parquet")
    done = run(tmp_path, "schema infer d.parquet -t y -o s.json", program=quick)
    assert "cannot be features: list, record, bytes\n" in done.stdout.decode()
    columns = json.loads((tmp_path / "s.json").read_text())["columns"]
    assert [column["name"] for column in columns] == ["x"]
    found = run(tmp_path, "schema infer d.parquet --json", program=quick)
    assert json.loads(found.stdout)["unusable"] == ["list", "record", "bytes"]
