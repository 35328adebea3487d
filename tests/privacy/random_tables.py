"""Random tables, random neighbours of them, and random estimators."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfit import (
    Binary,
    Categorical,
    Numeric,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)

LARGEST = np.finfo(np.float64).max
KINDS = [
    Numeric(),
    Numeric(),
    Numeric(-2, 2),
    Numeric(0, 1e6),
    Binary(),
    Categorical([0, 1, 2]),
    Categorical(range(7)),
    # With indicators, rows with a missing value here are dropped.
    Numeric(missing=False),
    Categorical([0, 1, 2], missing=False),
]
TARGETS = [Numeric(), Numeric(), Numeric(-9, 9)]
WILD = [0.0, -0.0, 1.0, 5e-324, -5e-324, 1e-300, 2.0**31, -(2.0**30), 1e308, LARGEST, -LARGEST]
WEIGHTS = [0.0, 1e-320, 1e-4, 0.3, 1.0, 5.0, 1e300]
NOT_FINITE = [np.nan, np.inf, -np.inf]
# The unit of rows that a neighbour has more.
NEW_UNIT = 10**6


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table, with units and weights if it has them."""

    X: Any
    y: Any
    unit: Any = None
    weight: Any = None

    def columns(self):
        """Return the arrays that it has."""
        names = ("X", "y", "unit", "weight")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def without(self, gone):
        """Return the other rows."""
        return replace(self, **{name: part[~gone] for name, part in self.columns().items()})

    def with_row(self, place, row):
        """Return the table with one row more."""
        parts = self.columns().items()
        more = {name: np.insert(part, place, row[name], axis=0) for name, part in parts}
        return replace(self, **more)

    def options(self):
        """Return the arguments of `fit` and `evaluate`."""
        return {"X": self.X, "y": self.y, "unit": self.unit, "sample_weight": self.weight}


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator, and a table for it."""

    rng: np.random.Generator
    estimator: Any
    rows: Rows

    @classmethod
    def draw(cls, seed):
        """Draw a case."""
        rng = np.random.default_rng(seed)
        count, width = int(rng.choice([1, 2, 5, 30, 120, 400, 1500])), int(rng.integers(1, 5))
        kinds = [KINDS[rng.integers(len(KINDS))] for _ in range(width)]
        target = TARGETS[rng.integers(len(TARGETS))]
        has_units, has_weights = rng.random(2) < 0.35
        estimator = rng.choice([PrivateLinearRegression, PrivateAdditiveRegression])(
            mu=float(rng.choice([0.05, 0.3, 1.0, 5.0, 30.0, 1000.0])),
            neighbors=str(rng.choice(["add_remove", "replace"])),
            missing=str(rng.choice(["error", "drop", "indicator"])),
            schema=Schema(dict(enumerate(kinds)), target=target),
            max_rows=int(rng.choice([1, 2, 5])) if has_units else None,
            max_weight=float(rng.choice([1.0, 3.0, 1e-3])) if has_weights else None,
            n_jobs=1,
        )
        X = np.column_stack([_column(rng, kind, count) for kind in kinds])
        y = X @ rng.normal(size=width) / max(np.abs(X).max(), 1.0)
        y += rng.choice([0.0, 0.1, 1.0, 100.0]) * rng.normal(size=count)
        if estimator.missing != "error":
            X[rng.random(X.shape) < 0.05] = np.nan
        rows = Rows(
            X,
            y,
            rng.integers(0, max(count // 3, 1), count) if has_units else None,
            rng.choice(WEIGHTS[:-1], count) if has_weights else None,
        )
        return cls(rng, estimator, rows)

    def neighbour(self):
        """Draw a table that differs in one row, or in all rows of one unit."""
        rows, rng = self.rows, self.rng
        replaces = self.estimator.neighbors == "replace"
        # Whose rows they are.
        unit = np.arange(len(rows.y)) if rows.unit is None else rows.unit
        removes = replaces or (rng.random() < 0.5 and len(np.unique(unit)) > 1)
        if removes:
            rows = rows.without(unit == rng.choice(unit))
        if removes and not replaces:
            return rows
        # More rows than are used of a unit.
        most = 0 if rows.unit is None else self.estimator.max_rows + 3
        row = self._row()
        for _ in range(int(rng.integers(1, most + 1)) if most else 1):
            rows = rows.with_row(int(rng.integers(len(rows.y) + 1)), row)
            # Often the same row, so that all of them move a sum alike.
            row = row if rng.random() < 0.8 else self._row()
        return rows

    def _row(self):
        rng, (count, width) = self.rng, self.rows.X.shape
        X = [self._value(self.rows.X[rng.integers(count), place]) for place in range(width)]
        return {
            "X": X,
            "y": self._value(self.rows.y[rng.integers(count)]),
            "unit": NEW_UNIT,
            "weight": self._finite(float(rng.choice(WEIGHTS)), [-1.0, *NOT_FINITE]),
        }

    def _value(self, known):
        """Return a value of the table, or one that may trip the arithmetic."""
        rng = self.rng
        value = known if rng.random() < 0.5 else rng.choice([*WILD, 3.0 * rng.normal()])
        return self._finite(float(value), NOT_FINITE)

    def _finite(self, value, others):
        """Return the value or, if rows may have missing values, sometimes another one."""
        drops = self.estimator.missing != "error" and self.rng.random() < 0.1
        return float(self.rng.choice(others)) if drops else value


def _column(rng, kind, count):
    if kind.levels:
        # Also values that are not listed.
        return rng.integers(-1, len(kind.levels) + 1, count).astype(float)
    if kind.is_binary:
        return rng.integers(0, 2, count).astype(float)
    draws = [
        lambda: rng.normal(size=count),
        lambda: rng.lognormal(0.0, 3.0, count),
        lambda: np.full(count, 3.7),
        lambda: 737_000.0 + 200.0 * rng.normal(size=count),
        lambda: np.where(rng.random(count) < 0.9, 0.0, rng.normal(size=count)),
    ]
    return draws[rng.integers(len(draws))]()
