"""Models as SQL queries."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from dpfit._parameters import one_of
from dpfit.exceptions import ParameterError
from dpfit.models.effects import Curve, Line, NoEffect
from dpfit.models.export import NOT_PRIVATE, MissingEffects, check_kinds, effects_of_listed

if TYPE_CHECKING:
    from dpfit.models.effects import Effect
    from dpfit.models.model import Model
    from dpfit.schema import Kind

__all__ = ["Dialect", "to_sql"]

Dialect: TypeAlias = Literal["standard", "sqlite"]
# Days since 1970-01-01 00:00 UTC. SQLite stores dates as strings, and its day numbers start at
# noon of the first day of the Julian period.
_DAYS: dict[Dialect, str] = {
    "standard": "(CAST(EXTRACT(EPOCH FROM {column}) AS DOUBLE PRECISION) / 86400e0)",
    "sqlite": "(julianday({column}) - 2440587.5e0)",
}

# The number of terms of a sum without parentheses.
_MOST_TERMS = 50


def to_sql(model: Model, table: str, dialect: Dialect = "standard") -> str:
    """Return the model as a query; see :meth:`dpfit.PrivateLinearRegression.to_sql`."""
    one_of("dialect", dialect, get_args(Dialect))
    if not isinstance(table, str) or not table:
        raise ParameterError(f"table must be the name of a table, got {table!r}", subject="table")
    check_kinds(model)
    missing = MissingEffects.of(model)
    parts = [_number(model.intercept + missing.constant)]
    for place, kind in enumerate(model.kinds):
        # With the table's name, a missing column is an error. Without it, SQLite would read the
        # quoted name as a string.
        column = f"{_name(table)}.{_name(model.column_names[place])}"
        effect, instead = model.effects[place], missing.value(model, place)
        if kind.listed:
            parts.append(_choice(column, kind, effect, instead))
            continue
        number = f"CAST({column} AS DOUBLE PRECISION)"
        if kind.is_date:
            number = _DAYS[dialect].format(column=column)
        match effect:
            case NoEffect():
                # The column contributes nothing, but a missing value is still NULL.
                parts.append(_if_there(number, "0e0", instead))
            case Line(slope=slope):
                parts.append(_if_there(number, _curve(number, effect, [slope]), instead))
            case Curve(points, heights):
                slopes = np.diff(heights) / np.diff(points)
                parts.append(_if_there(number, _curve(number, effect, slopes.tolist()), instead))
    warning = f"-- {NOT_PRIVATE}\n" if model.privacy.insecure_seed else ""
    prediction = _clipped(_sum(parts), *model.prediction_range)
    return f"{warning}SELECT *,\n  {prediction}\n  AS prediction\nFROM {_name(table)}"


def _clipped(total: str, low: float, high: float) -> str:
    """Return a total that is clipped to a range; NULL stays NULL, as it would not in LEAST."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return total
    least, most = _number(low), _number(high)
    cases = f"WHEN total < {least} THEN {least} WHEN total > {most} THEN {most} ELSE total"
    return f"(SELECT CASE {cases} END FROM (SELECT\n  {total}\n  AS total) AS sums)"


def _sum(parts: list[str]) -> str:
    """Return a sum in SQL, with parentheses if it is long.

    Databases limit the depth of expressions (SQLite and DuckDB: 1000), and each plus adds a level.
    """
    if len(parts) <= _MOST_TERMS:
        return "\n  + ".join(parts)
    half = len(parts) // 2
    return f"({_sum(parts[:half])})\n  + ({_sum(parts[half:])})"


def _choice(column: str, kind: Kind, effect: Effect, instead: float | None) -> str:
    """Return the effect of listed and of other values in SQL, `instead` if one is missing."""
    strings = kind.accepts_strings
    each, others = effects_of_listed(kind, effect)
    cases = " ".join(
        f"WHEN {_text(value) if strings else value} THEN {_number(height)}"
        for value, height in zip(kind.listed, each, strict=True)
    )
    rest = _number(others) if others else "0e0"
    there = f"{column} IS NOT NULL"
    if not strings:
        # NaN and infinities are missing values, not unlisted levels.
        there = _is_finite(f"CAST({column} AS DOUBLE PRECISION)")
    return f"CASE WHEN {there} THEN CASE {column} {cases} ELSE {rest} END{_otherwise(instead)} END"


def _if_there(x: str, effect: str, instead: float | None) -> str:
    """Return the effect of a number in SQL, `instead` if it is missing."""
    # Indicators treat infinities as missing values, as the fit does. Otherwise they are numbers.
    there = _is_number(x) if instead is None else _is_finite(x)
    return f"CASE WHEN {there} THEN {effect}{_otherwise(instead)} END"


def _otherwise(instead: float | None) -> str:
    """Return the rest of a CASE expression, which is NULL without an ELSE."""
    return "" if instead is None else f" ELSE {_number(instead)}"


def _curve(x: str, curve: Line | Curve, slopes: list[float]) -> str:
    """Return a piecewise-linear curve in SQL."""
    points, heights = ([*map(_number, part)] for part in (curve.points, curve.heights))
    cases = [f"WHEN {x} <= {points[0]} THEN {heights[0]}"]
    for place, slope in enumerate(slopes):
        rise = f"{heights[place]} + ({x} - {points[place]}) * {_number(slope)}"
        cases.append(f"WHEN {x} <= {points[place + 1]} THEN {rise}")
    return f"CASE {' '.join(cases)} ELSE {heights[-1]} END"


def _is_number(x: str) -> str:
    """Return an SQL condition that is true for everything but NULL and NaN.

    In databases with NaN, both NaN and -NaN are greater than all numbers.
    """
    return f"({x} <= 0e0 OR -{x} <= 0e0)"


def _is_finite(x: str) -> str:
    """Return an SQL condition that is true for numbers: not for NULL, NaN and infinities."""
    return f"ABS({x}) <= {_number(sys.float_info.max)}"


def _number(value: float) -> str:
    """Return a literal that every database reads as a double, not as a decimal."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def _name(name: str) -> str:
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def _text(text: Any) -> str:
    quoted = str(text).replace("'", "''")
    return f"'{quoted}'"
