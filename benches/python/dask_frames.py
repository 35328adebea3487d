"""Fits of a Dask frame, compared with X'X alone, on threads of this process.

A table of 1,000,000 rows and 22 columns is read from Parquet files; every fit reads the files. Runs
are interleaved, and medians are printed with their range.

    dask_frames.py [--rows 1000000] [--repeats 5]
"""

import argparse
import pathlib
import tempfile

import dask
import dask.dataframe
import spark
import speed

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression


def products(frame):
    X = frame[spark.NAMES].to_dask_array(lengths=True)
    return (X.T @ X).compute()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        spark.write(pathlib.Path(name), given.rows)
        frame = dask.dataframe.read_parquet(name)
        acts = {
            "X'X": lambda: products(frame),
            "linear": lambda: PrivateLinearRegression(epsilon=1.0).fit(frame, "y"),
            "additive": lambda: PrivateAdditiveRegression(epsilon=1.0).fit(frame, "y"),
        }
        options = argparse.Namespace(runs=given.repeats, cpu=False)
        print(f"{speed.versions(speed.threads())}, Dask {dask.__version__}")
        print(f"{given.rows:,} x {spark.COLUMNS} from Parquet, medians of {given.repeats}")
        for label, log in zip(acts, speed.times(list(acts.values()), options), strict=True):
            print(f"  {label:9} {speed.milliseconds(log)}")


if __name__ == "__main__":
    main()
