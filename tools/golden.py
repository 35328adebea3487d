"""Record every number that seeded fits release, so that a refactoring can be shown to change none.

    python tools/golden.py record golden.json     # before a change
    python tools/golden.py check golden.json      # after it: exit code 1 if a byte differs

Every estimator is fitted over every kind of table: arrays, frames, files, Dask and Spark, with
units, levels, missing values, public bounds, and too few rows for more than a mean. The file holds
fitted attributes, curves, predictions and the costs of releases; not messages or names, which may
change. It is not part of the repository: processors and versions of NumPy differ in the last digit.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import dpfit
from dpfit import (
    Binary,
    Categorical,
    Date,
    Numeric,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)

CITIES = ["Bonn", "Graz", "Köln", "Zug"]
SCHEMA = Schema({"built": Date(), "city": Categorical(CITIES), "rooms": Categorical([1, 2, 3, 4])})
BOTH = (PrivateLinearRegression, PrivateAdditiveRegression)
# Attributes that are words, or are recorded by hand.
SKIPPED = {"privacy_", "provenance_", "coef_names_", "feature_names_in_", "model_", "status_"}


def houses(rows: int, seed: int = 0) -> pa.Table:
    """Return numbers, a flag, dates and levels; some rows have levels that no schema lists."""
    rng = np.random.default_rng(seed)
    area = rng.lognormal(4.0, 0.5, rows)
    days, lift = rng.integers(0, 9000, rows), rng.random(rows) < 0.3
    city, rooms = rng.integers(0, 5, rows), rng.integers(1, 6, rows)
    price = 3.0 * area + 40.0 * lift + 15.0 * (city == 1) - 10.0 * (rooms == 2) + days / 300.0
    return pa.table(
        {
            "area": area,
            "floor": rng.integers(-1, 12, rows).astype(np.int16),
            "garden": np.where(rng.random(rows) < 0.8, 0.0, rng.exponential(90.0, rows)),
            "lift": lift,
            "built": np.datetime64("1995-01-01") + days,
            "city": pa.array([*CITIES, "Ulm"]).take(pa.array(city)),
            "rooms": rooms.astype(np.int32),
            "owner": rng.integers(0, rows // 3 + 1, rows),
            "price": price + rng.normal(0.0, 20.0, rows),
        }
    )


def numbers(rows: int, columns: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of several shapes and a target that depends on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    x[:, 1::3] = np.exp(x[:, 1::3])
    x[:, 2::3] = np.round(3.0 * x[:, 2::3])
    y = x @ np.linspace(1.0, -0.5, columns) + np.abs(x[:, 0]) + rng.normal(size=rows)
    return x, y


class Recorder:
    """Fits models and keeps what they released, by the name of the case."""

    def __init__(self) -> None:
        self.cases: dict[str, Any] = {}

    def fit(self, name: str, model: Any, *data: Any, new: Any = None, **options: Any) -> None:
        """Fit, and record attributes, costs and predictions for `new`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dpfit.InsecureSeedWarning)
            model.fit(*data, **options)
        names = {name for name in dir(model) if name.endswith("_") and name[0] != "_"} - SKIPPED
        found = {name: _plain(getattr(model, name)) for name in sorted(names)}
        record = model.privacy_
        found["privacy"] = {
            "budget": _plain([record.epsilon, record.delta, record.mu]),
            "neighbors": record.neighbors,
            "events": [_costs(event.to_dict()) for event in record.events],
        }
        if hasattr(model, "curve"):
            found["curves"] = [_plain(model.curve(i)[1]) for i in range(model.n_features_in_)]
        if hasattr(model, "coef_interval"):
            found["intervals"] = _plain(model.coef_interval())
            found["noise_intervals"] = _plain(model.coef_interval(0.5, inference="sample"))
        if new is not None:
            found["predictions"] = _plain(np.asarray(model.predict(new), dtype=np.float64))
        self.cases[name] = found


def _costs(event: dict[str, Any]) -> dict[str, Any]:
    return {key: _plain(event[key]) for key in sorted(event) if not isinstance(event[key], str)}


