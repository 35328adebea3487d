"""A model without dpfit: as a pipeline of scikit-learn, or as a query for a database."""

from __future__ import annotations

import operator
import sys
import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer

from dpfit._parameters import one_of
from dpfit.exceptions import InsecureSeedWarning, ParameterError
from dpfit.schema import Categorical, Date

if TYPE_CHECKING:
    from dpfit._private import PrivateModel
    from dpfit.schema import Kind

__all__ = ["Bent", "Dialect", "Line", "to_sklearn", "to_sql"]

Floats: TypeAlias = npt.NDArray[np.float64]
Dialect: TypeAlias = Literal["standard", "sqlite"]
# Days since 1970-01-01 00:00 UTC. SQLite keeps dates as text, and counts days from noon of the
# first day of the Julian period.
_DAYS: dict[Dialect, str] = {
    "standard": "(CAST(EXTRACT(EPOCH FROM {column}) AS DOUBLE PRECISION) / 86400e0)",
    "sqlite": "(julianday({column}) - 2440587.5e0)",
}

# Terms of a sum, until it has parentheses.
_MOST_IN_A_ROW = 50

_NOT_PRIVATE = "NOT PRIVATE: the noise of this model came from a fixed seed."


class Line(NamedTuple):
    """A column cut to a range, times a slope, plus a constant."""

    low: float
    high: float
    slope: float
    constant: float


class Bent(NamedTuple):
    """Heights at points: straight between them, flat beyond."""

    points: Floats
    heights: Floats


def to_sklearn(model: PrivateModel) -> Pipeline:
    """Return the model as a pipeline of scikit-learn's own parts.

    Parameters
    ----------
    model : PrivateModel
        A fitted model.

    Raises
    ------
    ParameterError
        If it has dates in columns without names, which NumPy keeps as objects.
    ImportError
        If columns have names and pandas is not installed.
    """
    if model.privacy_.insecure_seed:
        # The pipeline has no place to say it.
        warnings.warn(_NOT_PRIVATE, InsecureSeedWarning, stacklevel=3)
    named, names = hasattr(model, "feature_names_in_"), model._names()
    # An array with a column of texts is one of objects.
    objects = any(isinstance(kind, Categorical) and kind.is_text for kind in model._kinds)
    steps: list[tuple[str, Any, list[Any]]] = []
    weights: list[Floats] = []
    example: list[Any] = []
    intercept = model.intercept_
    for place, (kind, name) in enumerate(zip(model._kinds, names, strict=True)):
        example.append(_example(kind))
        step: Any
        if isinstance(kind, Categorical):
            texts = kind.is_text or (objects and not named)
            levels = np.array(kind.levels, dtype=object if texts else np.float64)
            # Numbers have to be sorted.
            order = np.arange(len(levels)) if texts else np.argsort(levels)
            step = OneHotEncoder(
                categories=[levels[order]], handle_unknown="ignore", sparse_output=False
            )
            weight = model._effects(place)[order]
        else:
            match model._line(place):
                case None:
                    continue
                case Line(low, high, slope, constant):
                    step = FunctionTransformer(np.clip, kw_args={"a_min": low, "a_max": high})
                    weight, intercept = np.array([slope]), intercept + constant
                case Bent(points, heights):
                    # Degree one: a hat for each point, and the heights are the coefficients.
                    step = SplineTransformer(
                        degree=1, knots=points[:, None], extrapolation="constant"
                    )
                    weight = heights
        if isinstance(kind, Date):
            if not named:
                raise ParameterError("a model with dates needs names of columns to be exported")
            step = Pipeline([*_days(), ("effect", step)])
        elif not isinstance(kind, Categorical):
            step = Pipeline([("double", _double()), ("effect", step)])
        # Names of columns may be ones that scikit-learn does not take for steps.
        steps.append((f"column {place}", step, [name if named else place]))
        weights.append(weight)
    if not steps:
        # A mean. A regression wants a column, though.
        nothing = FunctionTransformer(np.zeros_like, kw_args={"dtype": np.float64})
        steps.append(("column 0", nothing, [names[0] if named else 0]))
        weights.append(np.zeros(1))
    columns = ColumnTransformer(steps, remainder="drop")
    if named:
        rows: Any = _pandas().DataFrame([example] * 2, columns=names)
    else:
        rows = np.array([example] * 2, dtype=object if objects else np.float64)
    # Scikit-learn's parts have to see rows, of which they keep names and types alone.
    line = LinearRegression()
    line.n_features_in_ = columns.fit_transform(rows).shape[1]
    line.coef_ = np.concatenate([np.zeros(0), *weights])
    line.intercept_ = intercept
    return Pipeline([("columns", columns), ("regression", line)])


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "a pipeline of columns with names needs pandas: pip install pandas"
        ) from error
    return pd


