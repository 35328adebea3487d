"""Accuracy on real tables, compared with the paper's method and with DP-EBM.

Fits on 80 % of every table and prints test MSE / Var(y), the median over seeds. DP-EBM (from
InterpretML) is given the true bounds of the target and of every feature. The other methods are
given only which columns are binary. The constants of dpfit's models were chosen on tables with an
odd task number, so odd and even ones are also shown separately. The task number is the number at
the start of the file's name.

At the end, the script prints on how many tables dpfit's models are better than the
other methods, and on which tables the additive model is worse than the linear one by more than 2 %.

    accuracy.py --data FOLDER [--data FOLDER] [--methods linear additive ebm paper] [--seeds 3]
        [--epsilons 0.1 1 10] [--jobs 1] [--csv accuracy.csv]
"""

import argparse
import csv
import multiprocessing
import os
import pathlib
import re
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd

from dpfit import (
    Binary,
    BoostedAdaSSP,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)

DELTA = 1e-6
EPSILONS = (0.1, 1.0, 10.0)
MOST_ROWS, MOST_COLUMNS = 60_000, 100
# How much larger than that of the linear model the error of the additive model may be.
MOST_WORSE = 1.02
COMPARED = (
    ("additive", "ebm", "DP-EBM, given true bounds"),
    ("linear", "paper", "BoostedAdaSSP, fixed"),
)


def add_arguments(parser, seeds):
    """Add the options of all scripts that fit the tables of folders."""
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        action="append",
        metavar="FOLDER",
        help="Parquet files with a column `target`; may be given several times",
    )
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))


def folders(args):
    """Return the given folders, or those of DPFIT_DATA."""
    paths = filter(None, os.environ.get("DPFIT_DATA", "").split(os.pathsep))
    found = args.data or [pathlib.Path(path) for path in paths]
    if not found:
        sys.exit("no tables: give --data FOLDER, or set DPFIT_DATA (Parquet, column `target`)")
    if empty := [folder for folder in found if not any(folder.glob("*.parquet"))]:
        sys.exit(f"no Parquet files in {empty[0]}")
    return found


def each_table(function, folder, jobs, *others):
    """Yield the stem of every file of a folder that is not too wide, and `function` of it.

    The function gets a loaded table and `others`, in one of several processes.
    """
    files = sorted(folder.glob("*.parquet"))
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        for file in [pool.submit(_of_file, function, file, others) for file in files]:
            stem, found = file.result()
            if found is not None:
                yield stem, found


def _of_file(function, file, others):
    table = load(file)
    narrow = table[0].shape[1] <= MOST_COLUMNS
    return file.stem, function(table, *others) if narrow else None


def task(stem):
    """Return the number at the start of a file's name: 361073 of 361073_pol, 1 of p01_wages."""
    return int(re.search(r"\d+", stem).group())


def load(path):
    frame = pd.read_parquet(path)
    y = frame.pop("target").to_numpy(float)
    text = [
        c for c in frame if not pd.api.types.is_numeric_dtype(frame[c]) or frame[c].dtype == bool
    ]
    parts = [frame.drop(columns=text).to_numpy(float)]
    if text:
        parts.append(pd.get_dummies(frame[text].astype(str)).to_numpy(float))
    binary = [False] * parts[0].shape[1] + [True] * (parts[-1].shape[1] if text else 0)
    X = np.hstack(parts)
    if len(y) > MOST_ROWS:
        kept = np.random.default_rng(1).permutation(len(y))[:MOST_ROWS]
        X, y = X[kept], y[kept]
    order = np.random.default_rng(42).permutation(len(y))
    cut = int(0.8 * len(y))
    return X[order[:cut]], X[order[cut:]], y[order[:cut]], y[order[cut:]], np.array(binary)


def untuned(cls):
    """Return what makes a model of a class that needs no tuning."""

    def make(epsilon, seed, X, binary):
        schema = Schema({int(i): Binary() for i in np.flatnonzero(binary)})
        return cls(epsilon=epsilon, delta=DELTA, schema=schema, random_state=seed, n_jobs=1)

    return make


def paper(epsilon, seed, X, binary):
    return BoostedAdaSSP(epsilon=epsilon, delta=DELTA, random_state=seed, n_jobs=1)


