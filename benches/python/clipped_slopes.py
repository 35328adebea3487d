"""Print how often 95 % intervals contain the slopes, with and without tails beyond the ranges.

The table in docs/explanation/intervals.md. Lines end at the released range of their column, so an
interval is for the slope of the clipped column. For columns without tails, such as uniform ones,
that is the slope itself.

    python benches/python/clipped_slopes.py [--fits 150]
"""

from __future__ import annotations

import argparse

import numpy as np

from dpfit import PrivateLinearRegression

ROWS, SLOPES = 20_000, np.array([1.0, 0.5, 0.0, -0.5, 0.2])


def columns(kind: str, rng: np.random.Generator, rows: int) -> np.ndarray:
    """Return independent columns with variance one."""
    shape = (rows, len(SLOPES))
    if kind == "normal":
        return rng.normal(size=shape)
    return rng.uniform(-np.sqrt(3), np.sqrt(3), size=shape)


def clipped(kind: str, ranges: np.ndarray) -> np.ndarray:
    """Return the least-squares slopes of clipped columns, in a large population."""
    X = columns(kind, np.random.default_rng(0), 400_000)
    Z = np.clip(X, *ranges.T)
    Z -= Z.mean(axis=0)
    return np.linalg.solve(Z.T @ Z, Z.T @ (X @ SLOPES))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fits", type=int, default=150)
    fits = parser.parse_args().fits
    print("| columns | slope | mean estimate | coverage of the slope | of the clipped slope |")
    print("|---|---|---|---|---|")
    for kind in ("uniform", "normal"):
        estimates, plain, cut = [], [], []
        for seed in range(fits):
            rng = np.random.default_rng([seed, ROWS])
            X = columns(kind, rng, ROWS)
            model = PrivateLinearRegression(epsilon=1.0).fit(
                X, X @ SLOPES + 1.5 * rng.normal(size=ROWS)
            )
            low, high = model.coef_interval()[:-1].T
            target = clipped(kind, model.feature_range_)
            estimates.append(model.coef_estimates_[:-1])
            plain.append((low <= SLOPES) & (high >= SLOPES))
            cut.append((low <= target) & (target <= high))
        for at, slope in enumerate(SLOPES):
            mean, hold, held = (np.mean(x, axis=0)[at] for x in (estimates, plain, cut))
            print(f"| {kind} | {slope:g} | {mean:.3f} | {100 * hold:.0f} % | {100 * held:.0f} % |")


if __name__ == "__main__":
    main()
