"""Errors on Dask's workers: the same as in memory, and without anything of the data."""

import warnings

import dask.dataframe as dd
import numpy as np
import pytest

from dpfit import (
    Categorical,
    NotFiniteError,
    Numeric,
    ParameterError,
    PrivateLinearRegression,
    Schema,
    SourceError,
)
from dpfit.exceptions import Code
from dpfit.sources.engines import dask_tasks, worker

from .engine_tables import MARKER, MARKER_TEXT, SCHEMA, assert_same_error, chain, fitted, table


def in_parts(whole, parts=4):
    return dd.from_pandas(whole, npartitions=parts)


@pytest.mark.usefixtures("threads")
def test_errors_of_workers_are_those_of_a_frame_in_memory():
    whole = table(400).to_pandas()
    whole.loc[17, "area"] = MARKER
    whole.loc[17, "city"] = MARKER_TEXT
    frame = in_parts(whole)
    assert_same_error(whole, frame, ParameterError, schema=Schema({"rooms": Categorical([1, 2])}))
    levels = Schema({**SCHEMA, "city": Categorical([1, 2])})
    assert_same_error(whole, frame, ParameterError, schema=levels)
    assert_same_error(whole, frame, ParameterError, y="cost")
    assert_same_error(whole, frame, ParameterError, y=None)
    assert_same_error(whole, frame, ParameterError, unit="price", max_rows=2)
    assert_same_error(whole[:0], in_parts(whole).map_partitions(lambda f: f[:0]), ParameterError)
    assert_same_error(whole[["price"]], frame[["price"]], ParameterError)
    whole.loc[18, "price"] = np.inf
    assert_same_error(whole, in_parts(whole), NotFiniteError)
    whole["area"] = whole.area.astype(object).where(whole.index != 17, MARKER_TEXT)
    assert_same_error(whole, in_parts(whole, 1), ParameterError)


def test_a_worker_warns_of_no_value():
    """A value that is too large for a double is infinite, without a warning in a worker's logs."""
    rows = np.ones((4, 2), dtype=np.longdouble)
    rows[1, 1] = np.finfo(np.longdouble).max
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        part = dask_tasks.encode_array_part(rows, np.ones(4), [Numeric()] * 2, None)
    assert found == []
    ((columns, _),) = part
    assert not np.isnan(np.asarray(columns, dtype=np.float64)).any()


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    "later",
    [
        lambda frame: frame.sort_values("area"),
        lambda frame: frame.set_index("floor", drop=False),
        lambda frame: frame.repartition(partition_size="1MB"),
    ],
    ids=["sort_values", "set_index", "repartition"],
)
def test_what_dask_computes_before_the_rows_is_not_shown(later):
    """Dask computes some things, such as quantiles, when it makes partitions of a lazy frame."""

    def fail(frame):
        raise ValueError(f"row 17 holds {MARKER}, {MARKER_TEXT}")

    whole = table(40).to_pandas()
    broken = in_parts(whole).map_partitions(fail, meta=whole[:0])
    for X, y in ((later(broken), "price"), (in_parts(whole), later(broken)["price"])):
        with pytest.raises(SourceError) as caught:
            fitted(PrivateLinearRegression, X, y)
        assert caught.value.code is Code.FAILED
        assert "17" not in chain(caught.value)


def test_an_error_of_no_class_of_ours_loses_its_text():
    def fail():
        raise KeyError(MARKER_TEXT)

    failure = worker.guarded(fail)
    assert isinstance(failure.error(), SourceError)
    assert "KeyError" in failure.message
    assert MARKER_TEXT not in str(failure)


def test_an_error_of_dpfit_keeps_all_it_carries():
    def fail():
        raise ParameterError("a column", code=Code.TEXT_COLUMN, subject="city", hint="list levels")

    error = worker.guarded(fail).error()
    assert type(error) is ParameterError
    assert str(error) == "a column; list levels"
    assert (error.code, error.subject) == (Code.TEXT_COLUMN, "city")
