"""Predictions and their errors, computed by the core, for many rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpfit import _native
from dpfit._typing import Array, Floats
from dpfit.models.estimates import Estimates, Inference, Inferred

if TYPE_CHECKING:
    from dpfit.models.effects import Effect

__all__ = ["Columns", "infer", "is_worth_it", "predict"]

# The columns of X: one array, or an array for each.
Columns: TypeAlias = "Array | Sequence[Array]"

# What the core reads without a copy.
_NATIVE = {
    np.dtype(name) for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
}
# Covariances of more coordinates would take too much memory, and those for few rows too much time.
_MOST_COORDINATES = 2000
_FEWEST_ROWS = 1000


def predict(
    intercept: float,
    effects: Sequence[Effect],
    limits: tuple[float, float],
    columns: Columns,
    *,
    finite: bool,
) -> Floats:
    """Return the sum of effects for each row, clipped; NaN for rows with a missing value.

    If values must be finite and one is not, it is a `NotFiniteError`.
    """
    model = _native.Additive(intercept, [effect.native() for effect in effects], limits)
    return model.predict(_readable(columns), finite=finite)


def is_worth_it(effects: Sequence[Effect], rows: int) -> bool:
    """Return whether :func:`infer` is faster than a product with the parameters of each row."""
    size = 1 + sum(effect.places for effect in effects)
    return _FEWEST_ROWS <= rows >= size <= _MOST_COORDINATES


def infer(
    effects: Sequence[Effect], estimates: Estimates, columns: Columns, inference: Inference
) -> Inferred:
    """Return what is inferred about the mean of each row.

    A row has a weight for one or two places of each effect: the ends of the piece of a curve in
    which it is, or its level. Covariances of the effects at all places are computed once.
    """
    designs = [effect.at_places() for effect in effects]
    parts = (estimates.noise, estimates.sampling, estimates.spread)
    noise, sampling, spread = (_at_places(designs, part) for part in parts)
    values = _rows_at_places(designs, estimates.values[:, None])[:, 0]
    hidden = (~estimates.known).astype(np.float64)[:, None]
    unknown = _rows_at_places([np.abs(design) for design in designs], hidden)[:, 0] > 0.0
    terms = [effect.term() for effect in effects]
    forms = _native.Forms(terms, values, unknown, (noise, sampling, spread))
    found = forms.evaluate(_readable(columns))
    variances = np.maximum(found[:, 1:4], 0.0)
    return Inferred.of(
        found[:, 0],
        variances[:, 0],
        variances[:, 1],
        variances[:, 2],
        found[:, 4] == 0.0,
        inference,
    )


def _rows_at_places(designs: Sequence[Floats], matrix: Floats) -> Floats:
    """Return the product of a block-diagonal matrix, whose last block is a one, with a matrix."""
    found, start = [], 0
    for design in designs:
        stop = start + design.shape[1]
        found.append(design @ matrix[start:stop])
        start = stop
    return np.vstack([*found, matrix[start:]])


def _at_places(designs: Sequence[Floats], part: Floats) -> Floats:
    """Return a covariance of the effects at all places, and last of the constant."""
    found = _rows_at_places(designs, _rows_at_places(designs, part).T)
    return np.ascontiguousarray((found + found.T) / 2)


def _readable(columns: Columns) -> Array | list[Array]:
    """Return columns that the core can read."""
    if isinstance(columns, np.ndarray):
        return columns if columns.dtype in _NATIVE else columns.astype(np.float64)
    arrays = map(np.asarray, columns)
    return [x if x.dtype in _NATIVE else x.astype(np.float64) for x in arrays]
