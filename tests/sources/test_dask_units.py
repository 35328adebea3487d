"""Units in Dask tables: all rows of a unit end up in one partition, or the table is refused."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from dpfit import (
    Numeric,
    ParameterError,
    PrivateLinearRegression,
    SourceError,
)
from dpfit.exceptions import Code
from dpfit.sources.engines.dask import DaskFrameSource
from dpfit.sources.engines.dask_tasks import unit_hashes
from dpfit.sources.source import Reading, tell_nothing
from dpfit.statistics import RowCount

from .engine_tables import (
    MARKER_TEXT,
    chain,
    fitted,
    state,
    table,
    with_units,
)
from .test_dask import in_parts


@pytest.mark.usefixtures("threads")
def test_units_are_kept_together():
    whole = with_units(table(6000), 300).to_pandas()
    options = {"unit": "who", "max_rows": 3, "epsilon": 50.0}
    local = fitted(PrivateLinearRegression, whole, **options)
    assert state(fitted(PrivateLinearRegression, in_parts(whole), **options)) == state(local)
    names = whole.assign(who=[f"person {who}" for who in whole.who])
    assert state(fitted(PrivateLinearRegression, in_parts(names), **options)) == state(local)


def test_a_unit_has_one_hash_whatever_its_type():
    numbers = pd.Series([-3, 0, 7, 7])
    hashes = unit_hashes(numbers)
    assert hashes[2] == hashes[3]
    assert hashes.nunique() == 3
    for other in (np.int16, object, "Int64"):
        assert unit_hashes(numbers.astype(other)).equals(hashes)
    texts = pd.Series(["a", "b", "a"])
    assert unit_hashes(texts.astype(object)).equals(unit_hashes(texts.astype("category")))


def rows_of_units(parts, max_rows=2):
    """Return how many rows are kept of partitions, given the units of the rows of each."""
    frames = [
        pd.DataFrame({"who": pd.Series(who, dtype=object), "x": np.arange(len(who)) + 100.0 * part})
        for part, who in enumerate(parts)
    ]
    frame = dd.concat([in_parts(part.assign(y=1.0), 1) for part in frames])
    source = DaskFrameSource(frame, "y", "who")
    reading = Reading("error", 1, max_rows, tell_nothing)
    return source.table([Numeric()], reading).sum(RowCount()).rows


@pytest.mark.usefixtures("threads")
def test_no_text_of_a_unit_splits_another_unit():
    """A lone surrogate cannot be encoded; the rows beside it must still go where they belong."""
    others = [[f"person {part}"] for part in range(8)]
    odd = [["\ud800" * (part % 2) + str(part)] for part in range(8)]
    for own in (others, odd):
        assert rows_of_units([["bob"] * 10 + unit for unit in own]) == 2 + 8


@pytest.mark.usefixtures("threads")
def test_units_with_the_same_hash_are_not_one(monkeypatch):
    """They share a partition, in which they are told apart by their values."""
    monkeypatch.setattr(
        "pandas.util.hash_array", lambda values, **_: np.full(len(values), 7, dtype=np.uint64)
    )
    assert rows_of_units([["bob", "eve", "eve"], ["bob", "bob", "eve", "ann"]]) == 2 + 2 + 1


@pytest.mark.usefixtures("threads")
def test_units_without_a_hash_are_refused(monkeypatch):
    """Rows that went to a partition for no reason may belong to a unit that is in another, too."""

    def fail(*arguments, **options):
        raise MemoryError(MARKER_TEXT)

    monkeypatch.setattr("pandas.util.hash_array", fail)
    with pytest.raises(SourceError) as caught:
        rows_of_units([["bob"] * 10] * 3)
    assert caught.value.code is Code.FAILED
    assert MARKER_TEXT not in chain(caught.value)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("who", [[1.5, 2.0], [1.0, None], ["a", None], [True, False]])
def test_units_that_cannot_be_told_apart_are_refused(who):
    whole = table(40).to_pandas().assign(who=who * 20)
    with pytest.raises(ParameterError, match="unit must contain only integers or only strings"):
        fitted(PrivateLinearRegression, in_parts(whole), unit="who", max_rows=2)
