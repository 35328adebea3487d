"""What a fitted model says of itself, as a table."""

from __future__ import annotations

import html
import math
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfit.accounting._statement import _up as rounded_up
from dpfit.schema import Categorical, terms

if TYPE_CHECKING:
    from dpfit._estimator import Floats
    from dpfit._private import PrivateModel
    from dpfit.additive import PrivateAdditiveRegression
    from dpfit.linear import PrivateLinearRegression

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
    """A fitted model as a table: text with `str`, HTML in a notebook.

    Parameters
    ----------
    title : str
        The name of the model.
    warning : str
        What must not be overlooked; empty if there is no such thing.
    facts : tuple of (str, str)
        Names and values, for the block at the top.
    columns : tuple of str
        Headings; the first is that of the names.
    rows : tuple of tuple of str
        A name and its numbers, as many as there are columns.
    notes : tuple of str
        What the columns mean.

    Privacy
    -------
    All numbers are attributes of the fitted model, or computed from them; nothing is spent.
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
        width = max(_NARROWEST, *(_columns_of(line) for line in [*body, *block]))
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


def linear_summary(model: PrivateLinearRegression, level: float = 0.95) -> Summary:
    """Return the table of a linear model.

    Parameters
    ----------
    model : PrivateLinearRegression
        A fitted model.
    level : float, default 0.95
        How often the intervals hold.
    """
    check_is_fitted(model)
    middle = np.append(model.coef_, model.intercept_)
    variances = (
        np.diag(model.coef_noise_),
        np.diag(model.coef_sampling_),
        np.square(model.coef_bias_),
    )
    errors = [np.sqrt(np.maximum(part, 0.0)) for part in (sum(variances), *variances)]
    numbers = np.column_stack([*errors, model.coef_interval(level)])
    rows = []
    for name, coef, others, used, ends in zip(
        [*model.coef_names_, "(intercept)"],
        middle,
        numbers,
        [*_used(model), True],
        [*_ranges(_of_numbers(model)), ""],
        strict=True,
    ):
        # Of a coefficient without an interval nothing is known.
        known = used and bool(np.isfinite(others).all())
        cells = [_number(other) if known else _NONE for other in others]
        rows.append((name, _number(coef), *cells, ends))
    columns = ("", "coef", "std err", "noise", "sampling", "bias", *_ends(level), "range")
    notes = [
        "std err is how far coef may be off, in all. Its parts are: noise, which was added for "
        "privacy and whose law is public; sampling, from the rows as a sample of a larger whole; "
        "and bias, an estimate of what cutting does to columns without public bounds if their line "
        "goes on beyond the range, and of what the rounds have not reached.",
        f"{' and '.join(_ends(level))} are the ends of intervals of {100 * level:.12g} %. They "
        "hold for lines within the ranges. What clipping does to residuals that are skewed for "
        "another reason is not in them.",
    ]
    notes += _relative(model)
    hidden = np.isinf(model.coef_bias_[:-1]) & np.array(_used(model), dtype=bool)
    if hidden.any():
        names = _listed([name for name, one in zip(model.coef_names_, hidden, strict=True) if one])
        notes.append(
            f"Without an interval: {names}. The noise of X'X hides so much of them that more may "
            "be missing of these coefficients than was found. More rows or a larger budget would "
            "help; so would narrower bounds, or none, of columns that fill little of theirs."
        )
    notes += _unseen(model, model.coef_names_)
    if model.status_ == "mean":
        notes = [
            f"There were too few rows for slopes: {_mean_of(model)}. The interval is of that mean.",
            notes[0],
        ]
    notes = _hidden(model) or notes
    return _summary(model, _facts(model), columns, rows, notes)


def additive_summary(model: PrivateAdditiveRegression) -> Summary:
    """Return the table of an additive model.

    Parameters
    ----------
    model : PrivateAdditiveRegression
        A fitted model.
    """
    check_is_fitted(model)
    rows = []
    names, ranges, used = model._names(), _ranges(model.feature_range_), _used(model)
    for place, (name, width) in enumerate(zip(names, ranges, strict=True)):
        x, height = model.curve(place)
        numbers, bends = [_NONE] * 4, str(max(len(x) - 2, 0))
        if isinstance(x, list):
            width, bends = f"{len(x)} level{'s' if len(x) > 1 else ''}", _NONE
        if used[place]:
            low, high = float(height.min()), float(height.max())
            numbers = [bends, *map(_number, (low, high, high - low))]
        rows.append((name, width, *numbers))
    columns = ("", "range", "knots", "lowest", "highest", "importance")
    notes = [
        "lowest and highest are the least and the greatest height of a feature's curve, in units "
        "of the target; a curve is zero on average and flat beyond the range. importance is "
        "highest minus lowest; knots are the points inside of the range where a curve may bend.",
        "Noise that was added for privacy is in the heights: curves that are all noise have an "
        "importance, too.",
    ]
    notes += _relative(model)
    notes += _unseen(model, model._term_names(model._kinds))
    if model.status_ == "mean":
        notes = [f"There were too few rows for curves: {_mean_of(model)}."]
    notes = _hidden(model) or notes
    facts = [*_facts(model), ("Intercept", _number(model.intercept_))]
    return _summary(model, facts, columns, rows, notes)


def _unseen(model: PrivateModel, names: Sequence[str]) -> list[str]:
    """Return a note on levels that have no effect, if there are any."""
    found = []
    for (column, level), name in zip(terms(model._kinds), names, strict=True):
        if level is not None and model._effects(column)[level] == 0.0:
            found.append(name)
    if not found:
        return []
    return [
        f"Without an effect: {_listed(found)}. The noise hides whether there are such "
        "rows. If there should be many, look whether the levels are spelled as in the data."
    ]


def _relative(model: PrivateModel) -> list[str]:
    """Return a note on what effects of levels are relative to, if there are levels."""
    kinds = [kind for kind in model._kinds if isinstance(kind, Categorical)]
    if not kinds or model.status_ != "full":
        return []
    return [
        "Effects of the levels of a column that surely have rows add up to zero; where there are "
        "rows without a listed level, effects are relative to those."
    ]


def _listed(names: Sequence[str]) -> str:
    """Return the first few names."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(shortened(name) for name in names[:5]) + more


