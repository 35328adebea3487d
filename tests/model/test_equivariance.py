"""Other units, another order, another layout: the same model.

Powers of two change no digit of a double, so a table in units of 2^k leads, with the same seed, to
exactly the same ranges in these units. The model is close, as after a shift.
"""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpfit.engine.ranges.find
from dpfit import Numeric, PrivateAdditiveRegression, PrivateLinearRegression, Schema

from .tables import every, r_squared, seeded, state, uniform

quick = settings(max_examples=12, deadline=None)
powers = st.integers(-30, 30)
budgets = st.sampled_from([10.0, 20.0, 50.0])
seeds = st.integers(0, 2**32)


def scaled(model, columns, target):
    """Return what the model is where columns and target are multiplied by powers of two."""
    columns, target = 2.0 ** np.array(columns), 2.0**target
    low, high = model.target_range_
    found = {
        "ranges": model.feature_range_ * columns[:, None],
        "intercept": model.intercept_ * target,
        "target": (low * target, high * target),
        "residuals": model.residual_variance_ * target**2,
        "rows": model.n_rows_,
    }
    if isinstance(model, PrivateLinearRegression):
        units = np.append(target / columns, target)
        found["coefficients"] = model.coef_ * target / columns
        found["noise"] = model.coef_noise_ * np.outer(units, units)
        found["sampling"] = model.coef_sampling_ * np.outer(units, units)
    else:
        for place, unit in enumerate(columns):
            x, height = model.curve(place)
            found[f"curve {place}"] = np.array([x * unit, height * target])
    return found


def first_ranges(cls, X, y, **options):
    """Fit; return the model and the ranges that were decided on by powers of two."""
    found = []

    def decide(*arguments):
        found.append(original(*arguments))
        return found[-1]

    original = dpfit.engine.ranges.find.locate
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpfit.engine.ranges.find, "locate", decide)
        model = seeded(cls, X, y, **options)
    return model, np.array([[low, high] for low, high, _ in found])


@every
@quick
@given(st.integers(0, 3), powers, budgets, seeds)
def test_units_of_powers_of_two_change_nothing_but_units(cls, place, power, epsilon, seed):
    """As long as noise has not decided otherwise: it may make a range wider by a power of two."""
    X, y = uniform(seed=seed)
    powers = np.zeros(4, dtype=int)
    powers[place] = power
    *columns, target = powers
    units = 2.0 ** np.array(columns)
    model, ranges = first_ranges(cls, X, y, epsilon=epsilon, seed=seed)
    other, others = first_ranges(cls, X * units, y * 2.0**target, epsilon=epsilon, seed=seed)
    assume(np.array_equal(others, ranges * 2.0 ** powers[:, None]))
    expected, found = scaled(model, columns, target), scaled(other, [0, 0, 0], 0)
    for name in expected:
        if name in ("ranges", "target", "rows"):
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
        else:
            # Other digits of X'X may turn its axes, and with them the noise.
            size = np.abs(expected[name]).max()
            np.testing.assert_allclose(found[name], expected[name], atol=0.1 * size, err_msg=name)
    np.testing.assert_array_equal(other.predict(X * units), model.predict(X) * 2.0**target)
    assert [(e.statistic, e.mu, e.count) for e in other.privacy_.events] == [
        (e.statistic, e.mu, e.count) for e in model.privacy_.events
    ]


@every
@quick
@given(st.lists(powers, min_size=3, max_size=3), powers, budgets, seeds)
def test_public_bounds_in_other_units(cls, columns, target, epsilon, seed):
    X, y = uniform(seed=seed)
    units, unit = 2.0 ** np.array(columns), 2.0**target
    bounds = [Numeric(-u, 3 * u) for u in units]
    model, other = (
        seeded(cls, X * u, y * v, epsilon=epsilon, seed=seed, schema=schema)
        for u, v, schema in (
            (1.0, 1.0, Schema(dict.fromkeys(range(3), Numeric(-1, 3)), target=Numeric(-9, 17))),
            (units, unit, Schema(dict(enumerate(bounds)), target=Numeric(-9 * unit, 17 * unit))),
        )
    )
    expected, found = scaled(model, columns, target), scaled(other, [0, 0, 0], 0)
    for name in expected:
        size = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name], expected[name], atol=0.1 * size, err_msg=name)


