"""The effect of outliers on one round and on many."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfit.theory import huber_fixed_point
from paper.drawing import figure, legend_below, svg
from paper.seeds import seed_of
from paper.theory_samples import LIGHT, MANY, ONE, Floats, Sample, estimates

__all__ = ["draw_outliers", "outlier_bound", "outlier_error"]

_OUTLIERS_N, _CENTRE, _FAR, _SPREAD = 5000, 10.0, 100.0, 1.0


def _contaminated(share: float) -> Sample:
    """Return a function that draws inliers, and a share of outliers far away."""
    k = round(share * _OUTLIERS_N)

    def draw(rng: Any) -> Floats:
        near = rng.uniform(_CENTRE - _SPREAD, _CENTRE + _SPREAD, _OUTLIERS_N - k)
        return np.concatenate([near, np.full(k, _FAR)])

    return draw


def outlier_error(share: float, tau: float, rounds: int, repeats: int) -> float:
    """Return the root mean square error for the mean of the inliers."""
    found = estimates(f"outliers {share:.3f}", repeats, _contaminated(share), tau, rounds)
    return float(np.sqrt(np.mean((found - _CENTRE) ** 2)))


def outlier_bound(share: float, tau: float) -> float:
    """Return the paper's bound on the root mean square error of the fixed point.

    NaN if its condition on tau, as corrected in ``docs/explanation/theory.md``, does not hold.
    """
    n, k = _OUTLIERS_N, round(share * _OUTLIERS_N)
    if tau * (n - 2 * k) < 2 * _SPREAD * (n - k):
        return float("nan")
    return float(np.sqrt(2 * (k * tau / (n - k)) ** 2 + 2 * _SPREAD**2 / (n - k)))


def draw_outliers(repeats: int) -> str:
    """Draw the error against the share of outliers and against the threshold."""
    with figure(1, 2, width=9.5, height=4.6) as (drawn, axes):
        left, right = axes[0]
        shares = np.linspace(0.0, 0.45, 10)
        for tau, rounds, mark, colour, name in (
            (_FAR, 1, "s", ONE, "1 round, τ = 100"),
            (3.0, 1, "D", "#E69F00", "1 round, τ = 3"),
            (3.0, 100, "o", MANY, "100 rounds, τ = 3"),
            (0.5, 100, "o", LIGHT, "100 rounds, τ = ½"),
        ):
            measured = [outlier_error(share, tau, rounds, repeats) for share in shares]
            left.plot(shares, measured, f"{mark}-", ms=4, color=colour, label=name)
        fine = np.linspace(0.0, 0.45, 91)
        bound = [outlier_bound(share, 3.0) for share in fine]
        left.plot(fine, bound, "--", color=MANY, label="paper's bound, τ = 3, no noise")
        left.plot(fine[1:], (_FAR - _CENTRE) * fine[1:], ":", color="k", label="mean, no privacy")
        left.set(yscale="log", xlabel="share of outliers (at 100)", ylabel="root mean square error")
        left.set_title("inliers uniform on [9, 11], n = 5,000, ρ = 1")
        legend_below(left, 2)
        _thresholds(right, repeats)
        return svg(drawn)


def _thresholds(axis: Any, repeats: int) -> None:
    """Draw the error against the threshold with 20 % outliers."""
    share = 0.2
    rows = _contaminated(share)(np.random.default_rng(seed_of("fixed point")))
    fine = np.geomspace(0.05, 300, 241)
    one = [abs(np.clip(rows, -t, t).mean() - _CENTRE) for t in fine]
    axis.plot(fine, one, color=ONE, label="1 round, no noise")
    fixed = [abs(huber_fixed_point(rows, t) - _CENTRE) for t in fine]
    axis.plot(fine, fixed, color=MANY, label="fixed point (Huber), no noise")
    coarse = np.geomspace(0.05, 300, 13)
    for rounds, mark, colour in ((1, "s", ONE), (100, "o", MANY)):
        measured = [outlier_error(share, float(t), rounds, repeats) for t in coarse]
        name = "1 round" if rounds == 1 else f"{rounds} rounds"
        axis.plot(coarse, measured, mark, ms=4, color=colour, label=f"{name}, measured")
    for value, name, style in (
        (float(np.median(rows)), "median, no privacy", "-."),
        (float(rows.mean()), "mean, no privacy", ":"),
    ):
        axis.axhline(abs(value - _CENTRE), color="black", lw=0.9, ls=style, label=name)
    axis.set(xscale="log", yscale="log", xlabel="threshold τ", ylabel="root mean square error")
    axis.set_title("20 % outliers")
    legend_below(axis, 2)
