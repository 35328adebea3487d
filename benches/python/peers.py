"""Print the accuracy of another package for private regression beside dpfit's, on one easy table.

The tables in docs/explanation/comparison.md. Run it once for each peer, in an environment with that
peer; several of them cannot be installed together.

    python benches/python/peers.py dpfit
    python benches/python/peers.py dp_ebm           # interpret-core==0.7.8
    python benches/python/peers.py diffprivlib      # diffprivlib==0.6.6 "scikit-learn<1.7"
    python benches/python/peers.py opendp           # "opendp[scikit-learn]==0.16.0"
    python benches/python/peers.py dp_econometrics --checkout FOLDER
    python benches/python/peers.py paper --checkout FOLDER       # amazon-science/boostedadassp
    python benches/python/peers.py google --checkout FOLDER      # google-research/google-research
    python benches/python/peers.py dpfit --inference             # coverage; also of dp_econometrics

Eight columns are uniform on [-1, 1], independent, and explain 70 % of the variance of the target
together; the target is clipped to [-1, 1], which changes nearly no row. Every peer is told these
bounds; dpfit is told nothing. R² is that of 20,000 other rows. delta is 1e-6, except for methods
without delta.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

DELTA = 1e-6
COLUMNS = 8
SLOPES = np.array([0.15, -0.12, 0.1, 0.1, -0.08, 0.05, 0.02, 0.0])
# The columns explain 70 %.
RESIDUAL = np.sqrt(np.sum(SLOPES**2) / 3 * 0.3 / 0.7)
Predict = Callable[[np.ndarray], np.ndarray]


def table(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and target."""
    rng = np.random.default_rng([seed, rows])
    X = rng.uniform(-1, 1, size=(rows, COLUMNS))
    return X, np.clip(X @ SLOPES + RESIDUAL * rng.normal(size=rows), -1, 1)


def least_squares(X: np.ndarray, y: np.ndarray, epsilon: float) -> Predict:
    design = np.column_stack([X, np.ones(len(X))])
    found = np.linalg.lstsq(design, y, rcond=None)[0]
    return lambda new: new @ found[:-1] + found[-1]


def dpfit(X: np.ndarray, y: np.ndarray, epsilon: float) -> Predict:
    from dpfit import PrivateLinearRegression

    return PrivateLinearRegression(epsilon=epsilon, delta=DELTA).fit(X, y).predict


def dpfit_additive(X: np.ndarray, y: np.ndarray, epsilon: float) -> Predict:
    from dpfit import PrivateAdditiveRegression

    return PrivateAdditiveRegression(epsilon=epsilon, delta=DELTA).fit(X, y).predict


def dp_ebm(X: np.ndarray, y: np.ndarray, epsilon: float) -> Predict:
    from interpret.privacy import DPExplainableBoostingRegressor

    bounds = dict.fromkeys(range(COLUMNS), (-1.0, 1.0))
    model = DPExplainableBoostingRegressor(
        epsilon=epsilon, delta=DELTA, privacy_bounds=bounds, privacy_target_min=-1.0,
        privacy_target_max=1.0,
    )  # fmt: skip
    return model.fit(X, y).predict