class Ebm:
    """InterpretML's DP-EBM with its defaults and the true bounds of the table."""

    def __init__(self, epsilon, seed):
        self.epsilon, self.seed = epsilon, seed

    def fit(self, X, y):
        from interpret.privacy import DPExplainableBoostingRegressor

        self.model = DPExplainableBoostingRegressor(
            epsilon=self.epsilon,
            delta=DELTA,
            random_state=self.seed,
            n_jobs=1,
            privacy_bounds={
                i: (a, b) for i, (a, b) in enumerate(zip(X.min(0), X.max(0), strict=True))
            },
            privacy_target_min=float(y.min()),
            privacy_target_max=float(y.max()),
        )
        self.model.fit(X, y)
        return self

    def predict(self, X):
        return self.model.predict(X)


METHODS = {
    "linear": untuned(PrivateLinearRegression),
    "additive": untuned(PrivateAdditiveRegression),
    "ebm": lambda epsilon, seed, X, binary: Ebm(epsilon, seed),
    "paper": paper,
}


def errors(table, make, epsilon, seeds):
    """Return the median test error of models that `make` returns."""
    Xa, Xb, ya, yb, binary = table
    found = []
    for seed in range(seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(epsilon, seed, Xa, binary).fit(Xa, ya)
            found.append(float(np.mean((yb - model.predict(Xb)) ** 2) / np.var(yb)))
    return float(np.median(found))


def measure(table, methods, epsilons, seeds):
    """Return the errors of all methods on a table, by epsilon."""
    return {
        epsilon: {m: errors(table, METHODS[m], epsilon, seeds) for m in methods}
        for epsilon in epsilons
    }


def read(path):
    with path.open(newline="") as lines:
        return {
            (row["table"], float(row["epsilon"])): {
                name: float(value) for name, value in row.items() if name in METHODS
            }
            for row in csv.DictReader(lines)
        }


def gmean(values):
    return float(np.exp(np.mean(np.log(values))))


def compared(methods):
    return [pair for pair in COMPARED if pair[0] in methods and pair[1] in methods]


def print_means(folder, epsilon, rows, methods):
    for name, some in (
        ("all", rows),
        ("odd", [r for r in rows if r["task"] % 2]),
        ("even", [r for r in rows if r["task"] % 2 == 0]),
    ):
        if some:
            shown = "  ".join(f"{m} {gmean([r[m] for r in some]):.4f}" for m in methods)
            print(f"{folder} eps={epsilon:g} {name} ({len(some)} tables), geometric mean: {shown}")


def print_checks(folder, epsilon, rows, methods):
    start = f"{folder} eps={epsilon:g}"
    for ours, theirs, label in compared(methods):
        better = sum(r[ours] < r[theirs] for r in rows)
        print(f"{start} {ours} is better than {label}, on {better} of {len(rows)} tables")
    if "linear" in methods and "additive" in methods:
        ratios = {r["table"]: r["additive"] / r["linear"] for r in rows}
        worse = [f"{table} ({v:.3f})" for table, v in ratios.items() if v > MOST_WORSE]
        print(
            f"{start} additive is worse than linear by more than {MOST_WORSE - 1:.0%} on"
            f" {len(worse)} of {len(rows)} tables{': ' if worse else ''}{', '.join(worse)}"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser, seeds=3)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument(
        "--known",
        type=pathlib.Path,
        help="CSV file with errors of other methods, which are not fitted again",
    )
    args = parser.parse_args()
    known = read(args.known) if args.known else {}
    others = {m for row in known.values() for m in row}
    methods = [m for m in METHODS if m in args.methods or m in others]
    given = args.methods, args.epsilons, args.seeds
    sections = []
    for folder in folders(args):
        mine = []
        for stem, found in each_table(measure, folder, args.jobs, *given):
            for epsilon in args.epsilons:
                row = {"folder": folder.name, "task": task(stem), "table": stem, "epsilon": epsilon}
                mine.append(row | known.get((stem, epsilon), {}) | found[epsilon])
                shown = "  ".join(f"{m} {mine[-1][m]:.4g}" for m in methods)
                print(f"{stem:45s} eps={epsilon:<4g} {shown}", flush=True)
        sections.append((folder.name, mine))
        for epsilon in args.epsilons:
            some = [r for r in mine if r["epsilon"] == epsilon]
            print_means(folder.name, epsilon, some, methods)
    for name, mine in sections:
        for epsilon in args.epsilons:
            some = [r for r in mine if r["epsilon"] == epsilon]
            print_checks(name, epsilon, some, methods)
    rows = [row for _, mine in sections for row in mine]
    if args.csv:
        with args.csv.open("w", newline="") as out:
            writer = csv.DictWriter(out, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