def shortened(name: str, longest: int = _LONGEST_NAME) -> str:
    """Return a name on one line, with its middle left out if it is long."""
    clean = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    if _columns_of(clean) <= longest:
        return clean
    left = right = ""
    for first, last in zip(clean, reversed(clean), strict=True):
        if _columns_of(left + first + right) > longest - 3:
            break
        left += first
        if _columns_of(left + last + right) > longest - 3:
            break
        right = last + right
    return f"{left}...{right}"


def _summary(
    model: PrivateModel,
    facts: Iterable[tuple[str, str]],
    columns: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    notes: Iterable[str],
) -> Summary:
    warning = _NOT_PRIVATE if model.privacy_.insecure_seed else ""
    name = type(model).__name__
    return Summary(name, warning, tuple(facts), columns, tuple(rows), tuple(notes))


def _facts(model: PrivateModel) -> list[tuple[str, str]]:
    record, variance = model.privacy_, model.residual_variance_
    if record.epsilon is None or record.delta is None:
        budget = f"mu {rounded_up(record.mu or 0.0)}"
    else:
        budget = f"epsilon {rounded_up(record.epsilon)}, delta {rounded_up(record.delta)}"
    return [
        ("Budget", budget),
        ("Rows, as released", f"{model.n_rows_:.0f}"),
        ("Neighbours", record.neighbors),
        ("Rounds", str(model.n_rounds_)),
        ("Unit", record.unit),
        ("Residual std dev, clipped", _NONE if variance is None else _number(math.sqrt(variance))),
        ("Most of the target", _most_of_target(model)),
    ]


def _most_of_target(model: PrivateModel) -> str:
    low, high = model.target_range_
    return " to ".join(_pair(low, high)) if math.isfinite(high - low) else _NONE


def _hidden(model: PrivateModel) -> list[str]:
    """Return a note if nothing is known of the target."""
    if math.isfinite(model.target_range_[0]):
        return []
    return [
        "There were too few rows: the noise hides even where the target lies, and nothing here "
        "says anything about it. More rows or a larger budget would help; so would bounds of the "
        "target, if they are public."
    ]


def _mean_of(model: PrivateModel) -> str:
    low, high = _pair(*model.target_range_)
    return f"the model is the mean of the target, cut to its range from {low} to {high}"


def _used(model: PrivateAdditiveRegression | PrivateLinearRegression) -> Sequence[bool]:
    """Return which features the model has something to say of."""
    return [bool(np.isfinite(ends).all()) for ends in model.feature_range_]


def _of_numbers(model: PrivateLinearRegression) -> list[Floats | None]:
    """Return the ranges of columns of numbers, None for levels."""
    return [
        None if level is not None else ends
        for (_, level), ends in zip(terms(model._kinds), model.feature_range_, strict=True)
    ]


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
    """Return two numbers, with as many digits as it takes to tell them apart."""
    digits = 4
    while digits < 17 and _number(low, digits) == _number(high, digits):
        digits += 1
    return _number(low, digits), _number(high, digits)


def _ranges(ranges: Sequence[Floats | None] | Floats) -> list[str]:
    """Return "low to high", one below the other."""
    pairs = [_pair(*row) if row is not None and np.isfinite(row).all() else None for row in ranges]
    widths = [max((len(pair[side]) for pair in pairs if pair), default=0) for side in (0, 1)]
    return [
        f"{pair[0].rjust(widths[0])} to {pair[1].rjust(widths[1])}"
        if pair
        else ("" if row is None else _NONE)
        for pair, row in zip(pairs, ranges, strict=True)
    ]


def _columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines, the first column to the left and the others to the right."""
    widths = [max(map(_columns_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        line = first + " " * (widths[0] - _columns_of(first))
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
