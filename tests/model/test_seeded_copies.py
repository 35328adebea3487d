"""Whoever receives a seeded model is warned, also inside an ensemble."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpfit import AdaSSP, InsecureSeedWarning, PrivateAdditiveRegression, PrivateLinearRegression

from .tables import uniform

X, Y = uniform(400)
every = pytest.mark.parametrize(
    "cls", [PrivateLinearRegression, PrivateAdditiveRegression, AdaSSP], ids=lambda c: c.__name__
)


def fitted(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        return model.fit(X, Y)


@every
def test_a_seeded_model_warns_when_it_is_read(cls, tmp_path):
    model = fitted(cls(random_state=0))
    data = pickle.dumps(model)
    with pytest.warns(InsecureSeedWarning, match=f"this {cls.__name__} was fitted with a fixed"):
        pickle.loads(data)
    with pytest.warns(InsecureSeedWarning):
        copy.deepcopy(model)
    joblib.dump(make_pipeline(StandardScaler(), model), tmp_path / "model")
    with pytest.warns(InsecureSeedWarning):
        joblib.load(tmp_path / "model")


@every
def test_an_ordinary_model_does_not_warn(cls):
    model = cls().fit(X, Y)
    assert pickle.loads(pickle.dumps(model)).privacy_ == model.privacy_
    # Not fitted: nothing has been released.
    pickle.loads(pickle.dumps(cls(random_state=0)))
    clone(fitted(cls(random_state=0)))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_ensemble_that_seeds_its_members_warns_whoever_gets_it(n_jobs):
    """`BaggingRegressor` gives each member a seed of its own, from a generator of NumPy's."""
    with pytest.warns(InsecureSeedWarning):
        ensemble = BaggingRegressor(PrivateLinearRegression(max_weight=4.0), 2, n_jobs=n_jobs).fit(
            X, Y
        )
    assert all(member.privacy_.insecure_seed for member in ensemble.estimators_)
    data = pickle.dumps(ensemble)
    with pytest.warns(InsecureSeedWarning, match="not private") as found:
        received = pickle.loads(data)
    assert len(found) >= 1
    np.testing.assert_array_equal(received.predict(X[:5]), ensemble.predict(X[:5]))
