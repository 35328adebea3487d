"""Random tables with columns of every type, in every kind of table, and random neighbours."""

import datetime
import decimal
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpfit import (
    Binary,
    Categorical,
    Date,
    Numeric,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    scan_batches,
    scan_csv,
    scan_parquet,
)

LARGEST = float(np.finfo(np.float64).max)
START = datetime.datetime(2020, 1, 1)
# For every type: its Arrow type, its kind, ordinary values, and values that may trip arithmetic.
TYPES = {
    "double": (
        pa.float64(),
        Numeric(),
        lambda rng: float(rng.normal() * 10.0 ** rng.choice([0, 3, -3])),
        [0.0, -0.0, 5e-324, 1e308, -LARGEST, 2.0**53],
    ),
    "bounded": (pa.float64(), Numeric(0, 1), lambda rng: float(rng.random()), [-LARGEST, 7.5]),
    "single": (
        pa.float32(),
        Numeric(),
        lambda rng: float(np.float32(rng.normal())),
        [1e-45, 3.4e38, -0.0],
    ),
    "integer": (
        pa.int64(),
        Numeric(),
        lambda rng: int(rng.integers(-1000, 1000)),
        [-(2**63), 2**63 - 1, 2**53 + 1],
    ),
    "flag": (pa.bool_(), Binary(), lambda rng: bool(rng.integers(2)), [True]),
    "decimal": (
        pa.decimal128(20, 2),
        Numeric(-100, 100),
        lambda rng: decimal.Decimal(int(rng.integers(-(10**6), 10**6))) / 100,
        [decimal.Decimal("-9999999999999999.99")],
    ),
    "date": (
        pa.date32(),
        Date(),
        lambda rng: (START + datetime.timedelta(days=int(rng.integers(3000)))).date(),
        [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    ),
    "instant": (
        pa.timestamp("us"),
        Date(),
        lambda rng: START + datetime.timedelta(microseconds=int(rng.integers(10**14))),
        [datetime.datetime(1700, 1, 1), datetime.datetime(1970, 1, 1, 0, 0, 0, 1)],
    ),
    "word": (
        pa.large_string(),
        Categorical(["a", "b", "c"]),
        lambda rng: str(rng.choice(["a", "b", "c"])),
        ["zz", "(missing)", "ü"],
    ),
    "level": (
        pa.int32(),
        Categorical([0, 1, 2]),
        lambda rng: int(rng.integers(3)),
        [-1, 3, 10**9],
    ),
}
TARGETS = [0.0, -0.0, 5e-324, 1e308, -LARGEST]
WEIGHTS = [0.0, 5e-324, 1e-320, 0.3, 1.0, 3.0, 1e300, LARGEST]
CARRIERS = ["arrow", "chunks", "pandas", "objects", "polars", "parquet", "csv", "batches"]
# The unit of rows that a neighbour has more.
NEW_UNIT = 10**6


class FrameCase:
    """An estimator, a table for it as a list of rows, and how the rows become a table."""

    def __init__(self, seed, folder):
        self.rng = rng = np.random.default_rng(seed)
        self.folder = folder
        count = int(rng.choice([1, 2, 5, 25, 120]))
        self.types = [str(rng.choice(list(TYPES))) for _ in range(rng.integers(1, 5))]
        self.carrier = str(rng.choice(CARRIERS))
        self.has_units, self.has_weights = rng.random(2) < (0.5, 0.4)
        self.units = max(count // 3, 1)
        self.estimator = rng.choice([PrivateLinearRegression, PrivateAdditiveRegression])(
            mu=float(rng.choice([0.05, 0.5, 5.0, 100.0])),
            neighbors=str(rng.choice(["add_remove", "replace"])),
            missing=str(rng.choice(["error", "drop", "indicator"])),
            schema=Schema(
                {f"x{place}": TYPES[name][1] for place, name in enumerate(self.types)},
                target=Numeric() if rng.random() < 0.5 else Numeric(-3, 3),
            ),
            max_rows=int(rng.choice([1, 2, 4])) if self.has_units else None,
            max_weight=float(rng.choice([1.0, 3.0, 1e-3])) if self.has_weights else None,
            n_jobs=1,
        )
        self.rows = [self._row() for _ in range(count)]

    def neighbour(self):
        """Return the rows of a table that differs in one row, or in those of one unit."""
        rng, rows = self.rng, list(self.rows)
        replaces = self.estimator.neighbors == "replace"
        owners = [row["unit"] if self.has_units else place for place, row in enumerate(rows)]
        removes = replaces or (rng.random() < 0.5 and len(set(owners)) > 1)
        if removes:
            gone = owners[rng.integers(len(owners))]
            rows = [row for row, owner in zip(rows, owners, strict=True) if owner != gone]
        if replaces or not removes:
            # More rows than are used of a unit, often equal ones.
            most = self.estimator.max_rows + 3 if self.has_units else 2
            row = self._row(NEW_UNIT)
            for _ in range(rng.integers(1, most)):
                rows.insert(int(rng.integers(len(rows) + 1)), row)
                row = row if rng.random() < 0.7 else self._row(NEW_UNIT)
        return rows

    def fit(self, rows):
        """Fit the estimator and return all that it publishes."""
        self.estimator.fit(*self._table(rows), **self._names())
        return pickle.dumps(replace(self.estimator.model_, provenance=None))

    def evaluate(self, rows):
        """Evaluate the model and return all that is published."""
        limits = {name: getattr(self.estimator, name) for name in ("mu", "max_rows", "max_weight")}
        found = self.estimator.evaluate(*self._table(rows), **self._names(), **limits)
        return found.to_dict()

    def _names(self):
        return {
            **({"unit": "unit"} if self.has_units else {}),
            **({"sample_weight": "weight"} if self.has_weights else {}),
        }

    def _row(self, unit=None):
        rng = self.rng
        row = {f"x{place}": self._value(*TYPES[name]) for place, name in enumerate(self.types)}
        row["y"] = float(rng.normal() if rng.random() < 0.8 else rng.choice(TARGETS))
        if self.has_units:
            row["unit"] = int(rng.integers(self.units)) if unit is None else unit
        if self.has_weights:
            row["weight"] = float(rng.choice(WEIGHTS))
        if self.estimator.missing != "error":
            names = [name for name in row if name != "unit" and rng.random() < 0.08]
            row.update(dict.fromkeys(names))
            if self.has_weights and rng.random() < 0.05:
                row["weight"] = -1.0
        return row

    def _value(self, _, kind, ordinary, wild):
        rng = self.rng
        return wild[rng.integers(len(wild))] if rng.random() < 0.35 else ordinary(rng)

    def _table(self, rows):
        """Return the arguments of `fit` for rows; where parts of a table begin is random."""
        types = {f"x{place}": TYPES[name][0] for place, name in enumerate(self.types)}
        types |= {"y": pa.float64(), "unit": pa.int64(), "weight": pa.float64()}
        names = list(rows[0])
        table = pa.table(
            {name: pa.array([row[name] for row in rows], types[name]) for name in names}
        )
        start = int(self.rng.integers(1, len(rows) + 1))
        parts = [part for part in (table[:start], table[start:]) if len(part)]
        if self.carrier == "batches":
            return (scan_batches(lambda: parts, target="y"),)
        if self.carrier == "parquet":
            pyarrow.parquet.write_table(table, self.folder / "t.parquet", row_group_size=start)
            return (scan_parquet(self.folder / "t.parquet", target="y"),)
        if self.carrier == "csv":
            pyarrow.csv.write_csv(table, self.folder / "t.csv")
            return (scan_csv(self.folder / "t.csv", target="y"),)
        objects = {name: pd.Series([row[name] for row in rows], dtype=object) for name in names}
        made = {
            "arrow": lambda: table,
            "chunks": lambda: pa.concat_tables(parts),
            "pandas": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
            "objects": lambda: pd.DataFrame(objects),
            "polars": lambda: pl.from_arrow(table),
        }
        return made[self.carrier](), "y"
