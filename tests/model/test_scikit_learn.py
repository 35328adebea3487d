"""The estimators without tuning as scikit-learn sees them: its own checks, copies, files, names."""

import io
import itertools
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpfit import (
    Binary,
    Numeric,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    scan_batches,
)
from dpfit._progress import Progress

from .tables import every, seeded, state, uniform

pytestmark = [
    pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning"),
    # 200 rows and less are too few to find the target with a small budget.
    pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning"),
]


# With little budget for 200 rows, and with ample budget.
CHECKED = [
    PrivateLinearRegression(),
    PrivateLinearRegression(mu=30.0, missing="drop", max_weight=10.0),
    PrivateAdditiveRegression(missing="drop", max_weight=1.0),
    PrivateAdditiveRegression(mu=30.0, knots=1, max_weight=2.0),
]
WEIGHTED = ("pandas_series", "not_an_array", "list", "shape", "not_overwritten")
# It compares fits with different noise. Where the noise hides the target, they predict the same
# constant and the check passes, so it cannot be among the expected failures.
LEFT_TO_CHANCE = "check_sample_weight_equivalence_on_dense_data"


def expected_failures(estimator):
    found = {"check_all_zero_sample_weights_error": "an error would tell what weights are"}
    if estimator.max_weight is None:
        found |= {f"check_sample_weights_{name}": "weights need a bound" for name in WEIGHTED}
    if estimator.missing != "error":
        found["check_supervised_y_no_nan"] = "rows without a target are dropped"
    return found


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures, xfail_strict=True)
def test_checks(estimator, check):
    if check.func.__name__ == LEFT_TO_CHANCE:
        pytest.skip("the noise differs; tests/model/test_weights.py has tests of weights")
    check(estimator)


OPTIONS = {
    "epsilon": 3.0,
    "delta": 1e-7,
    "mu": None,
    "schema": Schema({0: Binary(), 2: Numeric(0, 3)}, target=Numeric(-9, 9)),
    "neighbors": "replace",
    "max_rows": None,
    "max_weight": 2.5,
    "missing": "drop",
    "ledger": None,
    "n_jobs": 1,
    "verbose": False,
    "random_state": 5,
}


@every
def test_a_clone_has_the_same_parameters_and_nothing_else(cls):
    options = dict(OPTIONS, knots=4) if cls is PrivateAdditiveRegression else OPTIONS
    model = cls(**options)
    assert model.get_params() == options
    model.fit(*uniform(500))
    copied = clone(model)
    assert copied.get_params() == options
    assert set(vars(copied)) == set(options)
    assert state(copied.fit(*uniform(500))) == state(model)
    with pytest.raises(NotFittedError):
        clone(model).predict(np.ones((1, 3)))


@every
@pytest.mark.parametrize("rows", [20, 3000])
def test_files_keep_a_model_to_the_bit(cls, rows):
    X, y = uniform(rows)
    model = seeded(cls, X, y, epsilon=5.0)
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for copied in (pickle.loads(pickle.dumps(model)), joblib.load(stream)):
        assert state(copied) == state(model)
        np.testing.assert_array_equal(copied.predict(X), model.predict(X))
        assert copied.privacy_ == model.privacy_
        if cls is PrivateLinearRegression:
            np.testing.assert_array_equal(copied.coef_interval(), model.coef_interval())
        else:
            np.testing.assert_array_equal(copied.curve(0), model.curve(0))


@every
def test_a_fitted_model_has_nothing_of_the_size_of_the_table(cls):
    X, y = uniform(40_000)
    assert len(pickle.dumps(seeded(cls, X, y))) < 80_000 < y.nbytes


@every
def test_names_of_columns_are_kept_and_checked(cls):
    X, y = uniform()
    frame = pd.DataFrame(X, columns=["age", "pay", "rent"])
    model = seeded(cls, frame, y)
    assert model.feature_names_in_.tolist() == ["age", "pay", "rent"]
    assert model.n_features_in_ == 3
    with pytest.raises(ParameterError, match="feature names"):
        model.predict(frame[["pay", "age", "rent"]])
    unnamed = seeded(cls, X, y)
    assert not hasattr(unnamed, "feature_names_in_")
    assert model.intercept_ == unnamed.intercept_
    np.testing.assert_array_equal(model.feature_range_, unnamed.feature_range_)
    np.testing.assert_allclose(model.predict(frame), unnamed.predict(X), rtol=1e-12)
    with pytest.raises(ParameterError, match="features, but"):
        unnamed.predict(np.ones((1, 2)))