def _double() -> FunctionTransformer:
    """Return a step to doubles: in numbers of fewer bits, slopes would be rounded to these."""
    return FunctionTransformer(np.asarray, kw_args={"dtype": np.float64})


def _example(kind: Kind) -> Any:
    """Return a value that a column may have."""
    if isinstance(kind, Date):
        return np.datetime64(0, "ns")
    return kind.levels[0] if isinstance(kind, Categorical) else 0.0


def _days() -> list[tuple[str, FunctionTransformer]]:
    """Return steps from dates to days. Numbers are an error in them, and what is missing NaN."""
    since = operator.methodcaller("__sub__", np.datetime64("1970-01-01", "s"))
    days = operator.methodcaller("__truediv__", np.timedelta64(86_400, "s"))
    return [("since_1970", FunctionTransformer(since)), ("days", FunctionTransformer(days))]


def to_sql(model: PrivateModel, table: str, dialect: Dialect = "standard") -> str:
    """Return a query that predicts in a database.

    Parameters
    ----------
    model : PrivateModel
        A fitted model.
    table : str
        The table to read.
    dialect : {"standard", "sqlite"}
        How dates become numbers.
    """
    one_of("dialect", dialect, get_args(Dialect))
    if not isinstance(table, str) or not table:
        raise ParameterError("table must be the name of a table")
    parts = [_number(model.intercept_)]
    for place, kind in enumerate(model._kinds):
        # With the table's name, a column that is not there is an error: SQLite takes a name in
        # quotes for a text otherwise.
        column = f"{_name(table)}.{_name(model._names()[place])}"
        if isinstance(kind, Categorical):
            parts.append(_choice(column, kind, model._effects(place)))
            continue
        number = f"CAST({column} AS DOUBLE PRECISION)"
        if isinstance(kind, Date):
            number = _DAYS[dialect].format(column=column)
        match model._line(place):
            case None:
                # Adds nothing, but has to be there.
                parts.append(f"CASE WHEN {_is_number(number)} THEN 0e0 END")
            case Line(low, high, slope, constant):
                ends = Bent(np.array([low, high]), slope * np.array([low, high]) + constant)
                parts.append(_curve(number, ends, [slope]))
            case Bent() as bent:
                slopes = np.diff(bent.heights) / np.diff(bent.points)
                parts.append(_curve(number, bent, slopes.tolist()))
    warning = f"-- {_NOT_PRIVATE}\n" if model.privacy_.insecure_seed else ""
    return f"{warning}SELECT *,\n  {_sum(parts)}\n  AS prediction\nFROM {_name(table)}"


def _sum(parts: list[str]) -> str:
    """Return a sum in SQL, with parentheses if it is long.

    Databases take so many expressions inside of each other, SQLite and DuckDB a thousand, and each
    plus is inside of the next one.
    """
    if len(parts) <= _MOST_IN_A_ROW:
        return "\n  + ".join(parts)
    half = len(parts) // 2
    return f"({_sum(parts[:half])})\n  + ({_sum(parts[half:])})"


def _choice(column: str, kind: Categorical, effects: Floats) -> str:
    """Return what a level adds, in SQL: nothing if it is not listed, NULL if it is missing."""
    cases = " ".join(
        f"WHEN {_text(level) if kind.is_text else level} THEN {_number(effect)}"
        for level, effect in zip(kind.levels, effects, strict=True)
    )
    there = f"{column} IS NOT NULL"
    if not kind.is_text:
        # Neither NaN nor an infinity is a level, nor another one.
        there = f"ABS(CAST({column} AS DOUBLE PRECISION)) <= {_number(sys.float_info.max)}"
    return f"CASE WHEN {there} THEN CASE {column} {cases} ELSE 0e0 END END"


def _curve(x: str, bent: Bent, slopes: list[float]) -> str:
    """Return a curve that is straight between points and flat beyond, in SQL."""
    points, heights = ([_number(value) for value in part] for part in bent)
    cases = [f"WHEN {x} <= {points[0]} THEN {heights[0]}"]
    for place, slope in enumerate(slopes):
        rise = f"{heights[place]} + ({x} - {points[place]}) * {_number(slope)}"
        cases.append(f"WHEN {x} <= {points[place + 1]} THEN {rise}")
    return f"CASE WHEN {_is_number(x)} THEN CASE {' '.join(cases)} ELSE {heights[-1]} END END"


def _is_number(x: str) -> str:
    """Return a condition that holds for all but NULL and NaN, in SQL.

    Databases that have NaN take it for larger than all numbers, and so the negative of it.
    """
    return f"({x} <= 0e0 OR -{x} <= 0e0)"


def _number(value: float) -> str:
    """Return a literal that every database takes for a double, and not for a decimal."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def _name(name: str) -> str:
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def _text(text: Any) -> str:
    quoted = str(text).replace("'", "''")
    return f"'{quoted}'"
