"""Error from storing values in two bytes: least squares on quantised and on float64 rows.

No noise is added to either, so the difference is that of the quantisation alone. The last column
is the change by the noise of a generous budget (epsilon = 10) on the same rows. Tables are read
from a folder of Parquet files with a column `target` (argument or DPFIT_DATA). Without a folder,
they are generated.

    precision.py [FOLDER]
"""

import os
import pathlib
import sys

import numpy as np

from dpfit import _native
from dpfit.accounting import gaussian_sigma, gdp_mu, split

STEP = 2.0**-18
TAU = 1 << 20


def tables(folder: pathlib.Path | None):
    if folder is None:
        rng = np.random.default_rng(0)
        for n, d in [(5_000, 5), (20_000, 30), (50_000, 90)]:
            X = rng.normal(size=(n, d)) @ np.triu(rng.normal(size=(d, d)))
            yield f"generated {n} x {d}", X, X @ rng.normal(size=d) / d + rng.normal(size=n)
        return
    import pandas as pd

    for file in sorted(folder.glob("*.parquet")):
        frame = pd.read_parquet(file)
        y = frame.pop("target").to_numpy(float)
        X = frame.select_dtypes(["number", "bool"]).to_numpy(float)
        X = X[:, X.std(axis=0) > 0]
        if 0 < X.shape[1] <= 100:
            yield file.stem, X, y


def prepare(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale columns to their 5 % and 95 % points, cut them at 2.5, and weight rows to norm 1."""
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    half = np.where(high > low, (high - low) / 2, 1.0)
    Z = np.clip((X - (low + high) / 2) / half, -2.5, 2.5)
    Z = np.column_stack([Z / np.sqrt(Z.shape[1]), np.ones(len(Z))]) / np.sqrt(2.0)
    weight = np.minimum(1.0, 1.0 / np.linalg.norm(Z, axis=1))
    scale = np.quantile(np.abs(y - np.median(y)), 0.95) or 1.0
    return Z * weight[:, None], np.clip((y - np.median(y)) / scale, -3.9, 3.9) * weight


def solve(gram: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    # The same small ridge for all, because some tables have collinear columns.
    return np.linalg.solve(gram + 1e-3 * np.eye(len(gradient)), gradient)


def symmetric(upper: np.ndarray, d: int) -> np.ndarray:
    A = np.zeros((d, d))
    A[np.triu_indices(d)] = upper
    return A + np.triu(A, 1).T


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("DPFIT_DATA")
    mu = split(gdp_mu(10.0, 1e-6), (1.0, 1.0))
    losses, noises = [], []
    print(f"{'table':45s} {'test error':>10s}  {'quantised':>11s}  {'noise, eps=10':>13s}")
    for name, X, y in tables(pathlib.Path(given) if given else None):
        Z, z = prepare(X, y)
        order = np.random.default_rng(1).permutation(len(z))
        train, test = order[: int(0.8 * len(z))], order[int(0.8 * len(z)) :]
        d = Z.shape[1]
        row_map = _native.RowMap(
            [(0.0, 1.0, [(-np.inf, np.inf, 1.0)])] * d, step=STEP, norm="weight"
        )
        rows, gram = _native.Rows(row_map), _native.Gram(row_map)
        rows.extend(Z[train], z[train], gram)
        gradient = _native.Gradient.of(rows, np.zeros(d), TAU)

        def error(theta: np.ndarray, Z=Z, z=z, test=test) -> float:
            return float(np.mean((z[test] - Z[test] @ theta) ** 2))

        exact_gram = np.array(gram.insecure_exact(), float) * 2.0**-30
        exact_gradient = np.array(gradient.insecure_exact(), float) * 2.0**-15 * STEP
        entropy = _native.Entropy.insecure_seed(0)
        noisy_gram = gram.release(gaussian_sigma(2.0**30, mu[0]), entropy) * 2.0**-30
        noisy_gradient = gradient.release(gaussian_sigma(2.0**15 * TAU, mu[1]), entropy)
        floats = error(solve(Z[train].T @ Z[train], Z[train].T @ z[train]))
        quantised = error(solve(symmetric(exact_gram, d), exact_gradient))
        noisy = error(
            solve(
                symmetric(noisy_gram, d) + np.sqrt(d) * np.eye(d), noisy_gradient * 2.0**-15 * STEP
            )
        )
        losses.append(quantised / floats - 1)
        noises.append(noisy / floats - 1)
        print(f"{name:45s} {floats:10.3g}  {losses[-1]:+11.2e}  {noises[-1]:+13.2e}", flush=True)
    print(
        f"{len(losses)} tables: largest change by quantisation {max(map(abs, losses)):.1e},"
        f" median change by the noise of epsilon = 10 {np.median(np.abs(noises)):.1e}"
    )


if __name__ == "__main__":
    main()
