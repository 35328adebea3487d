"""Speed of private models compared with DP-EBM, and of BoostedAdaSSP with its loop in NumPy.

The table has 581,835 rows and 31 columns. The loop in NumPy has no noise and is not private. Runs
are interleaved. Run by `make bench`.

    estimators.py [--runs 5] [--dp-ebm-runs 5]
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
import speed

from dpfit import BoostedAdaSSP, PrivateAdditiveRegression

ROUNDS = 100


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dp-ebm-runs", type=int, default=5, help="it takes about a minute")
    options = parser.parse_args()
    print(speed.versions(speed.threads()))
    n, d = 581_835, 31
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(n, d))
    y = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(scale=0.3, size=n)
    boosted = BoostedAdaSSP(epsilon=1.0, delta=1e-6, n_rounds=ROUNDS)
    additive = PrivateAdditiveRegression(epsilon=1.0)
    bodies = {
        "BoostedAdaSSP": (lambda: boosted.fit(X, y), options.runs + 1),
        "its loop in NumPy, no noise": (lambda: numpy_loop(X, y), options.runs + 1),
        "PrivateAdditiveRegression": (lambda: additive.fit(X, y), options.runs + 1),
        "DP-EBM": (lambda: dp_ebm(X, y), options.dp_ebm_runs),
    }
    found: dict[str, list[float]] = {name: [] for name in bodies}
    for run in range(max(runs for _, runs in bodies.values())):
        for name, (body, runs) in bodies.items():
            if run < runs:
                found[name].append(seconds(body))
    print(f"{n:,} x {d}, {ROUNDS} rounds of BoostedAdaSSP; medians and ranges")
    # The first of several runs warms up.
    found = {name: log[1:] or log for name, log in found.items()}
    for name, log in found.items():
        print(f"{name:28s} {speed.milliseconds(log)}, {len(log)} runs")
    middle = {name: statistics.median(log) for name, log in found.items()}
    fit, loop, curves, ebm = middle.values()
    print(f"loop in NumPy / BoostedAdaSSP: {loop / fit:.1f} (at least 12 hoped for)")
    print(f"DP-EBM / BoostedAdaSSP: {ebm / fit:.0f}")
    print(f"DP-EBM / PrivateAdditiveRegression: {ebm / curves:.0f} (at least 20 hoped for)")


if __name__ == "__main__":
    main()
