"""Folders of small tables named like the paper's, and how far a run over them is."""

import contextlib
import os
import pathlib
import sqlite3
import time

import numpy as np
import pandas as pd

BENCHES = pathlib.Path(__file__).parents[2] / "benches"
# For processes that import the experiments.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(filter(None, [str(BENCHES), os.environ.get("PYTHONPATH")])),
}
SOIL, SUPREME = 361094, 361093


def soil(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "north": rng.uniform(0, 100, rows),
            "east": rng.normal(0, 1, rows),
            "wet": pd.Categorical(rng.choice(["yes", "no"], rows)),
        }
    )
    noise = rng.normal(0, 0.5, rows)
    frame["target"] = 3 + frame["north"] / 50 + frame["east"] + (frame["wet"] == "yes") + noise
    return frame


def folder_of_tables(path, rows=600):
    path.mkdir(parents=True, exist_ok=True)
    soil(rows, seed=1).to_parquet(path / f"{SOIL}_visualizing_soil.parquet")
    soil(rows, seed=2).to_parquet(path / f"{SUPREME}_analcatdata_supreme.parquet")
    return path


def pieces(store):
    """Return how many trials and fits are kept."""
    try:
        with contextlib.closing(sqlite3.connect(store, timeout=30)) as connection:
            return sum(
                connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
                for name in ("trials", "results")
            )
    except sqlite3.OperationalError:
        return 0


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
