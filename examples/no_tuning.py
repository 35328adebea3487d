"""Private regression without bounds or tuning, on a generated payroll.

The noise is real: each run gives different private numbers. A test runs this example.
"""

import numpy as np

from dpfit import Binary, PrivateAdditiveRegression, PrivateLinearRegression, Schema

N = 40_000


def payroll(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return features (age, years of service, sales in euros, is a team lead) and pay."""
    age = rng.uniform(18, 67, N)
    service = np.minimum(rng.exponential(6.0, N), age - 17)
    sales = np.exp(rng.normal(11.0, 1.0, N))
    leads = rng.random(N) < 0.15
    pay = 24_000 + 700 * service + 8_000 * leads + 9_000 * np.log10(sales / 60_000)
    pay += 6_000 * (1 - ((age - 50) / 32) ** 2) + rng.normal(0, 4_000, N)
    return np.column_stack([age, service, sales, leads]), pay


def main() -> None:
    rng = np.random.default_rng(0)
    X, pay = payroll(rng)
    test_X, test_pay = payroll(rng)
    # That the last column is binary is public and costs nothing. Other ranges are found privately.
    schema = Schema({3: Binary()})

    linear = PrivateLinearRegression(epsilon=1.0, schema=schema).fit(X, pay)
    print(linear.summary())
    additive = PrivateAdditiveRegression(epsilon=1.0, schema=schema).fit(X, pay)
    A = np.column_stack([X, np.ones(N)])
    plain = np.linalg.lstsq(A, pay, rcond=None)[0]
    print("\nR^2 on new rows, epsilon = 1, delta = 1e-6:")
    for name, predicted in (
        ("least squares, not private", np.column_stack([test_X, np.ones(N)]) @ plain),
        ("PrivateLinearRegression", linear.predict(test_X)),
        ("PrivateAdditiveRegression", additive.predict(test_X)),
    ):
        error = np.mean((test_pay - predicted) ** 2) / np.var(test_pay)
        print(f"  {name:28s} {1 - error:.3f}")
    points, heights = additive.curve(2)
    print("\nContribution of sales to pay in the additive model:")
    for x, y in zip(points, heights, strict=True):
        print(f"  {x:12,.0f}  {y:+9,.0f}")
    print(f"\n{linear.privacy_.statement()}")


if __name__ == "__main__":
    main()
