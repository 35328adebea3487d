"""Time of fits and predictions, compared with what a user would run instead, in one run.

Every line is one shape of table: medians of interleaved runs and their range, then the ratio of
medians and, in brackets, of the fastest runs, which other programs on the machine disturb least.
If the machine is shared, `--cpu` compares processor time on one thread instead of time on all.

    speed.py [linear] [additive] [predict] [portable] [--runs 5] [--quick] [--large] [--cpu]

With `--large`, 10,000,000 x 30 is among the linear fits; it takes 10 GB of memory.
"""

import argparse
import contextlib
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import scipy
import sklearn
from sklearn.linear_model import LinearRegression, Ridge
from threadpoolctl import threadpool_limits

import dpfit
from dpfit import PrivateAdditiveRegression, PrivateLinearRegression, _native

PARTS = ("linear", "additive", "predict", "portable")
# Rows, columns, whether columns are log-normal, and the largest ratio that is hoped for.
LINEAR = [
    (5_000, 8, False, 4.0),
    (100_000, 20, False, 1.0),
    (581_835, 31, False, 1.0),
    (581_835, 31, True, 1.0),
    (7_797, 613, False, 2.0),
    (20_000, 1_000, False, None),
]
ADDITIVE = [(581_835, 31, False, 1.0), (515_345, 90, False, 1.5), (20_000, 400, False, None)]
LARGE = (10_000_000, 30, False, 1.0)
# The fits that take long.
LONG = {(20_000, 1_000), (515_345, 90), (20_000, 400)}


def threads() -> int:
    """Return the number of threads that fits use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def versions(threads: int) -> str:
    """Return what was measured, and how busy the machine is."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"dpfit {dpfit.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, Python {platform.python_version()}, "
        f"{threads} threads{load}"
    )


def table(n: int, d: int, is_skewed: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, slopes, errors = rng.normal(size=(n, d)), rng.normal(size=d), rng.normal(size=n)
    if is_skewed:
        X = np.exp(X)
    return X, X @ slopes + errors


def times(bodies: Sequence[Callable[[], object]], options: argparse.Namespace) -> list[list[float]]:
    """Run the bodies in turn; return the seconds of each without those of the first run.

    BLAS threads spin after a call and would slow down the next body, so wait until they sleep.
    """
    found: list[list[float]] = [[] for _ in bodies]
    clock = time.process_time if options.cpu else time.perf_counter
    for run in range(options.runs + 1):
        for body, log in zip(bodies, found, strict=True):
            time.sleep(0.15)
            start = clock()
            body()
            if run:
                log.append(clock() - start)
    return found


def milliseconds(log: list[float]) -> str:
    low, middle, high = (1e3 * f(log) for f in (min, statistics.median, max))
    return f"{middle:9.1f} ms ({low:.1f} to {high:.1f})"


def compare(name: str, ours: list[float], theirs: list[float], most: float | None) -> None:
    ratio = statistics.median(ours) / statistics.median(theirs)
    hoped = "" if most is None else f", at most {most:.2g} hoped for"
    print(
        f"{name:34s} {milliseconds(ours)} / {milliseconds(theirs)}"
        f" = {ratio:.2f} ({min(ours) / min(theirs):.2f}){hoped}",
        flush=True,
    )


def fits(part: str, options: argparse.Namespace) -> None:
    shapes, ours, theirs = {
        "linear": (LINEAR, PrivateLinearRegression, Ridge(solver="cholesky")),
        "additive": (ADDITIVE, PrivateAdditiveRegression, LinearRegression()),
    }[part]
    if options.large and part == "linear":
        shapes = [*shapes, LARGE]
    print(f"\n{ours.__name__} / {theirs}")
    for n, d, is_skewed, most in shapes:
        if options.quick and (n, d) in LONG:
            continue
        X, y = table(n, d, is_skewed)
        model = ours(epsilon=1.0, n_jobs=1 if options.cpu else None)
        bodies = [lambda model=model, X=X, y=y: model.fit(X, y), lambda X=X, y=y: theirs.fit(X, y)]
        kind = "log-normal" if is_skewed else "normal"
        compare(f"{n:,} x {d}, {kind}", *times(bodies, options), most)


def predictions(options: argparse.Namespace) -> None:
    n, d = 1_000_000, 31
    print(f"\nPredictions for {n:,} x {d}")
    X, y = table(100_000, d, False)
    new = table(n, d, False)[0]
    linear, additive = (
        cls(epsilon=1.0).fit(X, y) for cls in (PrivateLinearRegression, PrivateAdditiveRegression)
    )
    plain = LinearRegression().fit(X, y)
    found = times([lambda: linear.predict(new), lambda: plain.predict(new)], options)
    compare("linear / LinearRegression", *found, 1.5)
    found = times([lambda: additive.predict(new), lambda: plain.predict(new)], options)
    compare("additive / LinearRegression", *found, None)
    for name, model in (("linear", linear), ("additive", additive)):
        (log,) = times([lambda model=model: model.predict(new, interval=0.95)], options)
        print(f"{name} with intervals{'':14s} {milliseconds(log)}", flush=True)
    try:
        from interpret.glassbox import ExplainableBoostingRegressor
    except ImportError:
        print("additive / EBM: interpret is not installed")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Few rounds: the time to predict does not depend on them.
        ebm = ExplainableBoostingRegressor(interactions=0, max_rounds=20, outer_bags=1)
        ebm.fit(X[:20_000], y[:20_000])
    found = times([lambda: additive.predict(new), lambda: ebm.predict(new)], options)
    compare("additive / EBM", *found, 1 / 3)


def portable(options: argparse.Namespace) -> None:
    """Compare the portable path with the fastest one of this processor, on one thread."""
    n, d = 100_000, 31
    print(f"\nPortable path / fastest path at {n:,} x {d}, one thread")
    X, y = table(n, d, False)
    row_map = _native.RowMap([(0.0, 1.0, [(-np.inf, np.inf, 1.0)])] * d, step=2.0**-18)
    rows = _native.Rows(row_map)
    rows.extend(X, y)
    theta = np.full(d, 0.01)

    def gradient(is_portable: bool) -> None:
        for _ in range(20):
            _native.Gradient.of(rows, theta, 1 << 18, n_jobs=1, portable=is_portable)

    def store(is_portable: bool) -> None:
        gram = _native.Gram(row_map)
        _native.Rows(row_map).extend(X, y, gram, n_jobs=1, portable=is_portable)

    for name, body, most in (("20 passes", gradient, 4.0), ("store and X'X", store, 2.5)):
        bodies = [lambda body=body: body(True), lambda body=body: body(False)]
        compare(name, *times(bodies, options), most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="processor time, on one thread")
    parser.add_argument("--quick", action="store_true", help="without the fits that take long")
    parser.add_argument("--large", action="store_true", help="with 10,000,000 rows")
    options = parser.parse_args()
    wrong = set(options.parts) - set(PARTS)
    if wrong:
        parser.error(f"unknown part {min(wrong)}")
    cpu = " of processor time" if options.cpu else ""
    print(f"{versions(1 if options.cpu else threads())}, medians of {options.runs}{cpu}")
    limit = threadpool_limits(1) if options.cpu else contextlib.nullcontext()
    with limit:
        run(options)


def run(options: argparse.Namespace) -> None:
    for part in options.parts or PARTS:
        if part in ("linear", "additive"):
            fits(part, options)
        elif part == "predict":
            predictions(options)
        else:
            portable(options)


if __name__ == "__main__":
    main()
