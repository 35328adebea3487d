"""Models as scikit-learn pipelines."""

from __future__ import annotations

import operator
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer

from dpfit.exceptions import InsecureSeedWarning, ParameterError
from dpfit.models.effects import Curve, Line, NoEffect
from dpfit.models.export import NOT_PRIVATE, MissingEffects, check_kinds, effects_of_listed

if TYPE_CHECKING:
    from dpfit._typing import Floats
    from dpfit.models.effects import Effect
    from dpfit.models.model import Model
    from dpfit.schema import Kind

__all__ = ["to_sklearn"]


def to_sklearn(model: Model) -> Pipeline:
    """Return the model as a pipeline; see :meth:`dpfit.PrivateLinearRegression.to_sklearn`.

    Raises
    ------
    ParameterError
        If it has dates in columns without names, which NumPy stores as objects; or a kind of
        column that cannot be exported.
    ImportError
        If columns have names and pandas is not installed.
    """
    check_kinds(model)
    if model.privacy.insecure_seed:
        # The pipeline cannot record it.
        warnings.warn(NOT_PRIVATE, InsecureSeedWarning, stacklevel=3)
    named, names = model.names is not None, model.column_names
    # An array with a column of strings is an array of objects.
    objects = any(kind.accepts_strings for kind in model.kinds)
    steps: list[tuple[str, Any, list[Any]]] = []
    weights: list[Floats] = []
    missing = MissingEffects.of(model)
    intercept = model.intercept + missing.constant
    for place, (kind, effect) in enumerate(zip(model.kinds, model.effects, strict=False)):
        step: Any
        match effect:
            case NoEffect() if place in missing.flags and not kind.listed:
                step, weight = FunctionTransformer(np.zeros_like), np.zeros(1)
            case NoEffect() if missing.value(model, place) is None:
                continue
            case _ if kind.listed:
                strings = kind.accepts_strings or (objects and not named)
                instead = missing.value(model, place)
                step, weight, others = _one_hot(kind, effect, instead, strings=strings)
                intercept += others
            case Line(low, high, slope):
                step = FunctionTransformer(np.clip, kw_args={"a_min": low, "a_max": high})
                weight = np.array([slope])
            case Curve(points, heights):
                # Splines of degree one are hat functions, so that heights are the coefficients.
                knots = np.array(points)[:, None]
                step = SplineTransformer(degree=1, knots=knots, extrapolation="constant")
                weight = np.array(heights)
        if not kind.listed:
            if kind.is_date and not named:
                raise ParameterError("exporting a model with dates requires named columns")
            numbers = _days() if kind.is_date else [("double", _double())]
            if place in missing.flags:
                step = _with_flag(step, model.middle(place))
                # The flag is one if the value is there.
                weight = np.append(weight, -missing.flags[place])
                intercept += missing.flags[place]
            step = Pipeline([*numbers, ("effect", step)])
        # Not the name of the column, which scikit-learn may not allow as the name of a step.
        steps.append((f"column {place}", step, [names[place] if named else place]))
        weights.append(weight)
    if not steps:
        # A mean-only model, but a regression needs a column.
        nothing = FunctionTransformer(np.zeros_like, kw_args={"dtype": np.float64})
        steps.append(("column 0", nothing, [names[0] if named else 0]))
        weights.append(np.zeros(1))
    columns = ColumnTransformer(steps, remainder="drop")
    example = [
        _example(kind, may_be_missing=missing.value(model, place) is not None)
        for place, kind in enumerate(model.kinds)
    ]
    if named:
        rows: Any = _pandas().DataFrame([example] * 2, columns=names[: len(example)])
    else:
        rows = np.array([example] * 2, dtype=object if objects else np.float64)
    # The transformers must be fitted; they keep only names and types of these rows.
    line = LinearRegression()
    line.n_features_in_ = columns.fit_transform(rows).shape[1]
    line.coef_ = np.concatenate([np.zeros(0), *weights])
    line.intercept_ = intercept
    return Pipeline([("columns", columns), ("regression", _clipped(line, model.prediction_range))])


def _clipped(line: LinearRegression, limits: tuple[float, float]) -> TransformedTargetRegressor:
    """Return a regression whose predictions are clipped."""
    low, high = limits
    clip = FunctionTransformer(inverse_func=np.clip, inv_kw_args={"a_min": low, "a_max": high})
    result = TransformedTargetRegressor(line, transformer=clip, check_inverse=False)
    result.regressor_, result.transformer_ = line, clip.fit(np.zeros((2, 1)))
    # It says that predictions have one dimension.
    result._training_dim = 1
    return result


def _one_hot(
    kind: Kind, effect: Effect, instead: float | None, *, strings: bool
) -> tuple[OneHotEncoder, Floats, float]:
    """Return a one-hot encoder of the listed values, its coefficients, and the constant to add.

    `instead` is the effect of missing values, None if they are like values that are not listed.
    """
    listed = np.array(kind.listed, dtype=object if strings else np.float64)
    # The encoder needs numbers in order.
    order = np.arange(len(listed)) if strings else np.argsort(listed)
    each, others = effects_of_listed(kind, effect)
    categories, heights = listed[order], np.array(each)[order]
    if instead is not None:
        # Among objects, None is missing, too.
        none = np.array([None, np.nan] if strings else [np.nan], dtype=listed.dtype)
        categories = np.concatenate([categories, none])
        heights = np.append(heights, [instead] * len(none))
    step = OneHotEncoder(categories=[categories], handle_unknown="ignore", sparse_output=False)
    # The encoder has zeros for all other values.
    return step, heights - others, others


def _with_flag(step: Any, middle: float) -> FeatureUnion:
    """Return a step that replaces missing numbers, and one more column: whether they are there."""
    filled = FunctionTransformer(
        np.nan_to_num, kw_args={"nan": middle, "posinf": middle, "neginf": middle}
    )
    there = FunctionTransformer(np.isfinite)
    return FeatureUnion(
        [("value", Pipeline([("fill", filled), ("effect", step)])), ("there", there)]
    )


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "a pipeline with named columns requires pandas: pip install pandas"
        ) from error
    return pd


def _double() -> FunctionTransformer:
    """Return a step that converts to doubles, so that slopes are not rounded to fewer bits."""
    return FunctionTransformer(np.asarray, kw_args={"dtype": np.float64})


def _example(kind: Kind, *, may_be_missing: bool) -> Any:
    """Return a possible value of a column, of a type that has NaN if that is a level."""
    if kind.is_date:
        return np.datetime64(0, "ns")
    if not kind.listed:
        return 0.0
    is_number = may_be_missing and not kind.accepts_strings
    return float(kind.listed[0]) if is_number else kind.listed[0]


def _days() -> list[tuple[str, FunctionTransformer]]:
    """Return steps that convert dates to days; numbers are an error, and missing dates NaN."""
    since = operator.methodcaller("__sub__", np.datetime64("1970-01-01", "s"))
    days = operator.methodcaller("__truediv__", np.timedelta64(86_400, "s"))
    return [("since_1970", FunctionTransformer(since)), ("days", FunctionTransformer(days))]
