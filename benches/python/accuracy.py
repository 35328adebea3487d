"""Accuracy on real tables, compared with the paper's method and with DP-EBM.

Fits on 80 % of every table and prints test MSE / Var(y), the median over seeds. DP-EBM (from
InterpretML) is given the true bounds of the target and of every feature. The other methods are
given only which columns are binary. The constants of dpfit's models were chosen on tables with an
odd task number, so odd and even ones are also shown separately.

    accuracy.py --data FOLDER [--seeds 3] [--figure accuracy.png] [--csv accuracy.csv]
"""

import argparse
import csv
import os
import pathlib
import sys
import warnings

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
# Larger errors are drawn at the edge.
MOST_SHOWN = 30.0


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
    "paper": paper,
    "dp_ebm": lambda epsilon, seed, X, binary: Ebm(epsilon, seed),
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


def read(path):
    with path.open(newline="") as lines:
        return {
            (int(row["task"]), float(row["epsilon"])): {
                name: float(value) for name, value in row.items() if name in METHODS
            }
            for row in csv.DictReader(lines)
        }


def gmean(values):
    return float(np.exp(np.mean(np.log(values))))


def draw(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    pairs = (
        ("additive", "dp_ebm", "DP-EBM, given true bounds"),
        ("linear", "paper", "BoostedAdaSSP, fixed"),
    )
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 7), constrained_layout=True)
    for line, (ours, theirs, label) in zip(axes, pairs, strict=True):
        for axis, epsilon in zip(line, EPSILONS, strict=True):
            mine = [r for r in rows if r["epsilon"] == epsilon]
            x = np.array([r[theirs] for r in mine])
            y = np.array([r[ours] for r in mine])
            low, high = min(x.min(), y.min()) / 1.5, min(max(x.max(), y.max()) * 1.5, MOST_SHOWN)
            beyond = x > high
            x = np.minimum(x, high / 1.15)
            odd = np.array([r["task"] % 2 == 1 for r in mine])
            axis.plot([low, high], [low, high], color="0.6", lw=1)
            axis.scatter(x[~odd], y[~odd], s=22, color="#1f5a91", label="even tasks")
            axis.scatter(
                x[odd], y[odd], s=22, facecolor="white", edgecolor="#1f5a91", label="odd tasks"
            )
            if beyond.any():
                axis.scatter(x[beyond] * 1.08, y[beyond], s=22, marker=">", color="0.4")
                note = f"▸ {beyond.sum()} beyond {MOST_SHOWN:g}"
                axis.annotate(note, (0.98, 0.03), xycoords="axes fraction", ha="right", fontsize=8)
            axis.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
            axis.set_title(f"ε = {epsilon:g}: below on {np.mean(y < x):.0%}", fontsize=10)
            axis.set_xlabel(f"{label}", fontsize=9)
            axis.set_ylabel(f"dpfit {ours}, untuned", fontsize=9)
            axis.tick_params(labelsize=8)
            axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle("Test MSE / Var(y), one point per table", fontsize=11)
    axes[0, 0].legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(path, dpi=140)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("DPFIT_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--figure", type=pathlib.Path)
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument(
        "--known",
        type=pathlib.Path,
        help="CSV file with errors of other methods, which are not fitted again",
    )
    args = parser.parse_args()
    if args.data is None:
        sys.exit("no tables: give --data FOLDER, or set DPFIT_DATA (Parquet, column `target`)")
    fitted = args.methods.split(",")
    known = read(args.known) if args.known else {}
    methods = fitted + sorted({m for row in known.values() for m in row} - set(fitted))
    rows = []
    for file in sorted(pathlib.Path(args.data).glob("*.parquet")):
        table = load(file)
        if table[0].shape[1] > MOST_COLUMNS:
            continue
        for epsilon in EPSILONS:
            row = {"task": int(file.stem[:6]), "table": file.stem[7:], "epsilon": epsilon}
            row |= known.get((row["task"], epsilon), {})
            row |= {m: errors(table, METHODS[m], epsilon, args.seeds) for m in fitted}
            rows.append(row)
            shown = "  ".join(f"{m} {row[m]:.4g}" for m in methods)
            print(f"{file.stem:45s} eps={epsilon:<4g} {shown}", flush=True)
    for epsilon in EPSILONS:
        mine = [r for r in rows if r["epsilon"] == epsilon]
        for name, some in (
            ("all", mine),
            ("odd", [r for r in mine if r["task"] % 2]),
            ("even", [r for r in mine if r["task"] % 2 == 0]),
        ):
            shown = "  ".join(f"{m} {gmean([r[m] for r in some]):.4f}" for m in methods)
            print(f"eps={epsilon:g} {name} ({len(some)} tables), geometric mean: {shown}")
        for ours, theirs in (("additive", "dp_ebm"), ("linear", "paper")):
            if ours in methods and theirs in methods:
                share = np.mean([r[ours] < r[theirs] for r in mine])
                print(f"eps={epsilon:g} {ours} below {theirs} on {share:.1%} of {len(mine)} tables")
    if args.csv:
        with args.csv.open("w", newline="") as out:
            writer = csv.DictWriter(out, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    if args.figure:
        draw(rows, args.figure)


if __name__ == "__main__":
    main()
