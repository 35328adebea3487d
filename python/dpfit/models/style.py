"""The style of all plots: few colours, which differ in lightness, and light axes.

Dark and light parts can be told apart in grey print and with every kind of colour blindness.
Reports (``report/style.css``) use the same colours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ALARM",
    "COLOUR",
    "GREY",
    "LIGHT",
    "LIGHTER",
    "NO_MATH",
    "TINT",
    "import_pyplot",
    "style_axes",
]

COLOUR = "#1f5a8a"
TINT = "#9fc0db"
GREY = "#5a616a"
LIGHT = "#c9ced4"
LIGHTER = "#eceff2"
ALARM = "#b03a2e"

# Names may contain dollar signs, between which matplotlib would read formulas.
NO_MATH: dict[str, Any] = {"parse_math": False}


def import_pyplot() -> Any:
    """Return matplotlib's pyplot; raise an error with a hint if it is not installed."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('plots require matplotlib: pip install "dpfit[plot]"') from error
    return pyplot


def style_axes(ax: Axes) -> None:
    """Draw the frame of a plot in light grey, and only on the left and at the bottom."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(LIGHT)
    ax.tick_params(color=LIGHT, labelcolor=GREY, labelsize=8)
