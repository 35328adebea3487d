"""Summary tables of fitted models, as text and HTML."""

from __future__ import annotations

import html
import math
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpfit.accounting.statement import rounded_up
from dpfit.models.effects import Levels

if TYPE_CHECKING:
    from dpfit._typing import Floats
    from dpfit.models.model import Model

__all__ = ["Summary", "additive_summary", "linear_summary", "shortened"]

_LONGEST_NAME = 24
_NARROWEST = 64
_WIDEST = 100
_NONE = "-"
_NOT_PRIVATE = "NOT PRIVATE: the noise came from a fixed seed (random_state)."

_RULE = "border-bottom:1px solid rgba(128,128,128,.6)"
_CELL = "padding:.15em .7em;border:0;background:none;font-variant-numeric:tabular-nums"


@dataclass(frozen=True, repr=False)
class Summary:
    """The summary of a fitted model: text with `str`, HTML in a notebook.

    Parameters
    ----------
    title : str
        The name of the estimator.
    warning : str
        A warning at the top; empty for none.
    facts : tuple of (str, str)
        Names and values of the block at the top.
    columns : tuple of str
        Column headings; the first column has the names of rows.
    rows : tuple of tuple of str
        The cells of each row.
    notes : tuple of str
        Explanations below the table.

    Privacy
    -------
    All numbers are attributes of the fitted model or computed from them, at no privacy cost.
    """

    title: str
    warning: str
    facts: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        """Return the table as text."""
        body = _aligned([self.columns, *([shortened(row[0]), *row[1:]] for row in self.rows)])
        block = _block(self.facts)
        width = max(_NARROWEST, *(_width_of(line) for line in [*body, *block]))
        lines = [self.title.center(width).rstrip(), "=" * width]
        if self.warning:
            lines += [self.warning, "-" * width]
        lines += [*block, "-" * width, body[0], "-" * width, *body[1:], "=" * width]
        for note in self.notes:
            lines += textwrap.wrap(note, min(width, _WIDEST))
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the table as text, for the prompt."""
        return str(self)

    def _repr_html_(self) -> str:
        warning = f'<p style="margin:.3em 0;font-weight:bold;color:#c0392b">{_text(self.warning)}'
        pairs = "".join(
            f'<tr style="background:none">{_cell(name, "th", "left")}{_cell(value, "td", "left")}'
            "</tr>"
            for name, value in self.facts
        )
        return (
            '<div style="overflow-x:auto">'
            f'<p style="margin:.3em 0;font-weight:bold">{_text(self.title)}</p>'
            + (f"{warning}</p>" if self.warning else "")
            + f'<table style="border-collapse:collapse;margin:0 0 .6em">{pairs}</table>'
            f'<table style="border-collapse:collapse;{_RULE}">'
            f"<thead>{_table_row(self.columns, 'th')}</thead>"
            f"<tbody>{''.join(_table_row(row, 'td') for row in self.rows)}</tbody></table>"
            + "".join(
                f'<p style="margin:.4em 0;max-width:60em;font-size:90%">{_text(note)}</p>'
                for note in self.notes
            )
            + "</div>"
        )


def linear_summary(model: Model, level: float = 0.95) -> Summary:
    """Return the summary of a linear model, with intervals of a confidence level."""
    found = model.coefficients
    numbers = np.column_stack([*found.errors.by_cause().values(), found.interval(level)])
    ranges = [
        None if is_level else ends
        for is_level, ends in zip(found.is_level, found.ranges, strict=True)
    ]
    rows = []
    for name, coef, others, used, ends in zip(
        [*found.names, "(intercept)"],
        found.errors.estimates,
        numbers,
        [*found.is_known, True],
        [*_ranges(ranges), ""],
        strict=True,
    ):
        # Without an interval nothing is known about a coefficient.
        known = used and bool(np.isfinite(others).all())
        cells = [_number(other) if known else _NONE for other in others]
        rows.append((name, _number(coef) if known else _NONE, *cells, ends))
    columns = ("", "coef", "std err", "noise", "sampling", *_ends(level), "range")
    notes = [
        "std err combines two errors of coef, as the root of the sum of their squares. noise is "
        "due to the noise added for privacy, whose distribution is public. sampling is due to the "
        "rows being a sample of a population; it holds if the residual variance is not constant.",
        f"{' and '.join(_ends(level))} are the ends of {100 * level:.12g} % confidence intervals "
        "for lines within the ranges. Predictions use the coefficients after shrinkage.",
    ]
    notes += _relative(model)
    hidden = found.is_known & ~np.isfinite(found.interval(level)[:-1]).all(axis=1)
    if hidden.any():
        names = _listed([name for name, one in zip(found.names, hidden, strict=True) if one])
        notes.append(
            f"Not known: {names}. The noise hides whether these levels or flags have rows. More "
            "rows, a larger budget, or fewer or merged levels help."
        )
    notes += _unseen(model)
    if model.status == "mean":
        notes = [
            f"Too few rows for slopes: {_mean_of(model)}. The interval is for that mean.",
            notes[0],
        ]
    notes = _hidden(model) or notes
    return _summary(model, _facts(model), columns, rows, notes)


def additive_summary(model: Model) -> Summary:
    """Return the summary of an additive model."""
    rows = []
    ranges = model.column_ranges
    for place, (name, width) in enumerate(zip(model.column_names, _ranges(ranges), strict=True)):
        x, height = model.curve(place)
        numbers, bends = [_NONE] * 4, str(max(len(x) - 2, 0))
        if isinstance(x, list):
            width, bends = f"{len(x)} level{'s' if len(x) > 1 else ''}", _NONE
        if np.isfinite(ranges[place]).all():
            low, high = float(height.min()), float(height.max())
            numbers = [bends, *map(_number, (low, high, high - low))]
        rows.append((name, width, *numbers))
    columns = ("", "range", "knots", "lowest", "highest", "importance")
    notes = [
        "lowest and highest are the minimum and maximum of a feature's curve, in units of the "
        "target. A curve is zero on average and flat outside the range. importance is highest "
        "minus lowest. knots is the number of points inside the range where a curve can bend.",
        "Heights include the noise added for privacy, so a curve can have some importance even if "
        "its feature has no effect.",
    ]
    notes += _relative(model)
    notes += _unseen(model)
    if model.status == "mean":
        notes = [f"Too few rows for curves: {_mean_of(model)}."]
    notes = _hidden(model) or notes
    facts = [*_facts(model), ("Intercept", _number(model.intercept))]
    return _summary(model, facts, columns, rows, notes)


def _unseen(model: Model) -> list[str]:
    """Return a note on levels without an effect, if there are any."""
    found = [
        f"{name}={level}"
        for name, effect in zip(model.column_names, model.effects, strict=True)
        if isinstance(effect, Levels)
        for level, seen in zip(effect.levels, effect.seen, strict=True)
        if not seen
    ]
    if not found:
        return []
    return [
        f"No effect: {_listed(found)}. The noise hides whether these levels have rows. If they "
        "should have many, check that they are spelled as in the data."
    ]


def _relative(model: Model) -> list[str]:
    """Return a note on what the effects of levels are relative to, if there are any."""
    if model.status != "full" or not any(isinstance(e, Levels) for e in model.effects):
        return []
    return [
        "The effects of a column's levels sum to zero over the levels that clearly have rows or, "
        "if there are rows whose level is not listed, are relative to those rows."
    ]


def _listed(names: Sequence[str]) -> str:
    """Return the first few names as text."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(shortened(name) for name in names[:5]) + more


