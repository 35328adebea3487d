"""The style of all figures, and their conversion to SVG."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

__all__ = ["COLOURS", "figure", "fractions", "legend_below", "squares", "svg"]

# Size of a square panel and of the margins in inches, and gaps as a fraction of a panel.
_SQUARE, _LEFT, _RIGHT, _BOTTOM, _TOP = 2.5, 0.9, 0.2, 0.7, 0.5
_GAP_ACROSS, _GAP_DOWN = 0.12, 0.38
# Distance from the axes to the legend below, in inches; tick labels and axis label fit between.
_LEGEND = 0.42


# Distinguishable with the common kinds of colour blindness (Okabe and Ito).
COLOURS = {
    "boosted_adassp": "#0072B2",
    "adassp": "#56B4E9",
    "gradient_descent": "#E69F00",
    "tukey_em": "#CC79A7",
    "dp_ebm": "#009E73",
    "linear": "#D55E00",
    "additive": "#8B2500",
    "least_squares": "#666666",
    "ebm": "#004D38",
}

_STYLE: Any = {
    "axes.edgecolor": "0.35",
    "axes.grid": False,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.dpi": 100,
    "font.size": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    # Text stays text: it can be searched, and files are a third of the size.
    "svg.fonttype": "none",
    # Identifiers in the file depend on this, so the same figure is the same file.
    "svg.hashsalt": "dpfit",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


@contextmanager
def squares(rows: int, columns: int) -> Iterator[tuple[Any, Any]]:
    """Make a figure with a grid of square axes, like `figure`.

    Positions are computed here, because a constrained layout takes longer than all drawing.
    """
    across, down = columns + _GAP_ACROSS * (columns - 1), rows + _GAP_DOWN * (rows - 1)
    width = _LEFT + _SQUARE * across + _RIGHT
    height = _BOTTOM + _SQUARE * down + _TOP
    with figure(rows, columns, width=width, height=height, layout=None) as (drawn, axes):
        drawn.subplots_adjust(
            left=_LEFT / width,
            right=1 - _RIGHT / width,
            bottom=_BOTTOM / height,
            top=1 - _TOP / height,
            wspace=_GAP_ACROSS,
            hspace=_GAP_DOWN,
        )
        yield drawn, axes


@contextmanager
def figure(
    rows: int,
    columns: int,
    *,
    width: float,
    height: float,
    layout: Literal["constrained"] | None = "constrained",
) -> Iterator[tuple[Any, Any]]:
    """Make a figure with a grid of axes in the common style, without a display.

    Parameters
    ----------
    rows, columns : int
        Shape of the grid.
    width, height : float
        Size in inches.
    layout : {"constrained"} or None
        Matplotlib's layout engine.

    Yields
    ------
    figure, axes
        A matplotlib figure and an array of axes of shape (rows, columns).
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        drawn = Figure(figsize=(width, height), layout=layout)
        FigureCanvasAgg(drawn)
        yield drawn, drawn.subplots(rows, columns, squeeze=False)


def svg(drawn: Any) -> str:
    """Return a figure as SVG. The same figure gives the same string."""
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        drawn.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def legend_below(axis: Any, columns: int) -> None:
    """Put the legend below the axes."""
    from matplotlib.transforms import ScaledTranslation

    down = ScaledTranslation(0, -_LEGEND, axis.figure.dpi_scale_trans)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=columns,
                bbox_transform=axis.transAxes + down)  # fmt: skip


def fractions(below: int, above: int, total: int) -> str:
    """Return the shares of points below and above the diagonal as a string; ties are neither."""
    parts = {"below": below, "above": above, "equal": total - below - above}
    found = [
        f"{count / total:.0%} {where}"
        for where, count in parts.items()
        if count or where != "equal"
    ]
    return ", ".join(found)
