"""Tables in memory that cannot be used, or only just: what must be said of each."""

import datetime
import decimal
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from dpfit import (
    Binary,
    Categorical,
    NotFiniteError,
    Numeric,
    ParameterError,
    Schema,
    SourceError,
)
from dpfit.exceptions import Code

ROWS = 60
# Hidden in the data; in no message.
NUMBER, TEXT = 987654321.25, "SECRET-LEVEL"
A = np.append(np.random.default_rng(0).normal(size=ROWS - 1), NUMBER)
Y = 2.0 * A + 1.0
LISTED = Schema({"b": Categorical(["u", "v"])})
FINE = None
STRUCT = pa.struct([("q", pa.int64())])


@dataclass(frozen=True)
class Case:
    """What is fitted (made of a folder), the error, and its code or a part of its message."""

    make: object
    error: type | None = None
    problem: Code | str = ""
    schema: Schema | None = None
    options: dict = field(default_factory=dict)
    predictions: int | None = None


def frame(b, **others):
    """Return a frame of pandas with a column b, among others."""
    return pd.DataFrame({"a": A, "b": b, **others, "price": Y}), "price"


def arrow(b, **others):
    return pa.table({"a": A, "b": b, **others, "price": Y}), "price"


def polars(b, dtype=None):
    return pl.DataFrame({"a": A, "b": pl.Series(b, dtype=dtype, strict=False), "price": Y}), "price"


