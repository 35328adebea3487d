"""The section on a linear model: its coefficients, each with its interval as one bar."""

from __future__ import annotations

import math
from typing import Any

from dpfit.models.names import distinct
from dpfit.models.numbers import NONE, interval_ends, number_text, p_text
from dpfit.models.report.bars import axis_of_bars, error_bar, interval_bar, legend
from dpfit.models.report.markup import Child, Html, element, joined, name_of
from dpfit.models.report.scales import Scale
from dpfit.models.report.tables import table
from dpfit.models.tables import Summary

__all__ = ["has_coefficients", "terms_section"]

# The level of a summary's intervals.
_LEVEL = 0.95
# Longer names lose their middle.
_LONGEST = 80
_LABELS = ("", "estimate", "", "95 % interval", "p", "privacy", "std err", "range")


def has_coefficients(summary: Summary) -> bool:
    """Return whether a summary is that of a linear model."""
    return "estimate" in dict(summary.numbers)


def terms_section(summary: Summary, of_rows: Summary) -> Html:
    """Return the coefficients as a table with bars.

    Parameters
    ----------
    summary : Summary
        The summary of the model, for the population.
    of_rows : Summary
        The same with ``inference="sample"``, whose intervals have no sampling error.
    """
    numbers: dict[str, Any] = dict(summary.numbers)
    inner: dict[str, Any] = dict(of_rows.numbers)
    factors = [_factor(numbers, i) for i in range(len(numbers["term"]))]
    drawn = [i for i, factor in enumerate(factors) if factor and numbers["low"][i] is not None]
    scale = Scale.around(
        numbers[end][i] * factors[i] for i in drawn for end in ("low", "high", "estimate")
    )
    names = distinct([str(name) for name in numbers["term"]], _LONGEST)
    ranges = [_range(row[-1]) for row in summary.rows]
    rows: list[list[Child]] = []
    for i, name in enumerate(names):
        shown = name_of(name)
        if numbers["is_reference"][i]:
            rows.append([joined(shown, element("small", " (reference)")), "0", *[None] * 6])
        elif numbers["low"][i] is None:
            rows.append([shown, NONE, None, NONE, NONE, NONE, NONE, ranges[i]])
        else:
            ends = [number_text(numbers[end][i]) for end in ("low", "high")]
            value = number_text(numbers["estimate"][i])
            bar = None
            if i in drawn:
                bar = interval_bar(
                    scale,
                    numbers["estimate"][i] * factors[i],
                    _times(numbers, i, factors[i]),
                    _times(inner, i, factors[i]),
                    f"{value}, 95 % interval from {ends[0]} to {ends[1]}",
                )
            rows.append(
                [
                    shown,
                    element("strong", value),
                    bar,
                    " to ".join(ends),
                    p_text(numbers["p"][i]),
                    error_bar(numbers["privacy_share"][i]),
                    number_text(numbers["std_error"][i]),
                    ranges[i],
                ]
            )
    heading: list[Child] = [*_LABELS]
    heading[2] = axis_of_bars(scale)
    # The notes of the summary call the ends of intervals by the names of their columns.
    low, high = interval_ends(_LEVEL)
    heading[3] = f"{_LABELS[3]} {low} {high}"
    return element(
        "section",
        element("h2", "Coefficients"),
        legend() if drawn else None,
        table(heading, rows, labels=_LABELS, wide=2, style="terms"),
        element(
            "p",
            "A bar shows the change in the prediction from the middle of the feature's range to "
            "its end, so that bars of columns in different units can be compared; for a level, "
            "from the reference level. Its numbers are those of the axis above the bars, in units "
            "of the target.",
            class_="note",
        )
        if drawn
        else None,
        *(element("p", note, class_="note") for note in summary.notes),
        id="coefficients",
    )


def _range(text: str) -> Child:
    """Return a range that a line breaks between its ends only: dates contain hyphens."""
    low, to, high = text.partition(" to ")
    if not to:
        return text
    ends = [element("span", end.strip(), class_="unbroken") for end in (low, high)]
    return joined(ends[0], to, ends[1])


def _factor(numbers: dict[str, Any], place: int) -> float | None:
    """Return what a coefficient is multiplied by in its bar; None if it has no bar."""
    if numbers["column"][place] is None or numbers["is_reference"][place]:
        return None
    low, high = numbers["range_low"][place], numbers["range_high"][place]
    if low is None:
        # A level; a column without a range has no estimate.
        return 1.0
    width = high / 2 - low / 2
    return float(width) if math.isfinite(width) else None


def _times(numbers: dict[str, Any], place: int, factor: float | None) -> tuple[float, float]:
    low, high = (numbers[end][place] for end in ("low", "high"))
    if low is None or factor is None:
        return math.nan, math.nan
    return low * factor, high * factor
