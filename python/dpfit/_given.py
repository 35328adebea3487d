"""Tables that a model is given: what they are, and what may be said of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpfit._validate import validate
from dpfit.exceptions import ParameterError
from dpfit.schema import Categorical, Kind
from dpfit.sources import Source

__all__ = ["check_columns", "holds_texts", "of_prediction", "series"]


def holds_texts(X: Any, kinds: Sequence[Kind]) -> bool:
    """Return whether X is an array of objects or texts, some of them levels."""
    levels = any(isinstance(kind, Categorical) for kind in kinds)
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS" and levels


def check_columns(estimator: Any, source: Source, *, reset: bool) -> None:
    """Check names and number of columns as scikit-learn does, on a table without rows."""
    import pyarrow as pa

    if source.names is None:
        empty: Any = np.zeros((0, source.columns))
    else:
        empty = pa.table({name: pa.nulls(0) for name in source.names})
    validate(estimator, empty, reset=reset, skip_check_array=True)


def series(estimator: Any, y: Any) -> Any:
    """Return a target that is not a column of the table, as an array if it is in memory."""
    if type(y).__module__.partition(".")[0] in ("dask", "pyspark"):
        return y
    return validate(estimator, X="no_validation", y=y, y_numeric=True, ensure_all_finite=False)


def of_prediction(error: ParameterError) -> ParameterError:
    """Return an error about text with what can be done in a prediction: a schema is for a fit."""
    found = re.match(r"(column .* holds text): list its levels", str(error))
    return ParameterError(f"{found[1]}, and held numbers or dates in the fit") if found else error
