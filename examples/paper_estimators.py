"""The paper's estimators compared with least squares without privacy, on generated data.

The noise is real: each run gives different private coefficients. A test runs this example.
"""

import numpy as np

from dpfit import AdaSSP, BoostedAdaSSP, DPGradientDescent, TukeyEM

N, D = 100_000, 5


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.4, 0.4, size=(N, D))
    true = np.array([3.0, -2.0, 1.0, 0.0, 0.5])
    y = X @ true + rng.normal(scale=0.3, size=N)

    print(f"{N:,} rows, {D} columns, epsilon = 1, delta = 1e-6. Error of the coefficients:")
    least_squares = np.linalg.lstsq(X, y, rcond=None)[0]
    print(f"  {'least squares, not private':28s} {np.linalg.norm(least_squares - true):.4f}")
    for model in (
        BoostedAdaSSP(epsilon=1.0, delta=1e-6, n_rounds=20),
        AdaSSP(epsilon=1.0, delta=1e-6, y_bound=4.0),
        DPGradientDescent(epsilon=1.0, delta=1e-6),
        TukeyEM(epsilon=1.0, delta=1e-6),
    ):
        model.fit(X, y)
        print(f"  {type(model).__name__:28s} {np.linalg.norm(model.coef_ - true):.4f}")

    model = BoostedAdaSSP(epsilon=1.0, delta=1e-6, n_rounds=20, verbose=True).fit(X, y)
    print("\nBoostedAdaSSP's privacy statement:\n")
    print(model.privacy_.statement())


if __name__ == "__main__":
    main()
