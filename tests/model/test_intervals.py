"""Intervals of the slopes: their form, and how often they hold. Fits have seeds."""

import math

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit

from dpfit import Numeric, ParameterError, PrivateLinearRegression, Schema

from .tables import seeded, uniform

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")

SLOPES = np.array([1.0, 2.0, -1.0])


def draw(seed, rows=4000):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 3.0, size=(rows, 3))
    return X, X @ SLOPES + 2.0 + rng.normal(size=rows)


def fit(seed, rows=4000, epsilon=5.0, **options):
    X, y = draw(seed, rows)
    return seeded(PrivateLinearRegression, X, y, epsilon=epsilon, seed=seed, **options)


@pytest.mark.parametrize("rows", [50, 4000])
@pytest.mark.parametrize("inference", ["population", "sample"])
def test_form(rows, inference):
    model = fit(0, rows)
    interval = model.coef_interval(inference=inference)
    assert interval.shape == (4, 2)
    # Nothing is known of a slope if its column has no line, and of any if the model is a mean.
    known = np.isfinite(interval).all(axis=1)
    np.testing.assert_array_equal(known[:-1], np.isfinite(model.feature_range_).all(axis=1))
    assert known[:-1].any() == (model.status_ == "full")
    assert known.all() or rows == 50
    assert known[-1]
    interval, middle = interval[known], model.coef_estimates_[known]
    np.testing.assert_allclose(interval.mean(axis=1), middle, rtol=1e-12, atol=1e-12)
    assert (interval[:, 0] <= middle).all()
    assert (middle <= interval[:, 1]).all()


def test_half_widths_are_quantiles_of_the_normal_and_of_the_t_distribution():
    model = fit(1)
    found = model.model_.coefficients
    spread = np.diag(found.estimates.covariance(found.functions, "spread"))
    both = np.diag(model.coef_noise_ + model.coef_sampling_)
    for level in (0.1, 0.5, 0.95, 0.999):
        noise = model.coef_interval(level, inference="sample")
        expected = ndtri(0.5 + level / 2) * np.sqrt(np.diag(model.coef_noise_))
        np.testing.assert_allclose(np.diff(noise)[:, 0] / 2, expected, rtol=1e-9)
        # The variance of a t distribution's scale with so many degrees of freedom is as uncertain.
        freedom = np.maximum(2.0 * np.square(both / spread), 2.0)
        expected = stdtrit(freedom, 0.5 + level / 2) * np.sqrt(both)
        interval = model.coef_interval(level)
        np.testing.assert_allclose(np.diff(interval)[:, 0] / 2, expected, rtol=1e-9)
        assert (stdtrit(freedom, 0.5 + level / 2) > ndtri(0.5 + level / 2)).all()


def test_a_higher_level_and_a_sample_are_wider():
    model = fit(2)
    for inference in ("population", "sample"):
        widths = [
            np.diff(model.coef_interval(level, inference=inference))
            for level in (0.01, 0.5, 0.8, 0.95, 0.99, 1 - 1e-9)
        ]
        assert (np.diff(widths, axis=0) > 0.0).all()
    for level in (0.5, 0.95):
        noise = np.diff(model.coef_interval(level, inference="sample"))
        assert (np.diff(model.coef_interval(level)) > noise).all()
        assert (noise > 0.0).all()


def test_covariances_are_symmetric_and_positive():
    model = fit(3)
    for matrix in (model.coef_noise_, model.coef_sampling_):
        assert matrix.shape == (4, 4)
        np.testing.assert_allclose(matrix, matrix.T, rtol=1e-9)
        assert np.linalg.eigvalsh(matrix).min() > 0.0


def test_a_larger_budget_has_less_noise_and_the_same_sampling():
    """The released products of scores are noisy: single variances are off by up to four times."""
    ratios = []
    for seed in range(12):
        small, large = (fit(seed, epsilon=epsilon) for epsilon in (5.0, 50.0))
        ratio = np.diag(large.coef_noise_) / np.diag(small.coef_noise_)
        # It would be 0.03 if residuals were not clipped less, too.
        assert (ratio < 0.5).all()
        ratios.append(np.diag(large.coef_sampling_) / np.diag(small.coef_sampling_))
    # With a small budget, sampling errors are at least as large as what the noise can hide of them.
    mean = np.exp(np.mean(np.log(ratios), axis=0))
    assert (mean > 0.3).all()
    assert (mean < 1.3).all()


def test_sampling_is_that_of_least_squares():
    X, y = draw(5, 20_000)
    model = seeded(PrivateLinearRegression, X, y, epsilon=100.0)
    design = np.column_stack([np.clip(X, *model.feature_range_.T), np.ones(len(y))])
    expected = np.linalg.inv(design.T @ design) * np.mean((y - model.predict(X)) ** 2)
    ratio = np.sqrt(np.diag(model.coef_sampling_) / np.diag(expected))
    assert (ratio > 0.9).all()
    assert (ratio < 1.1).all()
    # From counts in bins that are sqrt(2) times as wide as the ones before.
    assert model.residual_variance_ == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95, "0.95", None, math.nan, True])
def test_levels_are_checked(level):
    with pytest.raises(ParameterError, match="level"):
        fit(0, 50).coef_interval(level)


def test_an_interval_is_of_the_record_and_costs_nothing():
    model = fit(6)
    before = model.privacy_
    first = model.coef_interval()
    np.testing.assert_array_equal(first, model.coef_interval())
    assert model.privacy_ is before


@pytest.mark.parametrize("public", [False, True])
def test_intervals_hold_about_as_often_as_they_say(public):
    """60 fits of 4,000 rows: of 240 intervals of 95 %, between 80 % and all."""
    schema = Schema(dict.fromkeys(range(3), Numeric(-1, 3)), target=Numeric(-10, 14))
    truth = np.append(SLOPES, 2.0)
    held, held_noise = [], []
    for seed in range(60):
        model = fit(seed, schema=schema if public else None)
        low, high = model.coef_interval().T
        held.append((low <= truth) & (truth <= high))
        # Without sampling: the slopes that least squares has on these rows, cut as the model cuts.
        X, y = draw(seed)
        design = np.column_stack([np.clip(X, *model.feature_range_.T), np.ones(len(y))])
        least = np.linalg.lstsq(design, y, rcond=None)[0]
        low, high = model.coef_interval(inference="sample").T
        held_noise.append((low <= least) & (least <= high))
    for found in (held, held_noise):
        assert 0.8 <= np.mean(found) <= 1.0
        assert np.mean(found, axis=0).min() >= 0.75


def test_intervals_of_half_do_not_always_hold():
    truth = np.append(SLOPES, 2.0)
    held = []
    for seed in range(40):
        low, high = fit(seed).coef_interval(0.5).T
        held.append((low <= truth) & (truth <= high))
    # Sampling errors are at least as large as what the noise can hide of them.
    assert 0.35 < np.mean(held) < 0.75


def test_a_fit_without_more_than_a_mean_has_an_interval_of_the_mean():
    X, y = uniform(30)
    schema = Schema(target=Numeric(-10, 20))
    model = seeded(PrivateLinearRegression, X, y, epsilon=0.5, schema=schema)
    assert model.residual_variance_ is None
    low, high = model.coef_interval()[-1]
    assert high - low > 0.0
