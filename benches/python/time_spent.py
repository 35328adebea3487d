"""Where the time of fits goes, how it grows with the table, and what a cluster would take.

Times are processor time on one thread, medians of several runs: other programs on the machine
hardly change them. Writes two figures.

    time_spent.py [--runs 5] [--quick] [--folder docs/figures] [--job-seconds 0.1]

A cluster of k workers of one core takes s + j l + n c / k seconds for n rows: s seconds are work
that does not depend on the rows, j is the number of passes, each of which takes l seconds more on a
cluster (`--job-seconds`), and c is the time for one row. Reading the table is not included.
"""

import argparse
import collections
import pathlib
import statistics
import time
from collections.abc import Callable

import numpy as np
import scipy
import sklearn
import speed
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression, Ridge
from threadpoolctl import threadpool_limits

import dpfit
import dpfit.statistics
from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.engine.covariance import Path
from dpfit.engine.shrinkage import Prior
from dpfit.engine.whitening import Coordinates
from dpfit.models.style import COLOUR, GREY, LIGHT, TINT, style_axes
from dpfit.statistics import StoredTable, Table

MODELS = {"linear": PrivateLinearRegression, "additive": PrivateAdditiveRegression}
SHAPES = [
    ("linear", 5_000, 8),
    ("linear", 100_000, 20),
    ("linear", 581_835, 31),
    ("linear", 7_797, 613),
    ("linear", 20_000, 1_000),
    ("additive", 581_835, 31),
    ("additive", 515_345, 90),
    ("additive", 20_000, 400),
]
LONG = {(20_000, 1_000), (515_345, 90), (20_000, 400)}
# What the parts of a fit count as.
KINDS = {
    "RowCount": "ranges",
    "Histograms": "ranges",
    "store": "storing rows",
    "mapped": "mapping rows",
    "MappedGram": "X'X of mapped rows",
    "Gradient": "gradients",
    "ScoreCounts": "scores, residuals",
    "ResidualSums": "scores, residuals",
    "SquaredResiduals": "scores, residuals",
    "ScoreProducts": "X'X of scores",
    "noise": "noise",
    "again": "coordinates",
    "variances": "errors, shrinkage",
    "covariance": "errors, shrinkage",
    "learned": "errors, shrinkage",
    "rest": "the rest",
}
COLOURS = dict(
    zip(
        dict.fromkeys(KINDS.values()),
        [
            *("#12395c", "#1f5a8a", "#5b8db8", "#9fc0db", "#d6e4f0", "#5c4012", "#8a5a1f"),
            *("#d9a441", "#5a616a", "#9aa1a9", LIGHT),
        ],
        strict=True,
    )
)
ROWS, MANY_ROWS = 20, (10_000, 30_000, 100_000, 300_000, 1_000_000)
COLUMNS, MANY_COLUMNS = 20_000, (8, 16, 32, 64, 128, 256, 512)
MOST_ADDITIVE = 128


class Spent(collections.Counter[str]):
    """Seconds by statistic, and passes over the rows, of all fits in this process."""

    passes = 0

    def watch(self) -> None:
        """Measure sums, maps, draws of noise and algebra from now on."""
        for owner, name in [
            (Table, "store"),
            (StoredTable, "mapped"),
            (Table, "sum"),
            (StoredTable, "sum"),
            (Coordinates, "again"),
            (Prior, "learned"),
            (Path, "variances"),
            (Path, "covariance"),
        ]:
            setattr(owner, name, self._timed(getattr(owner, name), name))
        for found in vars(dpfit.statistics).values():
            if isinstance(found, type) and "noisy" in vars(found):
                found.noisy = self._timed(found.noisy, "noise")

    def _timed(self, function: Callable[..., object], name: str) -> Callable[..., object]:
        def timed(owner: object, *given: object, **named: object) -> object:
            start = time.process_time()
            result = function(owner, *given, **named)
            label = type(given[0]).__name__ if name == "sum" else name
            self[label] += time.process_time() - start
            # The first histogram tells the number of rows.
            self.passes += name in ("store", "mapped") or (name == "sum" and label != "RowCount")
            return result

        return timed


def seconds(body: Callable[[], object]) -> float:
    start = time.process_time()
    body()
    return time.process_time() - start


def median(body: Callable[[], object], runs: int) -> float:
    """Return the median seconds of a body, without the first run."""
    return statistics.median([seconds(body) for _ in range(runs + 1)][1:])


def parts(spent: Spent, model: str, n: int, d: int, runs: int) -> dict[str, float]:
    """Return the median milliseconds of a fit by kind, and of all."""
    X, y = speed.table(n, d, False)
    found: dict[str, list[float]] = {kind: [] for kind in [*COLOURS, "all"]}
    for run in range(runs + 1):
        spent.clear()
        total = seconds(lambda: MODELS[model](epsilon=1.0, n_jobs=1).fit(X, y))
        spent["rest"] = total - sum(spent.values())
        if run:
            for kind in COLOURS:
                own = sum(spent[name] for name, other in KINDS.items() if other == kind)
                found[kind].append(1e3 * own)
            found["all"].append(1e3 * total)
    return {kind: statistics.median(log) for kind, log in found.items()}


