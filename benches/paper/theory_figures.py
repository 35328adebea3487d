"""Figures of the paper's theory: predictions, and errors of the private estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpfit.theory import clipped_mean, infinite_sample_errors
from paper.drawing import figure, legend_below, svg
from paper.theory_outliers import draw_outliers
from paper.theory_rates import draw_rates
from paper.theory_samples import LIGHT, MANY, NO_NOISE, ONE, estimates, normal

__all__ = ["THEORY", "TheoryFigure"]


@dataclass(frozen=True)
class TheoryFigure:
    """A figure of the theory.

    Parameters
    ----------
    name : str
        File name.
    title : str
        What it shows.
    text : str
        How to read it.
    draw : callable
        Takes the number of repetitions and returns SVG.
    """

    name: str
    title: str
    text: str
    draw: Callable[[int], str]


def draw_bias(repeats: int) -> str:
    """Draw the bias of one clipped round and of many against the true mean."""
    n, tau, rounds = 10_000, 1.0, 100
    means = np.linspace(0.0, 8.0, 17)
    fine = np.linspace(0.0, 8.0, 161)
    with figure(1, 2, width=9.0, height=4.1) as (drawn, axes):
        left, right = axes[0]
        for count, colour, label in ((1, ONE, "AdaSSP: 1 round"), (rounds, MANY, "100 rounds")):
            predicted = [abs(infinite_sample_errors(m, tau, count)[-1]) for m in fine]
            left.plot(fine, predicted, color=colour, label=f"{label}, predicted")
            measured = []
            for mean in means:
                found = estimates(f"bias {mean:.3f}", repeats, normal(mean, n), tau, count)
                measured.append(abs(found.mean() - mean))
            left.plot(means, measured, "o", ms=4, color=colour, label=f"{label}, measured")
        left.plot(fine, np.maximum(fine - tau, 0), ":", color=NO_NOISE, label="|µ| − τ")
        left.set(xlabel="true mean µ", ylabel="bias", title="τ = 1, n = 10,000, ρ = 1")
        legend_below(left, 2)
        taus = np.geomspace(0.03, 20, 80)
        left_over = [5.0 - clipped_mean(5.0, t) for t in taus]
        right.plot(taus, left_over, color=ONE, label="AdaSSP: 1 round")
        for count, colour in ((10, LIGHT), (100, MANY)):
            errors = [max(abs(infinite_sample_errors(5.0, t, count)[-1]), 1e-12) for t in taus]
            right.plot(taus, errors, color=colour, label=f"{count} rounds")
        right.set(xscale="log", yscale="log", ylim=(1e-6, 10), xlabel="threshold τ")
        right.set(ylabel="bias", title="µ = 5, infinitely many rows")
        legend_below(right, 3)
        return svg(drawn)


def draw_heat(repeats: int) -> str:
    """Draw the error against rounds and thresholds for two means."""
    n = 5000
    rounds = [1, 2, 5, 10, 20, 50, 100, 200, 500]
    taus = np.geomspace(0.03, 30, 10)
    with figure(1, 2, width=10.0, height=4.0) as (drawn, axes):
        image = None
        for axis, mean in zip(axes[0], (1.0, 10.0), strict=True):
            error = np.empty((len(taus), len(rounds)))
            for i, tau in enumerate(taus):
                for j, count in enumerate(rounds):
                    sample = normal(mean, n)
                    found = estimates(f"heat {mean}", repeats, sample, float(tau), count)
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


THEORY: Sequence[TheoryFigure] = (
    TheoryFigure(
        "theory_bias",
        "Clipping bias of AdaSSP, removed by boosting",
        "The zero-dimensional case: the mean of N(µ, 1). One round cannot get beyond its threshold "
        "τ. Enough rounds reach µ for every τ; a smaller τ needs more of them. In the left panel, "
        "lines are computed by dpfit.theory and points are means of BoostedMean with noise.",
        draw_bias,
    ),
    TheoryFigure(
        "theory_rates",
        "Rates: predicted and measured",
        "(1) After a warm-up, the error without noise decreases geometrically. (2) The distance to "
        "this noiseless iteration. The two terms of the bound grow as R and as R√R; the second is "
        "proportional to 1/√ρ. The bound adds up the errors of all rounds, but later rounds "
        "correct earlier ones: where noise dominates, the distance grows as √R, and where the "
        "sampling error dominates, it does not grow (settled: first order around the fixed point). "
        "(3) The rate, with the theorem's number of rounds. (4) The error of one round depends on "
        "the bound B, the error of two rounds on the spread σ. Both have the same budget, which "
        "one round divides among two releases and two rounds among three, so one round is better "
        "if B is not much larger than σ. In (2) and (3), BoostedMean is √ρ-GDP for replacing a "
        "row; in (4), both are 1-GDP for adding or removing a row.",
        draw_rates,
    ),
    TheoryFigure(
        "theory_outliers",
        "Robustness to outliers",
        "Inliers around µ = 10, outliers at 100; iterations start from 0. With outliers, one round "
        "is accurate only if its threshold is close to µ: with τ = 3 it ends at 3, and with "
        "τ = 100 it is the mean including outliers. Many rounds with a small threshold converge to "
        "the Huber estimate, between median and mean, without knowing µ, if Rτ is large enough: "
        "100 rounds with τ = 0.05 are not enough. The paper's bound is for infinitely many rounds "
        "without noise. It is drawn where its condition on τ holds, as corrected in "
        "docs/explanation/theory.md.",
        draw_outliers,
    ),
    TheoryFigure(
        "theory_heat",
        "Rounds × τ",
        "Root mean square error of BoostedMean (n = 5,000, ρ = 1). If Rτ is less than µ, the "
        "rounds do not reach µ. The noise of a round grows as τ√R, so a large threshold with many "
        "rounds is inaccurate, too. Between the two is a wide valley. That is why one fixed choice "
        "works for many tables.",
        draw_heat,
    ),
)