def shortened(name: str, longest: int = _LONGEST_NAME) -> str:
    """Return a name on one line, with its middle omitted if it is long."""
    clean = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    if _width_of(clean) <= longest:
        return clean
    left = right = ""
    for first, last in zip(clean, reversed(clean), strict=True):
        if _width_of(left + first + right) > longest - 3:
            break
        left += first
        if _width_of(left + last + right) > longest - 3:
            break
        right = last + right
    return f"{left}...{right}"


def _summary(
    model: Model,
    facts: Iterable[tuple[str, str]],
    columns: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    notes: Iterable[str],
) -> Summary:
    warning = _NOT_PRIVATE if model.privacy.insecure_seed else ""
    return Summary(model.estimator, warning, tuple(facts), columns, tuple(rows), tuple(notes))


def _facts(model: Model) -> list[tuple[str, str]]:
    record, variance = model.privacy, model.residual_variance
    if record.epsilon is None or record.delta is None:
        budget = f"mu {rounded_up(record.mu or 0.0)}"
    else:
        budget = f"epsilon {rounded_up(record.epsilon)}, delta {rounded_up(record.delta)}"
    return [
        ("Budget", budget),
        ("Rows" if model.rows_are_public else "Rows (noisy)", f"{model.rows:.0f}"),
        ("Neighbors", record.neighbors),
        ("Rounds", str(model.rounds)),
        ("Protects", record.protects),
        ("Residual SD (approx.)", _NONE if variance is None else _number(math.sqrt(variance))),
        ("Target range (approx.)", _target_range(model)),
    ]


