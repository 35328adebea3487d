"""The paper's scatter plots: one point for each table, log-log, with the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpfit.experiments.drawing import COLOURS, fractions, squares, svg
from dpfit.experiments.errors import Comparison, Errors
from dpfit.experiments.methods import METHODS, PEERS
from dpfit.experiments.regimes import PAPER, REGIMES, SCALED, Regime, untuned_against_tuned

__all__ = ["draw_ours", "draw_paper", "draw_scaled"]

# Errors are drawn between these, and arrows stand for what lies beyond: a constant prediction has
# an error of one.
_LEAST, _MOST = 3e-4, 1e3


def _panel(axis: Any, pair: Comparison, colour: str) -> None:
    """Draw `pair.first` over `pair.second`."""

    def shown(value: float) -> float:
        return min(max(value, _LEAST), _MOST)

    axis.plot([_LEAST, _MOST], [_LEAST, _MOST], color="0.55", lw=0.9, zorder=1)
    marks: dict[str, list[tuple[float, float]]] = {"o": [], ">": [], "^": []}
    for x, y in zip(pair.second, pair.first, strict=True):
        mark = ">" if x > _MOST else "^" if y > _MOST else "o"
        marks[mark].append((shown(x), shown(y)))
    for mark, points in marks.items():
        if points:
            axis.plot(*zip(*points, strict=True), ls="", marker=mark, ms=4.6, mew=0,
                      color=colour, alpha=0.8, zorder=3, clip_on=False)  # fmt: skip
    axis.set(xscale="log", yscale="log", xlim=(_LEAST, _MOST), ylim=(_LEAST, _MOST))
    axis.set_aspect("equal")
    axis.set_xticks([1e-3, 1e-1, 1e1, 1e3])
    axis.set_yticks([1e-3, 1e-1, 1e1, 1e3])
    axis.minorticks_off()


# How each setting is called under an axis.
_HOW = {
    "fixed": "fixed",
    "tuned": "tuned",
    "constant": "fixed, with a constant",
    "scaled": "fixed, features scaled",
}


def _title(pair: Comparison, epsilon: float) -> str:
    """Say what a panel holds: above it, as points may lie anywhere inside."""
    total = len(pair.tasks)
    first = f"ε = {epsilon:g}, {total} tables"
    return f"{first}\n{fractions(pair.wins, pair.losses, total)}" if total else first


def _grid(
    lines: Sequence[tuple[str, str, str, Sequence[Comparison]]],
    epsilons: Sequence[float],
) -> str:
    """Draw lines of (label above, label below, colour, comparison at each privacy level)."""
    with squares(len(lines), len(epsilons)) as (drawn, axes):
        lines_drawn = list(axes)
        for row, (y_label, x_label, colour, pairs) in zip(lines_drawn, lines, strict=True):
            for axis, epsilon, pair in zip(row, epsilons, pairs, strict=True):
                _panel(axis, pair, colour)
                axis.set_xlabel(x_label)
                axis.set_title(_title(pair, epsilon), fontsize=9, pad=8)
                axis.tick_params(labelleft=axis is row[0], labelbottom=row is lines_drawn[-1])
            row[0].set_ylabel(y_label)
        return svg(drawn)


def draw_paper(errors: Errors, peer: str, epsilons: Sequence[float]) -> str:
    """Draw BoostedAdaSSP against a peer in the paper's three regimes.

    Parameters
    ----------
    errors : Errors
        What was measured.
    peer : str
        Key of the other method.
    epsilons : sequence of float
        Privacy levels, one column each.

    Returns
    -------
    str
        SVG.
    """
    return _grid([_line(errors, r, peer, epsilons) for r in REGIMES[:3]], epsilons)


def _line(
    errors: Errors, regime: Regime, peer: str, epsilons: Sequence[float]
) -> tuple[str, str, str, list[Comparison]]:
    first, second = regime.side(PAPER), regime.side(peer)
    return (
        f"({regime.key}) BoostedAdaSSP,\n{_HOW[first[1]]}",
        f"{METHODS[peer].label},\n{_HOW[second[1]]}",
        COLOURS[peer],
        [errors.compare(first, second, epsilon) for epsilon in epsilons],
    )


def draw_scaled(errors: Errors, epsilons: Sequence[float]) -> str:
    """Draw BoostedAdaSSP against its peers, all fixed, on features of one size."""
    peers = [peer for peer in PEERS if peer != PAPER]
    return _grid([_line(errors, SCALED, peer, epsilons) for peer in peers], epsilons)


def draw_ours(errors: Errors, ours: str, epsilons: Sequence[float]) -> str:
    """Draw one of ours, untuned, against every tuned peer and the best of them on each table."""
    label, regime = f"(d) {METHODS[ours].label},\nuntuned", REGIMES[3]
    lines = [
        (
            label,
            "best tuned method\nof each table",
            "0.25",
            [untuned_against_tuned(errors, ours, epsilon) for epsilon in epsilons],
        )
    ]
    for peer in PEERS:
        pairs = [errors.compare((ours, "fixed"), regime.side(peer), e) for e in epsilons]
        lines.append((label, f"{METHODS[peer].label},\ntuned", COLOURS[peer], pairs))
    return _grid(lines, epsilons)
