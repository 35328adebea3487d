"""Coverage of 95 % prediction intervals for new observations, on real tables.

    prediction_intervals.py --data FOLDER [--epsilon 1] [--repeats 5] [--only wine]

A model is fitted to 80 % of the rows, at most 20,000. Its intervals should contain 95 % of the
targets of the other rows. `below` and `above` are the shares of targets on either side; `width` is
that of the interval, relative to one of least squares without privacy.
"""

import argparse
import pathlib
import warnings

import numpy as np
import pandas as pd

from dpfit import Categorical, PrivateAdditiveRegression, PrivateLinearRegression, Schema
from dpfit.exceptions import InsecureSeedWarning

MOST_ROWS = 20_000
MOST_LEVELS = 30
CLASSES = {"linear": PrivateLinearRegression, "additive": PrivateAdditiveRegression}


def read(path):
    """Return columns of numbers and of few levels, the target, and a schema of the levels."""
    frame = pd.read_parquet(path).dropna()
    y = frame.iloc[:, -1].to_numpy(dtype=float)
    X, schema = frame.iloc[:, :-1], {}
    for column in X.columns:
        if not pd.api.types.is_numeric_dtype(X[column]):
            levels = sorted(X[column].astype(str).unique())
            X = X.drop(columns=column) if len(levels) > MOST_LEVELS else X
            if column in X:
                X = X.assign(**{column: X[column].astype(str)})
                schema[column] = Categorical(levels)
    return X, y, Schema(schema)


def measured(cls, table, epsilon, seed):
    """Fit one part of a table; return shares below, inside and above on the other, and widths."""
    X, y, schema = table
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    cut = min(int(0.8 * len(y)), MOST_ROWS)
    train, test = order[:cut], order[cut:][:MOST_ROWS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        model = cls(epsilon=epsilon, schema=schema, random_state=seed).fit(X.iloc[train], y[train])
    found = np.asarray(model.predict(X.iloc[test], interval=0.95, kind="observation"))
    low, high, target = found[:, 1], found[:, 2], y[test]
    A = np.column_stack([pd.get_dummies(X).to_numpy(dtype=float), np.ones(len(y))])
    theta = np.linalg.lstsq(A[train], y[train], rcond=None)[0]
    plain = 2 * 1.96 * np.std(y[train] - A[train] @ theta)
    known = np.isfinite(low)
    inside = (low <= target) & (target <= high)
    return (
        float(np.mean(target[known] < low[known])),
        float(np.mean(inside[known])),
        float(np.mean(target[known] > high[known])),
        float(np.median(high[known] - low[known]) / plain),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    heads = "".join(f" {head:>6}" for head in ("below", "inside", "above", "width"))
    print(f"{'table':<32} {'rows':>7} {'model':>9}{heads}")
    for path in sorted(args.data.glob("*.parquet")):
        if args.only not in path.stem:
            continue
        table = read(path)
        if table[0].shape[1] > 100:
            continue
        for name, cls in CLASSES.items():
            found = [measured(cls, table, args.epsilon, seed) for seed in range(args.repeats)]
            below, inside, above, width = np.mean(found, axis=0)
            print(
                f"{path.stem[7:39]:<32} {len(table[1]):>7} {name:>9}"
                f" {below:>6.3f} {inside:>6.3f} {above:>6.3f} {width:>6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
