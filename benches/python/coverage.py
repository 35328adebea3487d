"""Coverage of 95 % confidence intervals of a linear model, in fits of simulated tables.

A cell is a kind of table, a number of rows, a number of columns and an epsilon. An interval should
contain the coefficient of least squares in the population, on columns cut to the model's range.
Widths are relative to those of least squares on the same rows, with robust errors. Every fit is
added to the store, so an interrupted run continues where it stopped.

    coverage.py [--fits 1000] [--only log-normal] [--only n=5000] [--jobs 2] [--store FILE]
"""

import argparse
import collections
import concurrent.futures
import functools
import itertools
import json
import math
import multiprocessing
import pathlib
import sys
import warnings

import numpy as np

from dpfit import Categorical, PrivateLinearRegression, Schema
from dpfit.exceptions import InsecureSeedWarning

ROWS = (2_000, 5_000, 20_000)
COLUMNS = (1, 3, 10, 30)
EPSILONS = (0.5, 1.0, 3.0)
LEVEL = 0.95
# Coverage should be between these in each cell.
WANTED = 0.93, 0.98
# Rows that stand for the population, times columns; at least the second number. Their targets are
# conditional means, without errors.
POPULATION, LEAST_POPULATION = 1_000_000, 100_000
# The share of rows of each of the levels that are rare: level 0 has the others.
RARE = 0.02


def columns(kind, rng, rows, d):
    """Draw the columns of a kind of table."""
    if kind == "log-normal columns":
        return rng.lognormal(size=(rows, d))
    if kind == "exponential columns":
        return rng.exponential(size=(rows, d))
    X = rng.normal(size=(rows, d))
    if kind == "collinear":
        # The first column, and small differences from it: correlations of 0.95.
        X[:, 1:] = X[:, :1] + 0.33 * X[:, 1:]
    if kind == "rare levels":
        X[:, -1] = rng.choice(5, size=rows, p=[1 - 4 * RARE, RARE, RARE, RARE, RARE])
    return X


def effects(kind, X):
    """Return the linear part of the target; its standard deviation is about one."""
    slopes = np.linspace(1.0, -0.5, X.shape[1]) if X.shape[1] > 1 else np.ones(1)
    slopes = slopes / math.sqrt(float(slopes @ slopes))
    if kind == "log-normal columns":
        slopes = slopes / 2.16
    if kind == "rare levels":
        heights = np.array([0.0, 1.0, -1.0, 0.5, 0.0])[X[:, -1].astype(int)]
        return X[:, :-1] @ slopes[:-1] + heights
    return X @ slopes


def targets(kind, X, rng=None):
    """Draw targets; without a generator, return their conditional means."""
    linear = effects(kind, X)
    if kind == "0/1, 5 % ones":
        share = 1.0 / (1.0 + np.exp(3.2 - 0.7 * linear))
        return share if rng is None else (rng.uniform(size=len(X)) < share).astype(float)
    if kind in ("50 % zeros", "80 % zeros"):
        # Positive targets are exponential, and their mean grows with the columns.
        share = 0.5 if kind == "50 % zeros" else 0.2
        mean = np.exp(0.3 * linear)
        if rng is None:
            return share * mean
        return np.where(rng.uniform(size=len(X)) < share, rng.exponential(mean), 0.0)
    if rng is None:
        return linear
    rows = len(X)
    if kind == "log-normal errors":
        return linear + rng.lognormal(size=rows) - math.exp(0.5)
    if kind == "exponential errors":
        return linear + rng.exponential(size=rows) - 1.0
    if kind == "unequal variances":
        return linear + rng.normal(size=rows) * np.exp(0.5 * X[:, 0])
    return linear + rng.normal(size=rows)


KINDS = (
    "normal",
    "log-normal columns",
    "exponential columns",
    "log-normal errors",
    "exponential errors",
    "0/1, 5 % ones",
    "50 % zeros",
    "80 % zeros",
    "unequal variances",
    "rare levels",
    "collinear",
)


