"""The paper's scatter plots: one point per table on logarithmic axes, with the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paper.drawing import COLOURS, fractions, squares, svg
from paper.errors import Comparison, Errors
from paper.methods import METHODS, PEERS
from paper.regimes import PAPER, REGIMES, SCALED, SETTINGS, Regime, untuned_against_tuned

__all__ = ["draw_ours", "draw_paper", "draw_scaled"]

# Limits of the axes; larger errors are drawn as arrows. The mean of the target has an error of 1.
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


def _title(pair: Comparison, epsilon: float) -> str:
    """Return the title of a panel."""
    total = len(pair.tasks)
    first = f"ε = {epsilon:g}, {total} tables"
    return f"{first}\n{fractions(pair.wins, pair.losses, total)}" if total else first


def _grid(
    lines: Sequence[tuple[str, str, str, Sequence[Comparison]]],
    epsilons: Sequence[float],
) -> str:
    """Draw rows of panels from (y label, x label, colour, comparison at each epsilon)."""
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
        Median errors.
    peer : str
        Key of the other method.
    epsilons : sequence of float
        Privacy budgets, one column each.

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
        f"({regime.key}) BoostedAdaSSP,\n{SETTINGS[first[1]]}",
        f"{METHODS[peer].label},\n{SETTINGS[second[1]]}",
        COLOURS[peer],
        [errors.compare(first, second, epsilon) for epsilon in epsilons],
    )


def draw_scaled(errors: Errors, epsilons: Sequence[float]) -> str:
    """Draw BoostedAdaSSP against its peers, all fixed, on scaled features."""
    peers = [peer for peer in PEERS if peer != PAPER]
    return _grid([_line(errors, SCALED, peer, epsilons) for peer in peers], epsilons)


def draw_ours(errors: Errors, ours: str, epsilons: Sequence[float]) -> str:
    """Draw a dpfit model, untuned, against every tuned peer and the best of them on each table."""
    label, regime = f"(d) {METHODS[ours].label},\nuntuned", REGIMES[3]
    lines = [
        (
            label,
            "best tuned method\non each table",
            "0.25",
            [untuned_against_tuned(errors, ours, epsilon) for epsilon in epsilons],
        )
    ]
    for peer in PEERS:
        pairs = [errors.compare((ours, "fixed"), regime.side(peer), e) for e in epsilons]
        lines.append((label, f"{METHODS[peer].label},\ntuned", COLOURS[peer], pairs))
    return _grid(lines, epsilons)
