"""Accuracy with few rows: random subsets of every table.

Prints the geometric mean of test MSE / Var(y) over the tables (the median over seeds of each) for
each epsilon and number of rows, and the tables on which it exceeds 1.05: a model should never be
much worse than the mean of y.

    little_data.py --data FOLDER [--seeds 5]
"""

import argparse
import os
import pathlib
import sys

import numpy as np
from accuracy import EPSILONS, METHODS, MOST_COLUMNS, gmean, load

SIZES = (200, 500, 1000, 2000, None)
LIMIT = 1.05


def error(table, method, epsilon, size, seed):
    Xa, Xb, ya, yb, binary = table
    kept = np.random.default_rng(seed).permutation(len(ya))[:size]
    model = METHODS[method](epsilon, seed, Xa, binary).fit(Xa[kept], ya[kept])
    return float(np.mean((yb - model.predict(Xb)) ** 2) / np.var(yb))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("DPFIT_DATA"))
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    if args.data is None:
        sys.exit("no tables: give --data FOLDER, or set DPFIT_DATA (Parquet, column `target`)")
    if not sys.warnoptions:
        import warnings

        warnings.simplefilter("ignore")
    tables = {f.stem: load(f) for f in sorted(pathlib.Path(args.data).glob("*.parquet"))}
    tables = {name: t for name, t in tables.items() if t[0].shape[1] <= MOST_COLUMNS}
    for epsilon in EPSILONS:
        for size in SIZES:
            for method in ("linear", "additive"):
                found = {
                    name: np.median(
                        [error(table, method, epsilon, size, s) for s in range(args.seeds)]
                    )
                    for name, table in tables.items()
                }
                above = [f"{n} {v:.3g}" for n, v in found.items() if v > LIMIT]
                print(
                    f"epsilon={epsilon:g} rows={size or 'all'} {method}:"
                    f" {gmean(list(found.values())):.3f}, above {LIMIT} on {len(above)}"
                    f" of {len(found)} tables {above if len(above) < 6 else ''}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
