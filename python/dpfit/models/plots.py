"""Plots of fitted models. Matplotlib is imported when the first one is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit._parameters import integer
from dpfit.exceptions import ParameterError
from dpfit.models.coefficients import Coding, Coefficients, Term
from dpfit.models.effects import NoEffect
from dpfit.models.fonts import printable_labels, with_glyphs
from dpfit.models.names import LONGEST_NAME, distinct, width_of
from dpfit.models.numbers import date_pair
from dpfit.models.style import (
    ALARM,
    COLOUR,
    GREY,
    LIGHT,
    LIGHTER,
    NO_MATH,
    TINT,
    import_pyplot,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpfit._typing import Array, Floats
    from dpfit.models.model import Model
    from dpfit.schema import Kind, Level

__all__ = ["plot_coefficients", "plot_curves"]

_SEED = "NOT PRIVATE: fixed seed"
_TOO_FEW = {
    "mean": "Too few rows for {}: the model predicts the mean",
    "nothing": "Too few rows for {}: the noise hides even the range of the target",
    "full": "No column varies: there are no {}",
}

_MOST_CURVES = 12
# How far a curve is drawn outside its range, as a share of the width.
_BEYOND = 0.06
# With more levels labels are omitted; with more letters in total they are rotated.
_MOST_LABELS = 12
_MOST_LETTERS = 20


def plot_coefficients(
    model: Model, level: float = 0.95, ax: Axes | None = None, coding: Coding = "treatment"
) -> Axes:
    """Implement :meth:`dpfit.PrivateLinearRegression.plot_coefficients`."""
    plt = import_pyplot()
    found = Coefficients.of(model, coding)
    outer = found.interval(level)[:-1]
    half = np.array([1.0 if term.level is not None else _half(*term.range) for term in found.terms])
    known: Any = np.isfinite(outer).all(axis=1)
    moved = found.unshrunk[:-1] * half
    order = _order(found.terms, np.where(known, np.abs(moved), np.nan))
    count = max(len(order), 1)
    names = distinct(found.names)
    labels = [names[i] + (" (reference)" if found.terms[i].is_reference else "") for i in order]
    if ax is None:
        height = max(1.5 + 0.27 * min(count, 12) + 0.15 * max(count - 12, 0), 2.2)
        longest = max((width_of(label) for label in labels), default=0)
        width = 6.0 + 0.055 * max(longest - LONGEST_NAME, 0)
        ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
    places = np.arange(len(order))
    row = _height_in_points(ax) / (count + 0.2)
    ax.axvline(0.0, color=LIGHT, linewidth=1.0, zorder=1)
    seed = _SEED if model.privacy.insecure_seed else None
    dots: Any = np.array([known[i] and not found.terms[i].is_reference for i in order], bool)
    if dots.any():
        shown, at = np.array(order)[dots], places[dots]
        inner = found.interval(level, "sample")[:-1]
        interval = f"{100 * level:.12g} % confidence interval"
        parts = (
            (inner, min(0.45 * row, 6.0), TINT, 2, f"{interval} without sampling error"),
            (outer, min(0.12 * row, 1.2), COLOUR, 3, "with sampling error"),
        )
        for ends, thickness, colour, depth, label in parts:
            _bars(ax, at, ends[shown] * half[shown, None], thickness, colour, depth, label)
        size = min(max(0.4 * row, 1.5), 4.0)
        ax.plot(moved[shown], at, "o", color=COLOUR, markersize=size, zorder=4)
        own = places[~dots]
        ax.plot(np.zeros(len(own)), own, "|", color=GREY, markersize=2 * size, zorder=4)
        legend = ax.legend(
            title=seed,
            title_fontsize=8.5,
            alignment="left",
            # Above the axes and to the left, where names leave room.
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            fontsize=8.5,
            labelcolor=GREY,
            borderaxespad=0.0,
            handlelength=1.6,
        )
        legend.get_title().set_color(ALARM)
    else:
        ax.set_xlim(-1.0, 1.0)
        ax.set_xticks([0.0])
        words = _TOO_FEW[model.status].format("slopes")
        ax.set_title(f"{words}\n{seed or ''}".strip(), fontsize=9, color=GREY, loc="right")
    ax.set_yticks(places, printable_labels(labels), **NO_MATH)
    ax.set_ylim(count - 0.4, -0.6)
    words = "\n".join(_below(found.terms, len(order), coding))
    ax.set_xlabel(words, fontsize=8.5, color=GREY, loc="right", multialignment="right")
    style_axes(ax)
    ax.grid(axis="y", color=LIGHTER, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelsize=min(0.8 * row, 9.0))
    with_glyphs(ax.get_yticklabels())
    return ax


def _half(low: float, high: float) -> float:
    """Return half of the width of a range; zero if it is infinite."""
    return (high - low) / 2 if math.isfinite(high - low) else 0.0


def _order(terms: Sequence[Term], sizes: Floats) -> list[int]:
    """Return the terms to draw: columns with the largest effect first, levels in their order.

    A term without an interval (its size is NaN) is left out, and so is a reference that no other
    level is shown with.
    """
    groups: dict[int, list[int]] = {}
    for place, term in enumerate(terms):
        if np.isfinite(sizes[place]) or term.is_reference:
            groups.setdefault(term.column, []).append(place)
    shown = [
        group
        for group in groups.values()
        if any(np.isfinite(sizes[i]) and not terms[i].is_reference for i in group)
    ]
    shown.sort(key=lambda group: -max(np.nan_to_num(sizes[i]) for i in group))
    return [place for group in shown for place in group]


def _below(terms: Sequence[Term], drawn: int, coding: Coding) -> list[str]:
    """Return the lines below the axis."""
    words = ["Change in prediction from the middle to the end of the feature's range"]
    if any(term.level is not None for term in terms):
        other = "the reference level" if coding == "treatment" else "the mean of the levels"
        words.append(f"(for a level: from {other})")
    if left := len(terms) - drawn:
        one = left == 1
        words.append(
            f"{left} {'term is' if one else 'terms are'} not shown: the noise hides "
            f"{'it' if one else 'them'}"
        )
    return words


def plot_curves(
    model: Model,
    features: Sequence[int | str] | int | str | None = None,
    ncols: int = 3,
    level: float | None = 0.95,
) -> Figure:
    """Implement :meth:`dpfit.PrivateAdditiveRegression.plot_curves`."""
    plt = import_pyplot()
    figure: Figure
    ncols = integer("ncols", ncols, 1, 100)
    names = distinct(model.column_names, 22)
    places = _chosen(model, features)
    ncols = min(ncols, len(places))
    nrows = math.ceil(len(places) / ncols)
    width, height = (4.2, 3.2) if len(places) == 1 else (2.05 * ncols, 1.6 * nrows + 0.5)
    figure, axes = plt.subplots(
        nrows,
        ncols,
        figsize=(max(width, 3.6), height),
        sharey=True,
        squeeze=False,
    )
    figure.set_layout_engine("constrained", h_pad=0.06, w_pad=0.05)
    for ax, place in zip(axes.flat, places, strict=False):
        x, heights = model.curve(place)
        band = np.full((len(heights), 2), np.nan) if level is None else model.band(place, level)
        if isinstance(x, list):
            _levels(ax, x, heights, band)
        else:
            has_range = not isinstance(model.effects[place], NoEffect)
            if has_range and model.status == "full" and not model.is_seen(place).all():
                # Without an interval, there is no curve either.
                ax.text(0.5, 0.6, "not known", transform=ax.transAxes, ha="center", fontsize=8)
                ax.set_xticks([])
                style_axes(ax)
            else:
                _curve(ax, x, heights, band, has_range=has_range)
            if has_range and not ax.texts:
                _mark(ax, model.columns[place], x)
        (name,) = printable_labels([names[place]])
        title = ax.set_title(name, fontsize=9, color="black", loc="left", pad=3, **NO_MATH)
        with_glyphs([title, *ax.get_xticklabels()])
    for ax in axes.flat[len(places) :]:
        ax.set_visible(False)
    if all(isinstance(model.effects[place], NoEffect) for place in places):
        # The axes share their limits.
        axes[0, 0].set_yticks([0.0])
        axes[0, 0].set_ylim(-1.0, 1.0)
    figure.supylabel("Contribution to the prediction", fontsize=9, color=GREY)
    title = ""
    if model.status != "full":
        title = _TOO_FEW[model.status].format("curves")
    elif features is None and len(places) < len(names):
        title = f"The {len(places)} most important of {len(names)} features"
    if title:
        figure.suptitle(title, fontsize=9.5, color=GREY)
    if model.privacy.insecure_seed:
        figure.supxlabel(_SEED, fontsize=9, color=ALARM)
    return figure


def _chosen(model: Model, features: Sequence[int | str] | int | str | None) -> list[int]:
    """Return the features to draw."""
    if features is None:
        reach = [model.importance(i) for i in range(len(model.effects))]
        return [int(i) for i in np.argsort(np.negative(reach), kind="stable")[:_MOST_CURVES]]
    if isinstance(features, str | int | np.integer):
        features = [features]
    places = [model.position(feature) for feature in features]
    if not places:
        raise ParameterError("features must contain at least one feature, or be None")
    return places


def _curve(ax: Axes, x: Floats, height: Floats, band: Floats, *, has_range: bool) -> None:
    ax.axhline(0.0, color=LIGHT, linewidth=0.8, zorder=1)
    if has_range:
        beyond = _BEYOND * (x[-1] - x[0])
        # The error between knots is at most what a straight line between the errors there says.
        wide = np.concatenate([[x[0] - beyond], x, [x[-1] + beyond]])
        low, high = np.pad(band, ((1, 1), (0, 0)), mode="edge").T
        ax.fill_between(wide, low, high, color=TINT, alpha=0.45, linewidth=0.0, zorder=1.5)
        for end, to in ((0, x[0] - beyond), (-1, x[-1] + beyond)):
            ax.plot([x[end], to], [height[end]] * 2, color=TINT, linewidth=1.6, zorder=2)
        ax.plot(x, height, color=COLOUR, linewidth=1.6, zorder=3, solid_joinstyle="round")
        ax.plot(x, height, "o", color=COLOUR, markersize=2.6, zorder=4)
        ax.set_xlim(x[0] - beyond, x[-1] + beyond)
        ax.locator_params(axis="x", nbins=3)
        ax.locator_params(axis="y", nbins=5)
    else:
        ax.axhline(0.0, color=TINT, linewidth=1.6, zorder=2)
        ax.set_xticks([])
    style_axes(ax)


def _mark(ax: Axes, kind: Kind, x: Floats) -> None:
    """Label the axis of a flag with its two values, and that of dates with dates."""
    if kind.is_binary:
        ax.set_xticks([0.0, 1.0], ["0", "1"])
    elif kind.is_date:
        ends = (float(x[0]), float(x[-1]))
        first, last = ax.set_xticks(ends, [text.replace(" ", "\n") for text in date_pair(*ends)])
        # Inside the axes, so that they do not meet those of the next plot.
        first.label1.set_horizontalalignment("left")
        last.label1.set_horizontalalignment("right")


def _levels(ax: Axes, levels: list[Level], height: Floats, band: Floats) -> None:
    ax.axhline(0.0, color=LIGHT, linewidth=0.8, zorder=1)
    places = np.arange(len(levels))
    ax.vlines(places, *band.T, color=TINT, linewidth=3.0, zorder=2)
    if not np.isnan(band).all():
        # A level without an interval has no dot either.
        height = np.where(np.isnan(band[:, 0]), np.nan, height)
    ax.plot(places, height, "o", color=COLOUR, markersize=3.5, zorder=3)
    ax.set_xlim(-0.6, len(levels) - 0.4)
    if len(levels) <= _MOST_LABELS:
        labels = printable_labels(distinct([str(level) for level in levels], 20))
        long = sum(map(width_of, labels)) > _MOST_LETTERS
        ends = "right" if long else "center"
        ax.set_xticks(places, labels, rotation=35 if long else 0, ha=ends, **NO_MATH)
    else:
        ax.set_xticks([])
        ax.set_xlabel(f"{len(levels)} levels", fontsize=8, color=GREY)
    ax.locator_params(axis="y", nbins=5)
    style_axes(ax)


def _bars(
    ax: Axes,
    places: Array,
    ends: Floats,
    thickness: float,
    colour: str,
    order: int,
    label: str,
) -> None:
    ax.hlines(
        places,
        ends[:, 0],
        ends[:, 1],
        colors=colour,
        linewidth=thickness,
        zorder=order,
        label=label,
    )


def _height_in_points(ax: Axes) -> float:
    """Return the height of axes in points."""
    figure = ax.get_figure()
    pixels = ax.get_window_extent().height
    return float(pixels) * 72.0 / (figure.dpi if figure is not None else 100.0)