def diffprivlib(X: np.ndarray, y: np.ndarray, epsilon: float) -> Predict:
    from diffprivlib.models import LinearRegression

    return LinearRegression(epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(X, y).predict


def opendp(X: np.ndarray, y: np.ndarray, epsilon: float) -> Predict:
    """Theil-Sen regression has one feature: the best one."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "floating-point", "honest-but-curious")

    def model(scale: float):
        return dp.sklearn.linear_model.LinearRegression(
            dp.max_divergence(), x_bounds=[(-1.0, 1.0)], y_bounds=(-1.0, 1.0), scale=scale
        )

    low, high = 1e-4, 1e6
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if model(middle).measurement.map(1) <= epsilon else (middle, high)
    fitted = model(high).fit(X[:, :1].tolist(), y.tolist())
    return lambda new: np.ravel(fitted.predict(new[:, :1]))


def dp_econometrics(X: np.ndarray, y: np.ndarray, epsilon: float) -> Predict:
    from dp_statsmodels import Session

    session = Session(epsilon=epsilon, delta=DELTA, bounds_X=(-1, 1), bounds_y=(-1, 1))
    return session.OLS(y, X, epsilon=epsilon).predict


def _unit_rows(X: np.ndarray) -> np.ndarray:
    """Return rows with a constant, of norm at most one."""
    return np.column_stack([X, np.ones(len(X))]) / np.sqrt(COLUMNS + 1)


def paper(X: np.ndarray, y: np.ndarray, epsilon: float) -> Predict:
    from BoostedAdaSSP import BoostedAdaSSP

    model = BoostedAdaSSP(epsilon=epsilon, delta=DELTA, random_state=np.random.RandomState())
    model.fit(_unit_rows(X), y)
    return lambda new: model.predict(_unit_rows(new))


def google(X: np.ndarray, y: np.ndarray, epsilon: float) -> Predict:
    from private_kendall.boosted_adassp import boosted_adassp

    theta = boosted_adassp(_unit_rows(X), y, 100, 1.0, 1.0, epsilon, DELTA)
    return lambda new: np.ravel(_unit_rows(new) @ theta)


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, float], Predict]] = {
    method.__name__: method
    for method in (
        least_squares, dpfit, dpfit_additive, dp_ebm, diffprivlib, opendp, dp_econometrics, paper,
        google,
    )
}  # fmt: skip


def accuracy(name: str, fits: int) -> None:
    """Print the median R² of several fits, and the median time of one."""
    X_test, y_test = table(20_000, 1_000_000)
    print("| method | rows | ε = 0.1 | ε = 1 | ε = 10 | seconds |")
    print("|---|---|---|---|---|---|")
    for rows in (2_000, 20_000, 200_000):
        cells, seconds = [], []
        for epsilon in (0.1, 1.0, 10.0):
            found = []
            for seed in range(fits):
                X, y = table(rows, seed)
                start = time.perf_counter()
                predict = METHODS[name](X, y, epsilon)
                seconds.append(time.perf_counter() - start)
                error = np.mean((y_test - predict(X_test)) ** 2)
                found.append(1 - error / np.var(y_test))
            value = float(np.median(found))
            cells.append(f"{value:.3f}" if value > -9 else f"{value:.0e}")
        print(f"| {name} | {rows:,} | {' | '.join(cells)} | {np.median(seconds):.2f} |", flush=True)


def inference(name: str, fits: int) -> None:
    """Print errors and intervals of slopes, compared with least squares on the same rows."""
    print("| method | rows | ε | rms error / least squares' | coverage | width / least squares' |")
    print("|---|---|---|---|---|---|")
    for rows in (2_000, 20_000, 200_000):
        for epsilon in (1.0, 10.0):
            errors, holds, widths = [], [], []
            for seed in range(fits):
                X, y = table(rows, seed)
                exact = RESIDUAL * np.sqrt(np.diag(np.linalg.inv(X.T @ X)))
                estimate, interval = _slopes(name, X, y, epsilon)
                errors.append((estimate - SLOPES) / exact)
                holds.append((interval[:, 0] <= SLOPES) & (interval[:, 1] >= SLOPES))
                widths.append((interval[:, 1] - interval[:, 0]) / (2 * 1.96 * exact))
            rms = np.sqrt(np.mean(np.square(errors)))
            print(
                f"| {name} | {rows:,} | {epsilon:g} | {rms:.2f} | {100 * np.mean(holds):.0f} % | "
                f"{np.median(widths):.2f} |",
                flush=True,
            )


def _slopes(
    name: str, X: np.ndarray, y: np.ndarray, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    if name == "dpfit":
        from dpfit import PrivateLinearRegression

        model = PrivateLinearRegression(epsilon=epsilon, delta=DELTA).fit(X, y)
        return model.coef_estimates_[:-1], model.coef_interval()[:-1]
    from dp_statsmodels import Session

    session = Session(epsilon=epsilon, delta=DELTA, bounds_X=(-1, 1), bounds_y=(-1, 1))
    found = session.OLS(y, X, epsilon=epsilon)
    # The first coefficient is the constant.
    return found.params[1:], np.asarray(found.conf_int())[1:]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("--checkout", help="folder with a peer that is not on PyPI")
    parser.add_argument("--inference", action="store_true", help="errors and intervals of slopes")
    parser.add_argument("--fits", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.checkout:
        sys.path.insert(0, arguments.checkout)
    warnings.simplefilter("ignore")
    (inference if arguments.inference else accuracy)(arguments.method, arguments.fits)


if __name__ == "__main__":
    main()
