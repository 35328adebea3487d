"""A fitted model is one immutable value, and the estimator's attributes are views of it."""

import dataclasses
import json
import pickle

import numpy as np
import pytest

from dpfit import (
    Categorical,
    InsecureSeedWarning,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)
from dpfit.models.effects import Curve, Levels, Line, NoEffect, effect_from_dict
from dpfit.models.estimates import Estimates
from dpfit.models.model import Model

from .tables import every, seeded

X = np.array([-np.inf, -2.0, 0.0, 0.25, 1.0, 9.0, np.inf])
EFFECTS = {
    NoEffect(): [0.0] * 7,
    Line(-1.0, 2.0, 3.0, 0.5): [-3.0, -3.0, 0.0, 0.75, 3.0, 6.0, 6.0],
    Curve((0.0, 0.5, 1.0), (1.0, 2.0, -1.0), ((1.0, 0.0, 2.0),), 1): [
        1.0,
        1.0,
        1.0,
        1.5,
        -1.0,
        -1.0,
        -1.0,
    ],
}


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: type(effect).__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_effect_of_numbers(effect, dtype):
    found = effect(X.astype(dtype))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, EFFECTS[effect])
    assert effect_from_dict(json.loads(json.dumps(effect.to_dict()))) == effect
    with pytest.raises(dataclasses.FrozenInstanceError):
        effect.slope = 1.0


@pytest.mark.parametrize("dtype", [np.float64, np.int8])
def test_an_effect_of_levels(dtype):
    effect = Levels(("inf", "b"), (0.5, -0.5), (True, False), (0.5, 0.5))
    np.testing.assert_array_equal(
        effect(np.array([1, 0, -1, 0], dtype=dtype)), [-0.5, 0.5, 0.0, 0.5]
    )
    assert effect(np.array([np.nan]))[0] == 0.0
    np.testing.assert_array_equal(
        effect.design(np.array([1, 0, -1], dtype=dtype)), [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    )
    assert effect_from_dict(json.loads(json.dumps(effect.to_dict()))) == effect


@pytest.mark.parametrize(
    "make",
    [
        lambda: Curve((0.0,), (1.0,)),
        lambda: Curve((0.0, 1.0), (1.0,)),
        lambda: Curve((0.0, 1.0), (1.0, 1.0), ((1.0,),)),
        lambda: Levels(("a", "b"), (1.0,), (True, True), (0.5, 0.5)),
        lambda: Levels(("a", "b"), (1.0, 2.0), (True, True), (0.5,)),
        lambda: Estimates(np.ones(2), np.eye(2), np.eye(3), np.eye(2), np.ones(2)),
        lambda: Estimates(np.ones((2, 1)), np.eye(2), np.eye(2), np.eye(2), np.ones(2)),
        lambda: Estimates(np.ones(2), np.eye(2), np.eye(2), np.eye(2), np.ones(3)),
    ],
)
def test_parts_of_different_lengths(make):
    with pytest.raises(ValueError, match=r"needs|same parameters"):
        make()


def fitted(cls):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 4000)
    rows = np.column_stack([rng.normal(size=(4000, 2)), codes, np.ones(4000)])
    schema = Schema({2: Categorical([0, 1, 7])})
    return seeded(cls, rows, rows[:, 0] + (codes == 1), schema=schema), rows


@every
def test_a_model_cannot_be_changed(cls):
    model, _ = fitted(cls)
    value = model.model_
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.intercept = 0.0
    if cls is PrivateLinearRegression:
        with pytest.warns(InsecureSeedWarning):
            unpickled = pickle.loads(pickle.dumps(model))
        for copied in (model, unpickled):
            parts = copied.model_.estimates
            for array in (copied.coef_noise_, copied.coef_sampling_, parts.values, parts.noise):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 0.0
    model.feature_range_[:] = 0.0
    assert model.feature_range_.any()
    with pytest.raises(AttributeError):
        model.intercept_ = 0.0
    assert Model.from_dict(json.loads(json.dumps(value.to_dict()))) == value


@every
def test_the_value_is_all_that_predictions_need(cls):
    model, rows = fitted(cls)
    columns = list(rows.T)
    # Levels are given by their position.
    columns[2] = np.select([rows[:, 2] == 0, rows[:, 2] == 1], [0, 1], -1)
    again = pickle.loads(pickle.dumps(model.model_))
    np.testing.assert_array_equal(again.predict(columns), model.predict(rows))
    assert [type(effect).__name__ for effect in again.effects] == [
        *(["Line" if cls is PrivateLinearRegression else "Curve"] * 2),
        "Levels",
        "NoEffect",
    ]
    # The third has no rows, and noise may look like some.
    assert again.effects[2].seen[:2] == (True, True)
    model.set_params(missing="drop", epsilon=9.0)
    assert model.model_ == again


def test_coefficients_are_of_linear_models_only():
    model, _ = fitted(PrivateAdditiveRegression)
    assert not hasattr(model, "coef_")
    with pytest.raises(TypeError, match="linear"):
        _ = model.model_.coefficients
