"""Figures that summarise a run: wins and errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from paper.drawing import COLOURS, figure, svg
from paper.errors import Comparison, Errors
from paper.methods import METHODS, OURS, PEERS
from paper.regimes import PAPER, REGIMES
from paper.summary import means, shared

__all__ = ["draw_errors", "draw_wins"]

# Limits of the error axis; the lower one moves down to the smallest error. Larger errors are shown
# as arrows with numbers.
_LEAST, _MOST = 0.08, 100.0
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw_wins(errors: Errors, epsilons: Sequence[float]) -> str:
    """Draw the share of tables on which BoostedAdaSSP, or a dpfit model, has the smaller error."""
    peers = [peer for peer in PEERS if peer != PAPER]
    panels = [
        (f"({r.key}) {r.title}", [(PAPER, r.side(PAPER))], [(p, r.side(p)) for p in peers])
        for r in REGIMES[:3]
    ]
    last = REGIMES[3]
    tuned = [(p, last.side(p)) for p in PEERS]
    panels.append((f"({last.key}) {last.title}", [(o, (o, "fixed")) for o in OURS], tuned))
    with figure(1, len(panels), width=11.5, height=4.3) as (drawn, axes):
        for axis, (title, firsts, seconds) in zip(axes[0], panels, strict=True):
            names, lines = [], []
            for first, mine in firsts:
                for second, theirs in seconds:
                    lines.append([errors.compare(mine, theirs, e) for e in epsilons])
                    over = METHODS[second].label.replace("gradient descent", "GD")
                    names.append(
                        f"{METHODS[first].label.removeprefix('dpfit ')} / {over}"
                        if len(firsts) > 1
                        else over
                    )
            _shares(axis, lines)
            axis.set_xticks(range(len(epsilons)), [f"ε={e:g}" for e in epsilons])
            axis.set_yticks(range(len(names)), names)
            axis.set_title(title.replace(", ", ",\n", 1), fontsize=8.5)
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
        return svg(drawn)


def _shares(axis: Any, lines: Sequence[Sequence[Comparison]]) -> None:
    """Draw a cell for each comparison, with the share of tables won and the number of tables."""
    shares = [[pair.share for pair in line] for line in lines]
    axis.imshow(shares, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
    for y, line in enumerate(lines):
        for x, pair in enumerate(line):
            if pair.tasks:
                colour = "white" if abs(pair.share - 0.5) > 0.32 else "black"
                axis.text(x, y, f"{pair.share:.0%}", ha="center", va="bottom", fontsize=8,
                          color=colour)  # fmt: skip
                axis.text(x, y, f"of {len(pair.tasks)}", ha="center", va="top", fontsize=6.5,
                          color=colour)  # fmt: skip


def draw_errors(errors: Errors, epsilons: Sequence[float]) -> str:
    """Draw each method's geometric mean error over the same tables, fixed and tuned."""
    panels = [(regime, means(errors, regime)) for regime in (REGIMES[2], REGIMES[3])]
    least = min((v for _, found in panels for line in found.values() for v in line if v > 0),
                default=_LEAST)  # fmt: skip
    stacked = max(len(_high(found, x)) for _, found in panels for x in range(len(epsilons)))
    with figure(1, 2, width=9.5, height=4.6) as (drawn, axes):
        for axis, (regime, found) in zip(axes[0], panels, strict=True):
            axis.axhline(1.0, color="0.75", lw=0.8, zorder=0, label="mean of the target")
            for name, values in found.items():
                _line(axis, name, epsilons, values)
            _beyond(axis, epsilons, found)
            counts = [len(shared(errors, regime, epsilon)) for epsilon in epsilons]
            axis.set(xscale="log", yscale="log", xlabel="ε")
            axis.set_ylim(min(_LEAST, 0.8 * least), _MOST)
            axis.set_title(f"({regime.key}) {regime.title}", pad=8 + 10 * stacked)
            labels = [f"{e:g}\n{n} tables" for e, n in zip(epsilons, counts, strict=True)]
            axis.set_xticks(epsilons, labels)
            axis.minorticks_off()
        axes[0, 0].set_ylabel("test MSE / Var(y), geometric mean over tables")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=5)
        return svg(drawn)


def _line(axis: Any, name: str, epsilons: Sequence[float], values: Sequence[float]) -> None:
    """Draw the errors of one method; `_beyond` draws those above the axes."""
    label, colour = METHODS[name].label, COLOURS[name]
    if METHODS[name].role == "reference":
        axis.plot(epsilons, values, color=colour, ls="--", lw=1, label=label)
        return
    ours = name in OURS
    style = {"color": colour, "marker": "s" if ours else "o", "ms": 5, "lw": 2.0 if ours else 1.3}
    axis.plot(epsilons, values, label=label, **style)


def _high(found: Mapping[str, Sequence[float]], x: int) -> list[tuple[float, str]]:
    """Return the errors above the axes at one epsilon, in ascending order."""
    return sorted((line[x], name) for name, line in found.items() if line[x] > _MOST)


def _beyond(axis: Any, epsilons: Sequence[float], found: Mapping[str, Sequence[float]]) -> None:
    """Draw arrows for the errors above the axes, with stacked numbers."""
    for x, epsilon in enumerate(epsilons):
        for place, (value, name) in enumerate(_high(found, x)):
            axis.plot([epsilon], [_MOST], marker="^", ms=6, color=COLOURS[name], clip_on=False)
            axis.annotate(_short(value), (epsilon, _MOST), xytext=(0, 5 + 10 * place), fontsize=8,
                          textcoords="offset points", ha="center", color=COLOURS[name],
                          annotation_clip=False)  # fmt: skip


def _short(value: float) -> str:
    """Return a large number as a short string."""
    if math.isinf(value):
        return "∞"
    if value < 9999.5:
        return f"{value:,.0f}"
    digit, power = f"{value:.0e}".split("e")
    return f"{digit}·10{str(int(power)).translate(_SUPERSCRIPTS)}"
