"""Units and numbers that libraries cannot convert: an error of dpfit or a model, never a value."""

import decimal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfit import (
    AdaSSP,
    ParameterError,
    PrivateLinearRegression,
    scan_batches,
    scan_parquet,
)
from dpfit.exceptions import Code
from dpfit.sources.problems import mixed_types
from dpfit.sources.shield import shielded

ROWS = 300
X = np.arange(float(ROWS))


def not_utf8():
    """Return strings of which no library checks that they are UTF-8."""
    offsets = pa.py_buffer(2 * np.arange(ROWS + 1, dtype=np.int32))
    return pa.Array.from_buffers(
        pa.string(), ROWS, [None, offsets, pa.py_buffer(b"\xf1\xf2" * ROWS)]
    )


def beyond_python():
    """Return dates after the year 9999."""
    return pa.array(np.full(ROWS, 2**31 - 5, dtype=np.int32)).view(pa.date32())


UNITS = {"not UTF-8": not_utf8, "dates out of range": beyond_python}
LIBRARIES = {
    "arrow": lambda table, folder: table,
    "pandas": lambda table, folder: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, folder: pl.from_arrow(table),
    "stream": lambda table, folder: table.to_reader(),
    "batches": lambda table, folder: scan_batches(lambda: [table]),
    "polars batches": lambda table, folder: scan_batches(lambda: [pl.from_arrow(table)]),
    "parquet": lambda table, folder: (
        pq.write_table(table, folder / "d.parquet"),
        scan_parquet(folder / "d.parquet"),
    )[1],
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("units", UNITS)
def test_units_that_cannot_be_read_are_refused(units, library, tmp_path, capfd):
    table = LIBRARIES[library](pa.table({"x": X, "y": X, "who": UNITS[units]()}), tmp_path)
    with pytest.raises(ParameterError) as caught:
        PrivateLinearRegression(epsilon=1.0, max_rows=2).fit(table, "y", unit="who")
    assert caught.value.code is Code.UNIT_VALUES
    assert caught.value.__context__ is None
    # polars prints an error of Python's, which contains bytes of the string, and a panic.
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
@pytest.mark.parametrize("units", UNITS)
def test_units_beside_the_table_are_refused(units, library, tmp_path, capfd):
    who = LIBRARIES[library](pa.table({"who": UNITS[units]()}), tmp_path)["who"]
    with pytest.raises(ParameterError) as caught:
        PrivateLinearRegression(epsilon=1.0, max_rows=2).fit(X[:, None], X, unit=who)
    assert caught.value.code is Code.UNIT_VALUES
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
@pytest.mark.parametrize(
    "who",
    [
        pa.array(np.arange(ROWS)),
        pa.array(np.arange(ROWS) % 7, pa.uint8()),
        pa.array([f"p{i}" for i in range(ROWS)]),
        pa.array([f"p{i % 9}" for i in range(ROWS)]).dictionary_encode(),
    ],
    ids=["integers", "bytes", "strings", "dictionary"],
)
def test_ordinary_units_of_every_library_are_accepted(who, library, tmp_path):
    table = LIBRARIES[library](pa.table({"x": X, "y": X, "who": who}), tmp_path)
    model = PrivateLinearRegression(epsilon=1.0, max_rows=2)
    assert model.fit(table, "y", unit="who").privacy_.unit_name == "who"
    model.fit(X[:, None], X, unit=table["who"])


def test_a_panic_of_another_library_is_an_error_of_dpfit():
    code = """
        import polars as pl, pyarrow as pa
        from dpfit.exceptions import ParameterError
        from dpfit.sources.problems import mixed_types
        from dpfit.sources.shield import shielded
        late = pl.from_arrow(pa.array([2**31 - 5], pa.int32()).view(pa.date32()))
        try:
            shielded(late.to_list, lambda _: mixed_types("a"))
        except ParameterError as error:
            print(error.code, error.__context__)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "mixed-types None\n"


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_a_program_is_not_an_error(end):
    def act():
        raise end

    with pytest.raises(end):
        shielded(act, lambda _: mixed_types("a"))


ORDERS = [">f8", ">f4", ">i8", ">u2", ">f2"]


@pytest.mark.parametrize("dtype", ORDERS)
@pytest.mark.parametrize("estimator", [PrivateLinearRegression(epsilon=1.0), AdaSSP()])
def test_numbers_in_another_byte_order(dtype, estimator):
    values = X.astype(dtype)
    model = estimator.fit(values[:, None], values)
    expected = model.predict(X[:, None])
    np.testing.assert_array_equal(model.predict(values[:, None]), expected)


@pytest.mark.parametrize("dtype", ORDERS)
def test_frames_and_dask_arrays_in_another_byte_order(dtype):
    import dask.array

    values = X.astype(dtype)
    model = PrivateLinearRegression(epsilon=1.0)
    model.fit(pd.DataFrame({"a": values, "y": values}), "y")
    lazy = dask.array.from_array(values, chunks=100)
    model.fit(lazy[:, None], lazy)


def test_decimals_with_a_negative_scale(tmp_path):
    """narwhals cannot describe such types, and Arrow writes such numbers with an exponent."""
    numbers = [decimal.Decimal(100 * i) for i in range(ROWS)]
    hundreds = pa.array(numbers, pa.decimal128(10, 0)).cast(pa.decimal128(12, -2))
    assert hundreds.type.scale == -2
    table = pa.table({"a": hundreds, "y": hundreds})
    # polars and Parquet have no such type.
    for library in ("arrow", "pandas", "stream", "batches"):
        rows = LIBRARIES[library](table, tmp_path)
        model = PrivateLinearRegression(epsilon=1.0).fit(rows, "y")
        rows = LIBRARIES[library](table.slice(0, 2), tmp_path)
        expected = model.predict(pa.table({"a": [0.0, 100.0]}))
        np.testing.assert_array_equal(np.asarray(model.predict(rows)), expected)
    with pytest.raises(ParameterError) as caught:
        PrivateLinearRegression(epsilon=1.0, max_rows=1).fit(
            table.append_column("b", hundreds), "y", unit="a"
        )
    assert caught.value.code is Code.UNIT_VALUES