def test_a_curve_is_found_by_name_and_by_position():
    X, y = uniform()
    model = seeded(PrivateAdditiveRegression, pd.DataFrame(X, columns=["age", "pay", "rent"]), y)
    for place, name in enumerate(["age", "pay", "rent"]):
        np.testing.assert_array_equal(model.curve(name), model.curve(place))
    for wrong in ("height", 3, -1, 0.5, None):
        with pytest.raises(ParameterError, match="no feature"):
            model.curve(wrong)
    unnamed = seeded(PrivateAdditiveRegression, X, y)
    np.testing.assert_array_equal(unnamed.curve("x1"), unnamed.curve(1))
    # What is returned is a copy.
    unnamed.curve(1)[1][:] = 0.0
    assert unnamed.curve(1)[1].any()


@every
def test_pipelines_and_cross_validation(cls):
    X, y = uniform(2000)
    pipeline = make_pipeline(FunctionTransformer(), cls(epsilon=20.0, random_state=0, n_jobs=1))
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.8


WRONG = {
    "epsilon": [0.0, -1.0, "1", 1001.0, float("nan")],
    "delta": [0.0, 0.6, -1e-6],
    "mu": [0.0, -1.0, "1", 2e12, True],
    "schema": [{}, {0: Binary()}, "age", 3],
    "neighbors": ["substitute", None],
    "missing": ["keep", None, True],
    "n_jobs": [0, 1.5, -1],
    "verbose": [1, "yes", None],
    "random_state": [-1, 0.5, "seed"],
    "knots": [0, -1, 65, 2.5, True],
    "max_rows": [0, -1, 1.5, True, "2"],
    "max_weight": [0.0, -1.0, float("nan"), float("inf"), "2", True, 1e101],
}


@every
@pytest.mark.parametrize("name", WRONG)
def test_parameters_are_checked_in_fit(cls, name):
    if name == "knots" and cls is PrivateLinearRegression:
        pytest.skip("a line has none")
    X, y = uniform(60)
    unit = np.arange(60) if name == "max_rows" else None
    weight = np.ones(60) if name == "max_weight" else None
    for value in WRONG[name]:
        model = cls(**{name: value})
        with pytest.raises(ParameterError):
            model.fit(X, y, unit=unit, sample_weight=weight)
        assert set(vars(model)) == set(model.get_params())
        with pytest.raises(NotFittedError):
            model.predict(X)


@every
@pytest.mark.parametrize("related", [True, False])
def test_a_bar_goes_to_its_end_on_standard_error(cls, related, capsys):
    X, y = uniform(2000)
    if not related:
        y = np.random.default_rng(1).normal(size=2000)
    model = seeded(cls, X, y, epsilon=1.0, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    # One bar for all rounds, also those of a linear model that look for bends.
    rounds = sum(e.count for e in model.privacy_.events if e.statistic == "X'g")
    bars = [f"round {done}/{rounds}" for done in range(1, rounds + 1)]
    assert re.findall(r"round \d+/\d+", err) == bars
    assert rounds in ({9, 11} if cls is PrivateLinearRegression else {9})
    assert err.endswith("\n")
    # How many rows there are is not public.
    assert "reading" in err
    assert "000" not in err
    fewer = seeded(cls, X[:-1], y[:-1], epsilon=1.0, verbose=True)
    assert capsys.readouterr().err == err
    assert fewer.n_rounds_ == model.n_rounds_
    seeded(cls, X, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_reading_shows_the_same_however_many_batches_there_are(capsys, monkeypatch, seconds):
    """Standard error may be recorded. A turn for each batch would tell their number."""
    clock = itertools.count(step=seconds)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    shown = set()
    for batches in (1, 2, 3000):
        tell = Progress(show=True, name="fit").rows_read
        for batch in range(1, batches + 1):
            tell(1000 * batch)
        shown.add(capsys.readouterr().err)
    assert shown == {"\rfit reading rows"}


@every
def test_reading_many_batches_shows_no_more_than_reading_one(cls, capsys):
    X, y = uniform(2000)
    rows = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})
    shown = set()
    for size in (100, 2000):
        parts = [rows.slice(start, size) for start in range(0, len(rows), size)]
        scan = scan_batches(lambda parts=parts: parts, target="y")
        seeded(cls, scan, None, epsilon=1.0, verbose=True)
        shown.add(capsys.readouterr().err)
    assert len(shown) == 1


@every
def test_epsilon_and_mu_exclude_each_other(cls):
    with pytest.raises(ParameterError, match="must not both"):
        cls(epsilon=1.0, mu=1.0).fit(*uniform(60))


@every
def test_a_fit_that_fails_leaves_the_model_as_it_was(cls):
    X, y = uniform(500)
    model = seeded(cls, X, y)
    before = state(model)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y)
    assert state(model) == before
    with pytest.raises(ParameterError):
        model.set_params(neighbors="none").fit(*uniform(500))
    assert state(model) == before
