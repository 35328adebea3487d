"""Columns of Python's objects: a value is the same number whatever is beside it."""

import datetime
import itertools
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dpfit import (
    Categorical,
    Numeric,
    ParameterError,
    PrivateLinearRegression,
    Schema,
    SourceError,
    scan_batches,
    scan_csv,
)
from dpfit.sources.columns import encode_array
from dpfit.sources.frames import arrow_table, as_frame
from dpfit.sources.objects import from_objects

UTC = datetime.UTC
VALUES = [
    5,
    2**60,
    2**70,
    -1.5,
    np.float32(0.1),
    np.float16(0.1),
    np.int8(3),
    np.uint64(2**63),
    True,
    np.bool_(False),
    Decimal("0.1"),
    datetime.date(2020, 1, 1),
    datetime.datetime(2020, 1, 1, 5),
    datetime.datetime(2020, 1, 1, 5, tzinfo=UTC),
    datetime.datetime(2020, 1, 1, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=-8))),
    pd.Timestamp("2020-01-01 05:00:00.000000001"),
    pd.Timestamp("2020-01-01 05:00", tz="Asia/Tokyo"),
    datetime.time(5, 30),
    datetime.timedelta(days=1, microseconds=1),
    pd.Timedelta("1 day 1 ns"),
    np.datetime64("2020-01-01"),
    np.timedelta64(3, "D"),
    "text",
    np.str_("words"),
    b"bytes",
    1 + 2j,
    {"a": 1},
    [1],
    object(),
    float("inf"),
]
MISSING = [None, float("nan"), np.float32("nan"), pd.NaT, pd.NA]


def number(values):
    """Return what objects become, None if they are refused."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    try:
        return from_objects(array, "x").tolist()
    except ParameterError:
        return None


def test_an_error_shows_no_value():
    with pytest.raises(ParameterError, match="column 'x' must contain only numbers") as error:
        from_objects(["SECRET", 1], "x")
    assert "SECRET" not in str(error.value)
    assert error.value.__context__ is None


def test_a_value_is_the_same_beside_any_other():
    for a, b in itertools.product(VALUES, repeat=2):
        together = number([a, b, a])
        if together is not None:
            assert together == [*number([a]), *number([b]), *number([a])], (a, b)


def test_what_values_become():
    day = (datetime.date(2020, 1, 1) - datetime.date(1970, 1, 1)).days
    assert number([5, 2**70, np.float32(0.5), float("inf")]) == [5.0, 2.0**70, 0.5, float("inf")]
    assert number([Decimal("0.1"), True, 1]) is None
    assert number([True, np.bool_(False), None])[:2] == [1.0, 0.0]
    assert number([datetime.date(2020, 1, 1)]) == [day]
    eight = datetime.timezone(datetime.timedelta(hours=8))
    instants = [
        datetime.datetime(2020, 1, 1, 12),
        datetime.datetime(2020, 1, 1, 20, tzinfo=eight),
        pd.Timestamp("2020-01-01 12:00"),
        pd.Timestamp("2020-01-01 12:00", tz="UTC"),
    ]
    assert number(instants) == [day + 0.5] * 4
    assert number([datetime.time(6)]) == [0.25]
    assert number([datetime.timedelta(hours=36), pd.Timedelta("36h")]) == [1.5, 1.5]
    for refused in (b"x", 1j, {}, [], object(), np.datetime64("2020-01-01")):
        assert number([refused]) is None


@pytest.mark.parametrize("value", VALUES[:20])
def test_what_is_missing_changes_nothing(value):
    found = number([value, *MISSING, value])
    assert found[0] == found[-1] == number([value])[0]
    assert np.isnan(found[1:-1]).all()


def test_missing_texts_are_missing():
    found = number(["a", *MISSING])
    assert found == ["a"] + [None] * len(MISSING)
    codes = encode_array(np.array(["b", None, "?"], dtype=object), Categorical(("a", "b")), "x")
    assert codes[0] == 1
    assert np.isnan(codes[1])
    assert codes[2] == -1
    nothing = encode_array(np.array(MISSING, dtype=object), Categorical(("a", "b")), "x")
    assert np.isnan(nothing).all()


def test_a_frame_of_objects_is_a_table_of_numbers_and_texts():
    frame = pd.DataFrame(
        {"a": [1, 2.5], "b": ["x", None], "c": [datetime.date(1970, 1, 2), None]}, dtype=object
    )
    table = arrow_table(as_frame(frame.set_index(pd.Index([7, 9]))))
    assert table.column_names == ["a", "b", "c"]
    assert table["a"].to_pylist() == [1.0, 2.5]
    assert table["b"].to_pylist() == ["x", None]
    assert table["c"].to_numpy()[0] == 1.0


def table(first):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 3001).astype(object)
    x[0] = first
    return pd.DataFrame({"x": x, "y": 3.0 * rng.uniform(size=3001)})


@pytest.mark.parametrize("first", [datetime.datetime(2020, 1, 1), "old", True, Decimal(1)])
def test_one_row_does_not_change_what_the_others_are(first):
    frame = table(first)
    for rows in (frame, scan_batches(lambda: [frame])):
        with pytest.raises((ParameterError, SourceError), match="must contain only numbers"):
            PrivateLinearRegression(epsilon=1.0).fit(rows, "y")


@pytest.mark.parametrize("row", ["", "1,3.0\n", "true,3.0\n"])
def test_one_word_in_a_csv_file_does_not_change_what_a_column_is(tmp_path, row):
    lines = "".join(f"{i % 2},{i % 7}.5\n" for i in range(2000))
    (tmp_path / "a.csv").write_text("x,y\n" + lines + row)
    model = PrivateLinearRegression(epsilon=1.0).fit(scan_csv(tmp_path / "a.csv", target="y"))
    assert model.model_.kinds == (Numeric(),)


def test_an_error_of_a_factory_is_named_only():
    def failing():
        yield pd.DataFrame({"x": [1.0], "y": [2.0]})
        raise ValueError("could not read SECRET")

    with pytest.raises(SourceError, match="failed with ValueError") as error:
        PrivateLinearRegression().fit(scan_batches(failing, target="y"))
    assert error.value.__context__ is None
    assert error.value.__cause__ is None


def test_an_infinity_among_levels_is_missing():
    levels = Categorical((1, 2))
    codes = encode_array(np.array([1.0, np.inf, 3.0]), levels, "x")
    assert codes[0] == 0
    assert np.isnan(codes[1])
    assert codes[2] == -1
    assert Schema({"x": levels})["x"] == levels
