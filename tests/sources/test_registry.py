"""Sources, file formats and kinds are found in their registries."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpfit import Binary, Numeric, ParameterError, PrivateLinearRegression, scan_batches
from dpfit.schema.kinds import KINDS, MOST_TERMS, Categorical, Date, terms
from dpfit.schema.plain import from_plain, to_plain
from dpfit.sources import named_source, registry
from dpfit.sources.files.batches import StreamSource
from dpfit.sources.files.formats import FORMATS, format_of_content, format_of_name
from dpfit.sources.files.scan import ScanSource
from dpfit.sources.frames import FrameSource

FRAME = pd.DataFrame({"a": [1.0, 2.0], "y": [1.0, 2.0]})


def test_the_first_source_that_matches_opens_a_table():
    table = pa.Table.from_pandas(FRAME)
    assert type(named_source(FRAME)) is FrameSource
    assert type(named_source(table)) is FrameSource
    assert type(named_source(table.to_reader())) is StreamSource
    assert type(named_source(scan_batches(lambda: [table]))) is ScanSource
    for array in (FRAME.to_numpy(), [[1.0]], ((1.0,),), None, 7, object()):
        assert named_source(array) is None


def test_a_new_source_is_one_class(monkeypatch):
    class Wrapped:
        frame = pd.concat([FRAME] * 500, ignore_index=True)

    class WrappedSource:
        @staticmethod
        def matches(table):
            return isinstance(table, Wrapped)

        @staticmethod
        def open(table, roles):
            return FrameSource.open(table.frame, roles)

    monkeypatch.setattr(registry, "SOURCES", (WrappedSource, *registry.SOURCES))
    model = PrivateLinearRegression(epsilon=1.0).fit(Wrapped(), "y")
    assert model.feature_names_in_.tolist() == ["a"]
    assert len(model.predict(Wrapped())) == 1000


def test_optional_libraries_are_not_imported():
    code = (
        "import sys, pandas; from dpfit.sources import named_source;"
        "named_source(pandas.DataFrame({'a': [1]}));"
        "assert not {'dask', 'pyspark', 'polars'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_name_of_a_file_is_not_a_table():
    with pytest.raises(ParameterError, match=r"use dpfit.scan_parquet\(path\) or dpfit.scan_csv"):
        PrivateLinearRegression().fit("a.csv", "y")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.csv", "csv"),
        ("a.TSV", "csv"),
        ("folder.parquet/a.csv.gz", "csv"),
        ("a.parquet", "parquet"),
        ("a.pq", "parquet"),
        ("a.gz", None),
        ("csv", None),
        ("", None),
    ],
)
def test_the_format_of_a_name(name, format):
    found = format_of_name(name)
    assert found is (None if format is None else FORMATS[format])


def test_the_format_of_a_content():
    assert format_of_content(b"PAR1\x15\x04") is FORMATS["parquet"]
    assert format_of_content(b"a,b\n1,2\n") is FORMATS["csv"]
    assert format_of_content(b"") is FORMATS["csv"]


def test_every_kind_is_read_as_it_was_written():
    kinds = [Numeric(), Numeric(0, 1), Date(), Date("2020-01-01", 9e4), Binary(), Categorical([1])]
    assert {type(kind) for kind in kinds} == set(KINDS.values())
    for kind in kinds:
        assert from_plain(to_plain(kind)) == kind


def test_what_other_modules_ask_of_kinds():
    kinds = [Numeric(), Numeric(0, 1), Date(), Binary(), Categorical(["a", "b"]), Categorical([7])]
    assert [kind.needs_range for kind in kinds] == [True, False, True, False, False, False]
    assert [kind.bounds for kind in kinds] == [None, (0.0, 1.0), None, None, None, None]
    assert [len(kind.levels) for kind in kinds] == [0, 0, 0, 0, 2, 1]
    assert [kind.accepts_strings for kind in kinds] == [False, False, False, False, True, False]
    assert [kind.is_encoded for kind in kinds] == [False, False, True, False, True, True]
    assert [kind.is_binary for kind in kinds] == [False, False, False, True, False, False]
    expected = [(0, None), (1, None), (2, None), (3, None), (4, 0), (4, 1), (5, 0)]
    assert terms(kinds) == expected
    assert Date().specified(Numeric(0, 9)) == Date(0, 9)
    assert Numeric().specified(Binary()) == Binary()


def test_the_core_has_room_for_all_terms():
    from dpfit import _native

    assert 2 * MOST_TERMS < _native.MOST_FEATURES
    with pytest.raises(ParameterError, match=f"1 to {MOST_TERMS} levels"):
        Categorical(np.arange(MOST_TERMS + 1))
