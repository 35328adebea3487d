"""Speed of BoostedAdaSSP compared with the same loop in NumPy and with DP-EBM, at 581,835 x 31.

The loop in NumPy has no noise and is not private. Run by `make bench`.
"""

import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np

from dpfit import BoostedAdaSSP

ROUNDS = 100
RUNS = 5


def seconds(body: Callable[[], object]) -> float:
    time.sleep(0.2)
    start = time.perf_counter()
    body()
    return time.perf_counter() - start


def numpy_loop(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the result of Algorithm 1 without noise."""
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    Z = X * np.minimum(1.0, 1.0 / norms)[:, None]
    gamma = np.linalg.inv(Z.T @ Z)
    theta = np.zeros(X.shape[1])
    for _ in range(ROUNDS):
        theta = theta + gamma @ (Z.T @ np.clip(y - Z @ theta, -1.0, 1.0))
    return theta


def dp_ebm(X: np.ndarray, y: np.ndarray) -> object:
    from interpret.privacy import DPExplainableBoostingRegressor

    bounds = {str(j): (-1.0, 1.0) for j in range(X.shape[1])}
    model = DPExplainableBoostingRegressor(
        feature_names=list(bounds),
        epsilon=1.0,
        delta=1e-6,
        privacy_bounds=bounds,
        privacy_target_min=-4.0,
        privacy_target_max=4.0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def main() -> None:
    n, d = 581_835, 31
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(n, d))
    y = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(scale=0.3, size=n)
    model = BoostedAdaSSP(epsilon=1.0, delta=1e-6, n_rounds=ROUNDS)
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(seconds(lambda: model.fit(X, y)))
        theirs.append(seconds(lambda: numpy_loop(X, y)))
    fit, loop = statistics.median(ours), statistics.median(theirs)
    ebm = seconds(lambda: dp_ebm(X, y))
    print(f"{n} x {d}, {ROUNDS} rounds, medians of {RUNS} (DP-EBM: once)")
    print(f"BoostedAdaSSP.fit {fit:.3f} s")
    print(f"NumPy, no noise   {loop:.3f} s: {loop / fit:.1f}x (floor 6)")
    print(f"DP-EBM            {ebm:.3f} s: {ebm / fit:.1f}x (floor 10)")


if __name__ == "__main__":
    main()
