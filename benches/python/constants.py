"""What the constants of the models without tuning are worth: each changed alone.

Only tables with an odd task number are used, so that even ones can show how it generalises. Prints
the geometric mean of test MSE / Var(y) over the tables (the median over seeds of each) at three
epsilons, with the constants as they are and with one of them changed.

    constants.py --data FOLDER [--seeds 3] [--jobs 1] [--only TEXT]
"""

import argparse
import contextlib
import multiprocessing
import os
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from unittest import mock

import numpy as np
from accuracy import EPSILONS, MOST_COLUMNS, errors, gmean, load, task, untuned

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.engine import fit, shrinkage, stage, strategy, threshold, whitening, worth
from dpfit.engine.constants import Constants
from dpfit.engine.features import basis
from dpfit.engine.ranges import marginal

CLASSES = {"linear": PrivateLinearRegression, "additive": PrivateAdditiveRegression}


@dataclass(frozen=True)
class Change:
    """Constants with other values.

    `shares`, `plan` and `ranges` are fields of the engine's constants, `full` and `first` of the
    schedules, `strategy` of the model's strategy. `modules` are pairs of a constant of a module, as
    (module, name), and its value.
    """

    shares: dict = field(default_factory=dict)
    plan: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)
    full: dict = field(default_factory=dict)
    first: dict = field(default_factory=dict)
    strategy: dict = field(default_factory=dict)
    modules: tuple = ()

    def constants(self):
        usual = Constants()
        return replace(
            usual,
            shares=replace(usual.shares, **self.shares),
            ranges=replace(usual.ranges, **self.ranges),
            **self.plan,
        )

    def model(self, cls):
        """Return a class of models with these constants."""
        change = self

        class Changed(cls):
            _constants = change.constants()

            def _strategy(self, kinds):
                return replace(super()._strategy(kinds), **change.strategy)

        return Changed

    def patches(self):
        """Return the constants of modules to patch, with their values."""
        schedules = (
            (fit, "FULL", replace(fit.FULL, **self.full)),
            (fit, "FIRST", replace(fit.FIRST, **self.first)),
        )
        return [*schedules, *((*name, value) for name, value in self.modules)]


def bins(per_sigma):
    return {"bins": replace(Constants().ranges.bins, per_sigma=per_sigma)}


def one(module, name, value):
    """Change one constant of a module."""
    # A name that no longer exists is an error, and not a variant without effect.
    assert hasattr(module, name)
    return Change(modules=(((module, name), value),))


def explained(value):
    """Change the share of the target's variance that is expected to be explained."""
    return Change(modules=(((basis, "EXPLAINED"), value), ((worth, "EXPLAINED"), value)))


