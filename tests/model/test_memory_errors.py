"""If memory is short, an error does not contain the number of rows."""

import numpy as np
import pytest

from dpfit import AdaSSP, PrivateAdditiveRegression, PrivateLinearRegression, TukeyEM
from dpfit.models.model import Model
from dpfit.release import Releaser

ROWS = 7919
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(ROWS, 2)), rng.normal(size=ROWS)
ESTIMATORS = [PrivateLinearRegression(), PrivateAdditiveRegression(), AdaSSP(), TukeyEM()]
every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


def too_large(*_, **__):
    """Fail as NumPy does, with the shape of an array of many columns."""
    np.zeros((ROWS, 2**40))


def check_says_nothing(error):
    assert error.__context__ is None
    assert error.__cause__ is None
    shown = " ".join([str(error), repr(error), repr(vars(error))])
    assert str(ROWS) not in shown


def test_the_error_of_numpy_contains_the_number_of_rows():
    with pytest.raises(MemoryError, match=str(ROWS)):
        too_large()


@every
@pytest.mark.parametrize("place", ["sum", "checks"])
def test_a_fit_that_needs_too_much_memory(estimator, place, monkeypatch):
    if place == "checks":
        monkeypatch.setattr("dpfit._validation.validate_data", too_large)
    else:
        monkeypatch.setattr(Releaser, "release", too_large)
        monkeypatch.setattr("dpfit.paper.tukey_em.release_tukey_point", too_large)
    with pytest.raises(MemoryError, match="not enough memory for this fit") as caught:
        estimator.fit(X, Y)
    check_says_nothing(caught.value)


@every
def test_predictions_that_need_too_much_memory(estimator, monkeypatch):
    model = estimator.fit(X, Y)
    monkeypatch.setattr("dpfit._validation.validate_data", too_large)
    with pytest.raises(MemoryError, match="not enough memory for these predictions") as caught:
        model.predict(X)
    check_says_nothing(caught.value)


def test_predictions_of_many_terms_that_need_too_much_memory(monkeypatch):
    model = PrivateLinearRegression().fit(X, Y)
    monkeypatch.setattr(Model, "predict", too_large)
    with pytest.raises(MemoryError, match="these predictions") as caught:
        model.predict(X)
    check_says_nothing(caught.value)


@pytest.mark.parametrize("place", ["sum", "checks"])
def test_an_evaluation_that_needs_too_much_memory(place, monkeypatch):
    model = PrivateLinearRegression(mu=1e3).fit(X, Y)
    if place == "checks":
        monkeypatch.setattr("dpfit._validation.validate_data", too_large)
    else:
        monkeypatch.setattr(Releaser, "release", too_large)
    with pytest.raises(MemoryError, match="not enough memory for this evaluation") as caught:
        model.evaluate(X, Y, epsilon=1.0)
    check_says_nothing(caught.value)
