"""The section on an additive model: a curve with bands, or bars of levels, for each feature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpfit._typing import Floats
from dpfit.models.names import distinct
from dpfit.models.numbers import date_pair, number_text
from dpfit.models.report.bars import Segment, axis_of_bars, interval_bar, legend, share_bar
from dpfit.models.report.markup import Child, Html, element, joined, name_of
from dpfit.models.report.scales import Scale, points, tick_texts, ticks
from dpfit.models.report.tables import table
from dpfit.models.tables import Summary

if TYPE_CHECKING:
    from dpfit.models.model import Model
    from dpfit.schema import Level

__all__ = ["curves_section"]

_LEVEL = 0.95
_LONGEST = 80
# More are in the table only.
_MOST_DRAWN = 60
_MOST_LEVELS = 60
# The size of a drawing, and its margins.
_WIDTH, _HEIGHT = 320.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 12.0, 8.0, 24.0
# How far a curve is drawn outside its range, as a share of the width.
_BEYOND = 0.05


@dataclass(frozen=True, eq=False)
class _Shape:
    """What is drawn of a feature."""

    column: int
    x: Floats | list[Level]
    height: Floats
    outer: Floats
    inner: Floats
    reach: float


def curves_section(model: Model, summary: Summary) -> Html:
    """Return the table of curves and a drawing of each, the most important one first."""
    names = distinct(model.column_names, _LONGEST)
    shapes = _shapes(model)
    left = len(shapes) - _MOST_DRAWN
    rows: list[list[Child]] = [
        [name_of(name), *row[1:]] for name, row in zip(names, summary.rows, strict=True)
    ]
    return element(
        "section",
        element("h2", "Curves"),
        element(
            "p",
            "What each feature adds to the prediction, in units of the target. Each drawing has "
            "its own scale: the grey bar above it shows how large the effect is (highest minus "
            "lowest), compared with the largest one.",
            f" {left} less important features are in the table only." if left > 0 else None,
        )
        if shapes
        else None,
        legend(_LEVEL, "curve or level") if shapes else None,
        element(
            "div",
            *(_figure(model, names[s.column], s, shapes[0].reach) for s in shapes[:_MOST_DRAWN]),
            class_="grid",
        ),
        table(summary.columns, rows),
        *(element("p", note, class_="note") for note in summary.notes),
        id="curves",
    )


def _shapes(model: Model) -> list[_Shape]:
    """Return the features that have an effect, with the largest effect first."""
    found = []
    for column in np.flatnonzero(np.isfinite(model.column_ranges).all(axis=1)).tolist():
        outer, inner = (model.band(column, _LEVEL, part) for part in ("population", "sample"))
        found.append(_Shape(column, *model.curve(column), outer, inner, model.importance(column)))
    return sorted(found, key=lambda shape: -shape.reach)


def _figure(model: Model, name: str, shape: _Shape, largest: float) -> Html:
    seen = model.is_seen(shape.column)
    if not seen.any():
        unknown = element("p", "not known: hidden by the noise", class_="note")
        return element("figure", element("figcaption", name_of(name)), unknown)
    scale = Scale.around(np.concatenate([shape.height[seen], shape.outer.flat, shape.inner.flat]))
    drawing = _levels(shape, scale) if isinstance(shape.x, list) else _curve(model, shape, scale)
    share = shape.reach / largest if largest else 0.0
    size = share_bar([Segment(share, "entry-0", "")], f"{100 * share:.0f} % of the largest", "size")
    caption = element("figcaption", name_of(name), element("small", number_text(shape.reach)))
    return element("figure", caption, size, drawing)


def _curve(model: Model, shape: _Shape, scale: Scale) -> Html:
    x = np.asarray(shape.x, dtype=np.float64)
    beyond = _BEYOND * (x[-1] - x[0])
    across = Scale(x[0] - beyond, x[-1] + beyond, _LEFT, _WIDTH - _RIGHT)
    up = Scale(scale.low, scale.high, _HEIGHT - _BOTTOM, _TOP)
    wide = [x[0] - beyond, *x, x[-1] + beyond]

    def along(heights: Floats) -> list[tuple[float, float]]:
        padded = np.pad(heights, 1, mode="edge")
        return [(across(a), up(b)) for a, b in zip(wide, padded.tolist(), strict=True)]

    parts = _axes(model, shape, across, up)
    for band, style in ((shape.outer, "sampling"), (shape.inner, "privacy")):
        if np.isfinite(band).all():
            outline = along(band[:, 1]) + along(band[:, 0])[::-1]
            parts.append(element("path", d=f"M{points(outline)} Z", class_=style))
    parts.append(element("path", d=f"M{points(along(shape.height))}", class_="line"))
    parts += [
        element("circle", cx=across(a), cy=up(b), r="2.4", class_="dot")
        for a, b in zip(x.tolist(), shape.height.tolist(), strict=True)
    ]
    low, high = map(number_text, (float(shape.height.min()), float(shape.height.max())))
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        class_="plot",
        role="img",
        aria_label=f"A curve between {low} and {high}",
    )


def _axes(model: Model, shape: _Shape, across: Scale, up: Scale) -> list[Html]:
    parts = []
    places = ticks(up.low, up.high, 5)
    for value, text in zip(places, tick_texts(places), strict=True):
        y = up(value)
        style = "zero" if value == 0.0 else "grid-line"
        parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_=style))
        parts.append(element("text", text, x=_LEFT - 5, y=y + 4, class_="tick end"))
    ends = np.asarray(shape.x, dtype=np.float64)[[0, -1]].tolist()
    kind = model.columns[shape.column]
    if kind.is_date:
        marks = list(zip(ends, date_pair(*ends), strict=True))
    elif kind.is_binary:
        marks = [(0.0, "0"), (1.0, "1")]
    else:
        values = ticks(ends[0], ends[1], 4)
        marks = list(zip(values, tick_texts(values), strict=True))
    for value, text in marks:
        # Dates are wide: they end at the ends of the axis.
        side = ("start" if value == ends[0] else "end") if kind.is_date else "middle"
        parts.append(element("text", text, x=across(value), y=_HEIGHT - 7, class_=f"tick {side}"))
    return parts


def _levels(shape: _Shape, scale: Scale) -> Html:
    assert isinstance(shape.x, list)
    names = distinct([str(level) for level in shape.x], _LONGEST)
    rows: list[Child] = []
    for name, height, outer, inner in zip(
        names[:_MOST_LEVELS], shape.height, shape.outer, shape.inner, strict=False
    ):
        ends = [number_text(float(end)) for end in outer]
        known = bool(np.isfinite(outer).all())
        label = f"{number_text(float(height))}, 95 % interval from {ends[0]} to {ends[1]}"
        bar = interval_bar(scale, float(height), _ends(outer), _ends(inner), label)
        rows += [
            element("dt", name_of(name)),
            element("dd", bar if known else element("small", "not known")),
        ]
    rows += [element("dt", ""), element("dd", axis_of_bars(scale))]
    left = len(names) - _MOST_LEVELS
    more = element("p", f"{left} more levels are not drawn.", class_="note") if left > 0 else None
    return joined(element("dl", *rows, class_="levels"), more)


def _ends(band: Sequence[float] | Floats) -> tuple[float, float]:
    low, high = (float(end) for end in band)
    return (low, high) if math.isfinite(low) else (math.nan, math.nan)
