"""Summaries of linear and additive models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit.accounting.statement import rounded_up
from dpfit.models.coefficients import Coding, matrix_of
from dpfit.models.effects import Levels, Line
from dpfit.models.estimates import Inference, checked_level
from dpfit.models.names import MOST_LISTED, distinct
from dpfit.models.numbers import (
    NONE,
    date_text,
    interval_ends,
    number_text,
    p_text,
    pair_text,
    range_texts,
)
from dpfit.models.significance import significance
from dpfit.models.tables import Summary
from dpfit.models.unknown import hidden_levels, hidden_target, hidden_terms

if TYPE_CHECKING:
    from dpfit.models.coefficients import Coefficients
    from dpfit.models.estimates import Inferred
    from dpfit.models.model import Model

__all__ = ["additive_summary", "linear_summary"]

INTERCEPT = "(intercept)"
REFERENCE = "reference"
_NOT_PRIVATE = "NOT PRIVATE: the noise came from a fixed seed (random_state)."


def linear_summary(
    model: Model,
    level: float = 0.95,
    inference: Inference = "population",
    coding: Coding = "treatment",
) -> Summary:
    """Return the summary of a linear model, with intervals of a confidence level."""
    level = checked_level(level)
    found = model.coded(coding)
    inferred = _inferred(model, found, inference)
    ends = inferred.interval(level)
    is_reference = np.array([*(term.is_reference for term in found.terms), False])
    is_shown = inferred.known & ~is_reference
    lines = [None if term.level is not None else np.array(term.range) for term in found.terms]
    ranges = [*range_texts(lines, [model.columns[t.column].is_date for t in found.terms]), ""]
    names = [*found.names, INTERCEPT]
    rows = []
    for i, name in enumerate(names):
        if is_reference[i]:
            rows.append((name, REFERENCE, *[""] * 6, ""))
            continue
        cells = [NONE] * 7
        if is_shown[i]:
            cells = [
                number_text(inferred.estimate[i]),
                number_text(inferred.std_error[i]),
                f"{inferred.z[i]:.2f}",
                p_text(inferred.p[i]),
                *map(number_text, ends[i]),
                f"{100 * inferred.privacy_share[i]:.0f} %",
            ]
        rows.append((name, *cells, ranges[i]))
    columns = ("", "coef", "std err", "z", "p", *interval_ends(level), "privacy", "range")
    notes = [*_linear_notes(model, level, inference, coding), *hidden_terms(model, found, coding)]
    if model.status == "mean":
        notes = [f"Too few rows for slopes: {_mean_of(model)}. The interval is for that mean."]
    notes = hidden_target(model) or notes
    numbers = _linear_numbers(model, found, inferred, level, is_reference)
    return _summary(model, _facts(model), columns, rows, notes, numbers)


def _inferred(model: Model, found: Coefficients, inference: Inference) -> Inferred:
    """Return what is inferred about all terms and the intercept at the means of columns."""
    result = found.inferred(inference)
    place = len(found.terms)
    constant = {model.size - 1: 1.0}
    # At their centres, lines are zero: what is left are the levels that others are relative to.
    at_zero = dict(zip(*_row(found.functions, place), strict=True))
    for start, effect in zip(model.starts, model.effects, strict=False):
        if isinstance(effect, Levels):
            own = range(start, start + effect.size)
            constant |= {i: at_zero[i] for i in own if i in at_zero}
    centred = model.estimates.of(matrix_of([constant], model.size), inference)
    for name in ("estimate", "noise", "sampling", "freedom", "known"):
        getattr(result, name)[place] = getattr(centred, name)[0]
    return result


def _row(matrix: Any, place: int) -> tuple[list[int], list[float]]:
    start, stop = matrix.indptr[place], matrix.indptr[place + 1]
    return matrix.indices[start:stop].tolist(), matrix.data[start:stop].tolist()


def _linear_notes(model: Model, level: float, inference: Inference, coding: Coding) -> list[str]:
    """Return explanations of the columns of the table."""
    share = "privacy is the share of the variance of a coefficient's error that is due to privacy "
    if inference == "population":
        errors = (
            "std err combines the error from privacy noise, whose distribution is public, and the "
            "error from the rows being a sample of a population, which is robust to unequal "
            f"variances. {share}noise."
        )
        about = "the coefficients in the population"
    else:
        errors = (
            "std err is the error from privacy noise, whose distribution is public. There is no "
            "sampling error, because the coefficients are those of the rows of the fit."
        )
        about = "the least-squares coefficients of the rows of the fit"
    low, high = interval_ends(level)
    intervals = (
        f"{low} and {high} are the ends of {100 * level:.12g} % confidence intervals for {about}, "
        "of lines within the ranges. p is for the hypothesis that the coefficient is zero. "
        "Predictions use the coefficients after shrinkage."
    )
    notes = [errors, intervals, *_where(model, coding), *_relative(model, coding)]
    if any(kind.is_date for kind in model.columns):
        notes.append("The coefficient of a date is the change per day.")
    if inference == "population" and (model.privacy.max_rows or 1) > 1:
        notes.append(
            "Standard errors treat the rows of a unit as independent. If these are alike, the "
            "intervals are too short."
        )
    return notes


def _where(model: Model, coding: Coding) -> list[str]:
    """Return a note that says where the intercept is."""
    lines = [
        (name, (date_text if kind.is_date else number_text)(effect.centre))
        for name, effect, kind in zip(model.column_names, model.effects, model.columns, strict=True)
        if isinstance(effect, Line) and not kind.is_binary
    ]
    shown = distinct([name for name, _ in lines])
    parts = [
        f"{name} = {centre}" for name, (_, centre) in zip(shown[:MOST_LISTED], lines, strict=False)
    ]
    if len(lines) > MOST_LISTED:
        parts.append(f"and {len(lines) - MOST_LISTED} more at their means")
    if any(kind.is_binary for kind in model.columns):
        parts.append("binary columns zero")
    if any(isinstance(effect, Levels) and any(effect.seen) for effect in model.effects):
        words = "reference levels" if coding == "treatment" else "an average level of each column"
        parts.append(words)
    if not parts:
        return []
    means = " (numeric columns at their means, of values clipped to the range)" if lines else ""
    return [f"{INTERCEPT} is the prediction at {', '.join(parts)}{means}."]


def _relative(model: Model, coding: Coding) -> list[str]:
    """Return a note on what the coefficients of levels are relative to, if there are any."""
    if model.status != "full" or not any(isinstance(e, Levels) for e in model.effects):
        return []
    if coding == "treatment":
        return ["Coefficients of levels are differences from the reference level of their column."]
    return [
        "Coefficients of levels are differences from the mean of their column's levels, of those "
        "that clearly have rows."
    ]


def _linear_numbers(
    model: Model,
    found: Coefficients,
    inferred: Inferred,
    level: float,
    is_reference: Any,
) -> dict[str, list[Any]]:
    """Return the columns of the data frame."""
    is_known = inferred.known & ~is_reference
    low, high = inferred.interval(level).T

    def numbers(values: Any) -> list[float | None]:
        return [float(v) if known else None for v, known in zip(values, is_known, strict=True)]

    terms = found.terms
    ends = [
        (None, None) if t.level is not None or not np.isfinite(t.range).all() else t.range
        for t in terms
    ]
    levels = [
        None if t.level is None or t.level < 0 else str(model.columns[t.column].levels[t.level])
        for t in terms
    ]
    return {
        "term": [*found.names, INTERCEPT],
        "column": [*(model.column_names[t.column] for t in terms), None],
        "level": [*levels, None],
        "is_reference": is_reference.tolist(),
        "estimate": [
            0.0 if own else value
            for own, value in zip(is_reference, numbers(inferred.estimate), strict=True)
        ],
        "std_error": numbers(inferred.std_error),
        "noise": numbers(np.sqrt(inferred.noise)),
        "sampling": numbers(np.sqrt(inferred.sampling)),
        "z": numbers(inferred.z),
        "p": numbers(inferred.p),
        "low": numbers(low),
        "high": numbers(high),
        "privacy_share": numbers(inferred.privacy_share),
        "range_low": [*(pair[0] for pair in ends), None],
        "range_high": [*(pair[1] for pair in ends), None],
    }


def additive_summary(model: Model, inference: Inference = "population") -> Summary:
    """Return the summary of an additive model."""
    rows = []
    ranges = model.column_ranges
    tests = significance(model, inference)
    columns: dict[str, list[Any]] = {"column": model.column_names}
    widths = range_texts(ranges, [kind.is_date for kind in model.columns])
    for place, (name, width) in enumerate(zip(model.column_names, widths, strict=True)):
        x, height = model.curve(place)
        cells, bends = [NONE] * 7, str(max(len(x) - 2, 0))
        shown: dict[str, Any] = dict.fromkeys(
            ("range_low", "range_high", "lowest", "highest", "edf", "p_no_effect", "p_line")
        )
        if isinstance(x, list):
            width, bends = f"{len(x)} level{'s' if len(x) > 1 else ''}", NONE
        seen = height[model.is_seen(place)]
        if np.isfinite(ranges[place]).all() and len(seen):
            low, high = float(seen.min()), float(seen.max())
            test = tests[place]
            cells = [bends, *map(number_text, (low, high, high - low)), test.edf_text]
            cells += [p_text(test.p_no_effect), p_text(test.p_line)]
            ends = (None, None) if isinstance(x, list) else tuple(map(float, ranges[place]))
            values = (*ends, low, high, test.edf, test.p_no_effect, test.p_line)
            shown = dict(zip(shown, map(_number_or_none, values), strict=True))
        for key, value in shown.items():
            columns.setdefault(key, []).append(value)
        rows.append((name, width, *cells))
    headings = ("", "range", "knots", "lowest", "highest", "importance")
    tested = ("edf", "p (no effect)", "p (line)")
    notes = [
        "lowest and highest are the minimum and maximum of a feature's curve, in units of the "
        "target. A curve is zero on average and flat outside the range. importance is highest "
        "minus lowest. knots is the number of points inside the range where a curve can bend.",
        "edf is the effective number of parameters: what shrinkage leaves of the functions of a "
        "curve. p (no effect) is for the hypothesis that a curve is flat, p (line) that it is "
        "straight (Wald tests, with privacy noise and, for a population, sampling error).",
    ]
    if any(isinstance(effect, Levels) for effect in model.effects):
        notes.append(
            "The heights of levels sum to zero over the levels that clearly have rows or, if there "
            "are rows whose level is not listed, are relative to those rows."
        )
    notes += hidden_levels(model)
    if model.status == "mean":
        notes = [f"Too few rows for curves: {_mean_of(model)}."]
    notes = hidden_target(model) or notes
    intercept = number_text(model.intercept) if model.status != "nothing" else NONE
    facts = [*_facts(model), ("Intercept", intercept)]
    return _summary(model, facts, (*headings, *tested), rows, notes, columns)


def _number_or_none(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _summary(
    model: Model,
    facts: Iterable[tuple[str, str]],
    columns: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    notes: Iterable[str],
    numbers: dict[str, list[Any]],
) -> Summary:
    warning = _NOT_PRIVATE if model.privacy.insecure_seed else ""
    kept = tuple((name, tuple(values)) for name, values in numbers.items())
    return Summary(model.estimator, warning, tuple(facts), columns, tuple(rows), tuple(notes), kept)


def _facts(model: Model) -> list[tuple[str, str]]:
    record, variance = model.privacy, model.residual_variance
    if record.epsilon is None or record.delta is None:
        budget = f"mu {rounded_up(record.mu or 0.0)}"
    else:
        budget = f"epsilon {rounded_up(record.epsilon)}, delta {rounded_up(record.delta)}"
    found = [
        ("Budget", budget),
        ("Rows" if model.rows_are_public else "Rows (noisy)", f"{model.rows:.0f}"),
        ("Neighbors", record.neighbors),
        ("Rounds", str(model.rounds)),
        ("Protects", record.protects),
        ("Residual SD (approx.)", NONE if variance is None else number_text(math.sqrt(variance))),
        ("Target range (approx.)", _target_range(model)),
    ]
    if model.r_squared is not None:
        value, error = model.r_squared
        found.append(("R-squared", f"{value:.3f} (std err {error:.3f})"))
    return found


def _target_range(model: Model) -> str:
    low, high = model.target_range
    return " to ".join(pair_text(low, high)) if math.isfinite(high - low) else NONE


def _mean_of(model: Model) -> str:
    low, high = pair_text(*model.target_range)
    return f"the model predicts the mean of the target, clipped to its range from {low} to {high}"
