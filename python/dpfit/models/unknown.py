"""Notes of summaries on what is not known, and on what would help."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpfit.models.effects import Levels
from dpfit.models.names import distinct, listed, shortened

if TYPE_CHECKING:
    from dpfit.models.coefficients import Coding, Coefficients
    from dpfit.models.model import Model

__all__ = ["hidden_levels", "hidden_target", "hidden_terms"]

_NOTHING_KNOWN = (
    "Nothing is known of the effects: predictions and residuals vary much less than the target, so "
    "the noise hides the rows that have the rest, as with a target that is zero in nearly all "
    "rows. More rows or a larger budget help."
)
_WHAT_HELPS = (
    "Predictions use a rough value for them, or zero. It helps to merge rare levels, or to use "
    "fewer columns, more rows or a larger budget. If they should have many rows, check that they "
    "are spelled as in the data."
)


def hidden_target(model: Model) -> list[str]:
    """Return a note if nothing is known about the target."""
    if math.isfinite(model.target_range[0]):
        return []
    return [
        "Too few rows: the noise hides even the range of the target, and no number above is "
        "informative about the target. More rows or a larger budget help. So do bounds of the "
        "target, if they are public."
    ]


def hidden_terms(model: Model, found: Coefficients, coding: Coding) -> list[str]:
    """Return notes on terms that are not printed as numbers, and on what would help."""
    if model.status != "full":
        return []
    if not model.estimates.known.any():
        return [_NOTHING_KNOWN]
    known, notes = found.inferred().known[:-1], []
    names = distinct(found.names)
    references = _hidden_references(model) if coding == "treatment" else {}
    hidden: list[str] = []
    absent: list[str] = []
    for term, name, is_known in zip(found.terms, names, known, strict=True):
        if is_known or term.is_reference or term.column in references:
            continue
        # A column without a line is constant, or the budget was too small for it.
        is_column = term.level is None and not np.isfinite(term.range).all()
        (absent if is_column else hidden).append(name)
    for column, name in references.items():
        reference = model.columns[column].levels[model.columns[column].reference_place]
        notes.append(
            f"Not known: levels of {name}, because the noise hides whether their reference "
            f'{shortened(str(reference))} has rows. summary(coding="sum") and contrast() '
            "compare the other levels. Categorical(levels, reference=...) sets another reference."
        )
    if hidden:
        notes.append(
            f"Not known: {listed(hidden)}. The noise hides whether these levels or binary columns "
            f"have rows. {_WHAT_HELPS}"
        )
    if absent:
        notes.append(
            f"Not in the model: {listed(absent)}. The column seems to be constant, or the budget "
            "is too small for it. Fewer columns, more rows or a larger budget help; for zeros and "
            "ones, so does Binary() in the schema."
        )
    return notes


def hidden_levels(model: Model) -> list[str]:
    """Return a note on levels of an additive model without a band, if there are any."""
    if model.status == "full" and not model.estimates.known.any():
        return [_NOTHING_KNOWN]
    found = [
        f"{name}={level}"
        for name, start, effect in zip(
            model.column_names, model.starts, model.effects, strict=False
        )
        if isinstance(effect, Levels)
        for place, level in enumerate(effect.levels, start)
        if not model.estimates.known[place]
    ]
    found += [
        name
        for place, (name, kind) in enumerate(zip(model.column_names, model.columns, strict=True))
        if kind.is_binary and model.status == "full" and not model.is_seen(place).all()
    ]
    if not found:
        return []
    return [
        f"Not known: {listed(distinct(found))}. The noise hides whether these levels or binary "
        "columns have rows. "
        f"{_WHAT_HELPS}"
    ]


def _hidden_references(model: Model) -> dict[int, str]:
    """Return columns, and their names, whose reference level may have no rows."""
    found: dict[int, str] = {}
    names = distinct(model.column_names)
    for column, (start, effect) in enumerate(zip(model.starts, model.effects, strict=False)):
        place = start + model.columns[column].reference_place
        if isinstance(effect, Levels) and not model.estimates.known[place]:
            own = model.estimates.known[start : start + effect.size]
            found |= {column: names[column]} if own.any() else {}
    return found
