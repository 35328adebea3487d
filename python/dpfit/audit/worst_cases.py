"""Built-in pairs of neighbouring tables: rows that move a statistic as far as they can.

There is a pair for the whole estimator and one for each statistic, and there are rows that have
misled arithmetic in other programs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfit._parameters import budget
from dpfit._typing import Array
from dpfit.audit.neighbours import Neighbours
from dpfit.exceptions import ParameterError

__all__ = ["worst_cases"]

# Rows divided by the standard deviation of a count with the whole budget. The noise then hardly
# changes what a fit does, and one row still counts.
_ROWS_PER_SIGMA = 100
_FEWEST_ROWS, _MOST_ROWS = 64, 4000
# Models have more releases, each with less of the budget.
_ROWS_OF_MODELS = 200
_FEWEST_ROWS_OF_MODELS, _MOST_ROWS_OF_MODELS = 12_000, 60_000
_RARE = 33
# Targets that residuals do not reach, in thresholds.
_FAR = 1e6


@dataclass(frozen=True)
class _Row:
    """A row that is added; with `replace`, it replaces `instead`, by default a row of the table."""

    name: str
    base: tuple[Array, Array]
    row: Any
    target: float
    instead: tuple[Any, float] | None = None


def worst_cases(estimator: Any) -> dict[str, Neighbours]:
    """Return the built-in pairs for an estimator, by their names.

    Parameters
    ----------
    estimator : object
        One of dpfit's, or any other. Bounds are read from its parameters `x_bound`, `tau`,
        `y_bound` and `clip_norm`, and are 1 if it has none; the number of rows follows from its
        budget.

    Returns
    -------
    dict of str to Neighbours
        ``"whole"`` moves all statistics together. Tables for models have one feature, with values
        0 and 1: a schema may say so, but not list other columns.

    Examples
    --------
    >>> from dpfit import BoostedMean
    >>> list(worst_cases(BoostedMean(mu=1.0)))
    ['whole', 'count', 'huge', 'tiny']
    """
    rows = _rows(estimator)
    if hasattr(estimator, "schema"):
        found = _of_models(rows)
    elif hasattr(estimator, "clip_norm"):
        found = _of_gradients(rows, float(estimator.clip_norm))
    elif hasattr(estimator, "x_bound") or not hasattr(estimator, "tau"):
        bound = float(getattr(estimator, "x_bound", 1.0))
        tau = getattr(estimator, "tau", getattr(estimator, "y_bound", 1.0))
        found = _of_products(rows, bound, float(tau))
    else:
        found = _of_a_mean(rows, float(estimator.tau))
    replaces = getattr(estimator, "neighbors", "add_remove") == "replace"
    return {case.name: _pair(case, replaces=replaces) for case in found}


def _pair(case: _Row, *, replaces: bool) -> Neighbours:
    X, y = case.base
    if not replaces:
        return Neighbours.adding(X, y, case.row, case.target, case.name)
    if case.instead is not None:
        X, y = np.vstack([np.asarray(case.instead[0])[None, :], X]), np.append(case.instead[1], y)
    return Neighbours.replacing(X, y, 0, case.row, case.target, case.name)


def _rows(estimator: Any) -> int:
    given = [getattr(estimator, name, None) for name in ("epsilon", "delta", "mu")]
    try:
        mu = budget(*given).mu
    except ParameterError:
        mu = 1.0
    rows = min(max(math.ceil(_ROWS_PER_SIGMA / mu), _FEWEST_ROWS), _MOST_ROWS)
    # An even number, so that targets can balance.
    return rows + rows % 2


def _balanced(rows: int, far: float) -> Array:
    return np.resize([far, -far], rows)


def _wild(far: float, columns: int, base: tuple[Array, Array]) -> Iterable[_Row]:
    """Return rows that arithmetic with floating-point numbers may fail on."""
    yield _Row("huge", base, np.full(columns, 1e300), 1e300)
    yield _Row("tiny", base, np.full(columns, 5e-324), -far)


def _of_a_mean(rows: int, tau: float) -> list[_Row]:
    far = _FAR * tau
    base = np.zeros((rows, 1)), _balanced(rows, far)
    return [
        _Row("whole", base, [0.0], far, instead=([0.0], -far)),
        _Row("count", base, [0.0], 0.0, instead=([0.0], far)),
        *_wild(far, 1, base),
    ]


def _of_gradients(rows: int, clip: float) -> list[_Row]:
    """Return rows whose clipped gradients are as long as they can be, whatever the coefficients."""
    far = _FAR * max(clip, 1.0)
    base = np.ones((rows, 1)), _balanced(rows, far)
    edge = _edge(3)
    three = np.resize(edge, (rows, 3)), _balanced(rows, far)
    return [
        _Row("whole", base, [1.0], far, instead=([1.0], -far)),
        _Row("count", base, [0.0], 0.0, instead=([1.0], far)),
        _Row("boundary", three, clip * edge, 1.0, instead=(-clip * edge, 1.0)),
        *_wild(far, 1, base),
    ]


def _of_products(rows: int, bound: float, tau: float) -> list[_Row]:
    """Return rows that move X'X, its smallest eigenvalue and X'g."""
    far = _FAR * tau
    one = np.full((rows, 1), bound), np.full(rows, far)
    balanced = one[0], _balanced(rows, far)
    two = np.tile([bound, 0.0], (rows, 1)), np.zeros(rows)
    edge = bound * _edge(3)
    three = np.tile(edge, (rows, 1)), _balanced(rows, far)
    return [
        # It makes X'X larger and X'g smaller, so that coefficients show the sum of both.
        _Row("whole", one, [bound], -far, instead=([bound], far)),
        _Row("gram", two, [0.0, bound], 0.0, instead=([bound, 0.0], 0.0)),
        _Row("gradient", balanced, [bound], far, instead=([bound], -far)),
        _Row("boundary", three, edge, far, instead=(-edge, far)),
        *_wild(far, 1, one),
    ]


def _of_models(rows: int) -> list[_Row]:
    """Return rows for models that find ranges by themselves, on a table with one feature.

    The feature is rarely 1 and otherwise 0, so that a row with a 1 is as long as rows can be in
    whitened coordinates. Few values, and many rows: ranges and thresholds are then almost the same
    in all fits, although they are noisy, and do not hide what one row changes.
    """
    rows = min(max(_ROWS_OF_MODELS * rows, _FEWEST_ROWS_OF_MODELS), _MOST_ROWS_OF_MODELS)
    base = (np.arange(rows) % _RARE == 0)[:, None].astype(float), _balanced(rows, 1.0)
    return [
        _Row("whole", base, [1.0], 1e4, instead=([1.0], -1e4)),
        _Row("count", base, [0.0], 0.0, instead=([1.0], 1.0)),
        _Row("gram", base, [9.0], 0.0, instead=([0.0], 0.0)),
        _Row("gradient", base, [0.0], 1e4, instead=([0.0], -1e4)),
        *_wild(1e4, 1, base),
    ]


def _edge(columns: int) -> Array:
    """Return a vector whose norm is one up to the last bits, where scaling of floats fails."""
    vector = np.arange(1.0, columns + 1.0)
    return vector / np.linalg.norm(vector) * (1.0 + 2.0**-52)
