"""Exports predict what the model predicts: scikit-learn's parts, SQLite, DuckDB."""

import dataclasses
import pickle
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression

import dpfit
from dpfit import Categorical, InsecureSeedWarning, Numeric, ParameterError, Schema
from dpfit.models.effects import Line

from .tables import every, seeded, unknown
from .test_model_files import fitted, frame
from .test_predictions import saturated

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")

# Sums of a dozen doubles, in another order.
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def in_sqlite(query, rows, table="rows"):
    connection = sqlite3.connect(":memory:")
    rows.to_sql(table, connection, index=False)
    return [row[-1] for row in connection.execute(query)]


def in_duckdb(query, rows, table="rows"):
    # With several threads, rows that come from pandas are not always in order.
    connection = duckdb.connect(config={"threads": 1})
    connection.register("given", rows)
    quoted = table.replace('"', '""')
    connection.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM given')
    return [row[-1] for row in connection.execute(query).fetchall()]


def exported(model):
    """Return the pipeline of a model with a seed, which warns."""
    with pytest.warns(InsecureSeedWarning, match="NOT PRIVATE"):
        return model.to_sklearn()


@every
def test_an_export_of_a_model_with_a_seed_says_so(cls):
    X = np.random.default_rng(0).normal(size=(300, 2))
    insecure, secure = seeded(cls, X, X[:, 0]), cls().fit(X, X[:, 0])
    assert insecure.to_sql("rows").startswith("-- NOT PRIVATE: the noise of this model came from")
    assert secure.to_sql("rows").startswith("SELECT")
    exported(insecure)
    # Warnings are errors here.
    secure.to_sklearn()


@every
@pytest.mark.parametrize("epsilon", [5.0, 1e-3], ids=["slopes", "mean"])
def test_scikit_learn(cls, epsilon):
    model = fitted(cls, epsilon=epsilon)
    pipeline = pickle.loads(pickle.dumps(exported(model)))
    rows = frame(seed=3).drop(columns="price")
    rows["size"] *= 10  # beyond the ranges, too
    np.testing.assert_allclose(pipeline.predict(rows), model.predict(rows), **CLOSE)
    assert type(pipeline[-1]).__module__.startswith("sklearn.")


def test_the_regression_of_a_linear_model_has_its_coefficients():
    from dpfit import PrivateLinearRegression

    model = fitted(PrivateLinearRegression)
    clipped = exported(model)[-1]
    assert isinstance(clipped, TransformedTargetRegressor)
    regression = clipped.regressor_
    assert isinstance(regression, LinearRegression)
    # Columns of numbers as they are; levels relative to others, so that their differences agree.
    np.testing.assert_array_equal(regression.coef_[[0, 4, 5]], model.coef_[[0, 4, 5]])
    levels = regression.coef_[1:4]
    np.testing.assert_allclose(levels - levels[0], model.coef_[1:4], rtol=1e-12)
    assert regression.intercept_ + levels[0] == pytest.approx(model.intercept_, rel=1e-12)


@every
def test_scikit_learn_without_names_and_without_dpfit(cls, tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    codes = np.random.default_rng(1).integers(0, 4, 3000)
    rows = np.column_stack([X, codes])
    schema = Schema({2: Categorical([0, 1, 2])})
    model = seeded(cls, rows, X @ [1.0, 2.0] + (codes == 1), epsilon=8.0, schema=schema)
    (tmp_path / "pipeline.pickle").write_bytes(pickle.dumps(exported(model)))
    np.save(tmp_path / "rows.npy", rows[:100])
    script = (
        "import pickle, sys, numpy as np\n"
        "sys.modules['dpfit'] = None\n"
        "pipeline = pickle.load(open('pipeline.pickle', 'rb'))\n"
        "np.save('found.npy', pipeline.predict(np.load('rows.npy')))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "found.npy"), model.predict(rows[:100]), **CLOSE)


@every
@pytest.mark.parametrize("named", [True, False], ids=["named", "array"])
def test_scikit_learn_of_levels_in_any_order(cls, named):
    model, rows = numbered(cls, epsilon=8.0)
    assert np.ptp(model.model_.effects[2].effects) > 1.0
    if not named:
        schema = Schema({2: Categorical([2, 0, 1])})
        X = np.tile(rows.to_numpy(), (50, 1))
        model = seeded(cls, X, X[:, 0] + (X[:, 2] == 2), schema=schema)
        rows = rows.to_numpy()
    np.testing.assert_allclose(exported(model).predict(rows), model.predict(rows), **CLOSE)


@every
def test_scikit_learn_of_names_that_are_words_of_its_own(cls):
    names = ["a__b", "transformers", "remainder", "n_jobs", "verbose"]
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 5)), columns=names)
    model = seeded(cls, rows, rows.to_numpy() @ np.arange(1.0, 6.0))
    np.testing.assert_allclose(exported(model).predict(rows), model.predict(rows), **CLOSE)
    mean = seeded(cls, rows[["a__b"]], rows.a__b, epsilon=1e-3)
    np.testing.assert_allclose(exported(mean).predict(rows[["a__b"]]), mean.intercept_)


