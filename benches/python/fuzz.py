"""Fits of generated tables that look for crashes and for predictions that make no sense.

Columns and targets are constant, zero-inflated, heavy-tailed, integers, flags, copies or sums of
other columns, or have levels without rows. Tables have 1 to 50,000 rows and 1 to 60 columns;
epsilon is between 0.01 and 100. Some columns have public bounds, which may be wrong. Each table is
fitted by a linear and an additive model. The script reports, with the seed of the table:

- exceptions and warnings, with the line that raised them;
- fitted attributes or predictions that are not finite;
- predictions for the rows of the fit that are outside of the released range of the target by more
  than its width.

The exit code is 1 if there are any. One seed again: `--tables 1 --seed SEED`.

    fuzz.py [--tables 2000] [--seed 0] [--jobs 2]
"""

import argparse
import collections
import multiprocessing
import sys
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np

from dpfit import (
    Binary,
    Categorical,
    Numeric,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)
from dpfit.exceptions import HiddenTargetWarning, InsecureSeedWarning

MODELS = {"linear": PrivateLinearRegression, "additive": PrivateAdditiveRegression}
MOST_ROWS, MOST_COLUMNS = 50_000, 60
LEAST_EPSILON, MOST_EPSILON = 0.01, 100.0


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def constant(rng, n):
    return np.full(n, rng.choice([0.0, 1.0, -3.5, 1e6]))


def zero_inflated(rng, n):
    values = rng.choice([lognormal, normal, integer])(rng, n)
    # From 50 % to 99.9 % zeros.
    return np.where(rng.random(n) < log_uniform(rng, 0.001, 0.5), values, 0.0)


def cauchy(rng, n):
    return rng.standard_cauchy(n)


def lognormal(rng, n):
    return rng.lognormal(0.0, rng.uniform(0.2, 3.0), n)


def normal(rng, n):
    return rng.normal(size=n)


def uniform(rng, n):
    return rng.random(n)


def integer(rng, n):
    if rng.random() < 0.5:
        return rng.poisson(log_uniform(rng, 0.1, 1000.0), n).astype(float)
    return rng.integers(0, int(log_uniform(rng, 2.0, 1000.0)) + 1, n).astype(float)


def flag(rng, n):
    return (rng.random(n) < log_uniform(rng, 0.001, 0.999)).astype(float)


KINDS = (constant, zero_inflated, cauchy, lognormal, normal, uniform, integer, flag)


def numbers(rng, n):
    """Return values of a random kind; most are measured in another unit than the kind's own."""
    values = rng.choice(KINDS)(rng, n)
    if rng.random() < 0.7:
        values = values * rng.choice([-1.0, 1.0]) * log_uniform(rng, 1e-6, 1e6)
    if rng.random() < 0.3:
        values = values + rng.choice([-1.0, 1.0]) * log_uniform(rng, 1e-3, 1e6)
    return values


def codes(rng, n):
    """Return a categorical column: some levels have no rows, some rows have no listed level."""
    levels = int(log_uniform(rng, 1.0, 30.0))
    used = rng.choice(levels, size=rng.integers(1, levels + 1), replace=False)
    shares = rng.dirichlet(np.full(len(used), rng.choice([0.1, 1.0, 10.0])))
    column = rng.choice(used, size=n, p=shares).astype(float)
    if rng.random() < 0.3:
        column[rng.random(n) < rng.choice([0.01, 0.5, 1.0])] = levels
    return column, Categorical(range(levels))


def derived(rng, columns, n):
    """Return a copy of a column, or a sum of several."""
    if rng.random() < 0.5:
        return columns[rng.integers(len(columns))].copy()
    some = rng.choice(len(columns), size=rng.integers(1, len(columns) + 1), replace=False)
    total = sum(rng.normal() * columns[i] for i in some)
    # Some are almost the sum.
    return total * (1.0 + 1e-6 * rng.normal(size=n)) if rng.random() < 0.3 else total


def bounds(rng, values):
    """Return public bounds: true, wide, narrow, or without any of the values."""
    low, high = float(values.min()), float(values.max())
    width = max(high - low, 1e-3, 1e-6 * abs(low))
    return [
        Numeric(low, low + width),
        Numeric(low - 5.0 * width, high + 5.0 * width),
        Numeric(low + 0.4 * width, low + 0.6 * width),
        Numeric(high + width, high + 3.0 * width),
    ][rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])]


def target(rng, columns, n):
    """Return a target that has nothing to do with the columns, follows from them, or both."""
    way = rng.choice(["own", "columns", "both"], p=[0.3, 0.2, 0.5])
    if way == "own":
        return numbers(rng, n)
    signal = np.zeros(n)
    for column in columns:
        if rng.random() < max(0.3, 1.0 / len(columns)):
            low, middle, high = np.quantile(column, [0.1, 0.5, 0.9])
            # A spread of rounding errors is no spread.
            least = 1e-9 * np.abs(column).max()
            spread = next((s for s in (high - low, column.std()) if s > least), 1.0)
            signal += rng.normal() * (column - middle) / spread
    if way == "columns":
        return signal * log_uniform(rng, 1e-3, 1e3)
    values = rng.choice(KINDS)(rng, n)
    mixed = values * (1.0 + np.tanh(signal)) if rng.random() < 0.5 else values + signal
    return mixed * log_uniform(rng, 1e-3, 1e3)