def _plain(value: Any) -> Any:
    """Return numbers with all their bits."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.hex() if isinstance(value, float) else value


def arrays(record: Recorder) -> None:
    """Fit models without names of columns."""
    x, y = numbers(6000, 6)
    for cls in BOTH:
        for epsilon in (0.1, 1.0, 10.0):
            record.fit(
                f"array {cls.__name__} {epsilon}",
                cls(epsilon=epsilon, random_state=1),
                x,
                y,
                new=x[:50],
            )
        record.fit(f"list {cls.__name__}", cls(random_state=2), x.tolist(), y.tolist(), new=x[:5])
        record.fit(
            f"float32 {cls.__name__}", cls(random_state=3), x.astype(np.float32), y, new=x[:5]
        )
        record.fit(
            f"fortran {cls.__name__}", cls(random_state=3), np.asfortranarray(x), y, new=x[:5]
        )
        record.fit(
            f"replace {cls.__name__}", cls(neighbors="replace", random_state=4), x, y, new=x[:5]
        )
        record.fit(f"mu {cls.__name__}", cls(mu=2.0, random_state=5), x, y, new=x[:5])
        record.fit(f"one job {cls.__name__}", cls(n_jobs=1, random_state=1), x, y, new=x[:5])
        unit = np.arange(len(y)) // 4
        for neighbors in ("add_remove", "replace"):
            model = cls(epsilon=3.0, max_rows=2, neighbors=neighbors, random_state=6)
            record.fit(f"unit {neighbors} {cls.__name__}", model, x, y, unit=unit, new=x[:5])
        gaps = x.copy()
        gaps[::7, 2] = np.nan
        for neighbors in ("add_remove", "replace"):
            model = cls(missing="drop", neighbors=neighbors, random_state=7)
            record.fit(f"missing {neighbors} {cls.__name__}", model, gaps, y, new=gaps[:20])
        for rows in (60, 300, 1000):
            few = cls(random_state=8)
            record.fit(f"{rows} rows {cls.__name__}", few, x[:rows], y[:rows], new=x[:5])
        tiny = cls(epsilon=0.01, random_state=9)
        record.fit(f"tiny {cls.__name__}", tiny, x[:200], y[:200], new=x[:5])
        for width in (1.0, 30.0):
            kinds = {i: Numeric(-30.0 * width, 30.0 * width) for i in range(4)}
            schema = Schema(kinds, target=Numeric(-100.0 * width, 100.0 * width))
            model = cls(schema=schema, random_state=10)
            record.fit(f"bounds {width} {cls.__name__}", model, x, y, new=x[:5])
        flags = np.column_stack([x[:, 0] > 0, x[:, 1] > 1])
        schema = Schema({0: Binary(), 1: Binary()})
        record.fit(f"binary {cls.__name__}", cls(schema=schema, random_state=11), flags * 1.0, y)
        record.fit(f"bool {cls.__name__}", cls(random_state=11), flags, y, new=flags[:5])
        objects = np.empty((len(y), 3), dtype=object)
        objects[:, 0], objects[:, 2] = x[:, 0], x[:, 5]
        objects[:, 1] = np.array(CITIES)[np.arange(len(y)) % 4]
        schema = Schema({1: Categorical(CITIES[:3])})
        model = cls(schema=schema, random_state=12)
        record.fit(f"objects {cls.__name__}", model, objects, y, new=objects[:9])
        constant = np.column_stack([np.full(len(y), 7.0), x[:, 1]])
        record.fit(f"constant {cls.__name__}", cls(random_state=13), constant, y, new=x[:5, :2])
        wide, wide_y = numbers(3000, 60)
        record.fit(f"wide {cls.__name__}", cls(random_state=14), wide, wide_y, new=wide[:5])
        large, large_y = numbers(60_000, 3)
        model = cls(epsilon=5.0, random_state=15)
        record.fit(f"large {cls.__name__}", model, large, large_y, new=large[:5])
    record.fit("knots", PrivateAdditiveRegression(knots=5, random_state=16), x, y, new=x[:50])


def frames(record: Recorder, folder: pathlib.Path) -> None:
    """Fit models on frames and files: one table of all kinds of columns."""
    table = houses(6000)
    plain = table.drop_columns(["owner"])
    pq.write_table(plain, folder / "one.parquet")
    (folder / "many").mkdir()
    for part in range(5):
        pq.write_table(plain.slice(part * 1200, 1200), folder / "many" / f"{part}.parquet")
    pa.csv.write_csv(plain, folder / "one.csv")
    kinds: dict[str, Callable[[], Any]] = {
        "pandas": plain.to_pandas,
        "polars": lambda: pl.DataFrame(plain),
        "arrow": lambda: plain,
        "stream": lambda: pa.RecordBatchReader.from_batches(plain.schema, plain.to_batches(700)),
        "parquet": lambda: dpfit.scan_parquet(folder / "one.parquet"),
        "folder": lambda: dpfit.scan_parquet(folder / "many", memory_limit="1MB"),
        "csv": lambda: dpfit.scan_csv(folder / "one.csv"),
        "batches": lambda: dpfit.scan_batches(lambda: plain.to_batches(700)),
    }
    new = plain.slice(0, 40).drop_columns(["price"])
    for cls in BOTH:
        for name, make in kinds.items():
            model = cls(schema=SCHEMA, random_state=20)
            record.fit(f"{name} {cls.__name__}", model, make(), "price", new=new)
        model = cls(schema=SCHEMA, max_rows=2, random_state=21)
        record.fit(f"frame unit {cls.__name__}", model, table, "price", unit="owner", new=new)
        holes = plain.to_pandas()
        holes.loc[::5, "area"] = np.nan
        holes.loc[::11, "city"] = None
        model = cls(schema=SCHEMA, missing="drop", random_state=22)
        record.fit(f"frame missing {cls.__name__}", model, holes, "price")
        model = cls(schema=SCHEMA, random_state=23)
        record.fit(f"frame few {cls.__name__}", model, plain.slice(0, 90), "price", new=new)
        rare = houses(20_000, 5).drop_columns(["owner", "built"])
        levels = Schema({"city": Categorical([*CITIES, "Ulm", "Jena"]), "rooms": Categorical([1])})
        model = cls(epsilon=3.0, schema=levels, random_state=24)
        record.fit(f"levels {cls.__name__}", model, rare, "price")


def engines(record: Recorder) -> None:
    """Fit models on Dask and Spark."""
    import dask.array
    import dask.dataframe
    import distributed

    table = houses(6000)
    frame = table.to_pandas()
    frame["built"] = pd.to_datetime(frame["built"])
    x, y = numbers(6000, 4)
    new = frame.iloc[:40].drop(columns=["owner", "price"])
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False
    )
    with cluster, distributed.Client(cluster):
        for cls in BOTH:
            parts = dask.dataframe.from_pandas(frame.drop(columns="owner"), npartitions=4)
            model = cls(schema=SCHEMA, random_state=20)
            record.fit(f"dask {cls.__name__}", model, parts, "price", new=new)
            parts = dask.dataframe.from_pandas(frame, npartitions=3)
            model = cls(schema=SCHEMA, max_rows=2, random_state=21)
            record.fit(f"dask unit {cls.__name__}", model, parts, "price", unit="owner", new=new)
            arrays = (
                dask.array.from_array(x, chunks=(1500, 4)),
                dask.array.from_array(y, chunks=1500),
            )
            record.fit(f"dask array {cls.__name__}", cls(random_state=30), *arrays, new=x[:5])
    with _spark() as session:
        for cls in BOTH:
            rows = session.createDataFrame(frame.drop(columns="owner")).repartition(4)
            model = cls(schema=SCHEMA, random_state=20)
            record.fit(f"spark {cls.__name__}", model, rows, "price", new=new)
        rows = session.createDataFrame(frame).repartition(3)
        model = PrivateLinearRegression(schema=SCHEMA, max_rows=2, random_state=21)
        record.fit("spark unit", model, rows, "price", unit="owner", new=new)


@contextlib.contextmanager
def _spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def paper(record: Recorder) -> None:
    """Fit the paper's estimators."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-0.6, 0.6, size=(5000, 4))
    y = x @ [1.0, -0.5, 0.25, 0.0] + 0.1 * rng.normal(size=5000)
    new = x[:20]
    for neighbors in ("add_remove", "replace"):
        common: dict[str, Any] = {"neighbors": neighbors, "random_state": 40}
        for intercept in (False, True):
            both = {**common, "fit_intercept": intercept}
            name = f"{neighbors} {intercept}"
            record.fit(f"boosted {name}", dpfit.BoostedAdaSSP(n_rounds=20, **both), x, y, new=new)
            record.fit(f"adassp {name}", dpfit.AdaSSP(x_bound=0.8, **both), x, y, new=new)
            model = dpfit.DPGradientDescent(n_rounds=15, learning_rate="1/t", **both)
            record.fit(f"gradient descent {name}", model, x, y, new=new)
            model = dpfit.TukeyEM(epsilon=5.0, n_models=300, **both)
            record.fit(f"tukey {name}", model, x, y, new=new)
        record.fit(f"mean {neighbors}", dpfit.BoostedMean(n_rounds=15, **common), x, y, new=new)
    model = dpfit.BoostedAdaSSP(
        mu=1.5,
        n_rounds=9,
        learning_rate="1/sqrt(t)",
        averaging=0.5,
        split=(1, 3, 2),
        random_state=41,
    )
    record.fit("boosted averaged", model, x, y, new=new)
    record.fit("literal", dpfit.AdaSSP(ridge="literal", random_state=42), x, y, new=new)


def run() -> str:
    """Return the whole record as text."""
    record = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        arrays(record)
        paper(record)
        frames(record, pathlib.Path(folder))
        engines(record)
    return json.dumps(record.cases, indent=1, sort_keys=True) + "\n"


def main() -> int:
    """Record, or compare with what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["record", "check"])
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    text = run()
    if options.action == "record":
        options.file.write_text(text)
        return 0
    before, after = json.loads(options.file.read_text()), json.loads(text)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, {}), after.get(name, {})
        parts = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
        if parts:
            print(f"{name}: {', '.join(parts)}")
    same = options.file.read_text() == text
    print(f"{len(after)} cases, {'the same bytes' if same else 'NOT the same bytes'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
