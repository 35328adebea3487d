"""Exports predict what the model predicts: scikit-learn's parts, SQLite, DuckDB."""

import pickle
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest

from dpfit import Categorical, InsecureSeedWarning, ParameterError, Schema

from .tables import every, seeded
from .test_model_files import fitted, frame

# Sums of a dozen doubles, in another order.
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def in_sqlite(query, rows, table="rows"):
    connection = sqlite3.connect(":memory:")
    rows.to_sql(table, connection, index=False)
    return [row[-1] for row in connection.execute(query)]


def in_duckdb(query, rows, table="rows"):
    connection = duckdb.connect()
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
    regression = exported(model)[-1]
    np.testing.assert_array_equal(regression.coef_, model.coef_[model.coef_ != 0.0])
    assert regression.intercept_ == model.intercept_


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
        np.delete(found, [3, 5]).astype(float), expected.drop([3, 5]), **CLOSE
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
