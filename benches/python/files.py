"""Fits of Parquet files that may exceed the memory limit, compared with X'X computed by polars.

Files of a million rows with 20 columns are written to a temporary folder. Every measurement runs in
a new process: its time, its processor time, and its peak memory above what it used before. The
runs are interleaved, and medians are printed (Linux only).

    files.py [--rows 10000000] [--repeats 5] [--limits 500MB 1GB 4GB] [--additive] [--folder PATH]
"""

import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import speed
import streaming

MODELS = {"linear": "PrivateLinearRegression", "additive": "PrivateAdditiveRegression"}


def reset_peak():
    """Start to measure peak memory from here on."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def products(folder):
    """Return all entries of X'X."""
    import polars as pl

    names = [*(f"x{place}" for place in range(20)), "y"]
    pairs = itertools.combinations_with_replacement(names, 2)
    sums = [(pl.col(a) * pl.col(b)).sum().alias(f"{a} {b}") for a, b in pairs]
    return pl.scan_parquet(f"{folder}/*.parquet").select(sums).collect(engine="streaming")


def measure(folder, what, limit):
    """Print the measurements of one run as JSON; in a new process."""
    if what in MODELS:
        import numpy as np

        import dpfit

        # Threads, caches and imports are not what is measured.
        X = np.random.default_rng(0).normal(size=(20_000, 20))
        model = getattr(dpfit, MODELS[what])(epsilon=1.0)
        model.fit(X, X[:, 0])
        rows = dpfit.scan_parquet(folder, target="y", memory_limit=limit)

        def act():
            model.fit(rows)
    else:
        import polars as pl

        pl.select(pl.lit(1.0).sum())

        def act():
            products(folder)

    reset_peak()
    before, start, cpu = streaming.largest_memory(), time.perf_counter(), time.process_time()
    act()
    taken, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(json.dumps({"s": taken, "cpu": cpu, "MB": streaming.largest_memory() - before}))


def run(folder, what, limit):
    command = [sys.executable, __file__, "--inside", what, "--folder", str(folder)]
    found = subprocess.run([*command, "--limits", limit], check=True, capture_output=True)
    return json.loads(found.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limits", nargs="+", default=["500MB", "1GB", "4GB"])
    parser.add_argument("--additive", action="store_true")
    parser.add_argument("--folder", help="where files are, or will be")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        measure(given.folder, given.inside, given.limits[0])
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(given.folder or temporary)
        for part, start in enumerate(range(0, given.rows, streaming.FILE_ROWS)):
            path = folder / f"{part:04}.parquet"
            if not path.exists():
                streaming.write(path, min(streaming.FILE_ROWS, given.rows - start), 20, part)
        models = list(MODELS) if given.additive else ["linear"]
        acts = [("polars X'X", "1GB"), *itertools.product(models, given.limits)]
        found = {act: [] for act in acts}
        for _ in range(given.repeats):
            for act in acts:
                found[act].append(run(folder, *act))
    print(
        f"{speed.versions(speed.threads())}; {given.rows:,} x 20 from Parquet, "
        f"medians of {given.repeats}"
    )
    middle = {
        act: {key: statistics.median(each[key] for each in runs) for key in runs[0]}
        for act, runs in found.items()
    }
    polars = middle[acts[0]]
    least, most = (
        {act: f(each["s"] for each in runs) for act, runs in found.items()} for f in (min, max)
    )
    for act, each in middle.items():
        what, limit = act
        label = what if what not in MODELS else f"{what}, {limit}"
        print(
            f"  {label:18} {each['s']:6.2f} s ({least[act]:.2f} to {most[act]:.2f}), "
            f"{each['s'] / polars['s']:5.2f} x polars; "
            f"processor {each['cpu']:6.2f} s, {each['cpu'] / polars['cpu']:5.2f} x; "
            f"peak {each['MB']:5.0f} MB above the start"
        )


if __name__ == "__main__":
    main()
