"""Bars: an estimate with an interval of two parts, and a whole that is divided into shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpfit.models.report.markup import Html, element, joined
from dpfit.models.report.scales import Scale, tick_texts, ticks

__all__ = [
    "Segment",
    "axis_of_bars",
    "error_bar",
    "interval_bar",
    "legend",
    "share_bar",
    "swatch",
]

_HEIGHT = 18
_MIDDLE = _HEIGHT / 2


def interval_bar(
    scale: Scale,
    value: float,
    outer: tuple[float, float],
    inner: tuple[float, float],
    label: str,
) -> Html:
    """Return a dot with its confidence interval, whose dark part is due to privacy noise alone.

    Parameters
    ----------
    scale : Scale
        Places in percent of the width, whatever that is.
    value : float
        The estimate.
    outer, inner : tuple of two floats
        Ends of the interval with and without sampling error; NaN if they are not known.
    label : str
        What a screen reader says.
    """
    shapes = [_line(scale(0.0), "zero")]
    if all(map(math.isfinite, (value, *outer, *inner))):
        shapes += [_rect(scale, outer, 8, "sampling"), _rect(scale, inner, 8, "privacy")]
        shapes.append(
            element("circle", cx=_percent(scale(value)), cy=_MIDDLE, r="3.5", class_="dot")
        )
    return element("svg", *shapes, class_="bar", height=str(_HEIGHT), role="img", aria_label=label)


def axis_of_bars(scale: Scale) -> Html:
    """Return the axis of bars, for the heading of their column."""
    places = ticks(scale.low, scale.high, 3)
    return element(
        "svg",
        *(
            element("text", text, x=_percent(scale(value)), y="13", class_="tick middle")
            for value, text in zip(places, tick_texts(places), strict=True)
        ),
        class_="bar axis",
        height="16",
        aria_hidden="true",
    )


def legend(level: float = 0.95, what: str = "estimate") -> Html:
    """Return what the parts of bars and bands mean."""
    return element(
        "p",
        element("span", "", class_="key dot"),
        f" {what} ",
        element("span", "", class_="key privacy"),
        f" {100 * level:.12g} % confidence interval from privacy noise alone ",
        element("span", "", class_="key sampling"),
        " with sampling error",
        class_="legend",
    )


@dataclass(frozen=True)
class Segment:
    """A part of a whole: its share, its class in the style sheet, and its name."""

    share: float
    style: str
    name: str


def share_bar(segments: Sequence[Segment], label: str, style: str = "whole") -> Html:
    """Return a bar that is divided into segments, whose shares sum to at most one."""
    shapes, start = [], 0.0
    for segment in segments:
        width = min(max(segment.share, 0.0), 1.0 - start)
        shapes.append(
            element(
                "rect",
                x=_percent(100 * start),
                width=_percent(100 * width),
                height="100%",
                class_=f"part {segment.style}",
            )
        )
        start += width
    return element("svg", *shapes, class_=f"bar {style}", role="img", aria_label=label)


def error_bar(privacy: float) -> Html:
    """Return the variance of an error as a bar of two parts: privacy noise and sampling."""
    percent = f"{100 * privacy:.0f} %"
    parts = [Segment(privacy, "privacy", ""), Segment(1.0 - privacy, "sampling", "")]
    return joined(share_bar(parts, f"{percent} privacy noise", "mix"), percent)


def swatch(style: str) -> Html:
    """Return a small square in the colour of a segment."""
    return joined(element("span", "", class_=f"key {style}"), " ")


def _rect(scale: Scale, ends: tuple[float, float], height: int, style: str) -> Html:
    start, stop = scale(ends[0]), scale(ends[1])
    return element(
        "rect",
        x=_percent(start),
        width=_percent(max(stop - start, 0.0)),
        y=_MIDDLE - height / 2,
        height=str(height),
        class_=style,
    )


def _line(place: float, style: str) -> Html:
    x = _percent(place)
    return element("line", x1=x, x2=x, y1="0", y2=str(_HEIGHT), class_=style)


def _percent(place: float) -> str:
    return f"{place:.3f}%"
