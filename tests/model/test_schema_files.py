"""Schemas as text, and from the types of a frame, at whose values nobody looks."""

import json

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import Binary, Categorical, Date, Numeric, ParameterError, Schema, scan_batches
from dpfit.schema import terms

quick = settings(max_examples=200, deadline=None)
# Text that can be written to a file.
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
bounds = st.tuples(st.floats(-1e80, 1e80), st.floats(-1e80, 1e80)).filter(
    lambda ends: ends[1] - ends[0] > 1e-80
)
numeric = st.sampled_from([Numeric(), Date()]) | st.builds(
    lambda kind, ends: kind(*ends), st.sampled_from([Numeric, Date]), bounds
)
whole = st.integers(1 - 2**53, 2**53 - 1)
kinds = (
    numeric
    | st.just(Binary())
    | st.lists(names, min_size=1, unique=True).map(Categorical)
    | st.lists(whole, min_size=1, unique=True).map(Categorical)
)
schemas = st.builds(
    Schema, st.dictionaries(names | st.integers(-(10**6), 10**6), kinds), target=st.none() | numeric
)


@quick
@given(schemas)
def test_a_schema_is_what_was_written(schema):
    text = schema.to_json()
    again = Schema.from_json(text)
    assert again == schema
    assert list(again) == list(schema)
    assert hash(again) == hash(schema)
    assert again.to_json() == text
    assert text.encode().decode() == text
    json.loads(text, parse_constant=lambda _: pytest.fail("not JSON"))


def test_a_file_is_read(tmp_path):
    schema = Schema({"age": Numeric(0, 120)})
    path = tmp_path / "schema.json"
    path.write_text(schema.to_json())
    assert Schema.from_json(path) == Schema.from_json(str(path)) == schema
    with pytest.raises(FileNotFoundError):
        Schema.from_json(tmp_path / "nope.json")


def test_all_columns_without_levels_are_named():
    columns = [{"name": name, "kind": "categorical", "levels": []} for name in ("who", "note")]
    text = json.dumps({"dpfit_schema": 1, "columns": columns})
    with pytest.raises(
        ParameterError, match=r"no levels yet for 'who', 'note'; list them.* or delete"
    ):
        Schema.from_json(text)


def test_the_text_is_for_people():
    schema = Schema({"age": Numeric(0, 120), 2: Binary(), "town": Categorical(["Köln", "Ulm"])})
    assert json.loads(schema.to_json()) == {
        "dpfit_schema": 1,
        "columns": [
            {"name": "age", "kind": "numeric", "low": 0.0, "high": 120.0},
            {"position": 2, "kind": "binary"},
            {"name": "town", "kind": "categorical", "levels": ["Köln", "Ulm"]},
        ],
        "target": {"kind": "numeric"},
    }
    assert "Köln" in schema.to_json()


def columns(*entries):
    return json.dumps({"dpfit_schema": 1, "columns": list(entries)})


