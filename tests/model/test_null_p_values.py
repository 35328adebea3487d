"""P-values of coefficients that are zero are uniform."""

import math

import numpy as np
import pytest

from dpfit import Categorical, PrivateLinearRegression, Schema

from .tables import seeded

ROWS = 4_000


def normal(rng):
    """Three normal columns, the last without an effect."""
    X = rng.normal(size=(ROWS, 3))
    return X, X @ [1.0, -0.5, 0.0] + rng.normal(size=ROWS), None


def unequal(rng):
    """The variance of errors depends on the column without an effect."""
    X = rng.normal(size=(ROWS, 2))
    return X, X @ [1.0, 0.0] + rng.normal(size=ROWS) * np.exp(0.4 * X[:, 1]), None


def levels(rng):
    """Three levels without an effect, beside a normal column with one."""
    X = np.column_stack([rng.normal(size=ROWS), rng.integers(0, 3, size=ROWS)])
    return X, X[:, 0] + rng.normal(size=ROWS), Schema({1: Categorical([0, 1, 2])})


def skewed(rng):
    """Exponential errors; levels with an effect beside an exponential column without one."""
    X = np.column_stack([rng.integers(0, 3, size=ROWS), rng.exponential(size=ROWS)])
    heights = np.array([0.0, 1.0, -1.0])[X[:, 0].astype(int)]
    return X, heights + rng.exponential(size=ROWS), Schema({0: Categorical([0, 1, 2])})


def p_values(design, fits):
    """Return p-values of the coefficient that is zero, where it has one."""
    found = []
    for seed in range(fits):
        X, y, schema = design(np.random.default_rng((seed, 77)))
        model = seeded(PrivateLinearRegression, X, y, seed=seed, epsilon=1.0, schema=schema)
        found.append(model.summary().to_frame("pandas")["p"].iloc[-2])
    p = np.array(found, dtype=float)
    return p[np.isfinite(p)]


def distance(p):
    """Return the Kolmogorov-Smirnov distance of p-values from uniform ones."""
    p, places = np.sort(p), np.arange(1, len(p) + 1) / len(p)
    return max(np.max(places - p), np.max(p - places + 1.0 / len(p)))


def limit(fits):
    """Return the distance that uniform values exceed with probability 1e-7 at most.

    This is the bound of Dvoretzky, Kiefer and Wolfowitz, with Massart's constant.
    """
    return math.sqrt(math.log(2.0 / 1e-7) / (2.0 * fits))


def test_the_distance_of_uniform_values_is_small_and_that_of_others_is_not():
    rng = np.random.default_rng(0)
    assert distance(rng.uniform(size=500)) < limit(500)
    assert distance(rng.uniform(size=500) ** 1.5) > limit(500)


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        normal,
        unequal,
        levels,
        skewed,
    ],
)
def test_they_are_uniform(design):
    p = p_values(design, 500)
    # In a few fits the noise hides a column, and it is not in the model.
    assert len(p) > 480
    assert distance(p) < limit(len(p))
