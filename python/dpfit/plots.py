"""Pictures of fitted models. Matplotlib is needed only when one is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfit._parameters import integer
from dpfit.exceptions import ParameterError
from dpfit.schema import terms
from dpfit.summary import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpfit._estimator import Floats
    from dpfit.additive import PrivateAdditiveRegression
    from dpfit.linear import PrivateLinearRegression
    from dpfit.schema import Level

__all__ = ["plot_coefficients", "plot_curves"]

_COLOUR = "#1f5a8a"
_TINT = "#9fc0db"
_GREY = "#5a616a"
_LIGHT = "#c9ced4"
_LIGHTER = "#eceff2"
_ALARM = "#b03a2e"
_SEED = "NOT PRIVATE: fixed seed"
_TOO_FEW = {
    "mean": "Too few rows for {}: the model is a mean",
    "nothing": "Too few rows for {}: the noise hides even where the target lies",
    "full": "No column varies: there are no {}",
}

# Names may hold dollars, between which matplotlib would read formulas.
_AS_IT_IS: dict[str, Any] = {"parse_math": False}

_MOST_CURVES = 12
# How far beyond its range a curve is drawn, as a share of the width.
_BEYOND = 0.06
# More levels, or more letters of theirs, are not written below or beside each other.
_MOST_LABELS = 12
_MOST_LETTERS = 20


def plot_coefficients(
    model: PrivateLinearRegression, level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw the coefficients of a linear model with their intervals, the largest on top.

    Parameters
    ----------
    model : PrivateLinearRegression
        A fitted model.
    level : float, default 0.95
        How often the intervals hold.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib Axes
        A dot for every feature: its coefficient times half the width of its range, which is how
        far it moves the prediction from the middle of the range to the end; of a level, its effect.
        The thick bar is the interval for the noise that was added, the thin one for noise and
        sampling.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    pyplot = _pyplot()
    check_is_fitted(model)
    half = (model.feature_range_[:, 1] - model.feature_range_[:, 0]) / 2
    half = np.where(np.isfinite(half), half, 0.0)  # without a range there is no slope
    levels = np.array([level is not None for _, level in terms(model._kinds)])
    half[levels & (half > 0.0)] = 1.0
    moved = model.coef_ * half
    order = np.argsort(-np.abs(moved), kind="stable")
    inner = (model.coef_interval(level, sampling=False)[:-1] * half[:, None])[order]
    outer = (model.coef_interval(level)[:-1] * half[:, None])[order]
    count = len(order)
    if ax is None:
        height = max(1.3 + 0.27 * min(count, 12) + 0.15 * max(count - 12, 0), 2.0)
        ax = pyplot.subplots(figsize=(6.0, height), layout="constrained")[1]
    places = np.arange(count)
    row = _height(ax) / (count + 0.2)
    ax.axvline(0.0, color=_LIGHT, linewidth=1.0, zorder=1)
    seed = _SEED if model.privacy_.insecure_seed else None
    if half.any():
        interval = f"{100 * level:.12g} % interval"
        _bars(ax, inner, min(0.45 * row, 6.0), _TINT, 2, f"{interval}: privacy noise only")
        _bars(ax, outer, min(0.12 * row, 1.2), _COLOUR, 3, "with sampling")
        size = min(max(0.4 * row, 1.5), 4.0)
        ax.plot(moved[order], places, "o", color=_COLOUR, markersize=size, zorder=4)
        legend = ax.legend(
            title=seed,
            title_fontsize=8.5,
            alignment="left",
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=2,
            frameon=False,
            fontsize=8.5,
            labelcolor=_GREY,
            borderaxespad=0.0,
            handlelength=1.6,
        )
        legend.get_title().set_color(_ALARM)
    else:
        ax.set_xlim(-1.0, 1.0)
        ax.set_xticks([0.0])
        words = _TOO_FEW[model.status_].format("slopes")
        ax.set_title(f"{words}\n{seed or ''}".strip(), fontsize=9, color=_GREY, loc="left")
    names = model.coef_names_
    ax.set_yticks(places, [shortened(names[i]) for i in order], **_AS_IT_IS)
    ax.set_ylim(count - 0.4, -0.6)
    ax.set_xlabel(
        "Change of the prediction from the middle of the feature's range to its end"
        + ("\n(of a level, its effect)" if levels.any() else ""),
        fontsize=8.5,
        color=_GREY,
    )
    _quieten(ax)
    ax.grid(axis="y", color=_LIGHTER, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelsize=min(0.8 * row, 9.0))
    return ax


def plot_curves(
    model: PrivateAdditiveRegression,
    features: Sequence[int | str] | int | str | None = None,
    ncols: int = 3,
) -> Figure:
    """Draw the curves of an additive model side by side, on one vertical scale.

    Parameters
    ----------
    model : PrivateAdditiveRegression
        A fitted model.
    features : sequence of int or str, optional
        Positions or names, drawn in this order. None for the twelve whose curves reach over the
        most, or all if there are fewer, most important first.
    ncols : int, default 3
        Curves in a row.

    Returns
    -------
    matplotlib Figure
        Curves with dots at their knots; they are flat beyond their ranges.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    pyplot = _pyplot()
    figure: Figure
    check_is_fitted(model)
    ncols = integer("ncols", ncols, 1, 100)
    names = model._names()
    places = _chosen(model, features)
    ncols = min(ncols, len(places))
    nrows = math.ceil(len(places) / ncols)
    width, height = (4.2, 3.2) if len(places) == 1 else (2.05 * ncols, 1.6 * nrows + 0.5)
    figure, axes = pyplot.subplots(
        nrows,
        ncols,
        figsize=(max(width, 3.6), height),
        sharey=True,
        squeeze=False,
    )
    figure.set_layout_engine("constrained", h_pad=0.06, w_pad=0.05)
    for ax, place in zip(axes.flat, places, strict=False):
        x, heights = model.curve(place)
        if isinstance(x, list):
            _levels(ax, x, heights)
        else:
            _curve(ax, x, heights, has_range=bool(np.isfinite(model.feature_range_[place, 0])))
        name = shortened(names[place], 22)
        ax.set_title(name, fontsize=9, color="black", loc="left", pad=3, **_AS_IT_IS)
    for ax in axes.flat[len(places) :]:
        ax.set_visible(False)
    figure.supylabel("Added to the prediction, in units of the target", fontsize=9, color=_GREY)
    title = ""
    if model.status_ != "full":
        title = _TOO_FEW[model.status_].format("curves")
    elif features is None and len(places) < len(names):
        title = f"The {len(places)} most important of {len(names)} features"
    if title:
        figure.suptitle(title, fontsize=9.5, color=_GREY)
    if model.privacy_.insecure_seed:
        figure.supxlabel(_SEED, fontsize=9, color=_ALARM)
    return figure


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "dpfit[plot]"') from error
    return pyplot


