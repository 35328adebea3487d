"""Exports of models with dates predict what the model predicts."""

import pickle

import duckdb
import numpy as np
import pandas as pd
import pytest

from dpfit import Categorical, ParameterError, Schema

from .tables import every, seeded
from .test_export import exported, in_duckdb, in_sqlite

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")


def dated(rows=4000, seed=0):
    """Return rows whose target grows with days, and is another in the afternoon."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, 700 * 86_400, rows)
    table = pd.DataFrame({"day": np.datetime64("2022-03-01") + (seconds // 86_400)})
    table["day"] = table.day.astype("datetime64[s]")
    table["instant"] = pd.Timestamp("2023-11-15") + pd.to_timedelta(rng.permutation(seconds), "s")
    since = (table - pd.Timestamp("2022-03-01")) / pd.Timedelta(days=1)
    table["price"] = 0.01 * since.day + 0.02 * since.instant + rng.normal(size=rows)
    return table


def in_sqlite_as_dates(query, rows):
    rows = rows.assign(day=rows.day.dt.strftime("%Y-%m-%d"), instant=rows.instant.astype(str))
    return in_sqlite(query, rows)


def in_duckdb_as_dates(query, rows):
    # With several threads, rows that come from pandas are not always in order.
    connection = duckdb.connect(config={"threads": 1})
    connection.register("given", rows)
    connection.execute("CREATE TABLE rows AS SELECT CAST(day AS DATE) AS day, instant FROM given")
    return [row[-1] for row in connection.execute(query).fetchall()]


@every
@pytest.mark.parametrize(
    ("database", "dialect"),
    [
        (in_sqlite_as_dates, "sqlite"),
        (in_sqlite, "sqlite"),
        (in_duckdb_as_dates, "standard"),
        (in_duckdb, "standard"),
    ],
)
def test_sql_of_dates(cls, database, dialect):
    model = seeded(cls, dated(), "price", epsilon=8.0)
    rows = dated(500, seed=1)
    expected = model.predict(rows)
    assert np.ptp(expected) > 10.0
    found = database(model.to_sql("rows", dialect), rows)
    # SQLite's days have milliseconds.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@every
@pytest.mark.parametrize("epsilon", [8.0, 1e-3], ids=["slopes", "mean"])
def test_scikit_learn_of_dates(cls, epsilon):
    model = seeded(cls, dated(), "price", epsilon=epsilon)
    pipeline = pickle.loads(pickle.dumps(exported(model)))
    rows = dated(500, seed=1).drop(columns="price")
    np.testing.assert_allclose(pipeline.predict(rows), model.predict(rows), rtol=1e-9)
    if epsilon > 1.0:
        with pytest.raises((TypeError, ValueError)):
            pipeline.predict(rows.assign(day=range(500)))


def test_dates_in_columns_without_names_have_no_pipeline():
    from dpfit import Date, PrivateLinearRegression

    rows = np.empty((500, 2), dtype=object)
    rows[:, 0] = dated(500).instant.dt.to_pydatetime()
    rows[:, 1] = "a"
    schema = Schema({0: Date(), 1: Categorical(["a", "b"])})
    model = seeded(PrivateLinearRegression, rows, np.arange(500.0), schema=schema)
    with pytest.raises(ParameterError, match="named columns"):
        exported(model)
