"""What the constants of the models without tuning are worth: each changed alone.

Only tables with an odd task number are used; the constants were chosen on these. Prints the
geometric mean of test MSE / Var(y) over the tables (the median over seeds of each) at three
epsilons, with the constants as they are and with one of them changed.

    constants.py --data FOLDER [--seeds 3] [--only TEXT]
"""

import argparse
import dataclasses
import os
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from accuracy import EPSILONS, METHODS, errors, gmean, load

from dpfit import basis, boosting, fitting, plan, ranges, scaling

SHARES = plan.SHARES


def share(**values):
    plan.SHARES = fitting.SHARES = dataclasses.replace(SHARES, **values)


def default(**values):
    """Change fields of every plan that is made."""
    names = [f.name for f in dataclasses.fields(plan.Plan) if f.default is not dataclasses.MISSING]
    new = list(plan.Plan.__init__.__defaults__)
    for name, value in values.items():
        new[names.index(name)] = value
    plan.Plan.__init__.__defaults__ = tuple(new)


def constant(module, **values):
    for name, value in values.items():
        if not hasattr(module, name):
            raise AttributeError(name)
        setattr(module, name, value)


VARIANTS = {
    "linear": {
        "as it is": lambda: None,
        "8 rounds, mean of 5": lambda: default(rounds=8, warm_up=2, averaged=5),
        "30 rounds, mean of 20": lambda: default(rounds=30, warm_up=6, averaged=20),
        "mean of the last 3": lambda: default(averaged=4),
        "constant: 0.08 of the norm": lambda: default(intercept=0.08),
        "constant: 0.3 of the norm": lambda: default(intercept=0.3),
        "X'X: 0.15": lambda: share(gram=0.15),
        "X'X: 0.4": lambda: share(gram=0.4),
        "ranges of features: half": lambda: share(feature_powers=0.0275, feature_bins=0.0275),
        "ranges of features: double": lambda: share(feature_powers=0.11, feature_bins=0.11),
        "no choice of ranges, 1-99 %": lambda: constant(plan, _CUTS=(), _FEW_CUTS=()),
        "one cut at 10 %": lambda: constant(plan, _CUTS=((0.1, 1.85),)),
        "both cuts always": lambda: constant(plan, _CUTS_FROM=0.0),
        "evidence for a range: 0": lambda: constant(ranges, _EVIDENCE=0.0),
        "evidence for a range: 3": lambda: constant(ranges, _EVIDENCE=3.0),
        "height of tails: 1": lambda: constant(basis, _TAIL_HEIGHT=1.0),
        "height of tails: 4": lambda: constant(basis, _TAIL_HEIGHT=4.0),
        "room: 1": lambda: constant(plan, _ROOM=1.0),
        "room: 1.5": lambda: constant(plan, _ROOM=1.5),
        "same room for few columns": lambda: constant(plan, _ROOM_PER_COLUMN=0.0),
        "target never wide": lambda: constant(plan, _WIDE_TARGET_FROM=1e300),
        "unseen X'X: 0.03": lambda: constant(boosting, _UNSEEN=0.03),
        "run penalty: 1": lambda: constant(scaling, _RUN_PENALTY=1.0),
        "run penalty: 2": lambda: constant(scaling, _RUN_PENALTY=2.0),
        "twice the bins": lambda: constant(scaling, _BINS_PER_SIGMA=1.0),
        "half the bins": lambda: constant(scaling, _BINS_PER_SIGMA=0.25),
    },
    "additive": {
        "as it is": lambda: None,
        "always 1 knot": lambda: constant(plan, _KNOTS=(), _MOST_KNOTS=1),
        "always 3 knots": lambda: constant(plan, _KNOTS=(), _MOST_KNOTS=3),
        "always 7 knots": lambda: constant(plan, _KNOTS=(), _MOST_KNOTS=7),
        "room: 1": lambda: constant(plan, _ADDITIVE_ROOM=1.0),
        "room: 1.4": lambda: constant(plan, _ADDITIVE_ROOM=1.4),
        "X'X: 0.15": lambda: share(gram=0.15),
        "X'X: 0.4": lambda: share(gram=0.4),
        "30 rounds, mean of 20": lambda: default(rounds=30, warm_up=6, averaged=20),
    },
}


def measure(job):
    method, variant, file, seeds = job
    VARIANTS[method][variant]()
    table = load(file)
    return [errors(table, method, epsilon, seeds) for epsilon in EPSILONS]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("DPFIT_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="variants that hold this text")
    args = parser.parse_args()
    if args.data is None:
        sys.exit("no tables: give --data FOLDER, or set DPFIT_DATA (Parquet, column `target`)")
    files = [f for f in sorted(pathlib.Path(args.data).glob("*.parquet")) if int(f.stem[:6]) % 2]
    files = [f for f in files if load(f)[0].shape[1] <= 100]
    print(f"{len(files)} tables, {args.seeds} seeds; epsilon = 0.1, 1, 10")
    for method in [m for m in METHODS if m in VARIANTS]:
        for variant in [v for v in VARIANTS[method] if args.only in v]:
            jobs = [(method, variant, file, args.seeds) for file in files]
            # A fresh process for each table, so that a change ends with it.
            with ProcessPoolExecutor(max_tasks_per_child=1) as pool:
                found = np.array(list(pool.map(measure, jobs)))
            means = "  ".join(f"{gmean(found[:, i]):.4f}" for i in range(len(EPSILONS)))
            print(f"{method:8s}  {variant:30s}  {means}", flush=True)


if __name__ == "__main__":
    main()
