"""The core in plain NumPy and Python's integers: what every sum must equal, bit for bit.

The row map is float64 with the operations in the order in which the core does them. Everything
after it is integers: those of a block of rows are summed in 64 bits, which a block cannot leave,
and blocks in Python's own.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpfit import _native

ONE = 2**15
BOUND = 2**30
"""No row's integers have squares that sum to more."""
LARGEST_FEATURE = 1e150
LARGEST_TARGET = 2.0**30
LOW_BITS = 10
BLOCK = 2**20
PLAIN = ((-math.inf, math.inf, 1.0),)
"""The ramps of a column that is taken as it is."""


@dataclass(frozen=True)
class Map:
    """The arguments of a `RowMap`, and the map as the core and as NumPy have it."""

    columns: tuple
    target: tuple = (0.0, 1.0)
    step: float = 2.0**-16
    norm: str = "clip"
    intercept: float | None = None

    @classmethod
    def plain(cls, width, **options):
        """Take columns as they are."""
        return cls(((0.0, 1.0, PLAIN),) * width, **options)

    @property
    def native(self):
        return _native.RowMap(
            self.columns,
            target=self.target,
            step=self.step,
            norm=self.norm,
            intercept=self.intercept,
        )

    @property
    def features(self):
        counts = (c[0] if len(c) == 2 else len(c[2]) for c in self.columns)
        return sum(counts) + (self.intercept is not None)

    def rows(self, x, y):
        """Return the integers of every row and its target, for finite rows."""
        with np.errstate(all="ignore"):
            return self._rows(np.asarray(x).astype(np.float64), np.asarray(y).astype(np.float64))

    def _rows(self, x, y):
        share = 0.0 if self.intercept is None else self.intercept
        constant, together = math.sqrt(share), self.norm == "weight"
        bound = 1.0 if together else math.sqrt(1.0 - share)
        squares = np.full(len(x), constant * constant if together else 0.0)
        features = []
        for values, column in zip(x.T, self.columns, strict=True):
            for feature in column_features(values, *column):
                features.append(feature)
                squares = squares + feature * feature
        weight = bound / np.sqrt(squares)
        weight = np.where(weight < 1.0, weight, 1.0)
        integers = [truncate(feature * (weight * ONE)) for feature in features]
        if self.intercept is not None:
            last = np.full(len(x), constant)
            integers.append(truncate(last * (weight * ONE if together else ONE)))
        return (
            np.stack(integers, axis=1).astype(np.int64),
            self._targets(y, weight if together else 1.0),
        )

    def _targets(self, y, weight):
        centre, scale = self.target
        largest = np.finfo(np.float64).max
        y = np.clip((y - centre) * (1.0 / scale), -largest, largest) * weight
        units = np.clip(y * (1.0 / self.step), -LARGEST_TARGET, LARGEST_TARGET)
        return np.rint(units).astype(np.int64)


def column_features(x, *column):
    """Return gain·(clamp(z, low, high) − clamp(0, low, high)) for every ramp, from its foot on.

    Of a column of levels, return the height where x is the number of the level.
    """
    if len(column) == 2:
        count, height = column
        return [np.where(x == level, height, 0.0) for level in range(count)]
    centre, scale, ramps = column
    features = []
    for low, high, gain in ramps:
        foot = min(max(0.0, low), high)
        least = max((low - foot) * gain, -LARGEST_FEATURE)
        most = min((high - foot) * gain, LARGEST_FEATURE)
        features.append(np.clip((x - (centre + foot * scale)) * (gain / scale), least, most))
    return features


def truncate(values):
    return np.trunc(np.clip(values, 1 - ONE, ONE - 1))


def blocks(*arrays):
    for start in range(0, len(arrays[0]), BLOCK):
        yield tuple(array[start : start + BLOCK] for array in arrays)


def gram(q):
    """Return the upper triangle of q'q, row by row."""
    upper = np.triu_indices(q.shape[1])
    total = [0] * len(upper[0])
    for (block,) in blocks(q):
        total = [a + b for a, b in zip(total, (block.T @ block)[upper].tolist(), strict=True)]
    return total


