"""The estimators without tuning inside scikit-learn's meta-estimators, with arrays and frames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import RFE
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from dpfit import (
    Categorical,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)

from .tables import every, r_squared, seeded, uniform

pytestmark = pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")

NAMES = ["age", "pay", "rent"]


def as_pandas(X, y):
    """Return a frame and a series whose index is not that of the rows."""
    index = np.arange(len(y))[::-1] + 10
    return pd.DataFrame(X, columns=NAMES, index=index), pd.Series(y, name="cost", index=index)


TABLES = {
    "arrays": lambda X, y: (X, y),
    "pandas": as_pandas,
    "pandas and an array": lambda X, y: (as_pandas(X, y)[0], y),
    "polars": lambda X, y: (pl.DataFrame(X, schema=NAMES), pl.Series("cost", y)),
}
tables = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def private(cls=PrivateLinearRegression, **options):
    return cls(epsilon=20.0, random_state=0, n_jobs=1, **options)


META = {
    "transformed by a function": lambda cls: TransformedTargetRegressor(
        private(cls), func=np.negative, inverse_func=np.negative
    ),
    "transformed": lambda cls: TransformedTargetRegressor(
        private(cls), transformer=StandardScaler()
    ),
    "stacked": lambda cls: StackingRegressor(
        [("private", private(cls)), ("exact", LinearRegression())], cv=2
    ),
    "final": lambda cls: StackingRegressor(
        [("exact", LinearRegression())], private(cls), cv=2, passthrough=True
    ),
    "voting": lambda cls: VotingRegressor(
        [("private", private(cls)), ("exact", LinearRegression())]
    ),
    # It passes the number of copies of a row as its weight.
    "bagging": lambda cls: BaggingRegressor(
        private(cls, max_weight=4.0), n_estimators=2, random_state=0
    ),
    "bagging of copies": lambda cls: BaggingRegressor(
        make_pipeline(FunctionTransformer(), private(cls)), n_estimators=2, random_state=0
    ),
    "search": lambda cls: GridSearchCV(private(cls), {"epsilon": [5.0, 20.0]}, cv=2),
    "pipeline": lambda cls: make_pipeline(StandardScaler(), private(cls)),
}


@every
@tables
@pytest.mark.parametrize("meta", META.values(), ids=META)
def test_predictions_of_a_meta_estimator(cls, table, meta):
    X, y = table(*uniform(2000))
    predictions = meta(cls).fit(X, y).predict(X)
    assert isinstance(predictions, np.ndarray)
    assert predictions.shape == (2000,)
    assert r_squared(np.asarray(y), predictions) > 0.85


@tables
def test_cross_validated_predictions_are_in_the_order_of_the_rows(table):
    X, y = table(*uniform(2000))
    predictions = cross_val_predict(private(), X, y, cv=3)
    assert r_squared(np.asarray(y), predictions) > 0.9


@tables
def test_two_targets_and_selected_features(table):
    rows, target = uniform(2000)
    X, y = table(rows, target)
    both = np.column_stack([target, -target])
    predictions = MultiOutputRegressor(private()).fit(X, both).predict(X)
    assert r_squared(target, predictions[:, 0]) > 0.9
    np.testing.assert_allclose(predictions[:, 0], -predictions[:, 1], atol=0.5)
    # The last two columns have the largest slopes.
    assert RFE(private(), n_features_to_select=2).fit(X, y).support_.tolist() == [False, True, True]


@pytest.mark.parametrize("table", [TABLES["arrays"], as_pandas])
def test_importances_of_columns(table):
    X, y = table(*uniform(2000))
    found = permutation_importance(private().fit(X, y), X, y, n_repeats=2, random_state=0)
    assert np.argsort(found["importances_mean"]).tolist() == [0, 1, 2]


def test_bagging_without_a_bound_on_weights_says_what_is_missing():
    with pytest.raises(ParameterError, match=r"max_weight.*BaggingRegressor"):
        BaggingRegressor(private()).fit(*uniform(300))


def with_levels():
    X, y = uniform(2000)
    frame = pd.DataFrame(X, columns=NAMES)
    frame["city"] = np.random.default_rng(1).choice(["Bern", "Oslo"], 2000)
    return frame, y + 3.0 * (frame["city"] == "Oslo")


@every
@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_a_pipeline_with_dense_one_hot_columns(cls, output):
    frame, y = with_levels()
    columns = ColumnTransformer(
        [("levels", OneHotEncoder(sparse_output=False), ["city"])], remainder="passthrough"
    ).set_output(transform=output)
    pipeline = make_pipeline(columns, private(cls)).fit(frame, y)
    assert r_squared(y, pipeline.predict(frame)) > 0.9


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_a_pipeline_that_passes_levels_on(output):
    frame, y = with_levels()
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), NAMES)],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform=output)
    kinds = {"city" if output == "pandas" else 3: Categorical(["Bern", "Oslo"])}
    pipeline = make_pipeline(columns, private(schema=Schema(kinds))).fit(frame, y)
    assert r_squared(y, pipeline.predict(frame)) > 0.9


SPARSE = [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_matrix]


@every
@pytest.mark.parametrize("sparse", SPARSE)
def test_sparse_rows_are_an_error_that_says_what_to_do(cls, sparse):
    X, y = uniform(300)
    with pytest.raises(ParameterError, match=r"sparse_output=False"):
        cls().fit(sparse(X), y)
    with pytest.raises(ParameterError, match=r"sparse_output=False"):
        seeded(cls, X, y).predict(sparse(X))


def test_sparse_output_of_a_transformer_is_the_same_error():
    frame, y = with_levels()
    columns = ColumnTransformer(
        [("levels", OneHotEncoder(), ["city"])], remainder="passthrough", sparse_threshold=1.0
    )
    pipeline = make_pipeline(columns, PrivateAdditiveRegression())
    with pytest.raises(ParameterError, match=r"sparse_threshold=0"):
        pipeline.fit(frame, y)