COMMON = {
    "as it is": Change(),
    "6 rounds, mean of 3": Change(full={"rounds": 6, "averaged": 3}),
    "20 rounds, mean of 14": Change(full={"rounds": 20, "averaged": 14}),
    "mean of the last 4": Change(full={"averaged": 4}),
    "mean of the last 8": Change(full={"averaged": 8}),
    "one X'X": Change(full={"gram": 0.27, "second_gram": 0.0}),
    "second X'X: always": one(whitening, "_SURE", 0.0),
    "second X'X: above 0.1": one(whitening, "_SURE", 0.1),
    "X'X: half": Change(full={"gram": 0.06, "second_gram": 0.075}),
    "X'X: double": Change(full={"gram": 0.24, "second_gram": 0.3}),
    "residuals: 0.01": Change(full={"counts": 0.01}),
    "residuals: 0.1": Change(full={"counts": 0.1}),
    "longer rows: 0.001": one(whitening, "_LONGER", 0.001),
    "longer rows: 0.1": one(whitening, "_LONGER", 0.1),
    "ridge: 0.3": one(whitening, "_RIDGE", 0.3),
    "ridge: 1": one(whitening, "_RIDGE", 1.0),
    "residuals at most 1 threshold": one(stage, "_MOST_TAU", 1.0),
    "residuals at most 10 thresholds": one(stage, "_MOST_TAU", 10.0),
    "evidence for a function: 1": one(worth, "_EVIDENCE", 1.0),
    "evidence for a function: 10": one(worth, "_EVIDENCE", 10.0),
    "explained: 0.2": explained(0.2),
    "explained: 0.8": explained(0.8),
    "no empirical Bayes": one(shrinkage, "_ITERATIONS", 0),
    "empirical Bayes: 10 iterations": one(shrinkage, "_ITERATIONS", 10),
    "visible residuals: 3": one(threshold, "_VISIBLE", 3.0),
    "visible residuals: 5": one(threshold, "_VISIBLE", 5.0),
    "residuals without runs": one(threshold, "_RUNS", (1,)),
    "frequency of levels: 0.05": one(basis, "_FREQUENCY", 0.05),
    "frequency of levels: 0.5": one(basis, "_FREQUENCY", 0.5),
    "ranges of features: half": Change(shares={"feature_look": 0.0275}),
    "ranges of features: double": Change(shares={"feature_look": 0.11}),
    "range of the target: half": Change(shares={"target_look": 0.01}),
    "range of the target: double": Change(shares={"target_look": 0.04}),
    "one count of rows": Change(plan={"count_error": 1e300}),
    "quantiles: 0.1 %": one(fit, "_OUTER", 0.001),
    "quantiles: 5 %": one(fit, "_OUTER", 0.05),
    "quantiles that ignore the noise": one(marginal, "_NOISY", 0.0),
    "quantiles of 4 noisy bins": one(marginal, "_NOISY", 4.0),
    "run penalty: 1": Change(ranges={"run_penalty": 1.0}),
    "run penalty: 2": Change(ranges={"run_penalty": 2.0}),
    "twice the bins": Change(ranges=bins(1.0)),
    "half the bins": Change(ranges=bins(0.25)),
}
VARIANTS = {
    "linear": {
        **COMMON,
        "no look at bends": Change(strategy={"looks": False}),
        "always look at bends": one(stage, "_VISIBLE", 1e300),
        "first model: 0.1": one(fit, "_FIRST", 0.1),
        "first model: 0.35": one(fit, "_FIRST", 0.35),
        "first model: 8 rounds, mean of 5": Change(first={"rounds": 8, "averaged": 5}),
        "look at bends: 0.05": one(fit, "_LOOK", 0.05),
        "look at bends: 0.2": one(fit, "_LOOK", 0.2),
        "evidence for a range: 0": one(strategy, "_EVIDENCE", 0.0),
        "evidence for a range: 10": one(strategy, "_EVIDENCE", 10.0),
        "material: 0": one(strategy, "_MATERIAL", 0.0),
        "material: 0.05": one(strategy, "_MATERIAL", 0.05),
        "6 knots": Change(strategy={"knots": 6}),
    },
    "additive": {
        **COMMON,
        "6 knots": Change(strategy={"knots": 6}),
        "24 knots": Change(strategy={"knots": 24}),
        "bends: 0.2": one(shrinkage, "_BEND", 0.2),
        "bends: 1": one(shrinkage, "_BEND", 1.0),
        "smoothness: 1": one(shrinkage, "_SMOOTHNESS", 1.0),
        "smoothness: 4": one(shrinkage, "_SMOOTHNESS", 4.0),
    },
}


def measure(job):
    """Return the errors at all epsilons; None for a table that is too wide."""
    method, variant, file, seeds = job
    change = VARIANTS[method][variant]
    table, make = load(file), untuned(change.model(CLASSES[method]))
    if table[0].shape[1] > MOST_COLUMNS:
        return None
    with contextlib.ExitStack() as stack:
        for patch in change.patches():
            stack.enter_context(mock.patch.object(*patch))
        return [errors(table, make, epsilon, seeds) for epsilon in EPSILONS]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("DPFIT_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    parser.add_argument("--only", default="", help="variants whose name contains this")
    args = parser.parse_args()
    if args.data is None:
        sys.exit("no tables: give --data FOLDER, or set DPFIT_DATA (Parquet, column `target`)")
    files = [f for f in sorted(pathlib.Path(args.data).glob("*.parquet")) if task(f.stem) % 2]
    print(f"{args.seeds} seeds; epsilon = 0.1, 1, 10")
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.jobs, mp_context=spawn) as pool:
        for method in VARIANTS:
            for variant in [v for v in VARIANTS[method] if args.only in v]:
                jobs = [(method, variant, file, args.seeds) for file in files]
                found = np.array([part for part in pool.map(measure, jobs) if part is not None])
                means = "  ".join(f"{gmean(found[:, i]):.4f}" for i in range(len(EPSILONS)))
                print(f"{method:8s}  {variant:32s}  {means}  ({len(found)} tables)", flush=True)


if __name__ == "__main__":
    main()
