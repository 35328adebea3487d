"""The paper's theory, shown: what it predicts, and what the private estimators do."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import InsecureSeedWarning
from dpfit.experiments.drawing import figure, svg
from dpfit.experiments.seeds import seed_of
from dpfit.paper import BoostedMean
from dpfit.theory import (
    clipped_mean,
    finite_sample_bound,
    huber_fixed_point,
    infinite_sample_bound,
    infinite_sample_errors,
    one_round_lower_bound,
    suggested_rounds,
    two_round_thresholds,
    two_round_upper_bound,
)

__all__ = ["THEORY", "Shown"]

Floats = npt.NDArray[np.float64]
# The paper's rho; its mechanism is sqrt(rho)-GDP if a row is replaced.
_RHO = 1.0
_ONE, _MANY, _NONE = "#D55E00", "#0072B2", "0.35"


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


def _boosted(rows: Floats, tau: float, rounds: int, seed: int) -> float:
    """Return the private mean of the paper's Algorithm 3."""
    model = BoostedMean(
        mu=_RHO**0.5, tau=tau, n_rounds=rounds, neighbors="replace", n_jobs=1, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        return float(model.fit(np.zeros((len(rows), 1)), rows).mean_)


def _normal(mean: float, n: int) -> Callable[[Any], Floats]:
    """Return what draws n rows of N(mean, 1)."""
    return lambda rng: rng.normal(mean, 1.0, n)


def _repeat(
    name: str, repeats: int, sample: Callable[[Any], Floats], tau: float, rounds: int
) -> Floats:
    """Return estimates from fresh rows and fresh noise."""
    found = []
    for repeat in range(repeats):
        seed = seed_of(name, tau, rounds, repeat)
        found.append(_boosted(sample(np.random.default_rng(seed)), tau, rounds, seed))
    return np.array(found)


def draw_bias(repeats: int) -> str:
    """Draw the bias of one clipped round, and of many, over the true mean."""
    n, tau, rounds = 10_000, 1.0, 100
    means = np.linspace(0.0, 8.0, 17)
    fine = np.linspace(0.0, 8.0, 161)
    with figure(1, 2, width=9.0, height=3.4) as (drawn, axes):
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
        left.legend(loc="upper left")
        taus = np.geomspace(0.03, 20, 80)
        left_over = [5.0 - clipped_mean(5.0, t) for t in taus]
        right.plot(taus, left_over, color=_ONE, label="AdaSSP: 1 round")
        for count, colour in ((10, "#56B4E9"), (100, _MANY)):
            errors = [max(abs(infinite_sample_errors(5.0, t, count)[-1]), 1e-12) for t in taus]
            right.plot(taus, errors, color=colour, label=f"{count} rounds")
        right.set(xscale="log", yscale="log", ylim=(1e-6, 10), xlabel="threshold τ")
        right.set(ylabel="bias", title="µ = 5, infinitely many rows")
        right.legend(loc="upper right")
        return svg(drawn)


def draw_rates(repeats: int) -> str:
    """Draw the propositions' bounds next to what happens."""
    with figure(1, 3, width=12.0, height=3.5) as (drawn, axes):
        rounds, mean = 40, 3.0
        for tau, colour in ((0.5, "#56B4E9"), (1.0, _MANY), (2.0, "#003A5C")):
            errors = np.abs(infinite_sample_errors(mean, tau, rounds))
            bounds = [infinite_sample_bound(mean, tau, r) for r in range(rounds + 1)]
            axes[0, 0].plot(errors, color=colour, label=f"τ = {tau:g}: error")
            axes[0, 0].plot(bounds, "--", color=colour, label=f"τ = {tau:g}: bound")
        axes[0, 0].set(yscale="log", ylim=(1e-6, 10), xlabel="rounds R", ylabel="|θ_R − µ|")
        axes[0, 0].set_title("infinitely many rows, µ = 3")
        axes[0, 0].legend(ncols=1)
        _finite(axes[0, 1], repeats)
        _separation(axes[0, 2], repeats)
        return svg(drawn)


def _finite(axis: Any, repeats: int) -> None:
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
    axis.plot(sizes, measured, "o-", ms=4, color=_MANY, label="measured")
    scale = measured[-1] / (np.log(sizes[-1]) / np.sqrt(sizes[-1]))
    rate = [scale * np.log(n) / np.sqrt(n) for n in sizes]
    axis.plot(sizes, rate, ":", color=_NONE, label="log n / √n, through the last point")
    axis.set(xscale="log", yscale="log", xlabel="rows n", ylabel="E|µ̂_R − µ|")
    axis.set_title("µ = 3, τ = 1, ρ = 1, R of the theorem")
    axis.legend()


def _separation(axis: Any, repeats: int) -> None:
    """Draw one round against two, over how far rows may lie."""
    n, sigma = 10_000, 1.0
    bounds = np.geomspace(10, 3000, 9)
    one = [one_round_lower_bound(b, b, 0.0, n, _RHO) for b in bounds]
    two = [two_round_upper_bound(b, sigma, n, _RHO) for b in bounds]
    axis.plot(bounds, one, "--", color=_ONE, label="one round: lower bound, best τ")
    axis.plot(bounds, two, "--", color=_MANY, label="two rounds: upper bound")
    for rounds, colour, name in ((1, _ONE, "one round"), (2, _MANY, "two rounds")):
        measured = []
        for bound in bounds:
            seed = seed_of("separation", float(bound), rounds)
            found = _two_round_errors(seed, bound, sigma, n, rounds, 50 * repeats)
            measured.append(float(np.mean(found**2)))
        axis.plot(bounds, measured, "o", ms=4, color=colour, label=f"{name}: measured")
    axis.set(xscale="log", yscale="log", xlabel="bound B on rows", ylabel="mean squared error")
    axis.set_title("σ = 1, n = 10,000, ρ = 1")
    axis.legend(loc="upper left")


def _two_round_errors(
    seed: int, bound: float, sigma: float, n: int, rounds: int, repeats: int
) -> Floats:
    """Simulate the estimators of the separation theorem, whose thresholds differ by round.

    Rows are plus and minus sigma, half of each, so their mean is 0 and nothing need be clipped.
    """
    rng = np.random.default_rng(seed)
    rows = np.array([-sigma, sigma])
    taus = two_round_thresholds(bound, sigma, n, _RHO)[:rounds]
    count = np.maximum(1.0, n + rng.normal(size=repeats) / _RHO**0.5)
    estimate = np.zeros(repeats)
    for tau in taus:
        clipped = np.clip(rows - estimate[:, None], -tau, tau).mean(axis=1) * n
        estimate += (clipped + tau * rng.normal(size=repeats) / _RHO**0.5) / count
    return estimate


def draw_outliers(repeats: int) -> str:
    """Draw the error over the share of outliers."""
    n, far, sigma = 5000, 100.0, 1.0
    shares = np.linspace(0.0, 0.45, 10)

    def sample(share: float) -> Callable[[Any], Floats]:
        k = round(share * n)

        def draw(rng: Any) -> Floats:
            return np.concatenate([rng.uniform(-sigma, sigma, n - k), np.full(k, far)])

        return draw

    with figure(1, 2, width=9.0, height=3.5) as (drawn, axes):
        left, right = axes[0]
        for tau, rounds, colour, name in (
            (far, 1, _ONE, "AdaSSP, τ = 100"),
            (3.0, 100, _MANY, "100 rounds, τ = 3"),
            (0.5, 100, "#56B4E9", "100 rounds, τ = ½"),
        ):
            measured = []
            for share in shares:
                found = _repeat(f"outliers {share:.3f}", repeats, sample(share), tau, rounds)
                measured.append(float(np.sqrt(np.mean(found**2))))
            left.plot(shares, measured, "o-", ms=4, color=colour, label=name)
        mean = [far * round(s * n) / n or np.nan for s in shares]
        left.plot(shares, mean, ":", color="black", label="mean, no privacy")
        left.set(yscale="log", xlabel="share of outliers (at 100)", ylabel="root mean square error")
        left.set_title("in-liers uniform on [−1, 1], n = 5,000, ρ = 1")
        left.legend(loc="lower right")
        rows = sample(0.2)(np.random.default_rng(seed_of("fixed point")))
        taus = np.geomspace(0.02, 300, 80)
        right.plot(taus, [huber_fixed_point(rows, t) for t in taus], color=_MANY)
        right.axhline(float(np.median(rows)), color=_NONE, lw=0.9, ls=":")
        right.text(taus[0], float(np.median(rows)) * 1.1, "median", va="bottom", fontsize=8)
        right.axhline(float(rows.mean()), color=_NONE, lw=0.9, ls=":")
        right.text(taus[0], float(rows.mean()) * 1.1, "mean", va="bottom", fontsize=8)
        right.set(xscale="log", yscale="log", xlabel="threshold τ", ylabel="fixed point")
        right.set_title("20 % outliers: where boosting converges (Huber)")
        return svg(drawn)


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
                    found = _repeat(
                        f"heat {mean}",
                        repeats,
                        _normal(mean, n),
                        float(tau),
                        count,
                    )
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
        "Zero-dimensional: the mean of N(µ, 1). One round cannot get beyond its threshold τ; many "
        "rounds reach µ for every τ. Lines are dpfit.theory, points are BoostedMean with noise.",
        draw_bias,
    ),
    Shown(
        "theory_rates",
        "Rates: predicted and measured",
        "Left: the proposition on infinitely many rows; after a warm-up the error falls "
        "geometrically. Middle: the theorem's rate, with the number of rounds it asks for. Right: "
        "the separation theorem; one round pays for the bound B, two rounds pay for the spread σ.",
        draw_rates,
    ),
    Shown(
        "theory_outliers",
        "Robustness to outliers",
        "Boosting with a small threshold finds the Huber estimate, between median and mean; one "
        "round must have a threshold that holds the outliers, and gets their mean.",
        draw_outliers,
    ),
    Shown(
        "theory_heat",
        "Rounds × τ",
        "Root mean square error of BoostedMean (n = 5,000, ρ = 1). Too few rounds for a small τ do "
        "not arrive; more than enough cost little. This is why one fixed choice can do.",
        draw_heat,
    ),
)
