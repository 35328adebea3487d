"""The paper's theory, shown: what it predicts, and what the private estimators do."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import InsecureSeedWarning
from dpfit.experiments.drawing import figure, legend_below, svg
from dpfit.experiments.seeds import seed_of
from dpfit.paper import BoostedMean
from dpfit.theory import (
    clipped_mean,
    finite_sample_bound,
    huber_fixed_point,
    infinite_sample_bound,
    infinite_sample_errors,
    infinite_sample_path,
    one_round_lower_bound,
    suggested_rounds,
    two_round_thresholds,
    two_round_upper_bound,
)

__all__ = ["THEORY", "Shown"]

Floats = npt.NDArray[np.float64]
Sample = Callable[[Any], Floats]
# The paper's rho; its mechanism is sqrt(rho)-GDP if a row is replaced.
_RHO = 1.0
_ONE, _MANY, _NONE = "#D55E00", "#0072B2", "0.35"
# Lighter and darker shades of the many.
_LIGHT, _DARK = "#56B4E9", "#003A5C"


@dataclass(frozen=True)
class Shown:
    """A figure of the theory.

    Parameters
    ----------
    name : str
        Its file's name.
    title : str
        What it shows.
    text : str
        How to read it.
    draw : callable
        Returns SVG, from the number of repetitions.
    """

    name: str
    title: str
    text: str
    draw: Callable[[int], str]


def _boosted(rows: Floats, tau: float, rounds: int, seed: int, rho: float) -> float:
    """Return the private mean of the paper's Algorithm 3."""
    model = BoostedMean(
        mu=rho**0.5, tau=tau, n_rounds=rounds, neighbors="replace", n_jobs=1, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        return float(model.fit(np.zeros((len(rows), 1)), rows).mean_)


def _normal(mean: float, n: int) -> Sample:
    """Return what draws n rows of N(mean, 1)."""
    return lambda rng: rng.normal(mean, 1.0, n)


def _repeat(
    name: str, repeats: int, sample: Sample, tau: float, rounds: int, rho: float = _RHO
) -> Floats:
    """Return estimates from fresh rows and fresh noise."""
    found = []
    for repeat in range(repeats):
        # Few digits: the last ones of NumPy's spaced numbers need not be the same everywhere.
        seed = seed_of(name, f"{tau:.6g}", rounds, repeat)
        found.append(_boosted(sample(np.random.default_rng(seed)), tau, rounds, seed, rho))
    return np.array(found)


def draw_bias(repeats: int) -> str:
    """Draw the bias of one clipped round, and of many, over the true mean."""
    n, tau, rounds = 10_000, 1.0, 100
    means = np.linspace(0.0, 8.0, 17)
    fine = np.linspace(0.0, 8.0, 161)
    with figure(1, 2, width=9.0, height=4.1) as (drawn, axes):
        left, right = axes[0]
        for count, colour, label in ((1, _ONE, "AdaSSP: 1 round"), (rounds, _MANY, "100 rounds")):
            predicted = [abs(infinite_sample_errors(m, tau, count)[-1]) for m in fine]
            left.plot(fine, predicted, color=colour, label=f"{label}, predicted")
            measured = []
            for mean in means:
                found = _repeat(f"bias {mean:.3f}", repeats, _normal(mean, n), tau, count)
                measured.append(abs(found.mean() - mean))
            left.plot(means, measured, "o", ms=4, color=colour, label=f"{label}, measured")
        left.plot(fine, np.maximum(fine - tau, 0), ":", color=_NONE, label="|µ| − τ")
        left.set(xlabel="true mean µ", ylabel="bias", title="τ = 1, n = 10,000, ρ = 1")
        legend_below(left, 2)
        taus = np.geomspace(0.03, 20, 80)
        left_over = [5.0 - clipped_mean(5.0, t) for t in taus]
        right.plot(taus, left_over, color=_ONE, label="AdaSSP: 1 round")
        for count, colour in ((10, _LIGHT), (100, _MANY)):
            errors = [max(abs(infinite_sample_errors(5.0, t, count)[-1]), 1e-12) for t in taus]
            right.plot(taus, errors, color=colour, label=f"{count} rounds")
        right.set(xscale="log", yscale="log", ylim=(1e-6, 10), xlabel="threshold τ")
        right.set(ylabel="bias", title="µ = 5, infinitely many rows")
        legend_below(right, 3)
        return svg(drawn)


def draw_rates(repeats: int) -> str:
    """Draw the propositions' and theorems' bounds next to what happens."""
    with figure(2, 2, width=9.5, height=9.0) as (drawn, axes):
        _infinite(axes[0, 0])
        _finite(axes[0, 1], repeats)
        _rate(axes[1, 0], repeats)
        _separation(axes[1, 1], repeats)
        return svg(drawn)


def _infinite(axis: Any) -> None:
    """Draw the error without noise over rounds, and the first proposition's bound."""
    rounds, mean = 40, 3.0
    for tau, colour in ((0.5, _LIGHT), (1.0, _MANY), (2.0, _DARK)):
        errors = np.abs(infinite_sample_errors(mean, tau, rounds))
        bounds = [infinite_sample_bound(mean, tau, r) for r in range(rounds + 1)]
        axis.plot(errors, color=colour, label=f"τ = {tau:g}: error")
        axis.plot(bounds, "--", color=colour, label=f"τ = {tau:g}: bound")
    axis.set(yscale="log", ylim=(1e-6, 10), xlabel="rounds R", ylabel="|θ_R − µ|")
    axis.set_title("(1) infinite-sample proposition: µ = 3")
    legend_below(axis, 3)


def _finite(axis: Any, repeats: int) -> None:
    """Draw the distance to the iteration without noise over rounds, and its bound."""
    n, tau, mean = 10_000, 1.0, 3.0
    counts = [1, 2, 5, 10, 20, 50, 100, 200, 500]
    path = infinite_sample_path(mean, tau, counts[-1])
    # At the larger rho rows decide, at the smaller one noise does.
    plenty, little = 1.0, 1e-3
    noise = [(8 / np.pi) ** 0.5 * r**1.5 * tau / (n * little**0.5) for r in counts]
    axis.plot(counts, noise, ":", color=_ONE, label=f"ρ = {little:g}: noise in the bound, ∝ R√R")
    for rho, colour in ((plenty, _MANY), (little, _ONE)):
        measured = []
        for rounds in counts:
            found = _repeat(f"finite {rho}", repeats, _normal(mean, n), tau, rounds, rho)
            measured.append(float(np.abs(found - path[rounds]).mean()))
        bounds = [finite_sample_bound(r, tau, n, rho) for r in counts]
        axis.plot(counts, bounds, "--", color=colour, label=f"ρ = {rho:g}: bound")
        settled = [_settled(r, tau, n, rho) for r in counts[3:]]
        axis.plot(counts[3:], settled, color=colour, label=f"ρ = {rho:g}: settled")
        axis.plot(counts, measured, "o", ms=4, color=colour, label=f"ρ = {rho:g}: measured")
    axis.set(xscale="log", yscale="log", xlabel="rounds R", ylabel="E|µ̂_R − θ_R|")
    axis.set_title("(2) finite-sample proposition: µ = 3, τ = 1, n = 10,000")
    legend_below(axis, 2)


def _settled(rounds: int, tau: float, n: int, rho: float) -> float:
    """Return the expected distance once the iteration is near its fixed point, to first order.

    A round leaves of an error the share of rows that are clipped, so noise of earlier rounds fades;
    the fixed point is the Huber estimate, whose variance is the classical one.
    """
    inside = math.erf(tau / math.sqrt(2))
    density = math.exp(-tau * tau / 2) / math.sqrt(2 * math.pi)
    clipped = inside - 2 * tau * density + tau * tau * (1 - inside)
    noise = 4 * rounds * tau * tau / (n * n * rho) / (1 - (1 - inside) ** 2)
    return math.sqrt(2 / math.pi * (noise + clipped / (inside * inside * n)))


def _rate(axis: Any, repeats: int) -> None:
    """Draw the error of Algorithm 3 with the theorem's number of rounds."""
    tau, mean = 1.0, 3.0
    sizes = [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
    measured, bounds = [], []
    for n in sizes:
        rounds = suggested_rounds(n, tau, mean)
        found = _repeat(f"rate {n}", repeats, _normal(mean, n), tau, rounds)
        measured.append(float(np.abs(found - mean).mean()))
        bounds.append(tau / n + finite_sample_bound(rounds, tau, n, _RHO))
    axis.plot(sizes, bounds, "--", color=_MANY, label="bound, with its constants")
    axis.plot(sizes, measured, "o", ms=4, color=_MANY, label="measured")
    scale = measured[-1] / (np.log(sizes[-1]) / np.sqrt(sizes[-1]))
    rate = [scale * np.log(n) / np.sqrt(n) for n in sizes]
    axis.plot(sizes, rate, ":", color=_NONE, label="log n / √n, through the last point")
    axis.set(xscale="log", yscale="log", xlabel="rows n", ylabel="E|µ̂_R − µ|")
    axis.set_title("(3) theorem on the rate: µ = 3, τ = 1, ρ = 1")
    legend_below(axis, 2)


def _separation(axis: Any, repeats: int) -> None:
    """Draw one round against two of the same budget, over how far rows may lie."""
    n, sigma = 10_000, 1.0
    bounds = np.geomspace(10, 3000, 9)
    # The theorem's rho is that of each release: one round makes two, two rounds make three.
    shares = {1: _RHO / 2, 2: _RHO / 3}
    one = [one_round_lower_bound(b, b, 0.0, n, shares[1]) for b in bounds]
    two = [two_round_upper_bound(b, sigma, n, shares[2]) for b in bounds]
    axis.plot(bounds, one, "--", color=_ONE, label="one round: lower bound, best τ")
    axis.plot(bounds, two, "--", color=_MANY, label="two rounds: upper bound")
    for rounds, mark, colour, name in ((1, "s", _ONE, "one round"), (2, "o", _MANY, "two rounds")):
        measured = []
        for bound in bounds:
            seed = seed_of("separation", f"{bound:.6g}", rounds)
            found = _separate(seed, bound, sigma, n, rounds, 50 * repeats, shares[rounds])
            measured.append(float(np.mean(found**2)))
        axis.plot(bounds, measured, mark, ms=5, color=colour, mfc="none", mew=1.3,
                  label=f"{name}: measured")  # fmt: skip
    axis.set(xscale="log", yscale="log", xlabel="bound B on rows", ylabel="mean squared error")
    axis.set_title("(4) separation: σ = 1, n = 10,000, both 1-GDP")
    legend_below(axis, 2)


def _separate(
    seed: int, bound: float, sigma: float, n: int, rounds: int, repeats: int, rho: float
) -> Floats:
    """Simulate the estimators of the separation theorem, whose thresholds differ by round.

    Rows are plus and minus sigma, half of each, so their mean is 0 and nothing need be clipped.
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


_OUTLIERS_N, _CENTRE, _FAR, _SPREAD = 5000, 10.0, 100.0, 1.0


def _contaminated(share: float) -> Sample:
    """Return what draws in-liers around their mean, and a share of outliers far away."""
    k = round(share * _OUTLIERS_N)

    def draw(rng: Any) -> Floats:
        near = rng.uniform(_CENTRE - _SPREAD, _CENTRE + _SPREAD, _OUTLIERS_N - k)
        return np.concatenate([near, np.full(k, _FAR)])

    return draw


def _outlier_error(share: float, tau: float, rounds: int, repeats: int) -> float:
    """Return the root mean square error for the in-liers' mean."""
    found = _repeat(f"outliers {share:.3f}", repeats, _contaminated(share), tau, rounds)
    return float(np.sqrt(np.mean((found - _CENTRE) ** 2)))


def _outlier_bound(share: float, tau: float) -> float:
    """Return the paper's bound on the root mean square error of the fixed point.

    NaN where its condition on tau does not hold, as corrected in ``docs/theory.md``.
    """
    n, k = _OUTLIERS_N, round(share * _OUTLIERS_N)
    if tau * (n - 2 * k) < 2 * _SPREAD * (n - k):
        return float("nan")
    return float(np.sqrt(2 * (k * tau / (n - k)) ** 2 + 2 * _SPREAD**2 / (n - k)))


def draw_outliers(repeats: int) -> str:
    """Draw the error over the share of outliers, and over the threshold."""
    with figure(1, 2, width=9.5, height=4.6) as (drawn, axes):
        left, right = axes[0]
        shares = np.linspace(0.0, 0.45, 10)
        for tau, rounds, mark, colour, name in (
            (_FAR, 1, "s", _ONE, "1 round, τ = 100"),
            (3.0, 1, "D", "#E69F00", "1 round, τ = 3"),
            (3.0, 100, "o", _MANY, "100 rounds, τ = 3"),
            (0.5, 100, "o", _LIGHT, "100 rounds, τ = ½"),
        ):
            measured = [_outlier_error(share, tau, rounds, repeats) for share in shares]
            left.plot(shares, measured, f"{mark}-", ms=4, color=colour, label=name)
        fine = np.linspace(0.0, 0.45, 91)
        bound = [_outlier_bound(share, 3.0) for share in fine]
        left.plot(fine, bound, "--", color=_MANY, label="paper's bound, τ = 3, no noise")
        left.plot(fine[1:], (_FAR - _CENTRE) * fine[1:], ":", color="k", label="mean, no privacy")
        left.set(yscale="log", xlabel="share of outliers (at 100)", ylabel="root mean square error")
        left.set_title("in-liers uniform on [9, 11], n = 5,000, ρ = 1")
        legend_below(left, 2)
        _thresholds(right, repeats)
        return svg(drawn)


def _thresholds(axis: Any, repeats: int) -> None:
    """Draw the error over the threshold, with a fifth of the rows outliers."""
    share = 0.2
    rows = _contaminated(share)(np.random.default_rng(seed_of("fixed point")))
    fine = np.geomspace(0.05, 300, 241)
    one = [abs(np.clip(rows, -t, t).mean() - _CENTRE) for t in fine]
    axis.plot(fine, one, color=_ONE, label="1 round, no noise")
    fixed = [abs(huber_fixed_point(rows, t) - _CENTRE) for t in fine]
    axis.plot(fine, fixed, color=_MANY, label="fixed point (Huber), no noise")
    coarse = np.geomspace(0.05, 300, 13)
    for rounds, mark, colour in ((1, "s", _ONE), (100, "o", _MANY)):
        measured = [_outlier_error(share, float(t), rounds, repeats) for t in coarse]
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


def draw_heat(repeats: int) -> str:
    """Draw the error over rounds and thresholds, for two distances of the mean."""
    n = 5000
    rounds = [1, 2, 5, 10, 20, 50, 100, 200, 500]
    taus = np.geomspace(0.03, 30, 10)
    with figure(1, 2, width=10.0, height=4.0) as (drawn, axes):
        image = None
        for axis, mean in zip(axes[0], (1.0, 10.0), strict=True):
            error = np.empty((len(taus), len(rounds)))
            for i, tau in enumerate(taus):
                for j, count in enumerate(rounds):
                    sample = _normal(mean, n)
                    found = _repeat(f"heat {mean}", repeats, sample, float(tau), count)
                    error[i, j] = np.sqrt(np.mean((found - mean) ** 2))
            image = axis.imshow(
                np.log10(error), origin="lower", cmap="viridis_r", vmin=-2, vmax=1, aspect="auto"
            )
            for i in range(len(taus)):
                for j in range(len(rounds)):
                    light = np.log10(error[i, j]) > -0.75
                    axis.text(j, i, _short(error[i, j]), ha="center", va="center", fontsize=6.5,
                              color="white" if light else "black")  # fmt: skip
            axis.set_xticks(range(len(rounds)), [str(r) for r in rounds])
            axis.set_yticks(range(len(taus)), [f"{t:.2g}" for t in taus])
            axis.set(xlabel="rounds", ylabel="threshold τ", title=f"µ = {mean:g}")
            axis.spines[:].set_visible(False)
        bar = drawn.colorbar(image, ax=axes[0].tolist(), ticks=[-2, -1, 0, 1])
        bar.set_ticklabels(["0.01", "0.1", "1", "10"])
        bar.set_label("root mean square error")
        return svg(drawn)


def _short(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}".removeprefix("0")


THEORY: Sequence[Shown] = (
    Shown(
        "theory_bias",
        "Clipping bias of AdaSSP, and boosting without it",
        "Zero-dimensional: the mean of N(µ, 1). One round cannot get beyond its threshold τ; "
        "enough rounds reach µ for every τ, and a smaller τ needs more of them. Left: lines are "
        "dpfit.theory, points are BoostedMean with noise.",
        draw_bias,
    ),
    Shown(
        "theory_rates",
        "Rates: predicted and measured",
        "(1) After a warm-up the error without noise falls geometrically. (2) The distance to that "
        "iteration: the bound's two terms grow as R and as R√R, the latter with 1/√ρ. It adds up "
        "the errors of all rounds, but later rounds mend those of earlier ones: where noise "
        "decides the distance grows as √R, and where rows decide it does not grow (settled: to "
        "first order around the fixed point). (3) The rate, with the theorem's number of rounds. "
        "(4) One round pays for the bound B, two pay for the spread σ. Both have the same budget, "
        "which one round divides by two releases and two rounds by three, so one round is better "
        "where B is not far above σ. BoostedMean, in (2) and (3), is √ρ-GDP if a row is replaced; "
        "in (4) both are 1-GDP if a row is added or removed.",
        draw_rates,
    ),
    Shown(
        "theory_outliers",
        "Robustness to outliers",
        "In-liers around µ = 10, outliers at 100, and a start from 0. If there are outliers, one "
        "round is good only with a threshold that happens to be close to µ: with τ = 3 it ends at "
        "3, with τ = 100 it is the mean, outliers and all. Many rounds with a small threshold "
        "find the Huber estimate, between median and mean, without knowing µ, if Rτ is large "
        "enough to arrive: with 100 rounds of 0.05 it is not. The paper's bound is for infinitely "
        "many rounds without noise; it is drawn where its condition on τ, as corrected in "
        "docs/theory.md, holds.",
        draw_outliers,
    ),
    Shown(
        "theory_heat",
        "Rounds × τ",
        "Root mean square error of BoostedMean (n = 5,000, ρ = 1). If Rτ is less than µ, rounds "
        "do not arrive. The noise of a round grows as τ√R, so a large threshold with many rounds "
        "costs accuracy, too. Between the two lies a wide valley, and that is why one fixed choice "
        "can do for many tables.",
        draw_heat,
    ),
)
