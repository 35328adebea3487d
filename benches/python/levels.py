"""Accuracy with categorical columns and with binary columns, on real tables with string columns.

Prints test MSE / Var(y), the geometric mean over tables of the medians over seeds, for
`Categorical(levels)` and for one `Binary()` column per level. Levels are those of the whole table.

    levels.py --data FOLDER [--seeds 3]
"""

import argparse
import pathlib
import warnings

import numpy as np
import pandas as pd

from dpfit import Binary, Categorical, PrivateAdditiveRegression, PrivateLinearRegression, Schema

MOST_ROWS, MOST_COLUMNS = 60_000, 100


def load(path):
    frame = pd.read_parquet(path)
    text = [
        c for c in frame if not pd.api.types.is_numeric_dtype(frame[c]) or frame[c].dtype == bool
    ]
    if not text or frame.shape[1] > MOST_COLUMNS:
        return None
    if len(frame) > MOST_ROWS:
        kept = np.random.default_rng(1).permutation(len(frame))[:MOST_ROWS]
        frame = frame.iloc[kept]
    frame = frame.reset_index(drop=True)
    y = frame.pop("target").to_numpy(float)
    frame[text] = frame[text].astype(str)
    flags = pd.get_dummies(frame, columns=text).astype(float)
    levels = Schema({c: Categorical(sorted(frame[c].unique())) for c in text})
    return y, {
        "levels": (frame, levels),
        "flags": (flags, Schema({c: Binary() for c in flags if c not in frame})),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    errors = {}
    tables = [load(path) for path in sorted(options.data.glob("*.parquet"))]
    tables = [table for table in tables if table is not None]
    for y, ways in tables:
        order = np.random.default_rng(42).permutation(len(y))
        train, test = np.split(order, [int(0.8 * len(y))])
        for cls in (PrivateLinearRegression, PrivateAdditiveRegression):
            for epsilon in (0.1, 1.0, 10.0):
                for way, (X, schema) in ways.items():
                    found = []
                    for seed in range(options.seeds):
                        model = cls(epsilon=epsilon, schema=schema, random_state=seed)
                        predicted = model.fit(X.iloc[train], y[train]).predict(X.iloc[test])
                        found.append(np.mean((y[test] - predicted) ** 2) / np.var(y[test]))
                    errors.setdefault((cls.__name__, epsilon, way), []).append(np.median(found))
    print(f"{len(tables)} tables, {options.seeds} seeds: levels / flags")
    for cls in (PrivateLinearRegression, PrivateAdditiveRegression):
        for epsilon in (0.1, 1.0, 10.0):
            means = [
                np.exp(np.mean(np.log(errors[cls.__name__, epsilon, way])))
                for way in ("levels", "flags")
            ]
            print(f"{cls.__name__}, epsilon {epsilon}: {means[0]:.4f} / {means[1]:.4f}")


if __name__ == "__main__":
    main()
