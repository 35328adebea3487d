"""What a release of TukeyEM takes, refuses, gives and costs, whatever the models."""

import random
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfit.accounting import GDPAccountant
from dpfit.exceptions import ParameterError
from dpfit.paper._tukey import Grid, plan_tukey, release_tukey_point

from .tukey_laws import quick

WILD = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.125, -0.375]


@quick
@given(
    st.lists(st.sampled_from(WILD) | st.floats(), min_size=6, max_size=6), st.integers(-1074, 900)
)
def test_rounding_to_the_grid_is_row_local(values, exponent):
    grid = Grid(step=2.0**exponent, radius=1000)
    rows = np.array(values).reshape(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = grid.quantise(rows)
    assert whole.tolist() == [grid.quantise(row[None])[0].tolist() for row in rows]
    for value, found in zip(values, whole.ravel().tolist(), strict=True):
        if np.isnan(value):
            assert found == 0
        elif np.isinf(value):
            assert found == (1000 if value > 0 else -1000)
        else:
            exact = Fraction(value) / Fraction(grid.step)
            assert found == max(-1000, min(1000, round(exact)))


def test_coefficients_are_exact():
    grid = Grid(step=2.0**-20)
    point = (2**53, -(2**53), 12345, 0)
    assert [Fraction(c) for c in grid.coefficients(point)] == [Fraction(p, 2**20) for p in point]
    assert grid.quantise(grid.coefficients(point)[None]).tolist() == [list(point)]


@pytest.mark.parametrize("value", [*WILD, 3.0])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (400, 2)])
def test_models_that_coincide_are_no_special_case(value, shape):
    grid = Grid(step=0.125)
    models = np.full(shape, value)
    release = release_tukey_point(models, 1.0, 1e-6, grid, source=random.Random(3))
    assert release.passed == (shape[0] == 400)
    expected = tuple(grid.quantise(models)[0].tolist())
    assert release.point == (expected if release.passed else None)


def test_wild_models_among_tame_ones_neither_raise_nor_dominate():
    rng = np.random.default_rng(1)
    models = rng.normal([2.0, -1.0, 0.5], 0.01, size=(600, 3))
    models[::20] = np.nan
    models[1::20] = np.inf
    before = models.copy()
    release = release_tukey_point(models, 2.0, 1e-6, Grid(step=2.0**-20), source=random.Random(4))
    assert release.passed
    np.testing.assert_array_equal(models, before)
    found = Grid(step=2.0**-20).coefficients(release.point)
    assert np.abs(found - [2.0, -1.0, 0.5]).max() < 0.05


def test_models_far_apart_are_refused():
    models = np.random.default_rng(2).standard_cauchy(size=(100, 20)) * 1e6
    release = release_tukey_point(models, 1.0, 1e-6, Grid(step=2.0**-20))
    assert (release.passed, release.point) == (False, None)


def test_high_dimensions_do_not_underflow():
    models = np.random.default_rng(3).normal(1.0, 1e-3, size=(1000, 100))
    grid = Grid(step=2.0**-16)
    release = release_tukey_point(models, 8.0, 1e-6, grid, source=random.Random(6))
    assert release.passed
    assert np.abs(grid.coefficients(release.point) - 1.0).max() < 2e-3


def test_a_seed_makes_a_release_repeatable_and_the_default_does_not():
    models = np.random.default_rng(5).normal(size=(400, 4))
    grid = Grid(step=2.0**-30)
    draw = [
        release_tukey_point(models, 3.0, 1e-4, grid, source=random.Random(7)).point
        for _ in range(2)
    ]
    assert draw[0] == draw[1]
    assert len({release_tukey_point(models, 3.0, 1e-4, grid).point for _ in range(3)}) == 3


@quick
@given(st.floats(1e-6, 1e3), st.floats(1e-300, 0.5), st.floats(1e-6, 1 - 1e-6))
def test_costs_never_add_up_to_more_than_was_granted(epsilon, delta, share):
    plan = plan_tukey(epsilon, delta, 8, check_share=share)
    total = Fraction(plan.epsilon_check) + Fraction(plan.epsilon_choice)
    assert total <= Fraction(epsilon) <= total * (1 + Fraction(1, 2**50))
    assert plan.noise_rate == Fraction(plan.epsilon_check)
    assert plan.depth_rate * 2 == Fraction(plan.epsilon_choice)


def test_events_cost_what_was_granted_whatever_the_outcome():
    plan = plan_tukey(1.0, 1e-6, 8)
    same = release_tukey_point(np.zeros((400, 1)), 1.0, 1e-6, Grid(step=1.0))
    apart = release_tukey_point(np.arange(2.0)[:, None], 1.0, 1e-6, Grid(step=1.0))
    assert (same.passed, apart.passed) == (True, False)
    assert same.events("add_remove") == apart.events("add_remove")
    check, choice = same.events("add_remove")
    assert (check.epsilon, check.delta) == (plan.epsilon_check, 0.0)
    assert (choice.epsilon, choice.delta) == (plan.epsilon_choice, 1e-6)
    accountant = GDPAccountant().add(check).add(choice)
    assert accountant.epsilon(1e-6) == 1.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be .* got 0.0"),
        ({"delta": 0.0}, "delta must be .* got 0.0"),
        ({"delta": 0.7}, "delta must be .* got 0.7"),
        ({"depth": 0}, "depth must be .* got 0"),
        ({"depth": 4}, "depth must be .* got 4"),
        ({"check_share": 0.0}, "check_share must be .* got 0.0"),
        ({"check_share": 1.0}, "check_share must be .* got 1.0"),
        ({"epsilon": 1e-6, "check_share": 5e-324}, "check_share must .* got 5e-324"),
        ({"models": np.zeros((0, 2))}, "shape"),
        ({"models": np.zeros((2, 0))}, "shape"),
        ({"models": np.zeros(3)}, "two-dimensional"),
        ({"models": np.zeros((2, 2), dtype=np.float32)}, "float64"),
        ({"models": [[1.0]]}, "array"),
    ],
)
def test_parameters_are_checked(changed, message):
    arguments = {
        "models": np.zeros((6, 2)),
        "epsilon": 1.0,
        "delta": 1e-6,
        "grid": Grid(step=1.0),
        **changed,
    }
    with pytest.raises(ParameterError, match=message):
        release_tukey_point(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": 0.3}, "power of two"),
        ({"step": -0.5}, "step must be .* got -0.5"),
        ({"step": float("inf")}, "step must be .* got inf"),
        ({"step": 1.0, "radius": 0}, "radius must be .* got 0"),
        ({"step": 1.0, "radius": 2**53 + 1}, "radius"),
        ({"step": 2.0**1000}, "finite"),
    ],
)
def test_grids_are_checked(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Grid(**arguments)
