"""The paper's estimators as objects: clones, files, pipelines, predictions, what they hold."""

import copy
import gc
import io
import pickle
import types

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpfit import BoostedAdaSSP, BoostedMean

from .estimators import LINEAR, every, named, small, table

# ------------------------------------------------------------------------------- as an object


@every
def test_clone_and_parameters(cls):
    estimator = small(cls, epsilon=0.7, neighbors="replace")
    twin = clone(estimator)
    assert twin.get_params() == estimator.get_params()
    assert clone(small(cls).fit(*table())).__sklearn_is_fitted__() is False
    assert twin.set_params(epsilon=0.2) is twin
    assert twin.epsilon == 0.2
    with pytest.raises(ValueError, match="nonsense"):
        twin.set_params(nonsense=1)


@every
def test_unfitted_models_say_so(cls):
    with pytest.raises(NotFittedError):
        small(cls).predict(table()[0])


@every
def test_files_hold_the_whole_model(cls, tmp_path):
    X, y = table()
    model = small(cls, fit_intercept=True) if cls in LINEAR else small(cls)
    model.fit(X, y)
    joblib.dump(model, tmp_path / "model")
    copies = [
        *(pickle.loads(pickle.dumps(model, protocol)) for protocol in range(2, 6)),
        joblib.load(tmp_path / "model"),
        copy.deepcopy(model),
    ]
    for twin in copies:
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))
        assert twin.privacy_ == model.privacy_
        assert twin.get_params() == model.get_params()