BAD = {
    "nothing": ("", "not JSON: line 1, column 1"),
    "no JSON": ("{'a': 1}", "not JSON: line 1, column 2"),
    "half": (Schema({"a": Binary()}).to_json()[:-3], "not JSON"),
    "a number": ("7", "a schema must be a JSON object"),
    "a list": ("[]", "a schema must be a JSON object"),
    "another object": ('{"columns": []}', "a schema must be a JSON object"),
    "another version": ('{"dpfit_schema": 2}', "another version"),
    "a field more": ('{"dpfit_schema": 1, "rows": 7}', 'no "rows"'),
    "columns that are an object": ('{"dpfit_schema": 1, "columns": {}}', "list of objects"),
    "columns that are texts": (columns("a"), "list of objects"),
    "no name": (columns({"kind": "binary"}), '"name" or a "position"'),
    "both": (columns({"name": "a", "position": 1, "kind": "binary"}), '"name" or a "position"'),
    "a name that is a number": (columns({"name": 1, "kind": "binary"}), '"name" or a "position"'),
    "a position that is text": (
        columns({"position": "1", "kind": "binary"}),
        '"name" or a "position"',
    ),
    "a position that is true": (
        columns({"position": True, "kind": "binary"}),
        "name or a position",
    ),
    "a position that is 1.5": (columns({"position": 1.5, "kind": "binary"}), '"name" or a "pos'),
    "twice": (columns(*[{"name": "a", "kind": "binary"}] * 2), "column 'a' twice"),
    "no kind": (columns({"name": "a"}), "column 'a': \"kind\" must be"),
    "another kind": (columns({"name": "a", "kind": "ordinal"}), 'column \'a\': unknown "kind" "or'),
    "a kind misspelt": (columns({"name": "a", "kind": "catgorical"}), 'did you mean "categorical"'),
    "a field misspelt": (
        columns({"name": "a", "kind": "categorical", "level": ["b"]}),
        'column \'a\': a categorical column has no field "level"; did you mean "levels"',
    ),
    "levels as text": (
        columns({"name": "a", "kind": "categorical", "levels": "b"}),
        "column 'a': \"levels\" must be a list",
    ),
    "a kind with more": (columns({"name": "a", "kind": "binary", "low": 1}), "remove it"),
    "one bound": (columns({"name": "a", "kind": "numeric", "low": 1}), "needs both low and high"),
    "bounds in no order": (
        columns({"name": "a", "kind": "numeric", "low": 2, "high": 1}),
        "must have low < high",
    ),
    "bounds that are no numbers": (
        columns({"name": "a", "kind": "numeric", "low": [], "high": {}}),
        "must be numbers",
    ),
    "a bound that is huge": (
        columns({"name": "a", "kind": "numeric", "low": 0, "high": 10**400}),
        "must be numbers",
    ),
    "a bound that is NaN": (
        columns({"name": "a", "kind": "numeric", "low": 0, "high": float("nan")}),
        "must have low < high",
    ),
    "no levels": (columns({"name": "a", "kind": "categorical"}), "column 'a': \"levels\" must be"),
    "levels of nothing": (
        columns({"name": "a", "kind": "categorical", "levels": []}),
        "no levels yet for",
    ),
    "levels of two types": (
        columns({"name": "a", "kind": "categorical", "levels": ["a", 1]}),
        "all strings or all integers",
    ),
    "levels with fractions": (
        columns({"name": "a", "kind": "categorical", "levels": [1.5]}),
        "all strings or all integers",
    ),
    "a level twice": (
        columns({"name": "a", "kind": "categorical", "levels": ["a", "a"]}),
        "column 'a': a level is listed twice",
    ),
    "a level of many digits": (
        columns({"name": "a", "kind": "categorical", "levels": [0]}).replace(
            "0]", "1" * 5000 + "]"
        ),
        "needs the JSON of a schema",
    ),
    "a target that is binary": (
        '{"dpfit_schema": 1, "target": {"kind": "binary"}}',
        'must be of kind "numeric"',
    ),
    "a target that is null": ('{"dpfit_schema": 1, "target": null}', 'the target: "kind" must be'),
    "deeper than can be read": ("[" * 100_000, "needs the JSON of a schema"),
    "bytes": (b"\xff\xfe\x00", "needs the JSON of a schema"),
    "no text": (None, "needs the JSON of a schema"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_json(name):
    text, message = BAD[name]
    with pytest.raises(ParameterError) as error:
        Schema.from_json(text)
    assert message in str(error.value)


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_any_text_is_a_schema_or_an_error_of_dpfit(text):
    with pytest.raises(ParameterError):
        Schema.from_json(text)


@pytest.mark.parametrize(
    "levels",
    ["ab", 7, None, [], [1.5], ["a", 1], ["a", None], ["a", "a"], [1, True], [2**53], range(4001)],
)
def test_wrong_levels(levels):
    with pytest.raises(ParameterError):
        Categorical(levels)


def test_levels_are_kept_as_plain_values():
    assert Categorical(np.array(["a", "b"])).levels == ("a", "b")
    assert Categorical(pd.Index([3, 1])).levels == (3, 1)
    assert Categorical(np.arange(2, dtype=np.uint8)).levels == (0, 1)
    assert Categorical(level for level in "ab").levels == ("a", "b")
    assert Categorical([False, True]) == Categorical([0, 1])
    assert {type(level) for level in Categorical(np.arange(2)).levels} == {int}
    assert Categorical(["a", "b"]) != Categorical(["b", "a"])
    assert terms([Binary(), Categorical([5, 6]), Numeric()]) == [
        (0, None),
        (1, 0),
        (1, 1),
        (2, None),
    ]


# Of frames.

DECLARED = {
    "number": Numeric(),
    "whole": Numeric(),
    "yes": Binary(),
    "day": Date(),
    "town": Categorical(["Bonn", "Ulm"]),
}


def frames():
    """Return frames of one row and the same types."""
    table = pa.table(
        {
            "number": [0.5],
            "whole": [1],
            "yes": [True],
            "day": pa.array([9], pa.timestamp("us")),
            "town": ["Ulm"],
        }
    )
    levels = pd.CategoricalDtype(["Bonn", "Ulm"])
    frame = pl.DataFrame(table).with_columns(pl.col("town").cast(pl.Enum(["Bonn", "Ulm"])))
    return {
        "pandas": table.to_pandas().astype({"town": levels}),
        "pandas nullable": table.to_pandas().convert_dtypes().astype({"town": levels}),
        "polars": frame,
        "polars lazy": frame.lazy(),
        "narwhals": nw.from_native(frame),
    }


@pytest.mark.parametrize("name", frames())
def test_types_are_declarations(name):
    frame = frames()[name]
    assert dict(Schema.from_frame(frame)) == DECLARED
    assert list(Schema.from_frame(frame)) == list(DECLARED)
    known = Schema.from_frame(frame, {"number": Numeric(0, 9), "town": Categorical(["Wien"])})
    assert dict(known) == {**DECLARED, "number": Numeric(0, 9), "town": Categorical(["Wien"])}
    aside = Schema.from_frame(frame, target="number")
    assert "number" not in aside
    assert aside.target == Numeric()
    assert Schema.from_frame(frame, target=Numeric(0, 1)).target == Numeric(0, 1)


def test_text_needs_its_levels():
    table = pa.table({"town": ["Ulm"], "x": [1.0]})
    numbered = table.set_column(0, "town", table["town"].dictionary_encode())
    for frame in (
        table,
        numbered,
        table.to_pandas(),
        table.to_pandas().astype({"town": object}),
        pl.DataFrame(table),
        pl.DataFrame(table).with_columns(pl.col("town").cast(pl.Categorical)),
        scan_batches(lambda: [table]),
        numbered.to_reader(),
    ):
        with pytest.raises(ParameterError, match=r"Schema\(\{'town': Categorical\(\[...\]\)\}\)"):
            Schema.from_frame(frame)
    kinds = {"town": Categorical(["Ulm"]), "x": Numeric()}
    assert dict(Schema.from_frame(table, {"town": Categorical(["Ulm"])})) == kinds
    assert dict(Schema.from_frame(table, target="town")) == {"x": Numeric()}


def test_wrong_frames():
    frame = pd.DataFrame({"x": [1.0]})
    for arguments, message in (
        ((np.zeros((2, 2)),), "column names"),
        ((pd.DataFrame(np.zeros((2, 2))),), "column names"),
        (("a.csv",), "got a file name"),
        ((frame, {"z": Binary()}), "'z' is not in the table$"),
        ((frame, {"X": Binary()}), "'X' is not in the table; did you mean 'x'"),
    ):
        with pytest.raises(ParameterError, match=message):
            Schema.from_frame(*arguments)
    with pytest.raises(ParameterError, match="no column 'z' to use as the target"):
        Schema.from_frame(frame, target="z")


def test_values_are_not_looked_at(monkeypatch):
    """Neither of objects, of which a type could be found in the first rows only."""
    values = pd.Series(["text"], dtype=object)
    schemas = []
    for other in (["text"], [1.5], [None], [object()]):
        frame = pd.DataFrame({"b": pd.Series(other, dtype=object)})
        schemas.append(Schema.from_frame(frame, {"b": Numeric()}))
        with pytest.raises(ParameterError, match="list its levels"):
            Schema.from_frame(frame)
    assert schemas == schemas[:1] * 4

    def fail(*_, **__):
        raise AssertionError("values were looked at")

    frame = frames()["pandas"].assign(objects=values)
    for name in ("to_numpy", "tolist", "unique", "head", "__iter__", "min", "isna", "__array__"):
        monkeypatch.setattr(pd.Series, name, fail)
    monkeypatch.setattr(pd.api.types, "infer_dtype", fail)
    assert dict(Schema.from_frame(frame, {"objects": Numeric()})) == {
        **DECLARED,
        "objects": Numeric(),
    }

    def watched(method):
        # The levels of polars' types are series themselves.
        def look(self, *arguments, **options):
            assert self.name not in DECLARED
            return method(self, *arguments, **options)

        return look

    for name in ("to_numpy", "to_list", "unique", "head", "min", "null_count", "__iter__"):
        monkeypatch.setattr(pl.Series, name, watched(getattr(pl.Series, name)))
    assert dict(Schema.from_frame(frames()["polars"])) == DECLARED


def test_as_many_levels_as_a_type_declares_whatever_the_rows_have():
    declared = pd.CategoricalDtype([f"level {i}" for i in range(999)])
    frame = pd.DataFrame({"b": pd.Series([], dtype=declared)})
    assert len(Schema.from_frame(frame)["b"].levels) == 999
    nothing = pd.DataFrame({"b": pd.Series([None], dtype=pd.CategoricalDtype([]))})
    with pytest.raises(ParameterError, match="list its levels"):
        Schema.from_frame(nothing)


def test_what_is_listed_goes_before_what_is_declared():
    declared = [Binary(), None, Categorical(["a"]), Numeric()]
    assert Schema().resolve(None, 4, declared) == [
        Binary(),
        Numeric(),
        Categorical(["a"]),
        Numeric(),
    ]
    schema = Schema({"w": Numeric(0, 1), -1: Binary(), 1: Categorical([1, 2])})
    assert schema.resolve(["w", "x", "y", "z"], 4, declared) == [
        *(Numeric(0, 1), Categorical([1, 2]), Categorical(["a"]), Binary())
    ]
    with pytest.raises(ParameterError, match="column 0 twice"):
        Schema({"w": Binary(), 0: Binary()}).resolve(["w", "x", "y", "z"], 4, declared)


def test_a_reference_is_kept():
    schema = Schema({"town": Categorical(["Köln", "Ulm"], reference="Ulm"), 1: Categorical([0, 1])})
    again = Schema.from_json(schema.to_json())
    assert again == schema
    assert again["town"].reference == "Ulm"
    assert again["town"].reference_place == 1
    assert again[1].reference is None
    assert again[1].reference_place == 0
    plain = json.loads(schema.to_json())["columns"]
    assert plain[0]["reference"] == "Ulm"
    assert "reference" not in plain[1]


@pytest.mark.parametrize("reference", ["Bonn", 0, 1.5, ["Ulm"]])
def test_a_reference_that_is_not_listed(reference):
    with pytest.raises(ParameterError, match="reference must be one of the levels") as error:
        Categorical(["Köln", "Ulm"], reference=reference)
    assert error.value.subject == "reference"
    text = Schema({"town": Categorical(["Köln", "Ulm"])}).to_json()
    content = json.loads(text)
    content["columns"][0]["reference"] = reference
    with pytest.raises(ParameterError, match="column 'town': reference must be one"):
        Schema.from_json(json.dumps(content))


def test_a_reference_of_another_type():
    assert Categorical([0, 1], reference=np.int64(1)).reference == 1
    assert type(Categorical([0, 1], reference=True).reference) is int
