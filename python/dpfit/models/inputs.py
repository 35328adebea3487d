"""The tables that `fit` and `predict` accept: choice of the source, and first checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit._typing import Array
from dpfit._validation import validate
from dpfit.exceptions import Code, NotFiniteError, ParameterError
from dpfit.schema import Kind, Schema
from dpfit.sources import Source, named_source
from dpfit.sources.arrays import ArraySource
from dpfit.sources.problems import lengths_differ

if TYPE_CHECKING:
    from dpfit.models.base import PrivateModel
    from dpfit.models.model import Model

__all__ = [
    "check_limits",
    "error_in_prediction",
    "evaluation_source",
    "not_finite",
    "prediction_source",
    "training_source",
]


def check_limits(
    unit: Any, max_rows: Any, weight: Any, max_weight: Any, hint: str | None = None
) -> None:
    """Check that units and weights are given together with their public limits."""
    if (unit is None) != (max_rows is None):
        raise ParameterError("unit and max_rows must be given together", subject="max_rows")
    if weight is not None and max_weight is None:
        raise ParameterError(
            "sample_weight requires max_weight, a public upper bound on the weights",
            subject="max_weight",
            hint=hint,
        )


def not_finite(weight: Any, hint: str) -> NotFiniteError:
    """Return the error for rows with missing values, which the core raises without a hint."""
    return NotFiniteError(
        "X or y contains NaN or infinity"
        + (", or sample_weight also a negative number" if weight is not None else ""),
        code=Code.NOT_FINITE,
        hint=hint,
    )


def training_source(
    estimator: PrivateModel, X: Any, y: Any, unit: Any, weight: Any
) -> tuple[Source, tuple[str, ...]]:
    """Return the table with target, units and weights, and the names of these columns, if any.

    Privacy
    -------
    Only names, types and shapes are checked here.
    """
    by_name = isinstance(y, str)
    values = y if y is None or by_name else _target_values(estimator, y)
    source = named_source(X, values, unit, weight=weight)
    target = y if by_name else getattr(X, "target", None)
    not_features = tuple(name for name in (target, unit, weight) if isinstance(name, str))
    if source is None:
        _check_no_names(y, unit, weight)
        return ArraySource(*_arrays(estimator, X, y), unit, weight), not_features
    _check_column_names(estimator, source, reset=True)
    if y is None and not isinstance(target, str):
        raise _no_target(estimator)
    return source, not_features


def evaluation_source(
    estimator: PrivateModel, X: Any, y: Any, unit: Any, weight: Any, model: Model
) -> Source:
    """Return the table to evaluate, which must have the columns of the fit, and a target.

    Privacy
    -------
    Only names, types and shapes are checked here.
    """
    names = None if model.names is None else list(model.names)
    target = getattr(X, "target", None) if y is None else y
    if target is None:
        raise _no_target(estimator)
    if not isinstance(target, str):
        # With another estimator: scikit-learn would forget the names of columns.
        target = _target_values(type(estimator)(), target)
    source = named_source(X, target, unit, weight=weight, names=names, without=model.not_features)
    if source is not None:
        _check_column_names(estimator, source, reset=False)
        return source
    _check_no_names(y, unit, weight)
    if _is_array_with_listed(X, model.kinds):
        validate(estimator, X, reset=False, skip_check_array=True)
        rows = X.astype(object)
    else:
        rows = validate(estimator, X, reset=False, dtype=np.float64, ensure_all_finite=False)
    if len(rows) != len(target):
        raise lengths_differ()
    values: Any = target
    return ArraySource(rows, values, unit, weight)


def _no_target(estimator: PrivateModel) -> ParameterError:
    return ParameterError(
        f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is "
        "None",
        code=Code.NO_TARGET,
        hint='fit(frame, "cost") uses a column of the table',
    )


def _check_no_names(y: Any, unit: Any, weight: Any = None) -> None:
    """Raise an error if a column of an array is given by its name."""
    for name, role in ((y, "target"), (unit, "unit"), (weight, "weight")):
        if isinstance(name, str):
            raise ParameterError(
                f"X has no column {name!r} to use as the {role}",
                code=Code.NO_COLUMN,
                subject=name,
            )


def prediction_source(estimator: PrivateModel, X: Any, model: Model) -> Source:
    """Return the table to predict for, which must have the columns of the fit."""
    names = None if model.names is None else list(model.names)
    source = named_source(X, names=names, without=model.not_features)
    if source is not None:
        _check_column_names(estimator, source, reset=False)
        return source
    if _is_array_with_listed(X, model.kinds):
        validate(estimator, X, reset=False, skip_check_array=True)
        return ArraySource(X.astype(object), None)
    finite = model.missing == "error"
    rows = validate(estimator, X, reset=False, dtype=np.float64, ensure_all_finite=finite)
    return ArraySource(rows, None)


def error_in_prediction(error: ParameterError) -> ParameterError:
    """Return an error as `predict` raises it: a hint about the schema would help in `fit` only."""
    if error.code is Code.DATE_COLUMN:
        message = f"column {error.subject!r} contains dates, but contained numbers in the fit"
    elif error.code is Code.TEXT_COLUMN:
        message = (
            f"column {error.subject!r} contains strings, but contained numbers or dates in the fit"
        )
    else:
        return error
    return ParameterError(message, code=error.code, subject=error.subject)


def _arrays(estimator: PrivateModel, X: Any, y: Any) -> tuple[Array, Array]:
    """Return X and y as arrays.

    Privacy
    -------
    The kind of a column follows from the dtype of X, never from its values.
    """
    schema = estimator.schema if isinstance(estimator.schema, Schema) else Schema()
    if _is_array_with_listed(X, list(schema.values())):
        # Strings are looked up among the listed values later, column by column.
        y = _target_values(estimator, y)
        validate(estimator, X, reset=True, skip_check_array=True)
        return X.astype(object), y
    rows, target = validate(estimator, X, y, y_numeric=True, ensure_all_finite=False)
    if rows.dtype == bool and getattr(X, "dtype", None) != np.dtype(bool):
        # A list declares no type: a single number in it would turn its booleans into numbers.
        rows = rows.astype(np.uint8)
    return rows, target


def _target_values(estimator: PrivateModel, y: Any) -> Any:
    """Return a target that is not a column of the table: as an array, unless it is distributed."""
    if type(y).__module__.partition(".")[0] in ("dask", "pyspark"):
        return y
    return validate(estimator, X="no_validation", y=y, y_numeric=True, ensure_all_finite=False)


def _is_array_with_listed(X: Any, kinds: Sequence[Kind]) -> bool:
    """Return whether X is an array of objects or strings, and some kinds list values."""
    listed = any(kind.listed for kind in kinds)
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS" and listed


def _check_column_names(estimator: PrivateModel, source: Source, *, reset: bool) -> None:
    """Check names and number of columns as scikit-learn does, on a table without rows."""
    import pyarrow as pa

    if source.names is None:
        empty: Any = np.zeros((0, source.columns))
    else:
        # Predictions ignore other columns. If a feature is missing, the error does not name them,
        # unless no name is known: then they show what the table has instead.
        known = [] if reset else list(getattr(estimator, "feature_names_in_", ()))
        names = [name for name in source.names if name in known] or source.names
        empty = pa.table({name: pa.nulls(0) for name in names})
    validate(estimator, empty, reset=reset, skip_check_array=True)