def _chosen(
    model: PrivateAdditiveRegression, features: Sequence[int | str] | int | str | None
) -> list[int]:
    """Return the features to draw."""
    if features is None:
        reach = [float(np.ptp(model.curve(i)[1])) for i in range(model.n_features_in_)]
        return [int(i) for i in np.argsort(np.negative(reach), kind="stable")[:_MOST_CURVES]]
    if isinstance(features, str | int | np.integer):
        features = [features]
    places = [model._place(feature) for feature in features]
    if not places:
        raise ParameterError("features must name at least one feature, or be None")
    return places


def _curve(ax: Axes, x: Floats, height: Floats, *, has_range: bool) -> None:
    ax.axhline(0.0, color=_LIGHT, linewidth=0.8, zorder=1)
    if has_range:
        beyond = _BEYOND * (x[-1] - x[0])
        for end, to in ((0, x[0] - beyond), (-1, x[-1] + beyond)):
            ax.plot([x[end], to], [height[end]] * 2, color=_TINT, linewidth=1.6, zorder=2)
        ax.plot(x, height, color=_COLOUR, linewidth=1.6, zorder=3, solid_joinstyle="round")
        ax.plot(x, height, "o", color=_COLOUR, markersize=2.6, zorder=4)
        ax.set_xlim(x[0] - beyond, x[-1] + beyond)
        ax.locator_params(axis="x", nbins=3)
        ax.locator_params(axis="y", nbins=5)
    else:
        ax.axhline(0.0, color=_TINT, linewidth=1.6, zorder=2)
        ax.set_xticks([])
        ax.set_yticks([0.0])
        ax.set_ylim(-1.0, 1.0)
    _quieten(ax)


def _levels(ax: Axes, levels: list[Level], height: Floats) -> None:
    ax.axhline(0.0, color=_LIGHT, linewidth=0.8, zorder=1)
    places = np.arange(len(levels))
    ax.vlines(places, 0.0, height, color=_TINT, linewidth=1.6, zorder=2)
    ax.plot(places, height, "o", color=_COLOUR, markersize=3.5, zorder=3)
    ax.set_xlim(-0.6, len(levels) - 0.4)
    if len(levels) <= _MOST_LABELS:
        labels = [shortened(str(level), 20) for level in levels]
        long = sum(map(len, labels)) > _MOST_LETTERS
        ends = "right" if long else "center"
        ax.set_xticks(places, labels, rotation=35 if long else 0, ha=ends, **_AS_IT_IS)
    else:
        ax.set_xticks([])
        ax.set_xlabel(f"{len(levels)} levels", fontsize=8, color=_GREY)
    ax.locator_params(axis="y", nbins=5)
    _quieten(ax)


def _bars(ax: Axes, ends: Floats, thickness: float, colour: str, order: int, label: str) -> None:
    ax.hlines(
        np.arange(len(ends)),
        ends[:, 0],
        ends[:, 1],
        colors=colour,
        linewidth=thickness,
        zorder=order,
        label=label,
    )


def _height(ax: Axes) -> float:
    """Return the height of the axes in points."""
    figure = ax.get_figure()
    pixels = ax.get_window_extent().height
    return float(pixels) * 72.0 / (figure.dpi if figure is not None else 100.0)


def _quieten(ax: Axes) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(_LIGHT)
    ax.tick_params(color=_LIGHT, labelcolor=_GREY, labelsize=8)
