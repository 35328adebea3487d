"""A new kind of column is one class: no other module has to know it."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from dpfit import Numeric, ParameterError, PrivateLinearRegression, Schema, load, scan_csv
from dpfit.schema.kinds import KINDS, Kind, checked_levels

from .tables import every, seeded
from .test_export import CLOSE, exported, in_duckdb, in_sqlite

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")

ROWS = 4000
# Strings that look like numbers, one that is missing elsewhere, and numbers that are not in order.
ORDERS = {
    "strings": ("low", "middle", "high", "very high"),
    "digits": ("10", "9", "NA", "007"),
    "integers": (30, 10, 40, 20),
}


@dataclass(frozen=True, init=False)
class Ordinal(Kind):
    """A column of ordered values, which is used as the numbers 0, 1, 2 and so on."""

    order: tuple[str | int, ...]

    def __init__(self, order):
        object.__setattr__(self, "order", checked_levels(order, "Ordinal"))

    @property
    def listed(self):
        """The values that are encoded as their positions in this list."""
        return self.order

    @property
    def bounds(self):
        """The first and the last position."""
        return 0.0, len(self.order) - 1.0


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(KINDS, "ordinal", Ordinal)


def frame(order, seed=0):
    """Return rows with a column of ordered values, and its positions."""
    rng = np.random.default_rng(seed)
    positions = rng.integers(0, len(order), ROWS)
    size = rng.normal(50.0, 10.0, ROWS)
    grade = np.array(order, dtype=object)[positions]
    y = 3.0 * positions + size / 10.0 + rng.normal(0.0, 0.1, ROWS)
    found = pd.DataFrame({"size": size, "grade": grade, "y": y})
    return found.infer_objects(), positions


def fitted(cls, X, y, kind, column="grade", epsilon=20.0):
    return seeded(cls, X, y, schema=Schema({column: kind}), epsilon=epsilon)


def numbers(model):
    """Return all numbers of a model."""
    value = model.model_
    return value.intercept, [dataclasses.astuple(effect) for effect in value.effects]


@every
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_every_table_gives_the_same_model(cls, order, tmp_path):
    table, positions = frame(order)
    X, y = table[["size", "grade"]], table["y"].to_numpy()
    model = fitted(cls, table, "y", Ordinal(order))

    plain = X.to_numpy(dtype=object)
    of_objects = fitted(cls, plain, y, Ordinal(order), 1)
    table.to_csv(tmp_path / "rows.csv", index=False)
    csv = scan_csv(tmp_path / "rows.csv", target="y")
    of_csv = seeded(cls, csv, None, schema=Schema({"grade": Ordinal(order)}), epsilon=20.0)
    others = [(of_objects, plain), (of_csv, csv)]
    if isinstance(order[0], int):
        floats = X.to_numpy(dtype=float)
        others.append((fitted(cls, floats, y, Ordinal(order), 1), floats))
    for other, rows in others:
        assert numbers(other) == numbers(model)
        np.testing.assert_array_equal(other.predict(rows), model.predict(X))

    # Values are their positions.
    expected = model.model_.predict([table["size"].to_numpy(), positions])
    np.testing.assert_array_equal(model.predict(X), expected)


@every
def test_bounds_are_those_of_the_kind(cls):
    table, positions = frame(ORDERS["strings"])
    model = fitted(cls, table, "y", Ordinal(ORDERS["strings"]))
    expected = fitted(cls, table.assign(grade=positions), "y", Numeric(0, 3))
    assert numbers(model) == numbers(expected)


@every
@pytest.mark.parametrize("epsilon", [20.0, 1e-3], ids=["slopes", "mean"])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_exports_and_files_predict_the_same(cls, order, epsilon, tmp_path):
    table, _ = frame(order)
    model = fitted(cls, table, "y", Ordinal(order), epsilon=epsilon)
    rows = frame(order, seed=1)[0].drop(columns="y").head(200)
    # A value that is not listed.
    rows.loc[0, "grade"] = "?" if isinstance(order[0], str) else 7
    expected = model.predict(rows)
    for run, dialect in ((in_sqlite, "sqlite"), (in_duckdb, "standard")):
        np.testing.assert_allclose(run(model.to_sql("rows", dialect), rows), expected, **CLOSE)
    np.testing.assert_allclose(exported(model).predict(rows), expected, **CLOSE)
    plain = fitted(cls, table[["size", "grade"]].to_numpy(), table["y"], Ordinal(order), 1, epsilon)
    np.testing.assert_allclose(exported(plain).predict(rows.to_numpy()), expected, **CLOSE)

    model.save(tmp_path / "model.dpfit")
    loaded = load(tmp_path / "model.dpfit")
    assert loaded.model_.kinds[1] == Ordinal(order)
    np.testing.assert_array_equal(loaded.predict(rows), expected)


@every
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_missing_values_have_flags(cls, order):
    table, _ = frame(order)
    gone = np.random.default_rng(3).random(ROWS) < 0.3
    table["grade"] = table["grade"].astype(object).where(~gone, None)
    table["y"] += 20.0 * gone
    schema = Schema({"grade": Ordinal(order)})
    model = seeded(cls, table, "y", schema=schema, missing="indicator")
    names = ["size", "grade", "size (missing)", "grade (missing)"]
    assert model.model_.column_names == names
    # In the middle is 1.5, and so is the mean.
    zero, one = model.model_.effects[3](np.arange(2))
    assert one - zero == pytest.approx(20.0, abs=1.0)
    rows = table.drop(columns="y").head(200)
    expected = model.predict(rows)
    assert np.isfinite(expected).all()
    if isinstance(order[0], int):
        rows["grade"] = rows["grade"].astype(float)
    np.testing.assert_allclose(in_duckdb(model.to_sql("rows"), rows), expected, **CLOSE)
    np.testing.assert_allclose(exported(model).predict(rows), expected, **CLOSE)


def test_a_schema_file_has_its_fields():
    schema = Schema({"grade": Ordinal(["a", "b"])})
    assert Schema.from_json(schema.to_json()) == schema
    with pytest.raises(ParameterError, match="Ordinal needs from 1 to 4000 levels"):
        Ordinal([])


def test_an_export_refuses_a_kind_that_is_encoded_in_another_way(monkeypatch):
    table, _ = frame(ORDERS["integers"])
    model = fitted(PrivateLinearRegression, table, "y", Ordinal(ORDERS["integers"]))

    class Logarithm(Kind):
        """Numbers that are used as their logarithm."""

        is_encoded = True

    changed = dataclasses.replace(model.model_, kinds=(Numeric(), Logarithm()))
    monkeypatch.setattr(model, "model_", changed)
    for export in (lambda: model.to_sql("rows"), model.to_sklearn):
        with pytest.raises(ParameterError, match="'grade' is Logarithm, which cannot be exp") as e:
            export()
        assert e.value.subject == "grade"
