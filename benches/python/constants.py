"""What the constants of the models without tuning are worth: each changed alone.

Only tables with an odd task number are used; the constants were chosen on these. Prints the
geometric mean of test MSE / Var(y) over the tables (the median over seeds of each) at three
epsilons, with the constants as they are and with one of them changed.

    constants.py --data FOLDER [--seeds 3] [--only TEXT]
"""

import argparse
import os
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from accuracy import EPSILONS, errors, gmean, load, untuned

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.engine.constants import Constants
from dpfit.engine.features.tails import TailConstants

CLASSES = {"linear": PrivateLinearRegression, "additive": PrivateAdditiveRegression}


@dataclass(frozen=True)
class Change:
    """Fields of the engine's constants, and of the features of a model, with other values."""

    shares: dict = field(default_factory=dict)
    plan: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)
    rounds: dict = field(default_factory=dict)
    features: dict = field(default_factory=dict)

    def constants(self):
        usual = Constants()
        shares = replace(usual.plan.shares, **self.shares)
        return replace(
            usual,
            plan=replace(usual.plan, shares=shares, **self.plan),
            ranges=replace(usual.ranges, **self.ranges),
            rounds=replace(usual.rounds, **self.rounds),
        )

    def model(self, cls):
        """Return a class of models with these constants."""
        change = self

        class Changed(cls):
            _constants = change.constants()

            def _strategy(self, kinds):
                return replace(super()._strategy(kinds), **change.features)

        return Changed


def bins(per_sigma):
    return {"bins": replace(Constants().ranges.bins, per_sigma=per_sigma)}


MORE_ROUNDS = {"rounds": 30, "warm_up": 6, "averaged": 20}
VARIANTS = {
    "linear": {
        "as it is": Change(),
        "8 rounds, mean of 5": Change(plan={"rounds": 8, "warm_up": 2, "averaged": 5}),
        "30 rounds, mean of 20": Change(plan=MORE_ROUNDS),
        "mean of the last 4": Change(plan={"averaged": 4}),
        "constant: 0.08 of the norm": Change(plan={"constant_share": 0.08}),
        "constant: 0.3 of the norm": Change(plan={"constant_share": 0.3}),
        "X'X: 0.15": Change(shares={"gram": 0.15}),
        "X'X: 0.4": Change(shares={"gram": 0.4}),
        "ranges of features: half": Change(
            shares={"feature_powers": 0.0275, "feature_bins": 0.0275}
        ),
        "ranges of features: double": Change(shares={"feature_powers": 0.11, "feature_bins": 0.11}),
        "no choice of ranges, 1-99 %": Change(features={"cuts": (), "few_cuts": ()}),
        "one cut at 10 %": Change(features={"cuts": ((0.1, 1.85),)}),
        "both cuts always": Change(features={"cuts_from": 0.0}),
        "evidence for a range: 0": Change(features={"tails": TailConstants(evidence=0.0)}),
        "evidence for a range: 3": Change(features={"tails": TailConstants(evidence=3.0)}),
        "height of tails: 1": Change(features={"tail_height": 1.0}),
        "height of tails: 4": Change(features={"tail_height": 4.0}),
        "room: 1": Change(features={"least_room": 1.0}),
        "room: 1.5": Change(features={"least_room": 1.5}),
        "same room for few columns": Change(features={"room_per_column": 0.0}),
        "target never wide": Change(plan={"wide_target_from": 1e300}),
        "unseen X'X: 0.03": Change(rounds={"unseen": 0.03}),
        "run penalty: 1": Change(ranges={"run_penalty": 1.0}),
        "run penalty: 2": Change(ranges={"run_penalty": 2.0}),
        "twice the bins": Change(ranges=bins(1.0)),
        "half the bins": Change(ranges=bins(0.25)),
    },
    "additive": {
        "as it is": Change(),
        "always 1 knot": Change(features={"knots_below": (), "most_knots": 1}),
        "always 3 knots": Change(features={"knots_below": (), "most_knots": 3}),
        "always 7 knots": Change(features={"knots_below": (), "most_knots": 7}),
        "room: 1": Change(features={"least_room": 1.0}),
        "room: 1.4": Change(features={"least_room": 1.4}),
        "X'X: 0.15": Change(shares={"gram": 0.15}),
        "X'X: 0.4": Change(shares={"gram": 0.4}),
        "30 rounds, mean of 20": Change(plan=MORE_ROUNDS),
    },
}


def measure(job):
    method, variant, file, seeds = job
    table, make = load(file), untuned(VARIANTS[method][variant].model(CLASSES[method]))
    return [errors(table, make, epsilon, seeds) for epsilon in EPSILONS]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("DPFIT_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="variants whose name contains this")
    args = parser.parse_args()
    if args.data is None:
        sys.exit("no tables: give --data FOLDER, or set DPFIT_DATA (Parquet, column `target`)")
    files = [f for f in sorted(pathlib.Path(args.data).glob("*.parquet")) if int(f.stem[:6]) % 2]
    files = [f for f in files if load(f)[0].shape[1] <= 100]
    print(f"{len(files)} tables, {args.seeds} seeds; epsilon = 0.1, 1, 10")
    for method in VARIANTS:
        for variant in [v for v in VARIANTS[method] if args.only in v]:
            jobs = [(method, variant, file, args.seeds) for file in files]
            with ProcessPoolExecutor() as pool:
                found = np.array(list(pool.map(measure, jobs)))
            means = "  ".join(f"{gmean(found[:, i]):.4f}" for i in range(len(EPSILONS)))
            print(f"{method:8s}  {variant:30s}  {means}", flush=True)


if __name__ == "__main__":
    main()
