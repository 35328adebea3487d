"""Wherever the rows live: the same seed is the same model, and the same predictions, to the bit."""

import dataclasses
import functools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpfit import Categorical, PrivateLinearRegression, Schema, _native, scan_parquet
from dpfit.sources.files.spool import Spool

from .houses import CLASSES, KINDS, NAMES, PLACES, SCHEMA, TOWNS, houses, objects, seeded

every = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
ROWS = 200_000
# Names are there or not, and are no numbers; an array does not tell a date from a number.
NAMED = {"feature_names_in_", "coef_names_", "model_"}


def fitted(model):
    """Return everything that a fit has set but names and kinds, as bytes."""
    names = {name for name in dir(model) if name.endswith("_") and name[0] != "_"} - NAMED
    found = {name: getattr(model, name) for name in names}
    found["heights"] = [model.model_.curve(place)[1] for place in range(model.n_features_in_)]
    return {name: pickle.dumps(value) for name, value in found.items()}


@functools.cache
def expected(cls, rows, holes=False, missing="drop"):
    """Return what is fitted to the table of Arrow's, and its predictions."""
    table = houses(rows, holes)
    model = seeded(cls, table, "price", schema=SCHEMA, missing=missing if holes else "error")
    return fitted(model), model.predict(table)


@every
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_are_the_same_model(cls, kind, tmp_path):
    X, y, schema = KINDS[kind](houses(ROWS), tmp_path)
    model = seeded(cls, X, y, schema=schema)
    attributes, predictions = expected(cls, ROWS)
    assert fitted(model) == attributes
    if kind == "arrow reader":
        X = houses(ROWS).to_reader()
    found = model.predict(X)
    # An array whatever the table is, because scikit-learn's meta-estimators reshape it.
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, predictions)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", ["drop", "indicator"])
def test_the_same_holes_are_the_same_model(kind, missing, tmp_path):
    cls, rows = CLASSES[len(kind) % 2], 20_000
    X, y, schema = KINDS[kind](houses(rows, holes=True), tmp_path)
    model = seeded(cls, X, y, schema=schema, missing=missing)
    attributes, predictions = expected(cls, rows, holes=True, missing=missing)
    assert fitted(model) == attributes
    if kind == "arrow reader":
        X = houses(rows, holes=True).to_reader()
    found = np.asarray(model.predict(X), dtype=np.float64)
    np.testing.assert_array_equal(found, predictions)
    if missing == "indicator":
        assert np.isfinite(found).all()
        assert len(model.model_.columns) > model.n_features_in_
    else:
        assert 0.0 < np.isnan(found).mean() < 0.2


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow reader", "parquet", "csv", "batches"])
def test_the_same_units_are_the_same_model(kind, tmp_path):
    """Whose row it is, by name: whole numbers, or texts, in every kind of table."""
    table = houses(20_000)
    owners = np.random.default_rng(1).integers(0, 9000, size=len(table))
    X, y = objects(table)
    options = {"max_rows": 2, "epsilon": 5.0}
    model = fitted(seeded(CLASSES[0], X, y, unit=owners, schema=PLACES, **options))
    for owner in (pa.array(owners), pa.array([f"house {i}" for i in owners])):
        (tmp_path / str(owner.type)).mkdir()
        named = KINDS[kind](table.append_column("owner", owner), tmp_path / str(owner.type))
        found = seeded(CLASSES[0], *named[:2], unit="owner", schema=SCHEMA, **options)
        assert found.feature_names_in_.tolist() == NAMES
        assert found.privacy_.unit_name == "owner"
        # The values of an array have no name.
        found.privacy_ = dataclasses.replace(found.privacy_, unit_name=None)
        assert fitted(found) == model


def test_past_the_limit_rows_are_in_files_without_names(tmp_path, monkeypatch):
    """Both kinds of file are there, neither has a name, and both are gone with the fit."""
    scan, _, schema = KINDS["parquet past the limit"](houses(ROWS), tmp_path)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    spools, directories = [], []

    def add(self, batch):
        if self not in spools:
            spools.append(self)
        keep(self, batch)
        assert not list(folder.iterdir())

    def rows(row_map, directory, memory):
        directories.append(directory)
        return store(row_map, directory=directory, memory=memory)

    keep, store = Spool.add, _native.Rows
    monkeypatch.setattr(Spool, "add", add)
    monkeypatch.setattr(_native, "Rows", rows)
    seeded(CLASSES[0], scan, schema=schema)
    assert directories == [str(folder)]
    (spool,) = spools
    assert spool._used > 500_000
    assert spool._file is None
    assert not spool._batches
    assert not list(folder.iterdir())


def test_levels_that_a_type_declares_are_those_of_a_schema():
    table = houses(20_000).filter(pa.compute.field("town") != "Nowhere").drop_columns("grade")
    listed = Schema({"town": Categorical(TOWNS)})
    model = seeded(PrivateLinearRegression, table, "price", schema=listed)
    frame = table.to_pandas()
    frames = {
        "pandas": frame.astype({"town": pd.CategoricalDtype(TOWNS)}),
        "pandas, in order": frame.astype({"town": pd.CategoricalDtype(TOWNS, ordered=True)}),
        "polars": pl.DataFrame(table).with_columns(pl.col("town").cast(pl.Enum(TOWNS))),
    }
    for name, other in frames.items():
        found = seeded(PrivateLinearRegression, other, "price")
        assert fitted(found) == fitted(model), name
        assert found.coef_names_ == model.coef_names_
        # Declared in another order, or not at all: the levels of the fit count.
        np.testing.assert_array_equal(
            found.predict(frame.astype({"town": pd.CategoricalDtype(TOWNS[::-1])})),
            model.predict(table),
        )


def test_a_target_is_taken_by_position_and_not_by_the_index_of_pandas():
    table = houses(5000).to_pandas()
    model = seeded(CLASSES[0], table, "price", schema=SCHEMA)
    shuffled = table["price"].set_axis(np.random.default_rng(0).permutation(5000))
    other = seeded(CLASSES[0], table[NAMES], shuffled, schema=SCHEMA)
    assert fitted(other) == fitted(model)


def test_columns_in_another_order(tmp_path):
    """A scan picks its columns by name; of a frame it is an error, as in scikit-learn."""
    table = houses(5000)
    model = seeded(CLASSES[0], table, "price", schema=SCHEMA)
    turned = table.select(table.column_names[::-1])
    pa.parquet.write_table(turned, tmp_path / "turned.parquet")
    predictions = model.predict(table)
    scan = scan_parquet(tmp_path / "turned.parquet")
    np.testing.assert_array_equal(model.predict(scan), predictions)
    np.testing.assert_array_equal(model.predict(turned.to_reader()), predictions)
    for frame in (turned, turned.to_pandas(), pl.DataFrame(turned)):
        with pytest.raises(ValueError, match="same order"):
            model.predict(frame)


def test_the_target_of_a_scan_may_be_in_a_frame_to_predict_for(tmp_path):
    scan, *_ = KINDS["parquet"](houses(5000), tmp_path)
    model = seeded(CLASSES[0], scan, schema=SCHEMA)
    frame = houses(5000).to_pandas()
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame[NAMES]))
    np.testing.assert_array_equal(model.predict(frame), model.predict(scan))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "arrow reader", "arrow stream"])
def test_nothing_to_predict_for(kind, tmp_path):
    model = seeded(CLASSES[0], houses(5000), "price", schema=SCHEMA)
    X, *_ = KINDS[kind](houses(8).slice(0, 0), tmp_path)
    found = model.predict(X)
    assert len(found) == 0
    assert isinstance(found, np.ndarray)
