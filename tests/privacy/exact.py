"""Exact statistics of small tables that were made to move them far."""

import math

import numpy as np

from dpfit import _native
from dpfit.statistics import EqualBins, PowerBins, RowMap, Scale

from .neighbours import ROWS, target, thetas

BINS = [PowerBins(-30, 30), EqualBins(-1.0, 1.0, 8)]


def integer_statistics(X, y, row_map, theta, tau, example):
    """Return every statistic as Python's integers."""
    row_map = row_map.native()
    rows, gram = _native.Rows(row_map), _native.Gram(row_map)
    rows.extend(X, y, gram, n_jobs=1)
    width = X.shape[1]
    counts = _native.Histogram([BINS[i % 2].native() for i in range(width + 1)])
    counts.extend(X, y, n_jobs=1)
    part = theta[: width + example["constant"]]
    matrix = example["matrix"]
    mapped = rows.mapped(matrix, n_jobs=1)
    mapped_theta = np.resize(theta, matrix.shape[1])
    examples = _native.ExampleGradient.of(X, y, part, example["bound"], n_jobs=1)
    return {
        "gram": gram.insecure_exact(),
        "eigenvalue": [gram.insecure_smallest_eigenvalue()],
        "gradient": _native.Gradient.of(
            rows, theta[: row_map.features], tau, n_jobs=1
        ).insecure_exact(),
        "examples": examples.insecure_exact(),
        "energy": [
            _native.Energy.of(rows, theta[: row_map.features], tau, n_jobs=1).insecure_exact()
        ],
        "histogram": counts.insecure_exact(),
        "mapped gram": _native.Gram.of_mapped(rows, matrix, n_jobs=1).insecure_exact(),
        "mapped gradient": _native.Gradient.of(
            mapped, mapped_theta, tau, example["reach"], n_jobs=1
        ).insecure_exact(),
        "residuals": _native.ResidualCounts.of(
            mapped, mapped_theta, example["edges"], n_jobs=1
        ).insecure_exact(),
        "scores": _native.ResidualCounts.of_scores(
            mapped, mapped_theta, example["score edges"], n_jobs=1
        ).insecure_exact(),
        "score products": _native.Gram.of_scores(
            mapped, mapped_theta, tau, example["reach"], n_jobs=1
        ).insecure_exact(),
    }


def squares(first, second):
    """Return the squared distance of every statistic; X'X in the Frobenius norm."""
    found = {}
    for name, values in first.items():
        weights = [1] * len(values)
        if name in ("gram", "mapped gram", "score products"):
            places = zip(*np.triu_indices(math.isqrt(2 * len(values))), strict=True)
            weights = [1 if i == j else 2 for i, j in places]
        moved = zip(weights, values, second[name], strict=True)
        found[name] = sum(weight * (a - b) ** 2 for weight, a, b in moved)
    return found


def matrices(rng, inputs):
    """Draw a public matrix of any size, with ordinary entries, or tiny and huge ones."""
    shape = inputs, int(rng.integers(1, 6))
    kind = rng.integers(4)
    if kind == 0:
        return np.eye(*shape) * rng.choice([1.0, 4.0, 2.0**-4])
    sizes = rng.uniform(-300, 300, shape) if kind == 1 else rng.uniform(-2, 4)
    return rng.normal(size=shape) * 10.0**sizes


def case(rng, kind):
    """Draw a table, two rows that may be added to it, and everything public."""
    columns = int(rng.integers(1, 5))
    bound = float(10.0 ** rng.choice([0.0, 0.0, rng.uniform(-6, 6), 40.0]))
    constant_share = None if rng.random() < 0.5 else 0.5
    tau = int(rng.choice([1, 2**18, 2**20, rng.integers(1, 2**20)]))
    size = float(10.0 ** rng.choice([0.0, rng.uniform(-6, 6)]))
    row_map = RowMap(
        [(0.0, 1.0, [(-math.inf, math.inf, 1.0 / bound)])] * columns,
        (0.0, 1.0),
        Scale(size / tau, bound),
        constant_share,
        norm=str(rng.choice(["clip", "clip", "weight"])),
    )
    base = np.empty((0, columns))
    theta = rng.normal(size=columns)
    for _ in range(rng.integers(0, 6)):
        make = ROWS[rng.integers(len(ROWS))]
        base = np.vstack([base, make(rng, base, theta, bound)])
    theta = thetas(rng, base, columns + 1)
    row = kind(rng, base, theta[:columns], bound)
    # The other row: opposite, or of any kind.
    other = (
        -row
        if rng.random() < 0.4
        else ROWS[rng.integers(len(ROWS))](rng, base, theta[:columns], bound)
    )
    targets = [target(rng, part, theta[:columns], size) for part in (*base, row, other)]
    example = {
        "bound": size,
        "constant": constant_share is not None,
        "matrix": matrices(rng, columns + (constant_share is not None)),
        "reach": int(rng.choice([1, 2**15 * tau, rng.integers(1, 2**15 * tau + 1)])),
        "edges": sorted({1, tau, int(rng.integers(1, tau + 1))}),
        "score edges": sorted({1, 2**15 * tau, int(rng.integers(1, 2**15 * tau + 1))}),
    }
    return base, np.array(targets), (row, other), row_map, theta, tau, example
