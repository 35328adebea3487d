"""With little data or a small budget: finite, and about as good as a mean or better.

Fits have seeds, so nothing here fails by chance.
"""

import math

import numpy as np
import pytest

from dpfit import Numeric, PrivateAdditiveRegression, PrivateLinearRegression, Schema
from dpfit.accounting import compose, gdp_mu

from .tables import every, r_squared, seeded, uniform

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")


def unrelated(rows, columns=5, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), scale * (3.0 + rng.normal(size=rows))


@every
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2, 50, 100, 300])
def test_few_rows_and_a_small_budget_are_a_mean(cls, rows, relation):
    X, y = unrelated(rows)
    for seed in range(3):
        model = seeded(cls, X, y, epsilon=0.1, neighbors=relation, seed=seed)
        predictions = model.predict(X * 10.0)
        assert np.isfinite(predictions).all()
        assert np.ptp(predictions) == 0.0
        assert predictions[0] == model.intercept_
        low, high = model.prediction_range_
        # Noise does not lead beyond what is predicted at all.
        assert low - 1e-6 * abs(low) <= model.intercept_ <= high + 1e-6 * abs(high)
        assert model.residual_variance_ is None
        assert model.n_rounds_ == 1
        assert model.n_rows_ >= 1.0
        spent = compose(*(event.mu for event in model.privacy_.events for _ in range(event.count)))
        assert gdp_mu(0.1, 1e-6) * (1 - 1e-12) <= spent <= gdp_mu(0.1, 1e-6)


def test_a_mean_has_no_slopes_and_an_interval():
    X, y = unrelated(100)
    schema = Schema(target=Numeric(-5.0, 10.0))
    model = seeded(PrivateLinearRegression, X, y, epsilon=0.1, schema=schema)
    assert not model.coef_.any()
    assert (model.feature_range_ == [-np.inf, np.inf]).all()
    interval = model.coef_interval()
    assert interval.shape == (6, 2)
    assert np.isnan(interval[:5]).all()
    assert model.status_ == "mean"
    low, high = interval[-1]
    assert low < model.intercept_ < high
    assert not model.coef_noise_[:5].any()
    assert model.coef_noise_[-1, -1] > 0.0


def test_an_interval_is_given_only_of_a_mean_that_was_seen():
    X, y = unrelated(300, scale=100.0)
    hidden = [seeded(PrivateLinearRegression, X, y, epsilon=0.01, seed=s) for s in range(200)]
    widths = [np.ptp(model.coef_interval()[-1]) for model in hidden]
    # One column of noise in 16 looks like something, at the first look or at the second.
    assert np.mean(np.isnan(widths)) > 0.9
    assert all(
        np.isinf(model.target_range_).all() == np.isnan(w)
        for model, w in zip(hidden, widths, strict=True)
    )
    X, y = unrelated(1500, scale=100.0)
    # The number of rows is public.
    options = {"epsilon": 0.1, "neighbors": "replace"}
    seen = [seeded(PrivateLinearRegression, X, y, seed=s, **options) for s in range(50)]
    ends = np.array([model.coef_interval()[-1] for model in seen])
    assert np.isfinite(ends).all()
    # The columns have mean zero, so that the intercept is the mean, with or without slopes.
    means = [np.clip(y, *model.target_range_).mean() for model in seen]
    assert np.mean((ends[:, 0] < means) & (means < ends[:, 1])) > 0.85
    # Public bounds are a place where the target lies.
    schema = Schema(target=Numeric(-1000.0, 1000.0))
    model = seeded(PrivateLinearRegression, X[:5], y[:5], epsilon=0.001, schema=schema)
    assert np.isfinite(model.coef_interval()[-1]).all()


def test_curves_of_a_mean_are_flat():
    X, y = unrelated(100)
    model = seeded(PrivateAdditiveRegression, X, y, epsilon=0.1)
    for column in range(5):
        x, height = model.curve(column)
        assert len(x) == len(height)
        assert not height.any()


