"""Bands of curves, and tests of their shape. Fits have seeds."""

import functools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from dpfit import (
    Binary,
    Categorical,
    Numeric,
    ParameterError,
    PrivateAdditiveRegression,
    Schema,
)
from dpfit.models.significance import significance

from .tables import seeded

SCHEMA = Schema(
    {
        **{name: Numeric(-1, 1) for name in ("bent", "straight", "flat")},
        "group": Categorical(["a", "b", "c"]),
        "same": Categorical(["u", "v"]),
        "flag": Binary(),
    },
    target=Numeric(-6, 6),
)


@functools.cache
def draw(seed=0, rows=6000):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(-1, 1, (rows, 3)), columns=["bent", "straight", "flat"])
    frame["group"] = rng.choice(["a", "b", "c"], rows)
    frame["same"] = rng.choice(["u", "v"], rows)
    frame["flag"] = rng.random(rows) < 0.5
    y = 2 * np.abs(frame.bent) + frame.straight + 0.5 * (frame.group == "b") + 0.7 * frame.flag
    return frame, y + 0.5 * rng.normal(size=rows)


@functools.cache
def fitted(seed=0, epsilon=5.0):
    frame, y = draw(seed)
    return seeded(
        PrivateAdditiveRegression, frame, y, seed=seed, schema=SCHEMA, epsilon=epsilon, knots=4
    )


def test_form():
    model = fitted()
    for name in SCHEMA:
        x, height = model.curve(name)
        again, same, low, high = model.curve(name, 0.9)
        assert list(again) == list(x)
        np.testing.assert_array_equal(same, height)
        assert low.shape == high.shape == height.shape
        assert (low <= height).all()
        assert (height <= high).all()
        _, _, wider_low, wider_high = model.curve(name, 0.99)
        assert (wider_low <= low).all()
        assert (wider_high >= high).all()
        _, _, inner_low, inner_high = model.curve(name, 0.9, inference="sample")
        assert (inner_high - inner_low <= high - low).all()
    # A flag is relative to zero, so its error is in one.
    low, high = model.curve("flag", 0.9)[2:]
    assert low[0] == high[0] == 0.0
    assert low[1] < 0.7 < high[1]
    # Levels are relative to their mean: the difference of two has the error of its contrast.
    low, high = model.curve("same", 0.9, inference="sample")[2:]
    half = model.contrast({"same=u": 0.5, "same=v": -0.5}, 0.9, inference="sample").interval
    np.testing.assert_allclose([low[0], high[0]], half, rtol=1e-6)


@pytest.mark.parametrize("options", [{"interval": 1.0}, {"interval": True}])
def test_levels_that_are_wrong(options):
    with pytest.raises(ParameterError, match="interval"):
        fitted().curve("bent", **options)
    with pytest.raises(ParameterError, match="inference"):
        fitted().curve("bent", 0.9, inference="rows")


def test_bands_hold_the_curve():
    """40 fits: 95 % bands of a line and of nothing hold at nearly all knots."""
    held = {"straight": [], "flat": []}
    for seed in range(40):
        model = fitted(seed)
        for name, found in held.items():
            x, _, low, high = model.curve(name, 0.95)
            truth = x if name == "straight" else np.zeros(len(x))
            found.append(np.mean((low <= truth) & (truth <= high)))
    for found in held.values():
        assert np.mean(found) > 0.8
    assert np.mean([np.mean(found) for found in held.values()]) < 1.0


def test_what_a_summary_says_of_curves():
    tests = dict(zip(SCHEMA, significance(fitted().model_), strict=True))
    assert tests["bent"].p_no_effect < 1e-6
    assert tests["bent"].p_line < 1e-6
    assert tests["straight"].p_no_effect < 1e-6
    assert tests["straight"].p_line > 1e-4
    assert tests["flat"].p_no_effect > 1e-4
    assert tests["group"].p_no_effect < 1e-6
    assert tests["same"].p_no_effect > 1e-4
    assert tests["flag"].p_no_effect < 1e-6
    for name in ("group", "same", "flag"):
        assert math.isnan(tests[name].p_line)
    # A flag and two levels have one parameter, three levels two.
    assert 0.0 <= tests["same"].edf <= 1.0
    assert tests["flag"].edf == pytest.approx(1.0, abs=0.05)
    assert tests["group"].edf == pytest.approx(2.0, abs=0.1)
    assert 2.0 < tests["bent"].edf <= 5.0
    assert tests["flat"].edf < tests["bent"].edf
    summary = fitted().summary()
    assert summary.columns[-3:] == ("edf", "p (no effect)", "p (line)")
    assert [row[-3] for row in summary.rows] == [f"{test.edf:.1f}" for test in tests.values()]
    assert summary.rows[0][-1] == "<0.0001"
    assert summary.rows[3][-1] == "-"


def test_shrinkage_leaves_fewer_degrees_of_freedom():
    few, many = (
        np.mean([significance(fitted(seed, epsilon).model_)[2].edf for seed in range(10)])
        for epsilon in (0.5, 50.0)
    )
    # Of a column without effect, at most what was fitted is left.
    assert few < many + 1.0
    assert few < 4.0


def test_p_values_of_curves_without_effect_are_uniform():
    """100 fits, three hypotheses that are true: Kolmogorov and Smirnov, at 1e-7."""
    found = np.array(
        [
            [tests[2].p_no_effect, tests[1].p_line, tests[4].p_no_effect]
            for tests in (significance(fitted(seed).model_) for seed in range(100))
        ]
    )
    for values in found.T:
        assert kstest(values, "uniform").pvalue > 1e-7


def test_inference_about_the_rows_has_smaller_p_values():
    model = fitted()
    population = significance(model.model_, "population")
    sample = significance(model.model_, "sample")
    # The error is smaller, so that the statistic is larger.
    assert sample[2].p_no_effect < population[2].p_no_effect
    shown = [row[-2] for row in model.summary(inference="sample").rows]
    assert shown != [row[-2] for row in model.summary().rows]


def test_a_mean_has_no_bands():
    rng = np.random.default_rng(0)
    model = seeded(
        PrivateAdditiveRegression,
        rng.normal(size=(100, 2)),
        rng.normal(size=100),
        epsilon=0.1,
        schema=Schema({1: Categorical([0, 1])}, target=Numeric(-4, 4)),
    )
    assert model.status_ == "mean"
    for place in (0, 1):
        assert np.isnan(model.curve(place, 0.95)[2:]).all()
    assert {cell for row in model.summary().rows for cell in row[2:]} == {"-"}
