"""Do some fits of a published report again, and say how many agree.

Whether results of two machines may be mixed (``dpfit reproduce --adopt``) is a matter of how they
round. A few pieces of work of every method and setting are drawn, done anew on this machine, and
compared with what was published.

    done_again.py REPORT --data FOLDER [--pieces 3] [--seed 0] [--ebm-rounds 1000]
"""

import argparse
import pathlib
import random
import tempfile
from collections import defaultdict

import threadpoolctl

from dpfit.experiments.adopt import adopt
from dpfit.experiments.catalogue import open_catalogue
from dpfit.experiments.plan import Plan, units
from dpfit.experiments.store import Store
from dpfit.experiments.work import do

# Wider and longer tables take minutes, and round no differently.
MOST_COLUMNS, MOST_ROWS = 50, 25_000
DIGITS = 6


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--pieces", type=int, default=3, help="of each method and setting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ebm-rounds", type=int, default=1000)
    options = parser.parse_args()
    plan = Plan(ebm_rounds=options.ebm_rounds)
    entries = open_catalogue(options.data).entries
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder, threadpoolctl.threadpool_limits(1):
        known, again = (Store(pathlib.Path(folder) / name) for name in ("known", "again"))
        adopt(options.report, known, entries, plan)
        published = {_key(row): row.mse for row in known.all_results()}
        kinds = defaultdict(list)
        for unit in units(entries, plan):
            if unit.entry.d <= MOST_COLUMNS and unit.entry.n <= MOST_ROWS:
                kinds[unit.method, unit.setting].append(unit)
        for work in kinds.values():
            for unit in rng.sample(work, min(options.pieces, len(work))):
                do(unit, plan, again.path)
        compared, rounded, apart = 0, 0, defaultdict(int)
        for row in again.all_results():
            compared += 1
            before = published[_key(row)]
            rounded += before != row.mse
            if abs(before - row.mse) > 10.0**-DIGITS * abs(before):
                apart[f"{row.method}, {row.setting}"] += 1
    print(f"{compared} fits done again: {rounded} differ, {sum(apart.values())} in {DIGITS} digits")
    for kind, count in sorted(apart.items()):
        print(f"  {kind}: {count}")


def _key(row):
    return row.task, row.method, row.epsilon, row.setting, row.trials, row.seed


if __name__ == "__main__":
    main()
