"""Weights of rows, as the last column of what the core reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfit._typing import Array
from dpfit.exceptions import Code, ParameterError
from dpfit.sources.shield import shielded

__all__ = ["weight_values", "with_weights"]


def weight_values(weights: Any, rows: int) -> Array:
    """Return the weight of each row as an array.

    Parameters
    ----------
    weights : array-like
        Numbers.
    rows : int
        The number of rows.

    Privacy
    -------
    Only types and shapes are checked here. Messages contain no value.
    """
    if np.ma.isMaskedArray(weights):
        # NumPy would ignore the mask.
        raise ParameterError(
            "sample_weight must not be a masked array",
            code=Code.WRONG_TYPE,
            subject="sample_weight",
            hint="sample_weight.filled(np.nan) makes masked weights missing values",
        )

    def converted() -> Array:
        found = np.asarray(weights)
        return found if found.dtype.kind in "iufb" else np.asarray(weights, dtype=np.float64)

    found = shielded(converted, lambda _: _wrong_weights())
    if found.ndim != 1 or len(found) != rows:
        raise _wrong_weights()
    return found


def with_weights(
    columns: Array | list[Array], target: Array, weights: Array
) -> tuple[list[Array], Array]:
    """Return columns with the weights as the last one, and the target.

    Privacy
    -------
    A weight that is negative, NaN or infinite makes the target of its own row NaN. So every
    statistic treats that row as one with a missing value: it is an error, or the row is dropped.
    """
    separate = columns if isinstance(columns, list) else list(columns.T)
    numbers = np.asarray(weights, dtype=np.float64)
    good = np.isfinite(numbers) & (numbers >= 0.0)
    if not good.all():
        numbers = np.where(good, numbers, 0.0)
        target = np.where(good, target, np.nan)
    return [*separate, numbers], target


def _wrong_weights() -> ParameterError:
    problem = "sample_weight must have one number for each row"
    return ParameterError(problem, code=Code.LENGTHS_DIFFER, subject="sample_weight")
