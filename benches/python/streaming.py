"""Fits from Parquet files: speed compared with reading them first, and memory for a large table.

The first part fits 581,835 rows of 31 columns from a file, and compares the time with reading the
file into NumPy and fitting in memory. The second part fits `--rows` rows of 20 columns in files of
a million rows, in a new process, and prints its peak memory (Linux only).

    streaming.py [--rows 1000000] [--memory-limit 500MB]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpfit import PrivateLinearRegression, scan_parquet
from dpfit.statistics.table import LocalBatches

REPEATS = 5
FILE_ROWS = 1_000_000


def write(path, rows, columns, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = X @ np.linspace(-1.0, 1.0, columns) + rng.normal(size=rows)
    names = [f"x{i}" for i in range(columns)]
    arrays = [*(np.ascontiguousarray(X[:, i]) for i in range(columns)), y]
    pq.write_table(pa.table(dict(zip([*names, "y"], arrays, strict=True))), path)


def streamed(path):
    return PrivateLinearRegression(epsilon=1.0).fit(scan_parquet(path, target="y"))


def read_whole(path):
    table = pq.read_table(path)
    y = table.column("y").to_numpy()
    names = [name for name in table.column_names if name != "y"]
    X = np.column_stack([table.column(name).to_numpy() for name in names])
    return PrivateLinearRegression(epsilon=1.0).fit(X, y)


def compare(folder):
    path = folder / "table.parquet"
    write(path, 581_835, 31, 0)
    times = {streamed: [], read_whole: []}
    for _ in range(1 + REPEATS):
        for fit, taken in times.items():
            start = time.perf_counter()
            fit(path)
            taken.append(time.perf_counter() - start)
    ours, whole = (statistics.median(taken[1:]) for taken in times.values())
    print(
        f"581,835 x 31 from Parquet: {ours:.2f} s; read whole, then fitted: {whole:.2f} s; "
        f"ratio {ours / whole:.2f} (limit 1.5; medians of {REPEATS})"
    )


def largest_memory():
    """Return the peak memory of this process in MB. Linux only."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return 1024 * int(line.split()[1]) / 1e6


def fit_folder(folder, memory_limit):
    """Fit and print the measurements as JSON; runs in the new process."""
    phases: dict[str, float] = {}

    def timed(function, phase):
        def run(self, what, **options):
            start = time.perf_counter()
            result = function(self, what, **options)
            taken = time.perf_counter() - start
            name = phase(what) if phases else "first"
            phases[name] = phases.get(name, 0.0) + taken
            return result

        return run

    LocalBatches.sum = timed(LocalBatches.sum, lambda statistic: type(statistic).__name__)
    LocalBatches.store = timed(LocalBatches.store, lambda row_map: "store")
    before = largest_memory()
    start = time.perf_counter()
    model = PrivateLinearRegression(epsilon=1.0)
    model.fit(scan_parquet(folder, target="y", memory_limit=memory_limit))
    taken = time.perf_counter() - start
    peak = largest_memory()
    error = float(np.abs(model.coef_ - np.linspace(-1.0, 1.0, len(model.coef_))).max())
    print(json.dumps({"s": taken, "before": before, "peak": peak, "error": error, **phases}))


def larger_than_memory(folder, rows, memory_limit):
    for part, start in enumerate(range(0, rows, FILE_ROWS)):
        write(folder / f"{part:04}.parquet", min(FILE_ROWS, rows - start), 20, part)
    command = [sys.executable, __file__, "--inside", str(folder), "--memory-limit", memory_limit]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    rest = found["s"] - found["first"] - found["Histograms"] - found["store"]
    print(
        f"{rows:,} x 20 with memory_limit={memory_limit}: {found['s']:.1f} s, "
        f"{rows / found['s'] / 1e6:.2f} M rows/s; largest memory {found['peak']:.0f} MB, "
        f"of which {found['before']:.0f} MB before the fit\n"
        f"  reading the files once and a histogram {found['first']:.1f} s, a histogram from the "
        f"spool {found['Histograms']:.1f} s, storing {found['store']:.1f} s, the rest from the "
        f"store {rest:.1f} s; coefficients off by up to {found['error']:.4f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory-limit", default="500MB")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        fit_folder(options.inside, options.memory_limit)
    else:
        with tempfile.TemporaryDirectory() as folder:
            compare(pathlib.Path(folder))
        with tempfile.TemporaryDirectory() as folder:
            larger_than_memory(pathlib.Path(folder), options.rows, options.memory_limit)
