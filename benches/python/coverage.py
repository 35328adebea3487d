"""Coverage of confidence intervals: fits of simulated tables for several n, d and epsilon.

Intervals without sampling error should contain the least-squares solution of the given rows, those
with it the solution of the distribution that the rows are drawn from, both on features cut to the
model's range. The script also prints how often the true slopes are covered, whatever was cut.

    coverage.py [--fits 1000]
"""

import argparse
import warnings

import numpy as np

from dpfit import PrivateLinearRegression
from dpfit.exceptions import InsecureSeedWarning

CASES = (
    (5_000, 3, 1.0, "mixed"),
    (20_000, 3, 1.0, "mixed"),
    (20_000, 10, 1.0, "mixed"),
    (5_000, 3, 10.0, "mixed"),
    (20_000, 10, 10.0, "mixed"),
    # A tenth of the signal is in tails that are cut, so a line is not the truth, and weighted rows
    # have other slopes than unweighted ones.
    (5_000, 3, 1.0, "exponential"),
    (5_000, 3, 10.0, "exponential"),
    (20_000, 3, 1.0, "exponential"),
    # Days in hospital: skewed integers with tails that are cut.
    (20_000, 1, 1.0, "lognormal"),
    (20_000, 1, 10.0, "lognormal"),
)
LEVEL = 0.95


def draw(rng, n, d, slopes, columns="mixed", errors=True):
    if columns == "exponential":
        X = rng.exponential(size=(n, d))
        y = X @ slopes
        return X, y + rng.normal(size=n) if errors else y
    if columns == "lognormal":
        X = np.maximum(1.0, np.floor(rng.lognormal(1.15, 0.8, size=(n, d))))
        y = X @ slopes
        return X, y + slopes[0] * rng.normal(0.0, 1.2, size=n) if errors else y
    shared = rng.normal(size=(n, 1))
    X = 0.6 * shared + 0.8 * rng.normal(size=(n, d))
    X[:, 0] = np.exp(0.3 * X[:, 0])
    X[:, -1] = 100 + 10 * X[:, -1]
    y = X @ slopes
    return X, y + rng.normal(size=n) if errors else y


def least_squares(model, X, y):
    cut = np.clip(X, model.feature_range_[:, 0], model.feature_range_[:, 1])
    centre, scale = cut.mean(axis=0), cut.std(axis=0)
    A = np.column_stack([(cut - centre) / scale, np.ones(len(cut))])
    theta = np.linalg.lstsq(A, y, rcond=None)[0]
    coef = theta[:-1] / scale
    return np.append(coef, theta[-1] - coef @ centre)


def covered(interval, value):
    return (interval[:, 0] <= value) & (value <= interval[:, 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument(
        "--only", default="", help="only cases whose kind of columns contains this string"
    )
    args = parser.parse_args()
    fits = args.fits
    warnings.simplefilter("ignore", InsecureSeedWarning)
    print(f"{fits} fits each, {LEVEL:.0%} intervals; slopes and intercept")
    for n, d, epsilon, columns in CASES:
        if args.only not in columns:
            continue
        slopes = np.append(np.linspace(1.0, -0.5, d - 1), 0.05)
        whole = draw(np.random.default_rng(0), 100_000, d, slopes, columns, errors=False)
        noise_only, with_sampling, true = np.zeros(d + 1), np.zeros(d + 1), np.zeros(d + 1)
        for seed in range(fits):
            X, y = draw(np.random.default_rng((1, seed)), n, d, slopes, columns)
            model = PrivateLinearRegression(epsilon=epsilon, random_state=seed).fit(X, y)
            sample = least_squares(model, X, y)
            noise_only += covered(model.coef_interval(LEVEL, inference="sample"), sample)
            with_sampling += covered(model.coef_interval(LEVEL), least_squares(model, *whole))
            true += covered(model.coef_interval(LEVEL), np.append(slopes, 0.0))
        for name, count in (
            ("noise only", noise_only),
            ("with sampling", with_sampling),
            ("true slopes", true),
        ):
            share = count / fits
            print(
                f"{columns} columns, n={n} d={d} epsilon={epsilon:g}, {name}: {share.mean():.3f}"
                f" (slopes {share[:-1].min():.3f} to {share[:-1].max():.3f},"
                f" intercept {share[-1]:.3f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
