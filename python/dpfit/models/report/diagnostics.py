"""The section on an evaluation: errors on other rows, and a calibration curve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpfit.models.report.markup import Child, Html, element, joined
from dpfit.models.report.scales import Scale, points, tick_texts, ticks
from dpfit.models.report.tables import facts_grid, table

if TYPE_CHECKING:
    from dpfit.models.evaluation import Evaluation

__all__ = ["diagnostics_section"]

_SIZE, _LEFT, _BOTTOM, _EDGE = 260.0, 62.0, 44.0, 12.0


def diagnostics_section(evaluation: Evaluation) -> Html:
    """Return how good the model is on other rows, and what that cost these rows."""
    summary = evaluation.summary()
    rows: list[list[Child]] = [list(row) for row in summary.rows]
    return element(
        "section",
        element("h2", "Accuracy on other rows"),
        element("p", summary.warning, class_="alarm") if summary.warning else None,
        facts_grid(summary.facts),
        element("div", _drawing(evaluation), table(summary.columns, rows), class_="beside"),
        *(element("p", note, class_="note") for note in summary.notes),
        element(
            "blockquote",
            *(element("p", text) for text in evaluation.statement().split("\n\n")),
            class_="alarm" if evaluation.privacy.insecure_seed else None,
        ),
        id="accuracy",
    )


def _drawing(evaluation: Evaluation) -> Html | None:
    """Return the mean of the target over the mean prediction; None if too little is known."""
    found = [
        (each.predicted, each.observed.value, *each.observed.interval())
        for each in evaluation.calibration
    ]
    found = [row for row in found if all(map(math.isfinite, row))]
    if len(found) < 2:
        return None
    values = [value for row in found for value in row]
    low, high = min(values), max(values)
    if not high > low:
        return None
    margin = 0.05 * (high - low)
    across = Scale(low - margin, high + margin, _LEFT, _SIZE - _EDGE)
    up = Scale(low - margin, high + margin, _SIZE - _BOTTOM, _EDGE)
    parts = []
    places = ticks(low, high, 4)
    for value, text in zip(places, tick_texts(places), strict=True):
        y, x = up(value), across(value)
        parts += [
            element("line", x1=_LEFT, x2=_SIZE - _EDGE, y1=y, y2=y, class_="grid-line"),
            element("text", text, x=_LEFT - 5, y=y + 4, class_="tick end"),
            element("text", text, x=x, y=_SIZE - _BOTTOM + 16, class_="tick middle"),
        ]
    diagonal = [(across(value), up(value)) for value in (across.low, across.high)]
    parts.append(element("path", d=f"M{points(diagonal)}", class_="guess"))
    for predicted, observed, start, stop in found:
        x = across(predicted)
        bar = points([(x, up(start)), (x, up(stop))])
        parts.append(element("path", d=f"M{bar}", class_="whisker"))
        parts.append(element("circle", cx=x, cy=up(observed), r="3.5", class_="dot"))
    middle = up((low + high) / 2)
    parts += [
        element("text", "mean prediction", x=across((low + high) / 2), y=_SIZE - 8,
                class_="label middle"),
        element("text", "mean of the target", x="14", y=middle, class_="label middle",
                transform=f"rotate(-90 14 {middle:g})"),
    ]  # fmt: skip
    caption = element("figcaption", "Calibration: the closer to the dashed line, the better")
    drawing = element(
        "svg",
        *parts,
        viewBox=f"0 0 {_SIZE:g} {_SIZE:g}",
        class_="plot trade-off",
        role="img",
        aria_label="Calibration curve",
    )
    return element("figure", joined(caption, drawing))
