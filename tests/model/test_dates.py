"""Columns of dates: numbers are not taken for them, and their bounds are dates."""

import datetime
import json
import math
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpfit import (
    Date,
    Numeric,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    scan_csv,
)
from dpfit.models.file import from_json, to_json

from .tables import seeded


def visits(rows=3000):
    days = np.random.default_rng(0).integers(0, 1000, rows)
    return pd.DataFrame(
        {"day": np.datetime64("2021-01-01", "s") + days * 86_400, "cost": 1.0 * days}
    )


@pytest.fixture(scope="module")
def model():
    return seeded(PrivateLinearRegression, visits(), "cost")


def test_a_type_of_dates_is_remembered(model):
    assert model.model_.kinds == (Date(),)
    again = from_json(to_json(model))
    assert again.model_.kinds == (Date(),)
    rows = visits()[["day"]]
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
def test_summaries_show_dates(cls):
    summary = seeded(cls, visits(), "cost").summary()
    ((_, *cells),) = [row for row in summary.rows if row[0] == "day"]
    low, high = (float(dict(summary.numbers)[end][0]) for end in ("range_low", "range_high"))
    days = [str(np.datetime64(math.floor(end), "D")) for end in (low, high)]
    assert " to ".join(days) in cells
    assert " to ".join(days) in summary.to_html()
    if cls is PrivateLinearRegression:
        assert re.search(r"the prediction at day = 202[12]-\d\d-\d\d", " ".join(summary.notes))
        assert "per day" in " ".join(summary.notes)


def test_dates_of_every_type_are_dates(model, tmp_path):
    rows = visits(50)
    expected = model.predict(rows)
    table = pa.Table.from_pandas(rows)
    days = table["day"].cast(pa.timestamp("s"))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    objects = pd.DataFrame({"day": rows.day.dt.date.astype(object)})
    for others in (
        pa.table({"day": days.cast(pa.date32())}),
        pa.table({"day": days.cast(pa.timestamp("ns", "UTC"))}),
        objects,
        scan_csv(tmp_path / "rows.csv"),
    ):
        np.testing.assert_array_equal(np.asarray(model.predict(others)), expected)


NO_DATES = {
    "numbers": [151123, 161123],
    "fractions": [19_000.5, 19_001.0],
    "text": ["15.11.23", "16.11.23"],
    "objects": np.array([151123, None], dtype=object),
    "booleans": [True, False],
    "times of day": np.array([datetime.time(1), datetime.time(2)], dtype=object),
}


@pytest.mark.parametrize("values", NO_DATES.values(), ids=NO_DATES)
def test_what_is_no_date_is_not_taken_for_one(model, values, tmp_path):
    rows = pd.DataFrame({"day": values})
    with pytest.raises(ParameterError, match="column 'day' must contain dates"):
        model.predict(rows)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ParameterError, match="column 'day' must contain dates"):
        model.predict(scan_csv(tmp_path / "rows.csv"))


def test_an_array_of_numbers_is_not_taken_for_dates(model):
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(ParameterError, match="must contain dates"),
    ):
        model.predict(np.array([[19_000.0]]))


def test_a_schema_of_dates_refuses_numbers():
    with pytest.raises(ParameterError, match="column 'cost' must contain dates"):
        seeded(PrivateLinearRegression, visits(), visits().cost, schema=Schema({"cost": Date()}))


def test_dates_that_are_all_missing_are_missing(tmp_path):
    model = seeded(PrivateLinearRegression, visits(), "cost", missing="drop")
    (tmp_path / "rows.csv").write_text("day,other\n,1\n,2\n")
    assert np.isnan(model.predict(scan_csv(tmp_path / "rows.csv"))).all()


def test_bounds_are_dates():
    expected = Date(18_628, 18_993)
    assert Date("2021-01-01", "2022-01-01") == expected
    assert Date(datetime.date(2021, 1, 1), datetime.datetime(2022, 1, 1)) == expected
    assert Date("2021-01-01T02:00:00+02:00", "2022-01-01").low == 18_628.0
    assert expected != Numeric(18_628, 18_993)
    plain = json.loads(Schema({"day": expected}).to_json())["columns"][0]
    assert plain == {"name": "day", "kind": "date", "low": "2021-01-01", "high": "2022-01-01"}
    for kind in (expected, Date(), Date(0.1, 1e9), Date(18_628.25, 18_993)):
        assert Schema.from_json(Schema({"day": kind}).to_json())["day"] == kind


def test_bounds_count_in_either_way():
    for bounds in (Date("2021-01-01", "2023-09-28"), Numeric(18_628, 19_628)):
        schema = Schema({"day": bounds})
        model = seeded(PrivateLinearRegression, visits(), "cost", schema=schema)
        assert model.model_.kinds == (Date("2021-01-01", "2023-09-28"),)
        with pytest.raises(ParameterError, match="must contain dates"):
            model.predict(pd.DataFrame({"day": [19_000]}))


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ("2021-13-01", "2022-01-01", "must be dates"),
        ("2021-01-01", None, "both low and high"),
        ("2021-01-01", "2020-01-01", "low < high"),
        ([], "2020-01-01", "must be dates"),
    ],
)
def test_wrong_bounds(low, high, words):
    with pytest.raises(ParameterError, match=words):
        Date(low, high)
