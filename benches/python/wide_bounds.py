"""Fits with public bounds wider than the column: days in hospital, with a slope of 650.

wide_bounds.py [--fits 40]
"""

import argparse

import numpy as np

from dpfit import Numeric, PrivateLinearRegression, Schema

ROWS, SLOPE = 20_000, 650.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=40)
    args = parser.parse_args()
    for most in (60, 365):
        rng = np.random.default_rng(3)
        explained, slopes, held = [], [], 0
        for _ in range(args.fits):
            days = np.maximum(1.0, np.floor(rng.lognormal(1.15, 0.8, ROWS)))
            y = 900.0 + SLOPE * days + rng.normal(0.0, 800.0, ROWS)
            model = PrivateLinearRegression(epsilon=1.0, schema=Schema({0: Numeric(0, most)}))
            residuals = y - model.fit(days[:, None], y).predict(days[:, None])
            explained.append(1.0 - np.mean(residuals**2) / np.var(y))
            slopes.append(model.coef_[0])
            low, high = model.coef_interval()[0]
            held += low <= SLOPE <= high
        print(
            f"bounds 0 to {most}: R2 {np.median(explained):.3f}, slopes {min(slopes):.0f} to "
            f"{max(slopes):.0f}, intervals that contain the true one {held} of {args.fits}",
            flush=True,
        )


if __name__ == "__main__":
    main()
