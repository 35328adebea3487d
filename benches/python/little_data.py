"""Accuracy with few rows: random subsets of every table.

Prints test MSE / Var(y), the median over seeds of each table, for each epsilon, number of rows and
method: the geometric mean over the tables, the number of tables above 1.02 (a model should never be
much worse than the mean of y), the worst table, and the number of tables below 0.97 (where the
model has learned something). Test rows are always the same 20 % of the table. Tables with fewer
rows to fit are left out.

    little_data.py --data FOLDER [--data FOLDER] [--methods linear additive] [--seeds 5]
        [--epsilons 0.1 1 10] [--jobs 1]
"""

import argparse
import warnings

import numpy as np
from accuracy import METHODS, add_arguments, each_table, folders, gmean

SIZES = (200, 500, 1000, 2000, 5000)
# Above the first, the mean of y would have been better; below the second, the model is better.
WORSE, BETTER = 1.02, 0.97


def error(table, method, epsilon, size, seed):
    Xa, Xb, ya, yb, binary = table
    # Tables have subsets and noise of their own, so that one draw does not count for all of them.
    own = np.random.default_rng((seed, *Xa.shape))
    kept, noise = own.permutation(len(ya))[:size], int(own.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS[method](epsilon, noise, Xa, binary).fit(Xa[kept], ya[kept])
        return float(np.mean((yb - model.predict(Xb)) ** 2) / np.var(yb))


def measure(table, methods, epsilons, seeds):
    """Return the median errors on a table, by epsilon, size and method."""
    return {
        (epsilon, size, method): float(
            np.median([error(table, method, epsilon, size, seed) for seed in range(seeds)])
        )
        for epsilon in epsilons
        for size in SIZES
        if size <= len(table[2])
        for method in methods
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser, seeds=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["linear", "additive"])
    args = parser.parse_args()
    given = args.methods, args.epsilons, args.seeds
    for folder in folders(args):
        tables = dict(each_table(measure, folder, args.jobs, *given))
        for key in [(e, s, m) for e in args.epsilons for s in SIZES for m in args.methods]:
            errors = {name: found[key] for name, found in tables.items() if key in found}
            if not errors:
                continue
            worst = max(errors, key=errors.get)
            values = list(errors.values())
            print(
                f"{folder.name} eps={key[0]:g} rows={key[1]} {key[2]}:"
                f" geometric mean {gmean(values):.4f};"
                f" above {WORSE} on {sum(v > WORSE for v in values)} of {len(values)} tables"
                f" (worst {worst} {errors[worst]:.4g});"
                f" below {BETTER} on {sum(v < BETTER for v in values)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