@every
@quick
@given(st.integers(1, 3), budgets, seeds)
def test_the_mirror_image_of_the_target(cls, columns, epsilon, seed):
    """The negative of a target has the negative model, but for noise."""
    X, y = uniform(columns=columns)
    model, other = (seeded(cls, X, sign * y, epsilon=epsilon, seed=seed) for sign in (1.0, -1.0))
    spread = y.std()
    assert np.abs(model.predict(X) + other.predict(X)).max() < 0.5 * spread
    assert r_squared(y, -other.predict(X)) == pytest.approx(
        r_squared(y, model.predict(X)), abs=0.02
    )


@every
@quick
@given(st.randoms(use_true_random=False), budgets, st.sampled_from([7, 60, 1111]))
def test_the_order_of_rows_does_not_matter(cls, random, epsilon, rows):
    X, y = uniform(rows)
    order = list(range(rows))
    random.shuffle(order)
    model = seeded(cls, X, y, epsilon=epsilon)
    assert state(seeded(cls, X[order], y[order], epsilon=epsilon)) == state(model)


@every
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_layout_and_type_and_threads_do_not_matter(cls, missing):
    X, y = uniform()
    # Numbers that single precision has, too.
    X, y = X.astype(np.float32).astype(np.float64), y.astype(np.float32).astype(np.float64)
    model = state(seeded(cls, X, y, missing=missing))
    wide = np.zeros((len(X), 6))
    wide[:, ::2] = X
    others = {
        "columns first": np.asfortranarray(X),
        "single precision": X.astype(np.float32),
        "single precision, columns first": np.asfortranarray(X.astype(np.float32)),
        "every other column": wide[:, ::2],
        "backwards": np.ascontiguousarray(X[::-1])[::-1],
        "lists": X.tolist(),
        "objects": X.astype(object),
    }
    for name, other in others.items():
        assert state(seeded(cls, other, y, missing=missing)) == model, name
    assert state(seeded(cls, X, y.astype(np.float32), missing=missing)) == model
    assert state(seeded(cls, X, y[:, None][:, 0].tolist(), missing=missing)) == model
    for n_jobs in (2, 3, None):
        assert state(seeded(cls, X, y, n_jobs=n_jobs, missing=missing)) == model


@every
def test_frames_are_their_numbers(cls):
    X, y = uniform(500)
    X[:, 0] = np.round(X[:, 0])
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype({"a": np.int64, "b": np.float64})
    model, other = seeded(cls, frame, pd.Series(y)), seeded(cls, X, y)
    assert model.intercept_ == other.intercept_
    np.testing.assert_array_equal(model.feature_range_, other.feature_range_)


@every
def test_the_same_seed_is_the_same_model_and_another_is_not(cls):
    X, y = uniform(500)
    assert state(seeded(cls, X, y, seed=3)) == state(seeded(cls, X, y, seed=3))
    assert state(seeded(cls, X, y, seed=3)) != state(seeded(cls, X, y, seed=4))


@every
@pytest.mark.parametrize("shift", [-1e3, 1e5, -1e7])
def test_a_shift_of_a_column_hardly_matters(cls, shift):
    X, y = uniform(20_000)
    plain = seeded(cls, X, y, epsilon=5.0).predict(X)
    X[:, 1] += shift
    moved = seeded(cls, X, y, epsilon=5.0).predict(X)
    # Root mean square, in deviations of the target. Ranges are found less well far from zero.
    assert math.sqrt(np.mean((plain - moved) ** 2) / np.var(y)) < 0.05
    assert r_squared(y, moved) > r_squared(y, plain) - 0.01


@every
@pytest.mark.parametrize("shift", [-1e3, 1e7])
def test_a_shift_of_the_target_hardly_matters(cls, shift):
    X, y = uniform(20_000)
    plain = seeded(cls, X, y, epsilon=5.0).predict(X)
    moved = seeded(cls, X, y + shift, epsilon=5.0).predict(X) - shift
    assert math.sqrt(np.mean((plain - moved) ** 2) / np.var(y)) < 0.05
    assert r_squared(y, moved) > r_squared(y, plain) - 0.01


def test_every_curve_is_in_the_order_of_the_columns():
    X, y = uniform(20_000)
    model = seeded(PrivateAdditiveRegression, X, y)
    slopes = [np.ptp(model.curve(place)[1]) for place in range(3)]
    np.testing.assert_allclose(np.array(slopes) / 4.0, [1.0, 2.0, 3.0], rtol=0.1)
