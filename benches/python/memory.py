"""Peak memory of storing the rows of an array and of their Gram matrix, on all threads.

The limit is the array plus 4 bytes per value plus 50 MB. The peak is that of the whole process
minus what it used before the array was created. Linux only. Exits with an error above the limit.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from dpfit import _native

MB = 1e6
SPARE = 50 * MB


def memory(field: str) -> float:
    """Return the memory of this process in bytes: VmRSS is the current, VmHWM the peak value."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024.0 * int(line.split()[1])
    raise SystemExit(f"/proc/self/status has no {field}")


def make(rows: int, columns: int, layout: str) -> np.ndarray:
    """Return an array with every page written, without a temporary copy."""
    kind = np.float32 if layout == "float32" else np.float64
    if layout == "strided":
        X = np.ones((rows, 2 * columns), dtype=kind)[:, ::2]
    else:
        X = np.ones((rows, columns), dtype=kind, order="F" if layout == "F" else "C")
    rng = np.random.default_rng(0)
    for start in range(0, rows, 1000):
        X[start : start + 1000] = rng.normal(size=X[start : start + 1000].shape)
    return X


def accumulate(row_map: _native.RowMap, X: np.ndarray, y: np.ndarray) -> _native.Rows:
    rows, gram = _native.Rows(row_map), _native.Gram(row_map)
    rows.extend(X, y, gram)
    _native.Gradient.of(rows, np.zeros(row_map.features), 1 << 18)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=581_835)
    parser.add_argument("--columns", type=int, default=31)
    parser.add_argument("--layout", choices=["C", "F", "strided", "float32"], default="C")
    parser.add_argument("--copy", action="store_true", help="copy X as well, to test the limit")
    given = parser.parse_args()

    row_map = _native.RowMap([(0.0, 1.0, [(-np.inf, np.inf, 1.0)])] * given.columns, step=2.0**-18)
    # Start the threads first, so that their stacks are not counted.
    accumulate(row_map, np.zeros((20_000, given.columns)), np.zeros(20_000))
    before = memory("VmRSS")
    X, y = make(given.rows, given.columns, given.layout), np.ones(given.rows)
    rows = accumulate(row_map, X.copy() if given.copy else X, y)
    peak = memory("VmHWM") - before
    del rows

    array = X.nbytes if X.base is None else X.base.nbytes
    limit = array + 4 * X.size + SPARE
    print(
        f"{given.rows} x {given.columns} ({given.layout}): array {array / MB:.1f} MB,"
        f" peak {peak / MB:.1f} MB, {'below' if peak < limit else 'above'} the limit of"
        f" {limit / MB:.1f} MB by {abs(limit - peak) / MB:.1f} MB;"
        f" with the interpreter {(peak + before) / MB:.1f} MB"
    )
    sys.exit(peak >= limit)


if __name__ == "__main__":
    main()
