"""A private least-squares fit with the core, step by step: rows, integers, sums, noise.

The data are generated. Every private number that is printed was released with noise; exact sums
never leave the core. A test runs this example.
"""

import numpy as np

from dpfit import _native
from dpfit.accounting import PrivacyRecord, Release, gaussian_sigma, gdp_mu, split

EPSILON, DELTA = 1.0, 1e-6
N, D = 200_000, 5
TAU = 1 << 18  # the clipping threshold, in steps of the target's grid
STEP = 2.0**-18


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(N, D))
    true = np.array([0.5, -0.3, 0.2, 0.0, 0.1])
    y = X @ true + rng.normal(scale=0.1, size=N)

    # 1. A public map of rows: those with a norm above one are scaled down, and values become 15-bit
    #    integers.
    bound = np.sqrt(D)
    column = (0.0, 1.0, [(-np.inf, np.inf, 1.0 / bound)])
    row_map = _native.RowMap([column] * D, step=STEP)

    # 2. Exact sums: the same bits for any order of rows, number of threads and partition.
    gram = _native.Gram(row_map)
    rows = _native.Rows(row_map)
    for part in np.array_split(np.arange(N), 7):
        rows.extend(X[part], y[part], gram)
    gradient = _native.Gradient.of(rows, np.zeros(D), TAU)

    # 3. Noise, so that the two releases together are (1, 1e-6)-DP.
    mu_gram, mu_gradient = split(gdp_mu(EPSILON, DELTA), (1.0, 1.0))
    entropy = _native.Entropy()
    noisy_gram = gram.release(gaussian_sigma(2.0**30, mu_gram), entropy) * 2.0**-30
    noisy_gradient = gradient.release(gaussian_sigma(2.0**15 * TAU, mu_gradient), entropy)

    # 4. From here on, all numbers are public.
    A = np.zeros((D, D))
    A[np.triu_indices(D)] = noisy_gram
    A = A + np.triu(A, 1).T
    theta = np.linalg.solve(A, noisy_gradient * 2.0**-15 * STEP) / bound

    least_squares = np.linalg.lstsq(X, y, rcond=None)[0]
    print(f"rows: {N:,} generated, {D} columns")
    print("true coefficients    ", np.round(true, 4))
    print("least squares        ", np.round(least_squares, 4), "(not private)")
    print("private least squares", np.round(theta, 4))
    record = PrivacyRecord.from_events(
        [
            Release(statistic=name, sensitivity=1.0, mu=mu, neighbors="add_remove")
            for name, mu in (("X'X", mu_gram), ("X'y", mu_gradient))
        ],
        epsilon=EPSILON,
        delta=DELTA,
    )
    print()
    print(record.statement())


if __name__ == "__main__":
    main()