@every
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
@pytest.mark.parametrize("kind", [pd.DataFrame, np.asarray], ids=["named", "array"])
def test_scikit_learn_of_numbers_of_fewer_bits(cls, dtype, kind):
    X = 10.0 * np.random.default_rng(0).normal(size=(2000, 2))
    frame = pd.DataFrame(X.astype(dtype), columns=["a", "b"])
    rows = kind(frame)
    model = seeded(cls, rows, X @ [1.0, 2.0])
    np.testing.assert_allclose(exported(model).predict(rows), model.predict(rows), **CLOSE)


def test_scikit_learn_of_names_without_pandas(monkeypatch):
    from dpfit import PrivateLinearRegression

    model = fitted(PrivateLinearRegression)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        exported(model)


@every
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("epsilon", [5.0, 1e-3], ids=["slopes", "mean"])
def test_sql(cls, database, epsilon):
    model = fitted(cls, epsilon=epsilon)
    rows = frame(1000, seed=3)
    rows["size"] *= 10
    np.testing.assert_allclose(database(model.to_sql("rows"), rows), model.predict(rows), **CLOSE)


@every
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_sql_of_what_is_missing(cls, database):
    model = fitted(cls, missing="drop")
    rows = frame(40, seed=3)
    rows["city"] = rows.city.astype(object)
    rows.loc[3, "age"] = np.nan
    rows.loc[5, "city"] = None
    found = database(model.to_sql("rows"), rows)
    expected = model.predict(rows)
    assert [place for place, value in enumerate(found) if value is None] == [3, 5]
    assert np.isnan(expected[[3, 5]]).all()
    np.testing.assert_allclose(
        np.delete(found, [3, 5]).astype(float), np.delete(expected, [3, 5]), **CLOSE
    )


def beyond(cls, schema):
    """Return a model, and rows for many of which it predicts the ends of what is plausible."""
    X, y = saturated()
    rows = pd.DataFrame(X, columns=list("abcd"))
    model = seeded(cls, rows, y, missing="drop", schema=schema)
    # Rounding cannot make these one of the ends.
    low, high = model.prediction_range_
    assert 1e-3 * (high - low) > 1e-11
    return model, 100.0 * rows[:500]


with_and_without_bounds = pytest.mark.parametrize(
    "schema", [None, Schema(target=Numeric(-0.7, 0.8))], ids=["found", "bounds"]
)


def assert_clipped(found, model, rows):
    """Check predictions against those of the model, of which some are at either end."""
    expected = model.predict(rows)
    for end in model.prediction_range_:
        at_end = expected == end
        assert at_end.sum() >= 3
        np.testing.assert_array_equal(np.asarray(found)[at_end], end)
    np.testing.assert_allclose(found, expected, **CLOSE)


@every
@with_and_without_bounds
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_sql_clips_as_the_model_does(cls, schema, database):
    model, rows = beyond(cls, schema)
    assert_clipped(database(model.to_sql("rows"), rows), model, rows)


@every
@with_and_without_bounds
def test_scikit_learn_clips_as_the_model_does(cls, schema):
    model, rows = beyond(cls, schema)
    pipeline = pickle.loads(pickle.dumps(exported(model)))
    assert_clipped(pipeline.predict(rows), model, rows)
    # One row is one prediction, too.
    one = pipeline.predict(rows[:1])
    assert one.shape == (1,)
    assert one == pytest.approx(model.predict(rows[:1]))


@every
@with_and_without_bounds
def test_a_saved_model_clips_as_the_model_does(cls, schema, tmp_path):
    model, rows = beyond(cls, schema)
    model.save(tmp_path / "model.json")
    loaded = dpfit.load(tmp_path / "model.json")
    assert loaded.prediction_range_ == model.prediction_range_
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    assert_clipped(loaded.predict(rows), model, rows)


@every
@with_and_without_bounds
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_sql_leaves_null_where_it_clips(cls, schema, database):
    """`LEAST` and `GREATEST` would return an end of the range for NULL in DuckDB."""
    model, rows = beyond(cls, schema)
    rows.loc[::5, "c"] = np.nan
    found = np.array(database(model.to_sql("rows"), rows), dtype=object)
    assert [place for place, value in enumerate(found) if value is None] == list(range(0, 500, 5))
    full = rows["c"].notna().to_numpy()
    assert_clipped(found[full].astype(float), model, rows[full])


@every
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("table", ["rows", "sums", "total"])
def test_sql_of_names_that_are_words_of_the_query(cls, database, table):
    X, y = saturated()
    rows = pd.DataFrame(X, columns=["total", "sums", "rows", "TABLE"])
    model = seeded(cls, rows, y)
    found = database(model.to_sql(table), 100.0 * rows[:500], table)
    np.testing.assert_allclose(found, model.predict(100.0 * rows[:500]), **CLOSE)


