"""Fits of a Spark frame, compared with MLlib's least squares on the same frame.

A table of 1,000,000 rows and 22 columns is read from Parquet files into a local Spark with two
threads. Every fit reads the files. Runs are interleaved, and medians are printed with their range.

    spark.py [--rows 1000000] [--repeats 5] [--partitions 8 64] [--jobs]

With `--jobs`, the number of Spark jobs of each fit is printed, too.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpfit
from dpfit import PrivateAdditiveRegression, PrivateLinearRegression, scan_parquet

COLUMNS, FILES = 22, 8
NAMES = [f"x{place}" for place in range(COLUMNS)]


def write(folder, rows):
    rng = np.random.default_rng(0)
    step = -(-rows // FILES)
    for part, start in enumerate(range(0, rows, step)):
        X = rng.normal(size=(min(step, rows - start), COLUMNS))
        X[:, ::2] = np.exp(X[:, ::2] / 2)
        y = X @ np.linspace(-1.0, 1.0, COLUMNS) + np.sin(X[:, 0]) + rng.normal(size=len(X))
        columns = dict(zip(NAMES, X.T.copy(), strict=True))
        pq.write_table(pa.table({**columns, "y": y}), folder / f"{part}.parquet")


def session():
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "6g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def linear(frame):
    PrivateLinearRegression(epsilon=1.0).fit(frame, "y")


def additive(frame):
    PrivateAdditiveRegression(epsilon=1.0).fit(frame, "y")


def mllib(frame):
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression

    rows = VectorAssembler(inputCols=NAMES, outputCol="features").transform(frame)
    LinearRegression(solver="normal", labelCol="y").fit(rows)


def in_driver(frame):
    PrivateLinearRegression(epsilon=1.0).fit(frame.toArrow(), "y")


def jobs(spark):
    """Return the number of jobs so far."""
    tracker = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return tracker.size()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--partitions", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--jobs", action="store_true")
    given = parser.parse_args()
    spark = session()
    print(f"dpfit {dpfit.__version__}, Spark {spark.version}, local[2], {given.rows:,} x {COLUMNS}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder, given.rows)
        for partitions in given.partitions:
            frame = spark.read.parquet(name)
            spread = frame.repartition(partitions) if partitions != FILES else frame
            acts = {
                "MLlib normal": lambda frame=spread: mllib(frame),
                "linear": lambda frame=spread: linear(frame),
                "additive": lambda frame=spread: additive(frame),
                "toArrow + linear": lambda frame=spread: in_driver(frame),
                "scan_parquet + linear": lambda: linear(scan_parquet(folder, target="y")),
            }
            times = {label: [] for label in acts}
            counts = {}
            for _ in range(1 + given.repeats):
                for label, act in acts.items():
                    before, start = jobs(spark) if given.jobs else 0, time.perf_counter()
                    act()
                    times[label].append(time.perf_counter() - start)
                    counts[label] = jobs(spark) - before if given.jobs else 0
            least = statistics.median(times["MLlib normal"][1:])
            print(f"{partitions} partitions; medians of {given.repeats} after one that warms up")
            for label, taken in times.items():
                middle = statistics.median(taken[1:])
                told = f", {counts[label]} jobs" if given.jobs else ""
                print(
                    f"  {label:22} {middle:6.2f} s ({min(taken[1:]):.2f} to {max(taken[1:]):.2f}),"
                    f" {middle / least:.2f} x MLlib{told}",
                    flush=True,
                )
    spark.stop()


if __name__ == "__main__":
    main()