def with_one(value, others, dtype=None):
    """Return a column of others with one value in the middle."""
    return pd.Series([others] * (ROWS // 2) + [value] + [others] * (ROWS // 2 - 1), dtype=dtype)


def of(table):
    return lambda _: table


class FailingZone(datetime.tzinfo):
    """A time zone of the program's own."""

    def utcoffset(self, date):
        raise RuntimeError(TEXT)


WHOLE = pa.table({"a": A, "price": Y})
TEXTS = [TEXT, "v"] * (ROWS // 2)
KNOWN = ["u", "v"] * (ROWS // 2)
# Arrow does not check strings that it reads from Parquet files and from other programs.
NOT_UTF8 = pa.Array.from_buffers(
    pa.string(), ROWS, pa.array([TEXT.encode() + b"\xff", b"v"] * (ROWS // 2)).buffers()
)
DAY = datetime.date(2020, 1, 2)
NO_ROWS = (ParameterError, "0 sample")
ONE_TYPE = (ParameterError, Code.MIXED_TYPES)
NO_NUMBER = (ParameterError, Code.WRONG_TYPE)
SAY_LEVELS = (ParameterError, Code.TEXT_COLUMN)
NOT_FINITE = (NotFiniteError, 'NaN or infinity; missing="drop" drops')

CASES = {
    # Values that are missing, or are no numbers.
    "NaN": Case(of(frame(with_one(np.nan, 1.5))), *NOT_FINITE),
    "an infinity": Case(of(frame(with_one(-np.inf, 1.5))), *NOT_FINITE),
    "NaN in the target": Case(
        of((WHOLE.to_pandas()[["a"]], np.append(Y[1:], np.nan))), *NOT_FINITE
    ),
    "None among objects": Case(of(frame(with_one(None, 1.5, object))), *NOT_FINITE),
    "null of Arrow": Case(of(arrow([None, 1] * (ROWS // 2))), *NOT_FINITE),
    "null in a reader": Case(
        lambda _: (arrow([None, True] * (ROWS // 2))[0].to_reader(), "price"),
        *NOT_FINITE,
    ),
    "a missing level": Case(of(frame([*KNOWN[1:], None])), *NOT_FINITE, schema=LISTED),
    "a missing level, dropped": Case(
        of(frame([*KNOWN[1:], None])), FINE, schema=LISTED, options={"missing": "drop"}
    ),
    "a column of nothing": Case(of(arrow(pa.nulls(ROWS))), *NOT_FINITE),
    "a column of nothing, dropped": Case(of(arrow(pa.nulls(ROWS))), options={"missing": "drop"}),
    "levels of which none is there": Case(of(arrow(pa.nulls(ROWS))), *NOT_FINITE, LISTED),
    "objects": Case(of(frame([object()] * ROWS)), *ONE_TYPE),
    "text among numbers": Case(of(frame(with_one(TEXT, NUMBER, object))), *ONE_TYPE),
    "a number among texts": Case(of(frame(with_one(NUMBER, TEXT, object))), *ONE_TYPE),
    "a number far behind texts": Case(
        of((pd.DataFrame({"b": pd.Series([TEXT] * 500 + [NUMBER], dtype=object)}), np.zeros(501))),
        *ONE_TYPE,
    ),
    "yes among numbers": Case(of(frame(with_one(True, int(NUMBER), object))), *ONE_TYPE),
    "dictionaries": Case(of(frame([{TEXT: 1}] * ROWS)), *ONE_TYPE),
    "an array of dictionaries": Case(
        of((np.array([[{TEXT: 1}]] * ROWS), Y)), ParameterError, "float() argument"
    ),
    "an array of text": Case(
        of((np.array([[1.5], [TEXT]], dtype=object), [1, 2])), ParameterError, "got strings"
    ),
    "lists": Case(of(polars([[1, 2]] * ROWS)), *NO_NUMBER),
    "structs": Case(of(arrow(pa.array([{"q": 1}] * ROWS, STRUCT))), *NO_NUMBER),
    "bytes": Case(of(arrow([TEXT.encode()] * ROWS)), *NO_NUMBER),
    "intervals": Case(of(frame(pd.cut(A, [-9.0, 0.0, NUMBER]))), *NO_NUMBER),
    "complex numbers": Case(of(frame(A * 1j)), *ONE_TYPE),
    "complex arrays": Case(of((np.ones((9, 2)) * NUMBER * 1j, Y[:9])), ParameterError, "Complex"),
    "whole numbers of 128 bits": Case(of(polars([2**100] * ROWS, pl.Int128)), *ONE_TYPE),
    "huge numbers among objects": Case(of(frame([2**70, 3] * (ROWS // 2)))),
    "numbers too huge for doubles": Case(of(frame([10**400] * ROWS)), *ONE_TYPE),
    "huge numbers in an array": Case(of((np.array([[2**70], [3]], dtype=object), [1.0, 2.0]))),
    "numbers of 64 bits": Case(of(arrow(pa.array([2**64 - 1, 3] * (ROWS // 2), pa.uint64())))),
    "decimals": Case(of(arrow([decimal.Decimal("1.50"), decimal.Decimal(2)] * (ROWS // 2)))),
    "yes and no": Case(of(arrow([True, False] * (ROWS // 2)))),
    "dates with a time zone": Case(
        of(frame(pd.date_range("2020-01-01", periods=ROWS, tz="Europe/Berlin")))
    ),
    "durations": Case(of(polars([datetime.timedelta(hours=3)] * ROWS))),
    "times of day": Case(of(polars([datetime.time(3, 4)] * ROWS))),
    "objects that are dates": Case(of(frame([DAY] * ROWS))),
    "months": Case(of(frame(pd.period_range("2020-01", periods=ROWS, freq="M"))), *NO_NUMBER),
    "sparse": Case(of(frame(pd.arrays.SparseArray(A)))),
    # Levels.
    "text": Case(of(frame(TEXTS)), *SAY_LEVELS),
    "text of polars": Case(of(polars(TEXTS)), *SAY_LEVELS),
    "text in an array": Case(
        of((np.array([["u", TEXT]] * 9, dtype=object), Y[:9])),
        ParameterError,
        Code.TEXT_COLUMN,
        schema=Schema({0: Categorical(["u"])}),
    ),
    "a category of polars": Case(of(polars(TEXTS, pl.Categorical)), *SAY_LEVELS),
    "a dictionary of Arrow": Case(of(arrow(pa.array(TEXTS).dictionary_encode())), *SAY_LEVELS),
    "text that is said to be yes or no": Case(of(frame(TEXTS)), *SAY_LEVELS, Schema({1: Binary()})),
    "unseen levels": Case(of(frame(TEXTS)), schema=LISTED),
    "numbers for levels that are texts": Case(
        of(frame(A)), ParameterError, Code.WRONG_TYPE, schema=LISTED
    ),
    "dates for levels that are texts": Case(
        of(arrow([DAY] * ROWS)), ParameterError, Code.WRONG_TYPE, schema=LISTED
    ),
    "text for levels that are numbers": Case(
        of(frame(TEXTS)), ParameterError, Code.TEXT_COLUMN, schema=Schema({1: Categorical([1])})
    ),
    "a category of too many": Case(
        of(frame(pd.Categorical(TEXTS, [*map(str, range(5000)), TEXT, "v"]))),
        ParameterError,
        "column 'b': Categorical needs from 1 to 4000 levels",
    ),
    "a category of numbers and texts": Case(
        of(frame(pd.Categorical([1, TEXT] * (ROWS // 2)))), ParameterError, "column 'b': levels"
    ),
    # Shapes and names.
    "no rows": Case(of((WHOLE.slice(0, 0), "price")), *NO_ROWS),
    "no rows in a reader": Case(lambda _: (WHOLE.slice(0, 0).to_reader(), "price"), *NO_ROWS),
    "one row": Case(of((WHOLE.slice(0, 1), "price")), predictions=1),
    "no column but the target": Case(
        of((WHOLE.select(["price"]), "price")), ParameterError, Code.NO_FEATURES
    ),
    "no column but the target, in a reader": Case(
        lambda _: (WHOLE.select(["price"]).to_reader(), "price"), ParameterError, Code.NO_FEATURES
    ),
    "one column": Case(of((WHOLE, "price"))),
    "two columns of one name": Case(
        of((pd.DataFrame(np.c_[A, A], columns=["a", "a"]), Y)), SourceError, Code.DUPLICATE_COLUMN
    ),
    "two columns of one name, in Arrow": Case(
        of((pa.table([A, A], names=["a", "a"]), Y)), SourceError, Code.DUPLICATE_COLUMN
    ),
    "names that are no texts": Case(of((pd.DataFrame(np.c_[A, A]), Y))),
    "a series": Case(of((pd.Series(A), Y)), ParameterError, ""),
    "nothing": Case(of((None, Y)), ParameterError, "Expected 2D array"),
    "a target of another length": Case(
        of((WHOLE.select(["a"]), Y[:7])), ParameterError, "same number of rows"
    ),
    "a target that is not there": Case(of((WHOLE, "prize")), ParameterError, Code.NO_COLUMN),
    "a target that is misspelt": Case(
        of((WHOLE, "Price")), ParameterError, "did you mean 'price'?"
    ),
    "a name for the target of an array": Case(
        of((np.c_[A, A], "price")), ParameterError, "no column 'price' to use as the target"
    ),
    "no target": Case(of((WHOLE, None)), ValueError, 'fit(frame, "cost")'),
    "a target of text": Case(
        of((WHOLE.append_column("t", pa.array(TEXTS)), "t")), ParameterError, Code.TEXT_TARGET
    ),
    "a target of levels": Case(
        of((pd.DataFrame({"a": A, "t": pd.Categorical(TEXTS)}), "t")),
        ParameterError,
        Code.TEXT_TARGET,
    ),
    "a target that is the unit": Case(
        of((WHOLE, "price", "price")),
        ParameterError,
        "target and unit must be different columns",
        options={"max_rows": 2},
    ),
    "a unit with fractions": Case(
        of((*arrow(A), "b")), ParameterError, Code.UNIT_VALUES, options={"max_rows": 2}
    ),
    "a unit that is missing": Case(
        lambda _: (arrow([None, *TEXTS[1:]])[0].to_reader(), "price", "b"),
        ParameterError,
        Code.UNIT_VALUES,
        options={"max_rows": 2},
    ),
    "a unit that is not UTF-8": Case(
        of((*arrow(NOT_UTF8), "b")), ParameterError, Code.UNIT_VALUES, options={"max_rows": 2}
    ),
    "a unit that is not UTF-8, in a reader": Case(
        lambda _: (arrow(NOT_UTF8)[0].to_reader(), "price", "b"),
        ParameterError,
        Code.UNIT_VALUES,
        options={"max_rows": 2},
    ),
    "a unit that is not UTF-8, beside the table": Case(
        of((A[:, None], Y, pd.Series(NOT_UTF8, dtype=pd.ArrowDtype(pa.string())))),
        ParameterError,
        Code.UNIT_VALUES,
        options={"max_rows": 2},
    ),
    "a unit of 128 bits": Case(
        of((*polars([2**100] * ROWS, pl.Int128), "b")),
        ParameterError,
        Code.UNIT_VALUES,
        options={"max_rows": 2},
    ),
    "a unit that is no date of Python": Case(
        of((*arrow(pa.array([2**60] * ROWS, pa.timestamp("s"))), "b")),
        ParameterError,
        Code.UNIT_VALUES,
        options={"max_rows": 2},
    ),
    "a time zone that fails": Case(
        of(frame(with_one(datetime.datetime(2020, 1, 2, tzinfo=FailingZone()), None, object))),
        *ONE_TYPE,
    ),
    "bounds that are beyond all values": Case(
        of((WHOLE, "price")), schema=Schema({"a": Numeric(1e8, 2e8)})
    ),
}
