"""What public bounds of the columns and of the target are worth, on real tables.

Fits every table without bounds, with the true minimum and maximum of every numeric column and of
the target, and with bounds 3 and 10 times as wide around the same middle. Prints, for each folder,
epsilon and method, the geometric mean of test MSE / Var(y) over the tables (the median over seeds
of each) without bounds, and the ratios of the others to it. A ratio below 1 means that bounds help.
The table with the largest ratio is also shown.

    public_bounds.py --data FOLDER [--data FOLDER] [--seeds 3] [--epsilons 0.1 1 10] [--jobs 1]
"""

import argparse

import numpy as np
from accuracy import DELTA, add_arguments, each_table, errors, folders, gmean

from dpfit import Binary, Numeric, PrivateAdditiveRegression, PrivateLinearRegression, Schema

MODELS = {"linear": PrivateLinearRegression, "additive": PrivateAdditiveRegression}
WIDTHS = {"true bounds": 1.0, "3 times as wide": 3.0, "10 times as wide": 10.0}


def bounds(values, width):
    """Return the bounds of a column, `width` times as wide; none if all values are the same."""
    low, high = float(values.min()), float(values.max())
    middle, half = (low + high) / 2, (high - low) / 2
    return Numeric(middle - width * half, middle + width * half) if half else Numeric()


def bounded(cls, table, width):
    """Return what makes a model that knows bounds of the table; None is a model without them."""
    Xa, Xb, ya, yb, binary = table
    X, target = np.vstack([Xa, Xb]), None
    kinds = {int(i): Binary() for i in np.flatnonzero(binary)}
    if width is not None:
        kinds |= {int(i): bounds(X[:, i], width) for i in np.flatnonzero(~binary)}
        target = bounds(np.concatenate([ya, yb]), width)
    schema = Schema(kinds, target=target)

    def make(epsilon, seed, X, binary):
        return cls(epsilon=epsilon, delta=DELTA, schema=schema, random_state=seed, n_jobs=1)

    return make


def measure(table, epsilons, seeds):
    """Return the errors on a table, by epsilon, model and width."""
    return {
        (epsilon, name, width): errors(table, bounded(cls, table, width), epsilon, seeds)
        for epsilon in epsilons
        for name, cls in MODELS.items()
        for width in (None, *WIDTHS.values())
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser, seeds=3)
    args = parser.parse_args()
    for folder in folders(args):
        tables = dict(each_table(measure, folder, args.jobs, args.epsilons, args.seeds))
        for epsilon, name in [(e, m) for e in args.epsilons for m in MODELS]:
            without = {table: found[epsilon, name, None] for table, found in tables.items()}
            shown = []
            for label, width in WIDTHS.items():
                ratios = {
                    t: found[epsilon, name, width] / without[t] for t, found in tables.items()
                }
                worst = max(ratios, key=ratios.get)
                shown.append(
                    f"{label} {gmean(list(ratios.values())):.3f}"
                    f" (largest {ratios[worst]:.3f}, {worst})"
                )
            print(
                f"{folder.name} eps={epsilon:g} {name} ({len(tables)} tables):"
                f" {gmean(list(without.values())):.4f} without bounds; {'; '.join(shown)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