def table(seed):
    """Return a generated table: X, y, its schema, and an epsilon to fit it with."""
    rng = np.random.default_rng(seed)
    n = round(log_uniform(rng, 1, MOST_ROWS))
    d = round(log_uniform(rng, 1, MOST_COLUMNS))
    columns, kinds = [], {}
    for i in range(d):
        way = rng.random()
        if way < 0.15:
            column, kinds[i] = codes(rng, n)
        elif way < 0.25:
            column, kinds[i] = flag(rng, n), Binary()
        elif way < 0.4 and columns:
            column = derived(rng, columns, n)
        else:
            column = numbers(rng, n)
        if i not in kinds and rng.random() < 0.25:
            kinds[i] = bounds(rng, column)
        columns.append(column)
    y = target(rng, columns, n)
    of_target = bounds(rng, y) if rng.random() < 0.25 else None
    epsilon = log_uniform(rng, LEAST_EPSILON, MOST_EPSILON)
    return np.column_stack(columns), y, Schema(kinds, target=of_target), epsilon


def not_finite(model):
    """Return the names of fitted attributes that contain NaN, or infinity where none may be."""
    # The others may be infinite where nothing is known.
    finite = {
        "intercept_": model.intercept_,
        "n_rows_": model.n_rows_,
        "residual_variance_": 0.0 if model.residual_variance_ is None else model.residual_variance_,
    }
    known = {"target_range_": model.target_range_, "feature_range_": model.feature_range_}
    if isinstance(model, PrivateLinearRegression):
        finite |= {"coef_": model.coef_, "coef_sampling_": model.coef_sampling_}
        known |= {"coef_noise_": model.coef_noise_, "coef_estimates_": model.coef_estimates_}
    else:
        for i in range(model.n_features_in_):
            points, heights = model.curve(i)
            finite |= {f"curve({i}) points": points, f"curve({i}) heights": heights}
    return [name for name, value in finite.items() if not np.isfinite(value).all()] + [
        name for name, value in known.items() if np.isnan(value).any()
    ]


def where(error):
    """Return the last line of dpfit, and the last line of all, that an exception came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "dpfit" in frame.filename] or frames
    shown = []
    for frame in (own[-1], frames[-1]):
        path = frame.filename.replace("\\", "/").split("/")
        shown.append(f"{'/'.join(path[-3:])}:{frame.lineno}")
    return " < ".join(dict.fromkeys(shown))


def problems(name, X, y, schema, epsilon, seed):
    """Return what is wrong with a model of a table, as pairs of a kind and a description."""
    model = MODELS[name](epsilon=epsilon, schema=schema, random_state=seed, n_jobs=1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", InsecureSeedWarning)
            warnings.simplefilter("ignore", HiddenTargetWarning)
            predicted = model.fit(X, y).predict(X)
            bad = not_finite(model)
            model.summary()
    except Exception as error:  # Whatever it is, it is a finding.
        return [(type(error).__name__, f"{' '.join(str(error).split())} [{where(error)}]")]
    found = []
    if bad:
        found.append(("attribute not finite", ", ".join(bad)))
    if not np.isfinite(predicted).all():
        share = 1.0 - np.isfinite(predicted).mean()
        found.append(("prediction not finite", f"{share:.1%} of rows, {model.status_}"))
    low, high = model.target_range_
    if np.isfinite(high - low):
        width = high - low
        beyond = np.maximum(low - predicted, predicted - high)
        # The width of a point is zero, and intercepts are rounded.
        outside = beyond > width + 1e-9 * max(abs(low), abs(high))
        if outside.any():
            far = beyond[outside].max() / width if width else np.inf
            cut = np.clip(y, *schema.target.bounds) if schema.target.bounds else y
            so_is_y = np.mean((cut < low - width) | (cut > high + width))
            shown = f"{'public' if schema.target.bounds else 'private'} {low:.6g} to {high:.6g}"
            found.append(
                (
                    "prediction out of range",
                    f"{outside.mean():.1%} of rows, {far:.3g} widths beyond {shown}"
                    f" (y itself on {so_is_y:.1%}, from {cut.min():.6g} to {cut.max():.6g})",
                )
            )
    return found


def check(seed):
    """Return findings about the table of a seed, as (model, kind, description), and seconds."""
    start = time.perf_counter()
    X, y, schema, epsilon = table(seed)
    shape = f"n={len(y)} d={X.shape[1]} epsilon={epsilon:.3g}"
    found = [
        (name, kind, f"{shape}: {description}")
        for name in MODELS
        for kind, description in problems(name, X, y, schema, epsilon, seed)
    ]
    return found, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first table")
    parser.add_argument("--jobs", type=int, default=2, help="the number of processes")
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + args.tables)
    kinds, slowest = collections.Counter(), (0.0, args.seed)
    start = time.perf_counter()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.jobs, mp_context=spawn) as pool:
        results = {seed: pool.submit(check, seed) for seed in seeds}
        for seed, result in results.items():
            try:
                found, seconds = result.result()
            except BrokenProcessPool:
                sys.exit(f"seed {seed}, or one of the next {args.jobs}: a process was killed")
            slowest = max(slowest, (seconds, seed))
            for name, kind, description in found:
                kinds[name, kind] += 1
                print(f"seed {seed}, {name}: {kind}: {description}", flush=True)
    seconds = time.perf_counter() - start
    print(
        f"{args.tables} tables in {seconds:.0f} s, the slowest {slowest[0]:.1f} s"
        f" (seed {slowest[1]}): {kinds.total()} findings"
    )
    for (name, kind), count in kinds.most_common():
        print(f"  {name}: {kind}: {count}")
    sys.exit(1 if kinds else 0)


if __name__ == "__main__":
    main()