@every
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_exports_of_a_model_that_saw_nothing_do_not_clip(cls, database):
    X, y = saturated(50)
    rows = pd.DataFrame(X, columns=list("abcd"))
    model = seeded(cls, rows, y, epsilon=1e-3)
    assert model.prediction_range_ == (-np.inf, np.inf)
    np.testing.assert_allclose(database(model.to_sql("rows"), rows), model.predict(rows), **CLOSE)
    np.testing.assert_allclose(exported(model).predict(rows), model.predict(rows), **CLOSE)


def numbered(cls, **options):
    """Return a model of numbers and levels that are numbers, and rows."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=3000), "same": 1.0})
    rows["grade"] = rng.integers(0, 3, 3000).astype(float)
    y = rows.a + 2.0 * (rows.grade == 2) + 0.1 * rng.normal(size=3000)
    schema = Schema({"grade": Categorical([2, 0, 1])})
    return seeded(cls, rows, y, missing="drop", schema=schema, **options), rows[:40].copy()


@every
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("column", ["a", "same", "grade"])
@pytest.mark.parametrize("epsilon", [8.0, 1e-3], ids=["slopes", "mean"])
def test_sql_of_what_is_not_a_number(cls, database, column, epsilon):
    """NaN is a number in DuckDB; a column without a slope may miss values, too."""
    model, rows = numbered(cls, epsilon=epsilon)
    rows.loc[5, "a"], rows.loc[6, "a"], rows.loc[7, "grade"] = np.inf, -np.inf, 9.0
    rows.loc[3, column] = np.nan
    expected = model.predict(rows)
    found = database(model.to_sql("rows"), rows)
    assert found[3] is None
    assert np.isnan(expected[3])
    assert np.isfinite(np.delete(expected, 3)).all()
    np.testing.assert_allclose(np.delete(found, 3).astype(float), np.delete(expected, 3), **CLOSE)


@every
def test_nan_in_duckdb_is_missing(cls):
    """NaN of a pandas frame is NULL already."""
    model, rows = numbered(cls, epsilon=8.0)
    # With several threads, rows that come from pandas are not always in order.
    connection = duckdb.connect(config={"threads": 1})
    connection.register("given", rows)
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    for column in rows:
        connection.execute(
            f"INSERT INTO rows SELECT * REPLACE ('nan'::DOUBLE AS {column}) FROM given LIMIT 1"
        )
    found = [row[-1] for row in connection.execute(model.to_sql("rows")).fetchall()]
    assert found[-3:] == [None] * 3
    assert None not in found[:-3]


@every
@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("column", ["age", "city", "flag", "size", "same"])
def test_sql_of_a_column_that_is_not_there(cls, database, column):
    """SQLite takes an unknown name in quotes for a text, and the text for zero."""
    query = fitted(cls).to_sql("rows")
    with pytest.raises((sqlite3.OperationalError, duckdb.BinderException), match=column):
        database(query, frame(10).drop(columns=column))


@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_sql_of_many_columns(database):
    from dpfit import PrivateLinearRegression

    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 1100)))
    rows.columns = [f"c{place}" for place in range(1100)]
    model = seeded(PrivateLinearRegression, rows, rows.c0, epsilon=1e-3)
    lines = tuple(Line(-1.0, 2.0, slope) for slope in np.linspace(0.1, 1.0, 1100))
    estimates = unknown(1101)
    for limits in ((-np.inf, np.inf), (-5.0, 5.0)):
        model.model_ = dataclasses.replace(
            model.model_, effects=lines, estimates=estimates, prediction_range=limits
        )
        expected = model.predict(rows)
        assert (np.abs(expected) >= 5.0).any()
        np.testing.assert_allclose(
            database(model.to_sql("rows"), rows), expected, rtol=1e-11, atol=1e-9
        )


@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_names_and_levels_with_quotes(database):
    from dpfit import PrivateLinearRegression

    rng = np.random.default_rng(0)
    levels = ["it's", '"', "x'; DROP TABLE rows; --"]
    rows = pd.DataFrame({'a "b"': rng.normal(size=3000), "it's": rng.choice(levels, 3000)})
    y = rows['a "b"'] + (rows["it's"] == "it's")
    schema = Schema({"it's": Categorical(levels)})
    model = seeded(PrivateLinearRegression, rows, y, epsilon=8.0, schema=schema)
    table = 'my "rows"; --'
    found = database(model.to_sql(table), rows, table)
    np.testing.assert_allclose(found, model.predict(rows), **CLOSE)


@pytest.mark.parametrize("table", ["", None, 3])
def test_a_table_needs_a_name(table):
    from dpfit import PrivateLinearRegression

    with pytest.raises(ParameterError, match="table"):
        fitted(PrivateLinearRegression).to_sql(table)


def test_a_dialect_that_is_not_known():
    from dpfit import PrivateLinearRegression

    with pytest.raises(ParameterError, match="dialect must be one of"):
        fitted(PrivateLinearRegression).to_sql("rows", "oracle")
