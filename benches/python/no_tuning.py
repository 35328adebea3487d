"""Speed of private fits compared with scikit-learn's non-private ones, at 581,835 x 31.

There are two tables: normal columns, and log-normal ones with long tails. Every fit starts from the
same array of doubles. Run by `make bench`.
"""

import statistics
import time

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression

RUNS = 7
N, D = 581_835, 31


def seconds(model, X, y):
    time.sleep(0.2)
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def compare(name, X, y):
    models = {
        "PrivateLinearRegression": PrivateLinearRegression(epsilon=1.0),
        "PrivateAdditiveRegression, 3 knots": PrivateAdditiveRegression(epsilon=1.0, knots=3),
        "LinearRegression": LinearRegression(),
        "Ridge(solver='cholesky')": Ridge(solver="cholesky"),
    }
    times = {key: [] for key in models}
    for run in range(RUNS + 1):
        for key, model in models.items():
            took = seconds(model, X, y)
            # The first run of each is not counted, because libraries load their parts in it.
            if run:
                times[key].append(took)
    linear, additive, least_squares, ridge = (statistics.median(t) for t in times.values())
    print(f"{name}, {N} x {D}, medians of {RUNS}")
    for key, took in times.items():
        print(f"  {key:36s} {statistics.median(took):.3f} s")
    print(f"  linear / LinearRegression   {linear / least_squares:.2f} (at most 0.25)")
    print(f"  linear / Ridge              {linear / ridge:.2f} (at most 1.5)")
    print(f"  additive / LinearRegression {additive / least_squares:.2f} (at most 1)")


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    slopes = rng.normal(size=D)
    errors = rng.normal(size=N)
    compare("normal columns", X, X @ slopes + errors)
    X = np.exp(X)
    compare("log-normal columns", X, X @ slopes + errors)


if __name__ == "__main__":
    main()
