"""The paper's estimators, quick fits and a table that their tests share."""

import pickle

import numpy as np
import pytest

from dpfit import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, TukeyEM

GAUSSIAN = [BoostedAdaSSP, AdaSSP, DPGradientDescent, BoostedMean]
LINEAR = [BoostedAdaSSP, AdaSSP, DPGradientDescent, TukeyEM]
EVERY = [*GAUSSIAN, TukeyEM]
ROUNDS = [BoostedAdaSSP, DPGradientDescent, BoostedMean]


def named(cls):
    return cls.__name__


every = pytest.mark.parametrize("cls", EVERY, ids=named)
gaussian = pytest.mark.parametrize("cls", GAUSSIAN, ids=named)
with_rounds = pytest.mark.parametrize("cls", ROUNDS, ids=named)


def small(cls, **options):
    """Return an estimator that is quick to fit."""
    if cls is TukeyEM:
        options = {"n_models": 10, **options}
    if cls in ROUNDS:
        options = {"n_rounds": 5, **options}
    return cls(**options)


def table(rows=60, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * 0.4
    return X, X @ np.arange(1.0, columns + 1) + 0.1 * rng.normal(size=rows)


def fitted_state(model):
    """Return everything that a fit has set, as bytes."""
    return pickle.dumps({k: v for k, v in sorted(vars(model).items()) if k.endswith("_")})
