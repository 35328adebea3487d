"""Tables and fits that the tests of estimators without tuning share."""

import dataclasses
import pickle
import warnings

import numpy as np
import pytest

from dpfit import InsecureSeedWarning, PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.models.estimates import Estimates

CLASSES = [PrivateLinearRegression, PrivateAdditiveRegression]
every = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


def uniform(rows=3000, columns=3, seed=0):
    """Draw a table whose ranges are plain to see, and a target that is linear but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 3.0, size=(rows, columns))
    y = X @ np.arange(1.0, columns + 1.0) - 2.0 + 0.5 * rng.normal(size=rows)
    return X, y


def seeded(cls, X, y, *, seed=0, unit=None, **options):
    """Fit with noise that can be repeated."""
    options = {"n_jobs": 1, "epsilon": 20.0, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        return cls(random_state=seed, **options).fit(X, y, unit=unit)


def state(model, record=None, **fields):
    """Return everything that a fit has set, as bytes; with other fields, also of its record."""
    privacy = dataclasses.replace(model.privacy_, **record or {})
    value = dataclasses.replace(model.model_, privacy=privacy, **fields)
    found = {k: v for k, v in sorted(vars(model).items()) if k.endswith("_")}
    found |= {"model_": value, "privacy_": privacy}
    # Twice, so that it does not matter which strings were the same object.
    return pickle.dumps(pickle.loads(pickle.dumps(found)))


def unknown(size):
    """Return estimates of which nothing is known."""
    none = np.zeros((size, size))
    return Estimates(np.zeros(size), none, none, none, np.zeros(size, dtype=bool))


def r_squared(y, predictions):
    return 1.0 - float(np.mean(np.square(y - predictions)) / np.var(y))
