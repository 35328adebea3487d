"""How much a model explains, where noise hides nearly everything."""

import numpy as np
import pytest

from dpfit import PrivateAdditiveRegression
from dpfit.engine.explained import _mean_prediction
from dpfit.engine.whitening import Coordinates


def test_the_mean_prediction_is_a_number_if_the_noise_hides_all_of_gram():
    assert _mean_prediction(np.zeros(3), np.array([0.3, 0.0, 0.0])) == 0.0


def test_the_mean_prediction_is_a_weighted_sum_of_coefficients():
    moments = np.array([0.5, 0.1])
    assert _mean_prediction(moments, np.array([1.0, 2.0])) == pytest.approx(0.7 / 0.5)
    assert _mean_prediction(1e-300 * moments, np.array([1e6, -1e6])) == 2.0


@pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")
def test_a_fit_does_not_fail_after_its_budget_is_spent_if_gram_is_hidden(monkeypatch):
    monkeypatch.setattr(Coordinates, "moments_with", lambda self, given: np.zeros_like(given))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    model = PrivateAdditiveRegression(mu=30.0).fit(X, X[:, 0] + rng.normal(size=2000))
    assert model.r_squared_ is None
