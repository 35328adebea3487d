"""Speed of the core compared with NumPy: ratios of medians of interleaved runs on all threads.

NumPy works in float64 and is not private; both do the same arithmetic. Run by `make bench`.
"""

import os
import statistics
import time
from collections.abc import Callable

import numpy as np

from dpfit import _native

RUNS = 15
TAU = 1 << 18
SHAPES = [(20_640, 8), (581_835, 9), (581_835, 31), (515_345, 90), (7_797, 613)]
# Minimum ratios for each shape: the pass, and clipping with the Gram matrix.
FLOORS = {
    (20_640, 8): (4.0, None),
    (581_835, 9): (15.0, 5.5),
    (581_835, 31): (8.5, 5.0),
    (515_345, 90): (6.0, 2.5),
    (7_797, 613): (4.5, 1.35),
}


def medians(*bodies: Callable[[], object]) -> list[float]:
    """Run the bodies in turn and return the median time of each in milliseconds.

    A run makes one call that is not timed and then calls for 50 ms, as in a fit of many rounds.
    BLAS threads spin after a call and would slow down the next body, so wait until they sleep.
    """
    times: list[list[float]] = [[] for _ in bodies]
    for _ in range(RUNS):
        for body, log in zip(bodies, times, strict=True):
            time.sleep(0.1)
            body()
            calls, start = 0, time.perf_counter()
            while calls == 0 or time.perf_counter() - start < 0.05:
                body()
                calls += 1
            log.append(1e3 * (time.perf_counter() - start) / calls)
    return [statistics.median(log[1:]) for log in times]


def clip_and_gram(X: np.ndarray) -> np.ndarray:
    """Clip rows to norm 1 and return their Gram matrix: the fastest NumPy code that we know."""
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    Z = X * np.minimum(1.0, 1.0 / norms)[:, None]
    return Z.T @ Z


def shape(n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    theta = rng.normal(size=d) / d
    row_map = _native.RowMap([(0.0, 1.0, [(-np.inf, np.inf, 1.0)])] * d, step=2.0**-18)
    rows = _native.Rows(row_map)
    rows.extend(X, y)

    def store() -> None:
        _native.Rows(row_map).extend(X, y, _native.Gram(row_map))

    # Public maps from stored rows to rows: X'X of the mapped rows against the first X'X.
    matrix = rng.normal(size=(d, d + 1))
    reach = TAU * _native.ROW_SCALE // 2
    ours, theirs, gram, store_gram, numpy_gram, mapped_gram, mapped, joint = medians(
        lambda: _native.Gradient.of(rows, theta, TAU),
        lambda: X.T @ np.clip(y - X @ theta, -1.0, 1.0),
        lambda: _native.Gram(row_map).extend(row_map, X, y),
        store,
        lambda: clip_and_gram(X),
        lambda: _native.Gram.of_mapped(rows, matrix),
        lambda: rows.mapped(matrix),
        lambda: _native.Gradient.of(rows, theta, TAU, reach),
    )
    pass_floor, gram_floor = FLOORS[n, d]
    floor = "" if gram_floor is None else f" (floor {gram_floor})"
    print(
        f"{n:>7} x {d:<3}  pass {ours:8.3f} ms, NumPy {theirs:8.3f}: {theirs / ours:5.1f}x"
        f" (floor {pass_floor})   clip+quantise+Gram {gram:8.2f} ms, NumPy {numpy_gram:8.2f}:"
        f" {numpy_gram / gram:5.2f}x{floor}, with the store {numpy_gram / store_gram:5.2f}x\n"
        f"{'':15}map+Gram {mapped_gram:8.2f} ms, store+Gram {store_gram:8.2f}:"
        f" {mapped_gram / store_gram:5.2f}   map+store {mapped:8.2f} ms   pass with a joint bound"
        f" {joint:8.3f} ms",
        flush=True,
    )


def sampler() -> None:
    for exponent in (0, 20, 40, 100):
        start = time.perf_counter()
        count = 1_000_000
        _native.rounded_gaussian(2.0**exponent, count, _native.Entropy(), n_jobs=1)
        rate = count / (time.perf_counter() - start) / 1e6
        print(f"round(sigma Z), sigma = 2^{exponent}: {rate:.1f} million per second on one core")


def main() -> None:
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{threads} threads, medians of {RUNS - 1} interleaved runs, NumPy {np.__version__}")
    for n, d in SHAPES:
        shape(n, d)
    sampler()


if __name__ == "__main__":
    main()
