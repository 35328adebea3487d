"""The bounds of the propositions and theorems, and measured errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfit.theory import (
    finite_sample_bound,
    infinite_sample_bound,
    infinite_sample_errors,
    infinite_sample_path,
    one_round_lower_bound,
    suggested_rounds,
    two_round_thresholds,
    two_round_upper_bound,
)
from paper.drawing import figure, legend_below, svg
from paper.seeds import seed_of
from paper.theory_samples import DARK, LIGHT, MANY, NO_NOISE, ONE, RHO, Floats, estimates, normal

__all__ = ["draw_rates", "separate", "settled"]


def draw_rates(repeats: int) -> str:
    """Draw the bounds of the propositions and theorems, and measured errors."""
    with figure(2, 2, width=9.5, height=9.0) as (drawn, axes):
        _infinite(axes[0, 0])
        _finite(axes[0, 1], repeats)
        _rate(axes[1, 0], repeats)
        _separation(axes[1, 1], repeats)
        return svg(drawn)


def _infinite(axis: Any) -> None:
    """Draw the error without noise against rounds, and the bound of the first proposition."""
    rounds, mean = 40, 3.0
    for tau, colour in ((0.5, LIGHT), (1.0, MANY), (2.0, DARK)):
        errors = np.abs(infinite_sample_errors(mean, tau, rounds))
        bounds = [infinite_sample_bound(mean, tau, r) for r in range(rounds + 1)]
        axis.plot(errors, color=colour, label=f"τ = {tau:g}: error")
        axis.plot(bounds, "--", color=colour, label=f"τ = {tau:g}: bound")
    axis.set(yscale="log", ylim=(1e-6, 10), xlabel="rounds R", ylabel="|θ_R − µ|")
    axis.set_title("(1) infinite-sample proposition: µ = 3")
    legend_below(axis, 3)


def _finite(axis: Any, repeats: int) -> None:
    """Draw the distance to the noiseless iteration against rounds, and its bound."""
    n, tau, mean = 10_000, 1.0, 3.0
    counts = [1, 2, 5, 10, 20, 50, 100, 200, 500]
    path = infinite_sample_path(mean, tau, counts[-1])
    # With the larger rho the sampling error dominates, with the smaller one the noise.
    plenty, little = 1.0, 1e-3
    noise = [(8 / np.pi) ** 0.5 * r**1.5 * tau / (n * little**0.5) for r in counts]
    axis.plot(counts, noise, ":", color=ONE, label=f"ρ = {little:g}: noise in the bound, ∝ R√R")
    for rho, colour in ((plenty, MANY), (little, ONE)):
        measured = []
        for rounds in counts:
            found = estimates(f"finite {rho}", repeats, normal(mean, n), tau, rounds, rho)
            measured.append(float(np.abs(found - path[rounds]).mean()))
        bounds = [finite_sample_bound(r, tau, n, rho) for r in counts]
        axis.plot(counts, bounds, "--", color=colour, label=f"ρ = {rho:g}: bound")
        expected = [settled(r, tau, n, rho) for r in counts[3:]]
        axis.plot(counts[3:], expected, color=colour, label=f"ρ = {rho:g}: settled")
        axis.plot(counts, measured, "o", ms=4, color=colour, label=f"ρ = {rho:g}: measured")
    axis.set(xscale="log", yscale="log", xlabel="rounds R", ylabel="E|µ̂_R − θ_R|")
    axis.set_title("(2) finite-sample proposition: µ = 3, τ = 1, n = 10,000")
    legend_below(axis, 2)


def settled(rounds: int, tau: float, n: int, rho: float) -> float:
    """Return the expected distance near the fixed point, to first order.

    A round multiplies an error by the share of clipped rows, so the noise of earlier rounds decays.
    The fixed point is the Huber estimate with its classical variance.
    """
    inside = math.erf(tau / math.sqrt(2))
    density = math.exp(-tau * tau / 2) / math.sqrt(2 * math.pi)
    clipped = inside - 2 * tau * density + tau * tau * (1 - inside)
    noise = 4 * rounds * tau * tau / (n * n * rho) / (1 - (1 - inside) ** 2)
    return math.sqrt(2 / math.pi * (noise + clipped / (inside * inside * n)))


def _rate(axis: Any, repeats: int) -> None:
    """Draw the error of Algorithm 3 with the number of rounds of the theorem."""
    tau, mean = 1.0, 3.0
    sizes = [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
    measured, bounds = [], []
    for n in sizes:
        rounds = suggested_rounds(n, tau, mean)
        found = estimates(f"rate {n}", repeats, normal(mean, n), tau, rounds)
        measured.append(float(np.abs(found - mean).mean()))
        bounds.append(tau / n + finite_sample_bound(rounds, tau, n, RHO))
    axis.plot(sizes, bounds, "--", color=MANY, label="bound, with its constants")
    axis.plot(sizes, measured, "o", ms=4, color=MANY, label="measured")
    scale = measured[-1] / (np.log(sizes[-1]) / np.sqrt(sizes[-1]))
    rate = [scale * np.log(n) / np.sqrt(n) for n in sizes]
    axis.plot(sizes, rate, ":", color=NO_NOISE, label="log n / √n, through the last point")
    axis.set(xscale="log", yscale="log", xlabel="rows n", ylabel="E|µ̂_R − µ|")
    axis.set_title("(3) theorem on the rate: µ = 3, τ = 1, ρ = 1")
    legend_below(axis, 2)


def _separation(axis: Any, repeats: int) -> None:
    """Draw one round and two rounds of the same budget against the bound on rows."""
    n, sigma = 10_000, 1.0
    bounds = np.geomspace(10, 3000, 9)
    # The theorem's rho is that of a release: one round needs two releases, two rounds need three.
    shares = {1: RHO / 2, 2: RHO / 3}
    one = [one_round_lower_bound(b, b, 0.0, n, shares[1]) for b in bounds]
    two = [two_round_upper_bound(b, sigma, n, shares[2]) for b in bounds]
    axis.plot(bounds, one, "--", color=ONE, label="one round: lower bound, best τ")
    axis.plot(bounds, two, "--", color=MANY, label="two rounds: upper bound")
    for rounds, mark, colour, name in ((1, "s", ONE, "one round"), (2, "o", MANY, "two rounds")):
        measured = []
        for bound in bounds:
            seed = seed_of("separation", f"{bound:.6g}", rounds)
            found = separate(seed, bound, sigma, n, rounds, 50 * repeats, shares[rounds])
            measured.append(float(np.mean(found**2)))
        axis.plot(bounds, measured, mark, ms=5, color=colour, mfc="none", mew=1.3,
                  label=f"{name}: measured")  # fmt: skip
    axis.set(xscale="log", yscale="log", xlabel="bound B on rows", ylabel="mean squared error")
    axis.set_title("(4) separation: σ = 1, n = 10,000, both 1-GDP")
    legend_below(axis, 2)


def separate(
    seed: int, bound: float, sigma: float, n: int, rounds: int, repeats: int, rho: float
) -> Floats:
    """Simulate the estimators of the separation theorem, whose rounds have different thresholds.

    Half of the rows are sigma and half are -sigma, so their mean is 0 without any clipping.
    """
    rng = np.random.default_rng(seed)
    rows = np.array([-sigma, sigma])
    taus = two_round_thresholds(bound, sigma, n, rho)[:rounds]
    count = np.maximum(1.0, n + rng.normal(size=repeats) / rho**0.5)
    estimate = np.zeros(repeats)
    for tau in taus:
        clipped = np.clip(rows - estimate[:, None], -tau, tau).mean(axis=1) * n
        estimate += (clipped + tau * rng.normal(size=repeats) / rho**0.5) / count
    return estimate
