"""How far a straight line goes: whether each tail of a column belongs to its range."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.basis import Basis

__all__ = ["Tails", "choose_tails", "straight_lines"]

Floats: TypeAlias = npt.NDArray[np.float64]
# For every column with tails: which of its features the line goes through.
Tails: TypeAlias = dict[int, tuple[int, ...]]

# A longer range is taken if the explained sum of squares, in units of the noise, grows by this
# much. From 0 to 1 the error differs by 3 %, in different directions for different budgets.
_EVIDENCE = 0.5
_SWEEPS = 3


def straight_lines(basis: Basis, tails: Tails | None = None) -> Floats:
    """Return the directions of a linear model: one line for each column, and the constant.

    Parameters
    ----------
    basis : Basis
        Features.
    tails : dict, optional
        For columns, the features that the line goes through; by default all.

    Returns
    -------
    array of shape (features, columns + 1)
        Orthonormal columns.
    """
    columns = sorted({ramp.column for ramp in basis.ramps})
    directions = [
        basis.straight((tails or {}).get(column) or basis.of_column(column)) for column in columns
    ]
    constant = np.zeros(basis.features)
    constant[-1] = 1.0
    return np.column_stack([*directions, constant])


def choose_tails(basis: Basis, gram: Floats, moments: Floats, noise: float, ridge: float) -> Tails:
    """Decide on every tail, one column after the other, by what is explained.

    Parameters
    ----------
    basis : Basis
        Features.
    gram, moments : arrays
        Released X'X and X'y.
    noise : float
        The standard deviation of the noise in an entry of `moments`.
    ridge : float
        Added to squared norms, so that noise in X'X cannot make one look small.

    Privacy
    -------
    A function of released numbers.
    """
    options: dict[int, list[tuple[int, ...]]] = {}
    for column in sorted({ramp.column for ramp in basis.ramps}):
        features = basis.of_column(column)
        if len(features) == 1:
            continue
        (inner,) = (i for i in features if basis.ramps[i].tail == 0)
        options[column] = [
            tuple(range(first, last + 1))
            for last in range(inner, features[-1] + 1)
            for first in range(inner, features[0] - 1, -1)
        ]
    if not options:
        return {}
    starts = [{column: choices[place] for column, choices in options.items()} for place in (0, -1)]
    found = [_improve(basis, gram, moments, noise, ridge, options, start) for start in starts]
    return max(found, key=lambda tails: _explained(basis, gram, moments, ridge, tails))


def _improve(
    basis: Basis,
    gram: Floats,
    moments: Floats,
    noise: float,
    ridge: float,
    options: dict[int, list[tuple[int, ...]]],
    tails: Tails,
) -> Tails:
    """Change one column's choice after the other while that explains more."""
    columns = sorted({ramp.column for ramp in basis.ramps})
    for _ in range(_SWEEPS):
        for column, choices in options.items():
            others = np.delete(straight_lines(basis, tails), columns.index(column), axis=1)
            small = others.T @ gram @ others + ridge * np.eye(others.shape[1])
            left = moments - gram @ (others @ np.linalg.solve(small, others.T @ moments))
            best = -np.inf
            for choice in choices:
                line = basis.straight(choice)
                length = max(float(line @ gram @ line), 0.0) + ridge
                explained = float(line @ left) ** 2 / length / noise**2
                if explained > best + _EVIDENCE:
                    best, tails[column] = explained, choice
    return tails


def _explained(basis: Basis, gram: Floats, moments: Floats, ridge: float, tails: Tails) -> float:
    lines = straight_lines(basis, tails)
    small = lines.T @ gram @ lines + ridge * np.eye(lines.shape[1])
    return float(moments @ lines @ np.linalg.solve(small, lines.T @ moments))