@every
def test_the_mean_is_near_the_mean(cls):
    """Of 100 rows at epsilon 1, with public bounds: noise of 6 / 100 rows / mu = 0.27.

    Where slopes are tried they are made small, and predictions stay near the mean.
    """
    X, y = unrelated(100)
    schema = Schema(target=Numeric(-3, 9))
    found = [seeded(cls, X, y, epsilon=1.0, schema=schema, seed=seed) for seed in range(15)]
    distances = [model.predict(X).mean() - y.mean() for model in found]
    assert np.median(np.abs(distances)) < 0.5
    errors = [np.mean(np.square(y - model.predict(X))) / np.var(y) for model in found]
    assert np.median(errors) < 1.3
    # The noise that is claimed is the noise that there is: within a factor of two.
    if cls is PrivateLinearRegression:
        middle = np.append(X.mean(axis=0), 1.0)
        claimed = np.mean([middle @ model.coef_noise_ @ middle for model in found])
        assert 0.4 < math.sqrt(np.mean(np.square(distances)) / claimed) < 2.0


@every
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_features_that_have_nothing_to_say_are_not_listened_to(cls, scale):
    """2,000 rows at epsilon 1: the test error is at most a tenth above that of the mean."""
    errors = []
    for seed in range(9):
        X, y = unrelated(2000, seed=seed, scale=scale)
        model = seeded(cls, X, y, epsilon=1.0, seed=seed)
        other, held_out = unrelated(2000, seed=seed + 100, scale=scale)
        errors.append(np.mean(np.square(held_out - model.predict(other))) / np.var(held_out))
    assert np.median(errors) <= 1.1
    assert max(errors) < 2.0


@every
def test_more_data_is_a_better_model(cls):
    scores = []
    for rows in (100, 1000, 10_000, 100_000):
        X, y = uniform(rows)
        found = [r_squared(y, seeded(cls, X, y, epsilon=0.5, seed=s).predict(X)) for s in range(5)]
        scores.append(float(np.median(found)))
    assert scores == sorted(scores)
    assert scores[-1] > 0.95


@every
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 1000.0])
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_any_budget_with_any_number_of_rows_is_finite(cls, epsilon, rows):
    X, y = uniform(rows)
    for seed in range(3):
        model = seeded(cls, X, y, epsilon=epsilon, seed=seed)
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.predict(X * 1e300)).all()
        assert np.isfinite([model.intercept_, model.n_rows_]).all()
        assert model.target_range_[0] < model.target_range_[1]


@every
def test_more_columns_than_rows(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 30))
    y = X[:, 0] + rng.normal(size=20)
    for epsilon in (1.0, 1000.0):
        options = {"knots": 1} if cls is PrivateAdditiveRegression else {}
        model = seeded(cls, X, y, epsilon=epsilon, **options)
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.feature_range_).all() == (epsilon > 1.0)


@every
@pytest.mark.parametrize("related", [False, True])
def test_between_a_mean_and_slopes_there_is_no_cliff(cls, related):
    """Rows from few to many at epsilon 1: errors are near that of the mean or far below it.

    In 60 rows, the noise often hides where the target lies. Then the model says so, and what it
    predicts is a guess, which is mostly zero.
    """
    for rows in (60, 120, 250, 500, 1000):
        X, y = uniform(rows) if related else unrelated(rows)
        X = 1e6 * X
        errors, seen = [], []
        for seed in range(60 if rows == 60 else 15):
            model = seeded(cls, X, y, epsilon=1.0, seed=seed)
            errors.append(1.0 - r_squared(y, model.predict(X)))
            seen.append(model.status_ != "nothing")
            has_slopes = np.isfinite(model.feature_range_).any()
            assert has_slopes == (model.residual_variance_ is not None)
            assert model.status_ != "full" or has_slopes
        assert np.isfinite(errors).all()
        assert np.median(np.array(errors)[seen]) < (1.6 if rows < 250 else 1.25)
        assert np.mean(seen) >= (0.05 if rows == 60 else 0.6 if rows == 120 else 1.0)
        if np.mean(seen) > 0.9:
            assert np.median(errors) < (1.6 if rows < 250 else 1.25)
        assert np.median(errors) < 3.0
        if related and rows == 1000:
            assert np.median(errors) < 0.6


@every
def test_the_same_column_twice(cls):
    X, y = uniform(5000)
    twice = np.column_stack([X, X])
    model = seeded(cls, twice, y, epsilon=5.0)
    assert r_squared(y, model.predict(twice)) > 0.9
