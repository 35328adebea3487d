"""Draws docs/figures/accuracy.png from the results of the experiments.

One point for each table: dpfit's models without tuning against peers that were tuned on the table,
with the test errors in docs/experiments/results.csv (medians over seeds).

    accuracy_figure.py [--results docs/experiments/results.csv] [--out docs/figures/accuracy.png]
"""

import argparse
import pathlib

import matplotlib
import numpy as np
import pandas as pd

from dpfit.models.style import COLOUR, LIGHT, import_pyplot, style_axes

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAIRS = (
    ("additive", "dp_ebm", "DP-EBM, tuned, given true ranges"),
    ("linear", "boosted_adassp", "BoostedAdaSSP, tuned"),
)
EPSILONS = (0.1, 1.0, 10.0)


def errors(path):
    """Return the median error of each method on each table of the paper, by epsilon and task."""
    found = pd.read_csv(path)
    found = found[found.group == "headline"]
    found["name"] = found.method + "_" + found.setting
    return found.groupby(["epsilon", "task", "name"]).relative.median().unstack("name")


def draw(found):
    plt = import_pyplot()
    size = (3.4 * len(EPSILONS), 3.3 * len(PAIRS))
    figure, axes = plt.subplots(len(PAIRS), len(EPSILONS), figsize=size, layout="constrained")
    for line, (ours, theirs, label) in zip(axes, PAIRS, strict=True):
        for axis, epsilon in zip(line, EPSILONS, strict=True):
            both = found.loc[epsilon][[f"{theirs}_tuned", f"{ours}_fixed"]].dropna()
            x, y = both.to_numpy().T
            low, high = min(x.min(), y.min()) / 1.5, max(x.max(), y.max()) * 1.5
            odd = both.index.to_numpy() % 2 == 1
            axis.plot([low, high], [low, high], color=LIGHT, lw=1)
            for some, face, name in ((~odd, COLOUR, "even tasks"), (odd, "white", "odd tasks")):
                axis.scatter(x[some], y[some], s=22, facecolor=face, edgecolor=COLOUR, label=name)
            title = f"ε = {epsilon:g}: smaller error on {np.sum(y < x)} of {len(y)}"
            axis.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
            axis.set_title(title, fontsize=10)
            axis.set_xlabel(label, fontsize=9)
            axis.set_ylabel(f"dpfit {ours}, not tuned", fontsize=9)
            style_axes(axis)
    figure.suptitle("Test MSE / Var(y), one point per table", fontsize=11)
    axes[0, 0].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=pathlib.Path, default=DOCS / "experiments/results.csv")
    parser.add_argument("--out", type=pathlib.Path, default=DOCS / "figures/accuracy.png")
    args = parser.parse_args()
    matplotlib.use("Agg")
    draw(errors(args.results)).savefig(args.out, dpi=140)


if __name__ == "__main__":
    main()
