"""Columns and targets of every kind and size, without a word about them.

The model is compared with least squares on the same columns cut at 1 % and 99 %: it may explain
less of the target's variance, but not much less, with 20,000 rows and epsilon 5. Fits have seeds,
so nothing here fails by chance.
"""

import math

import numpy as np
import pytest

from dpfit import PrivateAdditiveRegression

from .tables import every, r_squared, seeded

ROWS = 20_000


def signed(rng, values):
    return rng.choice([-1.0, 1.0], size=len(values)) * values


# Each from normal and from uniform numbers.
SEEN = {
    "uniform": lambda rng, z, u: u,
    "normal": lambda rng, z, u: z,
    "zero-inflated": lambda rng, z, u: np.where(u < 0.7, 0.0, np.exp(z)),
    "nearly always zero": lambda rng, z, u: np.where(u < 0.95, 0.0, 1.0 + np.abs(z)),
    "lognormal": lambda rng, z, u: np.exp(z),
    "very skew": lambda rng, z, u: np.exp(2.0 * z),
    "Cauchy": lambda rng, z, u: rng.standard_cauchy(len(z)),
    "integers": lambda rng, z, u: np.floor(20.0 * u),
    "two values": lambda rng, z, u: np.where(u < 0.3, 5.0, 2.0),
    "zeros and ones": lambda rng, z, u: (u < 0.1) * 1.0,
    "seconds since 1970": lambda rng, z, u: 1e9 + 1e5 * z,
    "days since year 1": lambda rng, z, u: np.round(737_000.0 + 2000.0 * z),
    "days before": lambda rng, z, u: -737_000.0 + 4000.0 * u,
    "narrow and far away": lambda rng, z, u: 1e7 + u,
    "large": lambda rng, z, u: 1e12 * z,
    "small": lambda rng, z, u: 1e-12 * z,
    "at the end of the powers": lambda rng, z, u: 1e14 * u,
    "negative": lambda rng, z, u: -np.exp(z),
    "of two signs and no zero": lambda rng, z, u: signed(rng, 5.0 + u),
    "one outlier": lambda rng, z, u: np.where(np.arange(len(z)) == 7, 1e300, z),
}
# Nothing can be learned of these, or only that they exist.
UNSEEN = {
    "constant": lambda rng, z, u: np.full(len(z), 7.0),
    "a large constant": lambda rng, z, u: np.full(len(z), -1e9 - 0.5),
    "zero": lambda rng, z, u: np.zeros(len(z)),
    "zero but for one": lambda rng, z, u: (np.arange(len(z)) == 7) * 1e5,
    "huge": lambda rng, z, u: 1e200 * z,
    "as large as can be": lambda rng, z, u: np.where(u < 0.5, 1.7e308, -1.7e308),
    "subnormal": lambda rng, z, u: 5e-324 * np.floor(2.0**40 * u),
}


def columns(make, seed=0):
    """Return a column of a kind, an ordinary one, and a target to which either adds."""
    rng = np.random.default_rng(seed)
    z, u = rng.normal(size=ROWS), rng.uniform(size=ROWS)
    column, other, errors = make(rng, z, u), rng.normal(size=ROWS), rng.normal(size=ROWS)
    cut = np.clip(column, *np.quantile(column, [0.01, 0.99]))
    size = max(float(np.abs(cut).max()), 1e-300)
    standard = cut / size - np.mean(cut / size)
    standard = standard / max(float(standard.std()), 1e-12)
    return column, standard, other, standard + 0.5 * other + 0.5 * errors


def explained(y, *features):
    """Return the share of the variance that least squares explains."""
    design = np.column_stack([*features, np.ones(len(y))])
    return r_squared(y, design @ np.linalg.lstsq(design, y, rcond=None)[0])


def check_finite(model, rows):
    if not np.isfinite(model.target_range_).all():
        # Nothing but zeros is found.
        assert not model.predict(rows).any()
        return
    low, high = model.feature_range_.T
    assert (low < high).all()
    # A column that seems to be constant has no slope and no end.
    np.testing.assert_array_equal(np.isfinite(low), np.isfinite(high))
    if hasattr(model, "coef_"):
        assert not model.coef_[~np.isfinite(low)].any()
    assert np.isfinite(model.intercept_)
    assert model.status_ == "mean" or np.isfinite(model.residual_variance_)
    # scikit-learn adds all numbers up before it looks at each.
    with np.errstate(invalid="ignore"):
        assert np.isfinite(model.predict(rows)).all()
    if hasattr(model, "coef_"):
        assert np.isfinite(model.coef_).all()
        interval = model.coef_interval()
        assert np.isfinite(interval[-1]).all()
        assert not np.isinf(interval).any()


