"""Draw the pictures of docs/explanation: python tools/pictures.py [NAME...].

All data are simulated. The noise has the size that a fit with epsilon = 1 and delta = 1e-6 adds to
such data, and `intervals` shows fits of dpfit itself.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpfit import PrivateLinearRegression
from dpfit.accounting import gdp_mu

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "docs" / "figures"
# Two hues that stay apart for colour-blind people and in grey.
BLUE, ORANGE, GREY, LIGHT = "#1f5a8a", "#d9822b", "#5a616a", "#c9ced4"
MU = gdp_mu(1.0, 1e-6)


def _axes(*titles: str, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    figure, axes = pyplot.subplots(1, len(titles), figsize=(8.6, height), layout="constrained")
    found = list(np.atleast_1d(axes))
    for ax, title in zip(found, titles, strict=True):
        ax.set_title(title, fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    return figure, found


def flow() -> Figure:
    """From rows to a model: what touches rows, and what does not."""
    figure, (ax,) = _axes("", height=1.9)
    ax.axis("off")
    ax.set(xlim=(-0.1, 9.7), ylim=(0, 2))
    steps = [
        ("rows", "numbers, levels,\ndates"),
        ("integers", "each row alone,\nnorm at most 2¹⁵"),
        ("exact sums", "histograms, X'X,\ngradients"),
        ("+ noise", "round(σZ), Z exactly\nnormal"),
        ("model", "ranges, coefficients,\nintervals"),
    ]
    for place, (name, text) in enumerate(steps):
        left = 0.05 + 2.0 * place
        released = place >= 3
        ax.add_patch(
            mpl.patches.FancyBboxPatch(
                (left, 0.45),
                1.5,
                1.1,
                boxstyle="round,pad=0.06",
                facecolor="white",
                edgecolor=BLUE if released else ORANGE,
                linewidth=1.6,
            )
        )
        ax.text(left + 0.75, 1.28, name, ha="center", weight="bold", fontsize=10)
        ax.text(left + 0.75, 0.72, text, ha="center", va="center", fontsize=8, color=GREY)
        if place:
            arrow = {"arrowstyle": "->", "color": GREY}
            ax.annotate("", xy=(left - 0.08, 1.0), xytext=(left - 0.42, 1.0), arrowprops=arrow)
    ax.text(2.8, 0.1, "private: never leaves the process", ha="center", fontsize=8.5, color=ORANGE)
    ax.text(7.75, 0.1, "public: can be published", ha="center", fontsize=8.5, color=BLUE)
    ax.plot([5.79, 5.79], [0.1, 1.9], color=GREY, linestyle=":", linewidth=1)
    return figure


def ranges() -> Figure:
    """Noisy histograms find where the values of a column are."""
    rng = np.random.default_rng(3)
    income = rng.lognormal(8.0, 0.5, 20_000)
    # 5.5 % of mu², for one column.
    sigma = 1.0 / (np.sqrt(0.055) * MU)
    figure, (left, right) = _axes("first look: powers of two", "second look: equal bins")
    edges = 2.0 ** np.arange(4, 22)
    counts = np.histogram(income, edges)[0]
    noisy = counts + np.round(rng.normal(0, sigma, len(counts)))
    left.bar(range(len(counts)), noisy, color=LIGHT, label="noisy counts (released)")
    left.plot(
        range(len(counts)), counts, "o", color=ORANGE, markersize=3, label="exact (never seen)"
    )
    left.set_xticks(
        range(0, len(counts), 3), [f"2$^{{{4 + i}}}$" for i in range(0, len(counts), 3)]
    )
    left.set(xlabel="monthly income", ylabel="rows")
    left.legend(fontsize=8, frameon=False)
    seen = np.flatnonzero(noisy > 4 * sigma)
    low, high = edges[seen[0]], edges[seen[-1] + 1]
    edges = np.linspace(low, high, 49)
    counts = np.histogram(income, edges)[0]
    noisy = counts + np.round(rng.normal(0, sigma, len(counts)))
    middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    right.bar(middle, noisy, width=0.9 * width, color=LIGHT)
    right.plot(middle, counts, "o", color=ORANGE, markersize=3)
    share = np.cumsum(np.maximum(noisy, 0)) / np.maximum(noisy, 0).sum()
    ends = middle[np.searchsorted(share, [0.01, 0.99])]
    for end in ends:
        right.axvline(end, color=BLUE, linewidth=1.4)
    right.text(ends[1], right.get_ylim()[1] * 0.9, " 1 % to 99 %", color=BLUE, fontsize=8)
    right.set(xlabel="monthly income")
    return figure


def whitening() -> Figure:
    """Noise after and before a change of coordinates, for two columns that go together."""
    rng = np.random.default_rng(5)
    rows, correlation = 4_000, 0.99
    gram = rows * np.array([[1.0, correlation], [correlation, 1.0]])
    values, vectors = np.linalg.eigh(gram)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    # The bound on the norm of a row: of its values, and of its uncorrelated coordinates, whose
    # root mean squares are equal.
    noise = rng.normal(0, 3.0 * np.sqrt(2) / (0.6 * MU), (400, 2))
    late = noise @ np.linalg.inv(gram)
    early = noise @ root.T / np.sqrt(rows)
    sampling = rng.multivariate_normal([0, 0], np.linalg.inv(gram), 400)
    figure, axes = _axes("noise first, then (X'X)⁻¹", "coordinates first, then noise")
    for ax, cloud in zip(axes, (late, early), strict=True):
        ax.scatter(*cloud.T, s=6, color=ORANGE, label="error from privacy noise", rasterized=True)
        # The smaller cloud in front.
        front = 3 if cloud.std() > sampling.std() else 0
        ax.scatter(
            *sampling.T, s=6, color=BLUE, label="sampling error", rasterized=True, zorder=front
        )
        ax.set(xlabel="error of coefficient 1", xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))
        ax.set_aspect("equal")
    axes[0].set_ylabel("error of coefficient 2")
    axes[0].legend(fontsize=8, frameon=False, loc="lower left")
    return figure


def rounds() -> Figure:
    """Show that rounds approach least squares, and that their average loses most noise."""
    rng = np.random.default_rng(11)
    number, last = 9, 5
    figure, (ax,) = _axes("nine rounds, and the average of the last five", height=2.8)
    ax.axhline(1.0, color=GREY, linestyle=":", linewidth=1)
    ax.text(0.05, 1.01, "least squares", fontsize=8, color=GREY, va="bottom")
    for repeat in range(12):
        path = [0.0]
        for _ in range(number):
            path.append(path[-1] + 0.8 * (1.0 - path[-1]) + rng.normal(0, 0.08))
        color, width = (BLUE, 1.8) if repeat == 0 else (LIGHT, 0.9)
        ax.plot(range(number + 1), path, color=color, linewidth=width, zorder=2 + (repeat == 0))
        mean = np.mean(path[-last:])
        ax.plot(number + 0.5, mean, "o", color=ORANGE if repeat else BLUE, markersize=5, zorder=4)
    ax.axvspan(number - last + 0.5, number + 0.2, color=LIGHT, alpha=0.25)
    ax.text(number + 0.65, 1.08, "averages", fontsize=8, color=GREY, va="center")
    ax.set(xlabel="round", ylabel="a coefficient", xlim=(0, number + 1.6))
    return figure


def threshold() -> Figure:
    """Where residuals are clipped: noise grows with the threshold, what clipping loses shrinks."""
    rng = np.random.default_rng(2)
    residuals = rng.gamma(1.5, 1.0, 20_000)
    residuals -= residuals.mean()
    grid = np.linspace(0.5, 8, 200)
    lost = np.array([np.mean(np.clip(residuals, -t, t)) for t in grid])
    noise = grid * 3.0 / (0.6 * MU * len(residuals))
    total = np.sqrt(2 * lost**2 + noise**2)
    figure, (left, right) = _axes("skewed residuals", "error of a coefficient")
    left.hist(residuals, bins=80, color=LIGHT)
    best = grid[np.argmin(total)]
    for end in (-best, best):
        left.axvline(end, color=BLUE, linewidth=1.4)
    left.set(xlabel="residual", ylabel="rows", xlim=(-8, 8))
    right.plot(grid, np.abs(lost), color=ORANGE, label="what clipping loses")
    right.plot(grid, noise, color=GREY, linestyle="--", label="noise")
    right.plot(grid, total, color=BLUE, linewidth=1.8, label="both")
    right.axvline(best, color=BLUE, linewidth=1, linestyle=":")
    right.set(xlabel="threshold", ylim=(0, 0.08))
    right.legend(fontsize=8, frameon=False)
    return figure


def intervals() -> Figure:
    """Forty samples, forty private fits, forty intervals for the same slope."""
    figure, (ax,) = _axes("40 surveys of 20,000 persons: 95 % intervals for one slope", height=3.4)
    caught = 0
    for survey in range(40):
        rng = np.random.default_rng([9, survey])
        X = rng.uniform(-1.7, 1.7, size=(20_000, 5))
        y = X @ [1.0, 0.5, 0.0, -0.5, 0.2] + 1.5 * rng.normal(size=20_000)
        model = PrivateLinearRegression(epsilon=1.0).fit(X, y)
        estimate = model.coef_estimates_[0]
        low, high = model.coef_interval()[0]
        inner = model.coef_interval(inference="sample")[0]
        holds = low <= 1.0 <= high
        caught += holds
        color = BLUE if holds else ORANGE
        ax.plot([survey] * 2, [low, high], color=color, linewidth=1.2)
        ax.plot([survey] * 2, inner, color=color, linewidth=4, alpha=0.35, solid_capstyle="butt")
        ax.plot(survey, estimate, "o", color=color, markersize=3)
    ax.axhline(1.0, color=GREY, linestyle=":", linewidth=1)
    ax.text(40.2, 1.0, "true\nslope", fontsize=8, color=GREY, va="center")
    ax.set(xlabel=f"survey ({caught} of 40 intervals contain the true slope)", xlim=(-1, 43))
    ax.set_xticks([])
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    picture.__name__: picture for picture in (flow, ranges, whitening, rounds, threshold, intervals)
}


def main(names: list[str]) -> None:
    """Draw pictures, all by default."""
    mpl.use("Agg")
    # The same file for the same picture.
    mpl.rcParams |= {"svg.hashsalt": "dpfit", "font.size": 9}
    for name, draw in PICTURES.items():
        if not names or name in names:
            draw().savefig(FOLDER / f"{name}.svg", dpi=150, metadata={"Date": None})
    pyplot.close("all")


if __name__ == "__main__":
    main(sys.argv[1:])
