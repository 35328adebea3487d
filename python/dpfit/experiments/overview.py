"""Figures that sum up a run: who wins how often, and how large errors are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpfit.experiments.drawing import COLOURS, figure, svg
from dpfit.experiments.errors import Errors
from dpfit.experiments.methods import METHODS, OURS, PEERS
from dpfit.experiments.regimes import PAPER, REGIMES
from dpfit.experiments.summary import means

__all__ = ["draw_errors", "draw_wins"]

# Geometric means above this are drawn as arrows.
_MOST = 100.0


def draw_wins(errors: Errors, epsilons: Sequence[float]) -> str:
    """Draw the share of tables on which BoostedAdaSSP, and ours, have the smaller error."""
    peers = [peer for peer in PEERS if peer != PAPER]
    panels = [
        (f"({r.key}) {r.title}", [(PAPER, r.side(PAPER))], [(p, r.side(p)) for p in peers])
        for r in REGIMES[:3]
    ]
    last = REGIMES[3]
    everybody = [(p, last.side(p)) for p in PEERS]
    panels.append((f"({last.key}) {last.title}", [(o, (o, "fixed")) for o in OURS], everybody))
    with figure(1, len(panels), width=11.0, height=3.4) as (drawn, axes):
        for axis, (title, firsts, seconds) in zip(axes[0], panels, strict=True):
            names, lines = [], []
            for first, mine in firsts:
                for second, theirs in seconds:
                    shares = [errors.compare(mine, theirs, e).share for e in epsilons]
                    lines.append([math.nan if s != s else s for s in shares])
                    over = METHODS[second].label.replace("gradient descent", "GD")
                    names.append(
                        f"{METHODS[first].label.removeprefix('dpfit ')} / {over}"
                        if len(firsts) > 1
                        else over
                    )
            axis.imshow(lines, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
            for y, line in enumerate(lines):
                for x, share in enumerate(line):
                    if share == share:
                        dark = abs(share - 0.5) > 0.32
                        axis.text(x, y, f"{share:.0%}", ha="center", va="center", fontsize=8,
                                  color="white" if dark else "black")  # fmt: skip
            axis.set_xticks(range(len(epsilons)), [f"ε={e:g}" for e in epsilons])
            axis.set_yticks(range(len(names)), names)
            axis.set_title(title.replace(", ", ",\n", 1), fontsize=8.5)
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
        return svg(drawn)


def draw_errors(errors: Errors, epsilons: Sequence[float]) -> str:
    """Draw each method's error, as a geometric mean over the same tables, fixed and tuned."""
    with figure(1, 2, width=9.5, height=3.8) as (drawn, axes):
        for axis, regime in zip(axes[0], (REGIMES[2], REGIMES[3]), strict=True):
            found = means(errors, regime)
            floor = found.pop("least_squares")[0]
            for name, values in found.items():
                ours = name in OURS
                axis.plot(epsilons, [min(value, _MOST) for value in values], ms=5,
                          marker="s" if ours else "o", lw=2.0 if ours else 1.3, clip_on=False,
                          color=COLOURS[name], label=METHODS[name].label)  # fmt: skip
            if floor == floor:
                axis.axhline(floor, color=COLOURS["least_squares"], ls="--", lw=1)
                axis.text(epsilons[-1], floor * 1.03, "least squares, no privacy", fontsize=7.5,
                          color="0.35", va="bottom", ha="right")  # fmt: skip
            axis.axhline(1.0, color="0.75", lw=0.8, zorder=0)
            axis.text(epsilons[-1], 1.04, "a constant", fontsize=7.5, color="0.5", ha="right")
            axis.set(xscale="log", yscale="log", xlabel="ε", ylim=(0.08, _MOST))
            axis.set_title(f"({regime.key}) {regime.title}")
            axis.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
            axis.minorticks_off()
        axes[0, 0].set_ylabel("test MSE / Var(y), geometric mean over tables")
        axes[0, 1].legend(loc="upper right", ncols=2)
        return svg(drawn)