@every
@pytest.mark.parametrize("kind", SEEN)
def test_a_signal_is_found_in_a_column_of_any_kind(cls, kind):
    column, standard, other, y = columns(SEEN[kind])
    X = np.column_stack([column, other])
    model = seeded(cls, X, y, epsilon=5.0)
    check_finite(model, X)
    assert r_squared(y, model.predict(X)) > explained(y, standard, other) - 0.1
    assert explained(y, standard, other) > 0.8


@every
@pytest.mark.parametrize("kind", UNSEEN)
def test_a_column_without_information_does_no_harm(cls, kind):
    column, _, other, _ = columns(UNSEEN[kind])
    y = other + 0.5 * np.random.default_rng(1).normal(size=ROWS)
    X = np.column_stack([column, other])
    model = seeded(cls, X, y, epsilon=5.0)
    check_finite(model, X)
    with np.errstate(invalid="ignore"):
        assert r_squared(y, model.predict(X)) > explained(y, other) - 0.05


TARGETS = {
    "zeros and ones": lambda s: (s > 0.0) * 1.0,
    "dates": lambda s: 1e9 + 1e5 * s,
    "days": lambda s: np.round(-737_000.0 + 2000.0 * s),
    "large": lambda s: 1e12 * s,
    "small": lambda s: 1e-12 * s,
    "negative": lambda s: -np.exp(s / 2.0),
    "integers": lambda s: np.round(3.0 * s),
    "one outlier": lambda s: np.where(np.arange(len(s)) == 7, -1e300, s),
}
HOPELESS = {
    "constant": lambda s: np.full(len(s), 7.0),
    "zero": np.zeros_like,
    "a large constant": lambda s: np.full(len(s), -1e9 - 0.5),
    "huge": lambda s: 1e200 * s,
    "subnormal": lambda s: 5e-324 * np.round(1e6 * s),
    "nearly always zero": lambda s: np.where(s < 4.0, 0.0, 1e6),
}


def signal(seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=ROWS), rng.uniform(size=ROWS)])
    return X, X @ [1.0, 1.0] + 0.3 * rng.normal(size=ROWS)


@every
@pytest.mark.parametrize("kind", TARGETS)
def test_a_signal_is_found_in_a_target_of_any_kind(cls, kind):
    X, s = signal()
    y = TARGETS[kind](s)
    model = seeded(cls, X, y, epsilon=5.0)
    check_finite(model, X)
    kept = np.abs(y) < 1e299
    assert r_squared(y[kept], model.predict(X)[kept]) > explained(y[kept], X[kept]) - 0.1


@every
@pytest.mark.parametrize("kind", HOPELESS)
@pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")  # nothing but zeros is found
def test_any_target_has_a_finite_model(cls, kind):
    X, s = signal()
    check_finite(seeded(cls, X, HOPELESS[kind](s), epsilon=5.0), X)


@every
@pytest.mark.parametrize("value", [7.0, -1e9 - 0.5, 1e-7])
def test_a_constant_target_is_predicted(cls, value):
    X, _ = signal()
    predictions = seeded(cls, X, np.full(ROWS, value), epsilon=5.0).predict(X)
    np.testing.assert_allclose(predictions, value, rtol=1e-4)


@every
def test_many_columns_of_every_kind_at_once(cls):
    rng = np.random.default_rng(3)
    X = np.column_stack(
        [
            make(rng, rng.normal(size=ROWS), rng.uniform(size=ROWS))
            for make in (*SEEN.values(), *UNSEEN.values())
        ]
    )
    y = 2.0 * X[:, 1] + rng.normal(size=ROWS)
    options = {"knots": 1} if cls is PrivateAdditiveRegression else {}
    model = seeded(cls, X, y, epsilon=5.0, **options)
    check_finite(model, X)
    with np.errstate(invalid="ignore"):
        assert r_squared(y, model.predict(X)) > explained(y, X[:, 1]) - 0.1


@every
@pytest.mark.parametrize("power", [-300, -20, 20, 300])
@pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")  # nothing but zeros is found
def test_any_size_of_everything_is_finite(cls, power):
    X, s = signal()
    model = seeded(cls, X * 10.0**power, s * 10.0**power, epsilon=5.0)
    check_finite(model, X * 10.0**power)
    # Beyond the powers of two that are looked at, predictions are of the size of their ends.
    assert np.abs(model.predict(X)).max() < 1e3 * max(2.0**50, 1.0)
    assert math.isfinite(model.n_rows_)