def trace(upper, features):
    """Return the sum of the diagonal of an upper triangle."""
    diagonal = [i * features - i * (i - 1) // 2 for i in range(features)]
    return sum(upper[place] for place in diagonal)


def residuals(q, targets, theta, step, tau):
    """Return clip(y − ⌊q·t / 2^(15 + e)⌉, ±τ), with θ = step · t · 2^−e."""
    integers, exponent = _native.round_theta(theta, step)
    shift = 15 - LOW_BITS + exponent
    half = 1 << (shift - 1) if shift > 0 else 0
    dot = q @ np.array(integers, dtype=np.int64).reshape(-1)
    prediction = (dot + (half << LOW_BITS)) >> (shift + LOW_BITS)
    return np.clip(targets - prediction, -tau, tau)


def gradient(q, targets, theta, step, tau):
    """Return q'g, g the clipped residuals."""
    total = [0] * q.shape[1]
    for rows, y in blocks(q, targets):
        part = rows.T @ residuals(rows, y, theta, step, tau)
        total = [a + b for a, b in zip(total, part.tolist(), strict=True)]
    return total


def energy(q, targets, theta, step, tau):
    """Return the sum of g², g the clipped residuals."""
    parts = (residuals(rows, y, theta, step, tau) for rows, y in blocks(q, targets))
    # At most 2^40 each, and a block has 2^20.
    return sum(int((g * g).sum()) for g in parts)


def limits(q, tau, reach):
    """Return the largest t ≤ τ of every row with t²·Σq² ≤ C²."""
    squares = (q * q).sum(axis=1).tolist()
    found = [min(tau, math.isqrt(reach**2 // square)) if square else tau for square in squares]
    return np.array(found, dtype=np.int64)


def joint_gradient(q, targets, theta, step, tau, reach):
    """Return q'g, where the residual of each row is clipped to its limit."""
    return (q.T @ residuals(q, targets, theta, step, limits(q, tau, reach))).tolist()


def residual_counts(q, targets, theta, step, edges):
    """Count the residuals of rows that are not all zero."""
    found = residuals(q, targets, theta, step, 2**40)
    counts = [0] * (2 * len(edges) + 1)
    for row, y, residual in zip(q, targets.tolist(), found.tolist(), strict=True):
        if y or row.any():
            above = sum(abs(residual) > edge for edge in edges)
            counts[len(edges) + (above if residual > 0 else -above)] += 1
    return counts


def residual_sums(q, targets, theta, step, tau, edges):
    """Add up clipped residuals between the edges of every feature that has edges."""
    clipped = residuals(q, targets, theta, step, tau).tolist()
    found = []
    for values, part in zip(q.T.tolist(), edges, strict=True):
        sums = [0] * (len(part) + 1) if part else []
        for value, residual in zip(values if part else [], clipped, strict=bool(part)):
            sums[sum(value >= edge for edge in part)] += residual
        found += sums
    return found


def matrix_integers(matrix):
    """Return the integers m and the exponents e of every column, with M = m · 2^−e."""
    integers, exponents = [], []
    for column in np.clip(np.asarray(matrix, dtype=np.float64), -1e140, 1e140).T.tolist():
        norm = math.sqrt(sum(entry * entry for entry in column))
        exponent = 40
        while norm * 2.0**exponent > 2**24:
            exponent -= 1
        # Python rounds halves to even numbers.
        integers.append([round(entry * 2.0**exponent) for entry in column])
        exponents.append(exponent)
    return np.array(integers, dtype=np.int64).T, exponents


def rounded_matrix(matrix):
    """Return the matrix that is used."""
    integers, exponents = matrix_integers(matrix)
    return integers * 2.0 ** -np.array(exponents)


def mapped(q, targets, matrix):
    """Return the rows and targets to which a matrix maps these."""
    integers, exponents = matrix_integers(matrix)
    scales = 2.0 ** (LOW_BITS - 15.0 - np.array(exponents))
    z = ((q @ integers) >> LOW_BITS) * scales
    squares = np.zeros(len(q))
    for column in z.T:
        squares = squares + column * column
    with np.errstate(divide="ignore"):
        weight = np.minimum(1.0 / np.sqrt(squares), 1.0)
    rows = truncate(z * (weight * ONE)[:, None]).astype(np.int64)
    assert ((rows * rows).sum(axis=1) <= BOUND).all()
    return rows, np.trunc(targets * weight).astype(np.int64)


def power_counts(values, least, most):
    """Count values in signed powers of two, from the most negative to the most positive."""
    middle = most - least + 1
    counts = [0] * (2 * middle + 1)
    for value in np.asarray(values).astype(np.float64).tolist():
        # 2^exponent ≤ |value| < 2^(exponent + 1)
        exponent = math.frexp(value)[1] - 1 if value else least - 1
        step = max(min(exponent, most) - least + 1, 0)
        counts[middle - step if value < 0 else middle + step] += 1
    return counts


def equal_counts(values, low, high, count):
    """Count values below, in `count` equal bins, and above."""
    with np.errstate(all="ignore"):
        places = np.floor((np.asarray(values).astype(np.float64) - low) * (count / (high - low)))
    counts = [0] * (count + 2)
    for place in np.clip(places, -1, count).astype(np.int64).tolist():
        counts[place + 1] += 1
    return counts
