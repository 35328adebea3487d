"""Print how wide the intervals of a private linear model are, by rows, columns and budget.

The table in docs/start/columns.md: the median over coefficients and fits of the standard error,
divided by that of least squares on the same rows. Columns are normal and independent, and explain
half of the variance of the target. A dash: in at least half of the fits, most coefficients have no
interval, or are smaller than half of what they should be.

    python benches/python/columns.py [--fits 5]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from dpfit import PrivateLinearRegression
from dpfit.exceptions import InsecureSeedWarning

ROWS, COLUMNS, EPSILONS = (1_000, 5_000, 20_000, 100_000), (2, 5, 10, 20, 50), (0.1, 1.0)


def ratio(rows: int, columns: int, epsilon: float, fits: int) -> float:
    """Return the median ratio of standard errors; NaN if there is no model to speak of."""
    found = []
    for seed in range(fits):
        rng = np.random.default_rng([seed, rows, columns])
        X = rng.normal(size=(rows, columns))
        y = X.sum(axis=1) / np.sqrt(columns) + rng.normal(size=rows)
        model = PrivateLinearRegression(epsilon=epsilon, random_state=seed).fit(X, y)
        exact = np.sqrt(np.diag(np.linalg.inv(X.T @ X)))
        error = np.sqrt(np.diag(model.coef_noise_ + model.coef_sampling_)[:-1])
        small = model.coef_ < 0.5 / np.sqrt(columns)
        known = np.isfinite(error) & (model.status_ == "full") & ~small
        found.append(np.median(error / exact) if known.mean() > 0.5 else np.nan)
    return float(np.median(found)) if np.isfinite(found).mean() > 0.5 else np.nan


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fits", type=int, default=5)
    fits = parser.parse_args().fits
    warnings.simplefilter("ignore", InsecureSeedWarning)
    for epsilon in EPSILONS:
        print(f"\nepsilon = {epsilon:g}\n")
        print("| rows | " + " | ".join(f"{columns} columns" for columns in COLUMNS) + " |")
        print("|---|" + "---|" * len(COLUMNS))
        for rows in ROWS:
            values = [ratio(rows, columns, epsilon, fits) for columns in COLUMNS]
            cells = ["–" if np.isnan(value) else f"{value:.1f}" for value in values]
            print(f"| {rows:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
