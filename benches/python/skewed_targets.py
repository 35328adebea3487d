"""Slopes and means for skewed targets: few ones, many zeros, log-normal amounts.

There is one standard normal column. The mean of the target, given the column, is linear (up to
values below zero, which are cut), or it is the logistic function or the exponential of a line.
Prints, as mean and standard deviation over seeds:

- the slope as a share of the least-squares slope, for least squares on the column clipped to the
  model's `feature_range_`, and on the column as it is. The slope of an additive model is that of
  the least-squares line through its predictions, on the same column;
- the mean prediction as a share of the mean of the target.

    skewed_targets.py [--seeds 20] [--jobs 1] [--only TEXT]
"""

import argparse
import itertools
import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.exceptions import InsecureSeedWarning

MODELS = {"linear": PrivateLinearRegression, "additive": PrivateAdditiveRegression}
ROWS, EPSILONS = (100_000, 20_000), (1.0, 3.0)
# Means are at least zero from -1 / 0.3 standard deviations.
LINEAR = 0.3
MEANS = ("linear", "curved")


def rising(x, mean):
    """Return a mean of one that rises with x: a line, or an exponential."""
    if mean == "linear":
        return np.maximum(1.0 + LINEAR * x, 0.0)
    return np.exp(0.5 * x - 0.125)


def chances(x, share, mean):
    """Return the chance of a one, which is `share` on average: a line, or a logistic function."""
    if mean == "linear":
        return np.minimum(share * rising(x, mean), 1.0)
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    return expit(x + brentq(lambda start: weights @ expit(start + points) - share, -20.0, 20.0))


def flags(rng, x, mean):
    return (rng.random(len(x)) < chances(x, 0.05, mean)).astype(float)


def amounts(rng, x, mean):
    return rising(x, mean) * rng.lognormal(-0.5, 1.0, len(x))


def with_zeros(zeros):
    """Return a target with a share of zeros; amounts, and if curved their chances, rise with x."""

    def draw(rng, x, mean):
        some = 1.0 - zeros if mean == "linear" else chances(x, 1.0 - zeros, mean)
        return np.where(rng.random(len(x)) < some, amounts(rng, x, mean), 0.0)

    return draw


TARGETS = {
    "5 % ones": flags,
    "80 % zeros": with_zeros(0.8),
    "95 % zeros": with_zeros(0.95),
    "log-normal": amounts,
}


def slope(x, y):
    spread = np.var(x)
    return float(np.mean((x - x.mean()) * (y - y.mean())) / spread) if spread else np.nan


def shares(case):
    """Return slope / least squares (clipped, as it is) and mean / mean of one fit."""
    target, mean, rows, epsilon, name, seed = case
    rng = np.random.default_rng((list(TARGETS).index(target), MEANS.index(mean), rows, seed))
    x = rng.normal(size=rows)
    y = TARGETS[target](rng, x, mean)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        model = MODELS[name](epsilon=epsilon, random_state=seed, n_jobs=1).fit(x[:, None], y)
    predicted = model.predict(x[:, None])
    found = []
    for column in (np.clip(x, *model.feature_range_[0]), x):
        own = model.coef_[0] if name == "linear" else slope(column, predicted)
        found.append(own / slope(column, y))
    return [*found, predicted.mean() / y.mean()]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    parser.add_argument("--only", default="", help="only targets whose name contains this")
    args = parser.parse_args()
    targets = [target for target in TARGETS if args.only in target]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.jobs, mp_context=spawn) as pool:
        for case in itertools.product(targets, MEANS, ROWS, EPSILONS, MODELS):
            target, mean, rows, epsilon, name = case
            found = np.array(list(pool.map(shares, [(*case, s) for s in range(args.seeds)])))
            clipped, plain, level = (
                f"{m:.3f} ± {s:.3f}"
                for m, s in zip(found.mean(axis=0), found.std(axis=0), strict=True)
            )
            print(
                f"{target}, {mean} mean, n={rows} eps={epsilon:g} {name}: slope / least squares"
                f" {clipped} (clipped column), {plain} (plain);"
                f" mean prediction / mean target {level}",
                flush=True,
            )


if __name__ == "__main__":
    main()
