"""Rows made to move a statistic as far as they can, or to trip the arithmetic."""

import numpy as np

LARGEST = np.finfo(np.float64).max


def unit(rng, width):
    vector = rng.normal(size=width)
    return vector / np.linalg.norm(vector)


def ordinary(rng, base, theta, bound):
    return rng.normal(size=len(theta)) * bound


def huge(rng, base, theta, bound):
    return rng.choice([-1.0, 1.0], size=len(theta)) * 10.0 ** rng.uniform(100, 308, len(theta))


def subnormal(rng, base, theta, bound):
    return rng.normal(size=len(theta)) * 5e-324 * 2.0 ** rng.integers(0, 53, len(theta))


def mixed(rng, base, theta, bound):
    return rng.choice([-1.0, 1.0], size=len(theta)) * 10.0 ** rng.uniform(-300, 300, len(theta))


def collinear(rng, base, theta, bound):
    if not len(base):
        return ordinary(rng, base, theta, bound)
    return np.clip(base[rng.integers(len(base))], -1e100, 1e100) * 10.0 ** rng.uniform(-3, 3)


def repeated(rng, base, theta, bound):
    if not len(base):
        return np.zeros(len(theta))
    return base[rng.integers(len(base))].copy()


def aligned(rng, base, theta, bound):
    """Along the model, where a prediction is largest."""
    size = max(np.abs(theta).max(), 5e-324)
    vector = theta / size
    vector = vector / max(np.linalg.norm(vector), 1.0)
    return rng.choice([-1.0, 1.0]) * vector * bound * rng.choice([1.0, 1.0 + 2.0**-52, 1e10])


def axis(rng, base, theta, bound):
    row = np.zeros(len(theta))
    row[rng.integers(len(theta))] = rng.choice([-1.0, 1.0]) * bound
    return row


def boundary(rng, base, theta, bound):
    """Of a norm that is the bound but for the last bits, where scaling in floats fails."""
    row = unit(rng, len(theta)) * bound
    return row * (1.0 + rng.integers(-4, 5) * 2.0**-52)


def zeros(rng, base, theta, bound):
    return rng.choice([0.0, -0.0], size=len(theta))


ROWS = [
    *(ordinary, huge, subnormal, mixed, collinear, repeated),
    *(aligned, axis, boundary, zeros),
]


def target(rng, row, theta, tau):
    """Draw a target: ordinary, as large as a double can be, or at the edge of the clip."""
    with np.errstate(all="ignore"):
        edge = float(np.nan_to_num(row @ theta)) + rng.choice([-1.0, 1.0]) * tau
    return float(
        np.clip(
            rng.choice([0.0, rng.normal() * tau, 1e300, -1e300, LARGEST, 5e-324, tau, -tau, edge]),
            -LARGEST,
            LARGEST,
        )
    )


def thetas(rng, base, width):
    """Draw a model: zero, of any length, or along a row."""
    theta = rng.normal(size=width) * 10.0 ** rng.uniform(-6, 6)
    kind = rng.integers(5)
    if kind == 0:
        return np.zeros(width)
    if kind == 1:
        return theta * 1e290
    if kind == 2 and len(base):
        return np.resize(np.clip(base[rng.integers(len(base))], -1e100, 1e100), width)
    return theta


def with_row(X, y, place, row, value):
    """Return the table with one row more, at a place."""
    return np.insert(X, place, row, axis=0), np.insert(y, place, value)
