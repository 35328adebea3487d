"""Read the numbers that a fitted object shows."""

from __future__ import annotations

import json
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpfit._typing import Floats
from dpfit.exceptions import ParameterError
from dpfit.models.base import PrivateModel
from dpfit.models.file import to_json

__all__ = ["Outputs", "Reader", "as_matrix", "reader"]

Outputs = Mapping[str, Floats]
"""Numbers by the name of the attribute; none for one that is None."""

Reader = Callable[[Any], Outputs]
"""Reads the outputs of a fitted object."""

_MOST_OUTPUTS = 2000
# Values of an attribute whose length differs between fits: it may have one for each row.
_MOST_PADDED = 200
_PREDICTION, _FILE = "prediction", "file"


def reader(outputs: Any, points: Any) -> Reader:
    """Return what reads the outputs of a fitted object.

    Parameters
    ----------
    outputs : callable, sequence of str, or None
        A function from the fitted object to numbers, names of attributes, or None for all fitted
        attributes that are numbers and, if the object is a model of dpfit, all numbers in its
        model file.
    points : array-like or None
        Rows to predict for. The predictions are outputs, too.
    """
    if callable(outputs):
        return _Function(outputs)
    if isinstance(outputs, str):
        outputs = [outputs]
    names = None if outputs is None else tuple(outputs)
    if names is not None and not all(isinstance(name, str) for name in names):
        raise ParameterError("outputs must be a function or names of attributes", subject="outputs")
    return _Attributes(names, points)


class _Function:
    """A function of the caller. A class, so that it can be sent to other processes."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, fitted: Any) -> Outputs:
        """Return the numbers."""
        values = np.asarray(self._function(fitted), dtype=np.float64)
        return {"output": np.ravel(values)}


class _Attributes:
    """Attributes and predictions."""

    def __init__(self, names: Sequence[str] | None, points: Any) -> None:
        self._names, self._points = names, points

    def __call__(self, fitted: Any) -> Outputs:
        """Return the numbers."""
        found: dict[str, Floats] = {}
        for name in _fitted_names(fitted) if self._names is None else self._names:
            # A property of a fitted object may be missing: a model without slopes has no coef_.
            values = _numbers(getattr(fitted, name, None))
            if values is not None:
                found[name] = values
        if self._names is None and isinstance(fitted, PrivateModel):
            found.update(_flattened(json.loads(to_json(fitted)), _FILE))
        if self._points is not None:
            found[_PREDICTION] = np.ravel(np.asarray(fitted.predict(self._points), np.float64))
        if not found:
            raise ParameterError(
                "the fitted object has no outputs that are numbers",
                subject="outputs",
                hint="pass a function from the fitted object to numbers as `outputs`",
            )
        return found


def _fitted_names(fitted: Any) -> list[str]:
    """Return the names of fitted attributes, by the convention of scikit-learn."""
    return [name for name in dir(fitted) if name.endswith("_") and not name.startswith("_")]


def _flattened(value: Any, path: str) -> Iterator[tuple[str, Floats]]:
    """Yield the numbers of a JSON document, with the names that lead to them."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _flattened(part, f"{path}.{name}")
    elif isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        for place, part in enumerate(value):
            yield from _flattened(part, f"{path}[{place}]")
    elif isinstance(value, list):
        # A list of lists is the lower half of a symmetric matrix.
        parts = [found for part in value for _, found in _flattened(part, path)]
        yield path, np.concatenate([np.zeros(0), *parts])
    elif isinstance(value, bool | int | float):
        yield path, np.array([float(value)])


def _numbers(value: Any) -> Floats | None:
    """Return a value as a flat array, None if it is not of numbers."""
    if value is None:
        return np.zeros(0)
    if not isinstance(value, numbers.Real | np.ndarray | list | tuple):
        return None
    try:
        found = np.asarray(value)
    except ValueError:
        return None
    if found.dtype.kind not in "biuf":
        return None
    return np.ravel(found.astype(np.float64))


def as_matrix(
    first: Sequence[Outputs], second: Sequence[Outputs]
) -> tuple[Floats, Floats, list[str]]:
    """Return the outputs of two samples of fits as matrices, and the names of columns.

    An attribute whose length differs between fits, or that some fits do not have, is represented by
    its length and by its first 200 values, with NaN where there are none. Columns that are the same
    in all fits are left out, unless all are, and so are those after the 2000th.
    """
    fits = [*first, *second]
    columns, names = [], []
    for name in dict.fromkeys(name for outputs in fits for name in outputs):
        parts = [outputs.get(name, np.zeros(0)) for outputs in fits]
        length = max(map(len, parts))
        if any(len(part) != length for part in parts):
            columns.append(np.array([[float(len(part))] for part in parts]))
            names.append(f"length of {name}")
            length = min(length, _MOST_PADDED)
            parts = [_padded(part, length) for part in parts]
        columns.append(np.array(parts).reshape(len(fits), -1))
        names += [name] if length == 1 else [f"{name}[{place}]" for place in range(length)]
    values = np.concatenate(columns, axis=1)
    same = (values == values[0]) | (np.isnan(values) & np.isnan(values[0]))
    differ = np.flatnonzero(~same.all(axis=0))
    if not len(differ):
        differ = np.arange(1)
    if len(differ) > _MOST_OUTPUTS:
        differ = differ[:_MOST_OUTPUTS]
    values, kept = values[:, differ], [names[place] for place in differ]
    return values[: len(first)], values[len(first) :], kept


def _padded(part: Floats, length: int) -> Floats:
    # With a constant: a value computed from the fits would make them dependent.
    return np.append(part[:length], np.full(max(length - len(part), 0), np.nan))