def shapes(spent: Spent, options: argparse.Namespace) -> Figure:
    """Print and draw where the time of each shape goes."""
    figure = Figure(figsize=(7.2, 3.9), layout="constrained")
    ax = figure.subplots()
    drawn = [shape for shape in SHAPES if not (options.quick and shape[1:] in LONG)]
    for place, (model, n, d) in enumerate(drawn):
        found = parts(spent, model, n, d, options.runs)
        whole, left = found.pop("all"), 0.0
        told = ", ".join(f"{kind} {ms:.3g}" for kind, ms in found.items() if ms > 0.005 * whole)
        print(f"{model}, {n:,} x {d}: {whole:.1f} ms: {told}", flush=True)
        total = sum(found.values())
        for kind, ms in found.items():
            label = kind if place == 0 else None
            ax.barh(place, ms / total, left=left, color=COLOURS[kind], label=label, height=0.7)
            left += ms / total
        text = f"{whole:,.0f} ms" if whole >= 100 else f"{whole:.1f} ms"
        ax.text(1.01, place, text, va="center", fontsize=8, color=GREY)
    ax.set_yticks(range(len(drawn)), [f"{model} {n:,} × {d:,}" for model, n, d in drawn])
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "25", "50", "75", "100 %"])
    style_axes(ax)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def slope(sizes: list[int], taken: list[float]) -> float:
    """Return the exponent between the last size and one about four times smaller."""
    first = min(range(len(sizes)), key=lambda place: abs(np.log(4 * sizes[place] / sizes[-1])))
    return float(np.log(taken[-1] / taken[first]) / np.log(sizes[-1] / sizes[first]))


def growth(options: argparse.Namespace) -> Figure:
    """Print and draw how the time of fits grows with rows and with columns."""
    fits = {
        "additive": (lambda: PrivateAdditiveRegression(epsilon=1.0, n_jobs=1), COLOUR, "-"),
        "linear": (lambda: PrivateLinearRegression(epsilon=1.0, n_jobs=1), "#dba63f", "-"),
        "LinearRegression": (LinearRegression, GREY, "--"),
        "Ridge (Cholesky)": (lambda: Ridge(solver="cholesky"), TINT, "--"),
    }
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    by_rows = [(n, ROWS) for n in MANY_ROWS]
    by_columns = [(COLUMNS, d) for d in MANY_COLUMNS]
    for name, (make, colour, dashes) in fits.items():
        for ax, tables, place in ((axes[0], by_rows, 0), (axes[1], by_columns, 1)):
            sizes, taken = [], []
            for n, d in tables:
                if name == "additive" and d > MOST_ADDITIVE:
                    continue
                X, y = speed.table(n, d, False)
                sizes.append((n, d)[place])
                taken.append(median(lambda make=make, X=X, y=y: make().fit(X, y), options.runs))
            told = ", ".join(
                f"{size:,}: {1e3 * s:.3g}" for size, s in zip(sizes, taken, strict=True)
            )
            of = ("rows", "columns")[place]
            print(f"{name}, ms by {of}: {told}; slope {slope(sizes, taken):.2f}", flush=True)
            ax.loglog(sizes, taken, dashes, color=colour, marker="o", markersize=3, label=name)
    axes[0].set_xlabel(f"rows, of {ROWS} columns", color=GREY, fontsize=8)
    axes[1].set_xlabel(f"columns, of {COLUMNS:,} rows", color=GREY, fontsize=8)
    axes[0].set_ylabel("seconds on one thread", color=GREY, fontsize=8)
    for ax in axes:
        style_axes(ax)
    axes[0].legend(fontsize=8, frameon=False)
    return figure


def cluster(spent: Spent, options: argparse.Namespace) -> None:
    """Print what a cluster would take by the model."""
    rows, few, many = 1_000_000_000, 100_000, 1_000_000
    for model in MODELS:
        spent.passes = 0
        one, ten = (parts(spent, model, n, ROWS, options.runs) for n in (few, many))
        passes = spent.passes // (2 * (options.runs + 1))
        row = (ten["all"] - one["all"]) / 1e3 / (many - few)
        fixed = one["all"] / 1e3 - few * row
        latency = passes * options.job_seconds
        told = ", ".join(
            f"{k:,}: {fixed + latency + rows * row / k:.0f} s" for k in (1, 8, 64, 512, 4096)
        )
        print(
            f"{model}, {rows:,} x {ROWS}: s = {1e3 * fixed:.0f} ms, j = {passes} passes, "
            f"c = {1e9 * row:.0f} ns; with l = {options.job_seconds:g} s, by workers: {told}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="without the fits that take long")
    parser.add_argument("--folder", type=pathlib.Path, help="where figures are written")
    parser.add_argument("--job-seconds", type=float, default=0.1)
    options = parser.parse_args()
    print(
        f"dpfit {dpfit.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}: processor time on one thread, "
        f"medians of {options.runs}"
    )
    with threadpool_limits(1):
        figures = {"growth": growth(options)}
        spent = Spent()
        spent.watch()
        figures["time"] = shapes(spent, options)
        cluster(spent, options)
    if options.folder is not None:
        for name, figure in figures.items():
            figure.savefig(options.folder / f"{name}.png", dpi=160)


if __name__ == "__main__":
    main()
