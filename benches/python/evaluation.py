"""How often the errors of a private evaluation hold: python benches/python/evaluation.py."""

import argparse
import warnings

import numpy as np

from dpfit import InsecureSeedWarning, PrivateAdditiveRegression

SLOPES = np.array([1.0, 2.0, 3.0])


def normal(X, rng):
    return X @ SLOPES + 2.0 * rng.normal(size=len(X))


def precise(X, rng):
    return X @ SLOPES + 0.2 * rng.normal(size=len(X))


def useless(X, rng):
    return 0.1 * (X @ SLOPES) + 3.0 * rng.normal(size=len(X))


def unequal(X, rng):
    return X @ SLOPES + (0.5 + np.abs(X[:, 2])) * rng.normal(size=len(X))


def exponential(X, rng):
    return X @ SLOPES + 4.0 * rng.exponential(size=len(X))


def student(X, rng):
    return X @ SLOPES + 2.0 * rng.standard_t(3, size=len(X))


def lognormal(X, rng):
    return np.exp(0.25 * (X @ SLOPES) + 0.5 * rng.normal(size=len(X)))


def rare(X, rng):
    return (rng.random(len(X)) < 0.05 + 0.1 * (X[:, 0] > 1.0)).astype(float)


DESIGNS = {
    "normal errors": normal,
    "R² = 0.99, curves that end too early": precise,
    "R² = 0.02": useless,
    "unequal variances": unequal,
    "exponential errors": exponential,
    "Student errors, 3 degrees of freedom": student,
    "log-normal target": lognormal,
    "zero-one target, 7 % ones": rare,
}


def inside(found, exact):
    """Return whether the exact number is in the interval; one that is not known is never wrong."""
    low, high = found.interval(sampling=False)
    return np.isnan(found.value) or low <= exact <= high


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 20_000])
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", InsecureSeedWarning)
    print("| | rows | R² | error | RMSE | error |\n|---|---|---|---|---|---|")
    for name, target in DESIGNS.items():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20_000, 3))
        model = PrivateAdditiveRegression(epsilon=5.0, random_state=0).fit(X, target(X, rng))
        for rows in options.rows:
            hits, errors = [], []
            for seed in range(options.runs):
                X = rng.normal(size=(rows, 3))
                y = target(X, rng)
                found = model.evaluate(X, y, epsilon=options.epsilon, random_state=seed)
                squares = np.square(y - model.predict(X))
                exact = 1.0 - squares.mean() / y.var(), np.sqrt(squares.mean())
                hits.append([inside(found.r2, exact[0]), inside(found.rmse, exact[1])])
                errors.append([found.r2.noise, found.rmse.noise / exact[1]])
            own, error = np.mean(hits, axis=0), np.median(errors, axis=0)
            print(
                f"| {name} | {rows} | {own[0]:.3f} | {error[0]:.4f} | {own[1]:.3f} "
                f"| {100 * error[1]:.1f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