def name(cell):
    kind, rows, d, epsilon = cell
    return f"{kind}, n={rows} d={d} epsilon={epsilon:g}"


def cells(only):
    """Return the cells whose names contain all given strings."""
    found = itertools.product(KINDS, ROWS, COLUMNS, EPSILONS)
    # One column has nothing to be collinear with, and levels are beside a column of numbers.
    pairs = {"collinear", "rare levels"}
    found = [cell for cell in found if cell[2] > 1 or cell[0] not in pairs]
    return [cell for cell in found if all(matches(cell, part) for part in only)]


def matches(cell, part):
    """Return whether a string is part of the kind of a cell, or n=, d= or epsilon= of it."""
    kind, *others = cell[0], *name(cell).split()
    return part in (others if "=" in part else kind)


@functools.cache
def population(kind, d):
    """Return columns and mean targets of the population."""
    rows = max(POPULATION // d, LEAST_POPULATION)
    X = columns(kind, np.random.default_rng(KINDS.index(kind)), rows, d)
    return X, targets(kind, X)


def design(kind, X, ranges):
    """Return columns cut to the ranges of the model, levels as flags, and a constant."""
    if kind != "rare levels":
        return np.column_stack([np.clip(X, *ranges.T), np.ones(len(X))])
    numbers = np.clip(X[:, :-1], *ranges[: X.shape[1] - 1].T)
    flags = np.equal.outer(X[:, -1], np.arange(1, 5)).astype(float)
    return np.column_stack([numbers, flags, np.ones(len(X))])


def solved(A, y, *, errors=True):
    """Return least squares and, if wanted, robust standard errors."""
    scale = A.std(axis=0)
    scale[scale == 0.0] = 1.0
    A = A / scale
    inverse = np.linalg.pinv(A.T @ A)
    theta = inverse @ (A.T @ y)
    if not errors:
        return theta / scale, None
    scores = A * (y - A @ theta)[:, None]
    variance = np.einsum("ij,jk,ik->i", inverse, scores.T @ scores, inverse)
    return theta / scale, np.sqrt(variance) / scale


def fit(cell, seed):
    """Fit one table; return how many intervals there are, hold, and how wide they are."""
    kind, rows, d, epsilon = cell
    rng = np.random.default_rng((seed, rows, d, KINDS.index(kind)))
    X = columns(kind, rng, rows, d)
    y = targets(kind, X, rng)
    schema = Schema({d - 1: Categorical([0, 1, 2, 3, 4])}) if kind == "rare levels" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        model = PrivateLinearRegression(
            epsilon=epsilon, schema=schema, random_state=seed, n_jobs=1
        ).fit(X, y)
    interval, ranges = model.coef_interval(LEVEL)[:-1], model.feature_range_
    if kind == "rare levels":
        # Coefficients of levels are differences from the first.
        kept = np.arange(len(interval)) != d - 1
        interval, ranges = interval[kept], ranges[kept]
    ranges = np.where(np.isfinite(ranges), ranges, np.array([-1e300, 1e300]))
    rows_of_all, means = population(kind, d)
    truth, _ = solved(design(kind, rows_of_all, ranges), means, errors=False)
    _, error = solved(design(kind, X, ranges), y)
    known = np.isfinite(interval).all(axis=1)
    with np.errstate(invalid="ignore"):
        holds = (interval[:, 0] <= truth[:-1]) & (truth[:-1] <= interval[:, 1])
        width = (interval[:, 1] - interval[:, 0]) / (2 * 1.96 * error[:-1])
    return {
        "cell": name(cell),
        "seed": seed,
        "terms": len(known),
        "known": int(known.sum()),
        "holds": int(holds[known].sum()),
        "width": float(np.median(width[known])) if known.any() else None,
    }


def fits(task):
    """Fit some tables of a cell, in a process of its own."""
    cell, seeds = task
    return [fit(cell, seed) for seed in seeds]


def read(store):
    """Return what was stored, by cell; an unfinished last line is ignored."""
    found = collections.defaultdict(dict)
    if store.exists():
        for line in store.read_text().splitlines():
            try:
                part = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[part["cell"]][part["seed"]] = part
    return found


def summary(parts):
    """Return intervals / terms, coverage, its standard error, and the median width."""
    known = np.array([part["known"] for part in parts])
    holds = np.array([part["holds"] for part in parts])
    has = known.sum() / sum(part["terms"] for part in parts)
    if not known.sum():
        return has, math.nan, math.nan, math.nan
    share = holds.sum() / known.sum()
    # Intervals of one fit are related, so the error is that between fits.
    between = math.sqrt(float(np.sum((holds - share * known) ** 2))) / known.sum()
    # Few fits may agree by chance.
    error = max(between, math.sqrt(LEVEL * (1.0 - LEVEL) / known.sum()))
    return has, share, error, float(np.median([p["width"] for p in parts if p["known"]]))


def print_means(shares):
    """Print the mean coverage over cells of a kind: of all, and by rows, columns and epsilon."""
    groups = [("all", None)]
    groups += [(f"n={n}", (1, n)) for n in ROWS] + [(f"d={d}", (2, d)) for d in COLUMNS]
    groups += [(f"epsilon={e:g}", (3, e)) for e in EPSILONS]
    print("\n| table | " + " | ".join(title for title, _ in groups) + " |")
    print("|---" * (len(groups) + 1) + "|")
    for kind in KINDS:
        found = []
        for _, part in groups:
            of_group = [
                share
                for cell, share in shares.items()
                if cell[0] == kind and (part is None or cell[part[0]] == part[1])
            ]
            found.append(f"{np.nanmean(of_group):.2f}" if of_group else "-")
        print(f"| {kind} | " + " | ".join(found) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=1000, help="fits of each cell")
    parser.add_argument(
        "--only", action="append", default=[], help="part of a cell's name; can be repeated"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--store", type=pathlib.Path, default=pathlib.Path("coverage.jsonl"))
    args = parser.parse_args()
    chosen, stored = cells(args.only), read(args.store)
    tasks = []
    for cell in chosen:
        left = [seed for seed in range(args.fits) if seed not in stored[name(cell)]]
        tasks += [(cell, left[start : start + 10]) for start in range(0, len(left), 10)]
    context = multiprocessing.get_context("spawn")
    with (
        args.store.open("a") as file,
        concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=context) as pool,
    ):
        for done, found in enumerate(pool.map(fits, tasks), start=1):
            for part in found:
                stored[part["cell"]][part["seed"]] = part
                file.write(json.dumps(part) + "\n")
            file.flush()
            print(f"\r{done} of {len(tasks)} parts", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    outside, shares = [], {}
    print(f"{'cell':<48} {'fits':>5} {'has':>5} {'coverage':>8} {'(se)':>7} {'width':>6}")
    for cell in chosen:
        parts = [part for seed, part in stored[name(cell)].items() if seed < args.fits]
        if not parts:
            continue
        has, share, error, width = summary(parts)
        shares[cell] = share
        line = f"{name(cell):<48} {len(parts):>5} {has:>5.2f} {share:>8.3f} ({error:.3f})"
        line += f" {width:>6.2f}"
        print(line)
        if not WANTED[0] <= share <= WANTED[1]:
            sure = max(WANTED[0] - share, share - WANTED[1]) > 2 * error
            outside.append((share, line + (" *" if sure else "")))
    low, high = WANTED
    print(f"\n{len(outside)} cells of {len(chosen)} outside {low} to {high}; *: beyond 2 se")
    for _, line in sorted(outside):
        print(line)
    print_means(shares)


if __name__ == "__main__":
    main()