@every
def test_pandas_names_are_kept_and_checked(cls):
    X, y = table()
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    model = small(cls).fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["age", "height", "weight"]
    assert model.n_features_in_ == 3
    model.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["height", "age", "weight"]])
    with pytest.raises(ValueError, match="feature"):
        model.predict(frame[["age", "height"]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@every
def test_pipelines_and_cross_validation(cls):
    X, y = table()
    pipeline = make_pipeline(FunctionTransformer(np.tanh), small(cls))
    scores = cross_val_score(pipeline, X, y, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    model = pipeline.fit(X, y)[-1]
    assert model.privacy_.epsilon == 1.0
    assert np.isfinite(pipeline.score(X, y))


@every
def test_a_grid_search_fits_every_candidate(cls):
    X, y = table()
    search = GridSearchCV(small(cls), {"epsilon": [0.5, 2.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.privacy_.epsilon == search.best_params_["epsilon"]


@pytest.mark.parametrize("cls", LINEAR, ids=named)
def test_score_is_that_of_predict(cls):
    X, y = table(rows=2000)
    model = small(cls, epsilon=100.0).fit(X, y)
    rest = y - model.predict(X)
    assert model.score(X, y) == pytest.approx(1 - (rest @ rest) / np.sum((y - y.mean()) ** 2))


@every
@pytest.mark.filterwarnings("ignore:Unknown section Privacy")  # see the test below
def test_repr_shows_parameters_and_no_data(cls):
    X = np.full((30, 2), 8.7654321)
    y = np.full(30, 3.1234567)
    model = small(cls, epsilon=0.5).fit(X, y)
    # Of a record, too: it holds parameters and claims.
    for text in (repr(model), str(model), model._repr_html_(), repr(model.privacy_)):
        assert "8.765" not in text
        assert "3.1234" not in text
        assert "30 rows" not in text
    assert repr(model).startswith(f"{cls.__name__}(epsilon=0.5")


@every
def test_a_notebook_shows_it_without_a_warning(cls):
    """scikit-learn reads the docstring for this, and warns about sections that it does not know."""
    # Texts that it has read it remembers; this one it has not seen.
    fresh = type("Fresh", (cls,), {"__doc__": f"Fresh. {cls.__doc__}"})
    assert "Fresh" in fresh()._repr_html_()


# ------------------------------------------------------------------------------------- predictions


def trained(**options):
    X, y = table(rows=500)
    return BoostedAdaSSP(mu=1e12, n_rounds=20, **options).fit(X, y)


def test_predict_clips_rows_as_fit_does():
    model = trained(x_bound=0.5)
    row = np.array([[3.0, -4.0, 12.0]])
    assert model.predict(row) == pytest.approx(row @ model.coef_ * (0.5 / 13.0))
    assert model.predict(row / 100.0) == pytest.approx(row / 100.0 @ model.coef_)
    model.set_params(clip_predictions=False)
    assert model.predict(row) == pytest.approx(row @ model.coef_)


def test_predict_adds_the_intercept_after_clipping():
    model = trained(fit_intercept=True)
    assert model.predict(np.zeros((1, 3))) == pytest.approx([model.intercept_])
    far = model.predict([[1e6, 0.0, 0.0]])
    assert far == pytest.approx([model.coef_[0] + model.intercept_])


@pytest.mark.parametrize("size", [1e100, 1e160, 1e200, 1.7e308])
def test_rows_of_any_size_are_predicted_along_their_direction(size):
    """As in the fit, in which a row this long is one of norm x_bound. Warnings are errors."""
    model = trained()
    direction = np.array([[0.6, 0.0, -0.8]])
    assert model.predict(direction * size) == pytest.approx(direction @ model.coef_, rel=1e-9)


def test_a_fitted_model_does_not_follow_its_parameters():
    """Rows are clipped as they were in the fit, whatever a later set_params says."""
    model = trained(x_bound=0.5)
    row = np.array([[3.0, -4.0, 12.0]])
    before = model.predict(row)
    model.set_params(x_bound=5.0)
    assert model.predict(row) == pytest.approx(before)


# ------------------------------------------------------------------------------ what a model holds

ROWS = 7919  # a number of rows that does not come about otherwise


def reachable(model):
    """Return every object that can be reached from a model, classes and modules left out."""
    skipped = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    found, todo = {}, [vars(model)]
    while todo:
        item = todo.pop()
        if id(item) in found or isinstance(item, skipped):
            continue
        found[id(item)] = item
        todo += gc.get_referents(item)
        if isinstance(item, np.ndarray) and item.base is not None:
            todo.append(item.base)
    return list(found.values())


@every
def test_a_model_keeps_no_row_and_no_count(cls):
    X, y = table(rows=ROWS)
    model = small(cls).fit(X, y)
    for item in reachable(model):
        if isinstance(item, np.ndarray):
            assert item.size <= X.shape[1] + 1
            assert not np.shares_memory(item, X)
            assert not np.shares_memory(item, y)
        if isinstance(item, (int, float, np.number)):
            assert item not in (ROWS, ROWS - 1)
        if isinstance(item, (list, tuple, dict, set, str, bytes)):
            assert len(item) < 1000
        assert not type(item).__module__.startswith("dpfit._native")
    assert len(pickle.dumps(model)) < 5000


@every
def test_a_models_size_says_nothing_about_its_table(cls):
    sizes = {
        len(pickle.dumps(small(cls, epsilon=1e-3, delta=1e-9).fit(*table(rows=rows)), protocol=5))
        for rows in (1, 50, 3000)
    }
    assert len(sizes) == 1


@every
def test_arrays_given_are_not_changed(cls):
    X, y = table()
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    small(cls).fit(X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@every
def test_attributes_are_those_documented(cls):
    model = small(cls).fit(*table())
    found = {name for name in vars(model) if name.endswith("_")}
    expected = {"privacy_", "n_features_in_"}
    expected |= {"mean_"} if cls is BoostedMean else {"coef_", "intercept_"}
    assert expected <= found
    for name in found:
        assert name in cls.__doc__ or name in BoostedAdaSSP.__doc__


@every
@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
def test_other_types_of_numbers_fit(cls, dtype):
    X = np.random.default_rng(0).integers(0, 2, size=(40, 2)).astype(dtype)
    model = small(cls).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X)).all()


@every
def test_lists_and_files_of_numbers_fit(cls):
    text = io.StringIO("0.1,0.2,1\n0.3,0.1,2\n0.2,0.2,1.5\n")
    rows = np.loadtxt(text, delimiter=",")
    model = small(cls).fit(rows[:, :2].tolist(), rows[:, 2].tolist())
    assert model.predict([[0.1, 0.2]]).shape == (1,)