def _target_range(model: Model) -> str:
    low, high = model.target_range
    return " to ".join(_pair(low, high)) if math.isfinite(high - low) else _NONE


def _hidden(model: Model) -> list[str]:
    """Return a note if nothing is known about the target."""
    if math.isfinite(model.target_range[0]):
        return []
    return [
        "Too few rows: the noise hides even the range of the target, and no number above is "
        "informative about the target. More rows or a larger budget help. So do bounds of the "
        "target, if they are public."
    ]


def _mean_of(model: Model) -> str:
    low, high = _pair(*model.target_range)
    return f"the model predicts the mean of the target, clipped to its range from {low} to {high}"


def _number(value: float, digits: int = 4) -> str:
    """Return four significant digits, five from 10000 on."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    scientific = f"{value:.{digits - 1}e}"
    exponent = int(scientific.split("e")[1])
    return f"{value:.{max(digits - 1 - exponent, 0)}f}" if -4 <= exponent <= 4 else scientific


def _ends(level: float) -> tuple[str, str]:
    return f"[{(1.0 - level) / 2:.6g}", f"{(1.0 + level) / 2:.12g}]"


def _pair(low: float, high: float) -> tuple[str, str]:
    """Return two numbers with enough digits to tell them apart."""
    digits = 4
    while digits < 17 and _number(low, digits) == _number(high, digits):
        digits += 1
    return _number(low, digits), _number(high, digits)


def _ranges(ranges: Sequence[Floats | None] | Floats) -> list[str]:
    """Return "low to high", aligned; empty for None."""
    pairs = [_pair(*row) if row is not None and np.isfinite(row).all() else None for row in ranges]
    widths = [max((len(pair[side]) for pair in pairs if pair), default=0) for side in (0, 1)]
    return [
        f"{pair[0].rjust(widths[0])} to {pair[1].rjust(widths[1])}"
        if pair
        else ("" if row is None else _NONE)
        for pair, row in zip(pairs, ranges, strict=True)
    ]


def _width_of(text: str) -> int:
    """Return the width of a string in a terminal."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with the first column aligned left, the others right."""
    widths = [max(map(_width_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        line = first + " " * (widths[0] - _width_of(first))
        for width, cell in zip(widths[1:], others, strict=True):
            line += "  " + cell.rjust(width)
        lines.append(line.rstrip())
    return lines


def _block(facts: Sequence[tuple[str, str]]) -> list[str]:
    """Return names and values in two columns."""
    pairs = [*facts, ("", "")] if len(facts) % 2 else list(facts)
    sides = []
    for side in (pairs[::2], pairs[1::2]):
        name, value = (max(len(pair[i]) for pair in side) for i in (0, 1))
        sides.append([f"{pair[0]:<{name}}  {pair[1]:<{value}}" for pair in side])
    return [f"{left}      {right}".rstrip() for left, right in zip(*sides, strict=True)]


def _text(text: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in text)
    return html.escape(" ".join(clean.split()))


def _cell(text: str, tag: str, align: str, full: str = "") -> str:
    title = f' title="{_text(full)}"' if full else ""
    return f'<{tag} style="text-align:{align};{_CELL}"{title}>{_text(text)}</{tag}>'


def _table_row(cells: Sequence[str], tag: str) -> str:
    name = shortened(cells[0])
    first = _cell(name, "th", "left", cells[0] if name != cells[0] else "")
    others = "".join(_cell(cell, tag, "right") for cell in cells[1:])
    style = f"background:none;{_RULE}" if tag == "th" else "background:none"
    return f'<tr style="{style}">{first}{others}</tr>'
