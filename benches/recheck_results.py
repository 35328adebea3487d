"""Repeat some fits of a published report and count how many agree.

Whether results of two machines can be mixed (``reproduce.py --adopt``) depends on how the machines
round. This script samples work items of every method and setting, computes them again on this
machine, and compares the errors with the published ones.

    python benches/recheck_results.py docs/experiments --data FOLDER [--items 3] [--seed 0]
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import threadpoolctl

from paper import Options
from paper.adopt import adopt
from paper.catalogue import open_catalogue
from paper.design import WorkItem, work_items
from paper.store import Result, Store
from paper.work import do

# Wider and longer tables take minutes, and round no differently.
MOST_COLUMNS, MOST_ROWS = 50, 25_000
TOLERANCE = 1e-6


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("report", type=Path, help="folder with results.csv and run.json")
    parser.add_argument("--data", type=Path, required=True, help="folder with the tables")
    parser.add_argument("--items", type=int, default=3, help="of each method and setting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ebm-rounds", type=int, default=1000)
    given = parser.parse_args(arguments)
    design = Options(ebm_rounds=given.ebm_rounds).design()
    entries = open_catalogue(given.data).entries
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder, threadpoolctl.threadpool_limits(1):
        known, again = (Store(Path(folder) / name) for name in ("known", "again"))
        adopt(given.report, known, entries, design)
        published = {(f.task, f.method, f.epsilon, f.setting) for f in known.all_results()}
        kinds: dict[tuple[str, str], list[WorkItem]] = defaultdict(list)
        for item in work_items(entries, design):
            key = (item.entry.number, item.method, item.epsilon, item.setting)
            if key in published and item.entry.d <= MOST_COLUMNS and item.entry.n <= MOST_ROWS:
                kinds[item.method, item.setting].append(item)
        for items in kinds.values():
            for item in rng.sample(items, min(given.items, len(items))):
                do(item, design, again.path)
        compare(known.all_results(), again.all_results())


def compare(published: list[Result], repeated: list[Result]) -> None:
    """Print how many of the repeated fits differ from the published ones."""
    known = {_key(fit): fit.mse for fit in published}
    pairs = [(fit, known[_key(fit)]) for fit in repeated]
    rounded = sum(fit.mse != before for fit, before in pairs)
    different = Counter(
        f"{fit.method}, {fit.setting}"
        for fit, before in pairs
        if abs(before - fit.mse) > TOLERANCE * abs(before)
    )
    more = f"{different.total()} by more than {TOLERANCE:g} of the error"
    print(f"{len(pairs)} fits repeated: {rounded} differ, {more}")
    for kind, count in sorted(different.items()):
        print(f"  {kind}: {count}")


def _key(fit: Result) -> tuple[int, str, float, str, int, int]:
    return fit.task, fit.method, fit.epsilon, fit.setting, fit.trials, fit.seed


if __name__ == "__main__":
    main()
