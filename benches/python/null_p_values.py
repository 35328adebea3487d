"""P-values of coefficients that are zero: how far from uniform they are, in four designs.

Prints the Kolmogorov-Smirnov distance from a uniform distribution, the largest one that chance
explains, and the share of p-values below 0.05. `tests/model/test_null_p_values.py` tests the same.

    null_p_values.py [--fits 500]
"""

import argparse
import math
import warnings

import numpy as np

from dpfit import Categorical, PrivateLinearRegression, Schema
from dpfit.exceptions import InsecureSeedWarning

ROWS = 4_000


def normal(rng):
    """Three normal columns, the last without an effect."""
    X = rng.normal(size=(ROWS, 3))
    return X, X @ [1.0, -0.5, 0.0] + rng.normal(size=ROWS), None


def unequal(rng):
    """Two normal columns; the variance of errors depends on the one without an effect."""
    X = rng.normal(size=(ROWS, 2))
    return X, X @ [1.0, 0.0] + rng.normal(size=ROWS) * np.exp(0.4 * X[:, 1]), None


def levels(rng):
    """Three levels without an effect, beside a normal column with one."""
    X = np.column_stack([rng.normal(size=ROWS), rng.integers(0, 3, size=ROWS)])
    return X, X[:, 0] + rng.normal(size=ROWS), Schema({1: Categorical([0, 1, 2])})


def exponential(rng):
    """Exponential errors; levels with an effect beside an exponential column without one."""
    X = np.column_stack([rng.integers(0, 3, size=ROWS), rng.exponential(size=ROWS)])
    heights = np.array([0.0, 1.0, -1.0])[X[:, 0].astype(int)]
    return X, heights + rng.exponential(size=ROWS), Schema({0: Categorical([0, 1, 2])})


DESIGNS = {
    "normal": normal,
    "unequal variances": unequal,
    "levels": levels,
    "exponential errors and column": exponential,
}


def p_values(design, fits):
    """Return p-values of the coefficient that is zero, where it has one."""
    found = []
    for seed in range(fits):
        X, y, schema = design(np.random.default_rng((seed, 77)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureSeedWarning)
            model = PrivateLinearRegression(
                epsilon=1.0, schema=schema, random_state=seed, n_jobs=1
            ).fit(X, y)
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fits", type=int, default=500)
    fits = parser.parse_args().fits
    print(f"| {fits} fits, limit {limit(fits):.3f} | distance | share below 0.05 |\n|---|---|---|")
    for name, design in DESIGNS.items():
        p = p_values(design, fits)
        print(f"| {name} | {distance(p):.3f} | {np.mean(p < 0.05):.3f} |", flush=True)
