"""How far a straight line goes: whether each tail of a column belongs to its range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg

from dpfit.basis import Basis
from dpfit.levels import level_directions

__all__ = ["Tails", "all_curves", "choose_tails", "straight_lines"]

Floats: TypeAlias = npt.NDArray[np.float64]
# For every column with tails: which of its features the line goes through.
Tails: TypeAlias = dict[int, tuple[int, ...]]

# A longer range is taken if the explained sum of squares, in units of the noise, grows by this
# much.
_EVIDENCE = 0.5
_SWEEPS = 3


def straight_lines(basis: Basis, tails: Tails | None = None) -> Floats:
    """Return the directions of a linear model: lines, effects of levels, and the constant.

    Parameters
    ----------
    basis : Basis
        Features.
    tails : dict, optional
        For columns, the features that the line goes through; by default all.

    Returns
    -------
    array
        Orthonormal columns: lines in the order of `basis.lines`, then levels, then the constant.
    """
    lines = [
        basis.straight((tails or {}).get(line) or basis.of_column(line)) for line in basis.lines
    ]
    return _with_levels(basis, lines)


def all_curves(basis: Basis) -> Floats:
    """Return the directions of an additive model: ramps, effects of levels, and the constant."""
    each = np.eye(basis.features)
    lines = [each[i] for line in basis.lines for i in basis.of_column(line)]
    return _with_levels(basis, lines)


def _with_levels(basis: Basis, lines: list[Floats]) -> Floats:
    constant = np.zeros(basis.features)
    constant[-1] = 1.0
    return np.column_stack([*lines, *level_directions(basis), constant])


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
    options: dict[int, list[_Line]] = {}
    for column in basis.lines:
        features = basis.of_column(column)
        if len(features) == 1:
            continue
        (inner,) = (i for i in features if basis.ramps[i].tail == 0)
        options[column] = [
            _Line.of(basis, gram, range(first, last + 1))
            for last in range(inner, features[-1] + 1)
            for first in range(inner, features[0] - 1, -1)
        ]
    if not options:
        return {}
    found = []
    for place in (0, -1):
        start = {column: lines[place].features for column, lines in options.items()}
        found.append(_improve(basis, gram, moments, noise, ridge, options, start))
    return max(found, key=lambda tails: _explained(basis, gram, moments, ridge, tails)[1])


@dataclass(frozen=True)
class _Line:
    """A line through some features of a column, and X'X times it."""

    features: tuple[int, ...]
    places: npt.NDArray[np.intp]
    values: Floats
    image: Floats
    square: float

    @classmethod
    def of(cls, basis: Basis, gram: Floats, features: Iterable[int]) -> _Line:
        chosen = tuple(features)
        places = np.array(chosen)
        values = basis.straight(chosen)[places]
        image = gram[:, places] @ values
        return cls(chosen, places, values, image, max(float(values @ image[places]), 0.0))


def _improve(
    basis: Basis,
    gram: Floats,
    moments: Floats,
    noise: float,
    ridge: float,
    options: dict[int, list[_Line]],
    tails: Tails,
) -> Tails:
    """Change one column's line after the other while that explains more, the others given."""
    for _ in range(_SWEEPS):
        slopes, _ = _explained(basis, gram, moments, ridge, tails)
        left = moments - gram @ (straight_lines(basis, tails) @ slopes)
        for column, lines in options.items():
            place = basis.lines.index(column)
            (current,) = (line for line in lines if line.features == tails[column])
            left = left + slopes[place] * current.image
            best = -np.inf
            for line in lines:
                along = float(line.values @ left[line.places])
                explained = along**2 / (line.square + ridge) / noise**2
                if explained > best + _EVIDENCE:
                    best, current, slope = explained, line, along / (line.square + ridge)
            left = left - slope * current.image
            tails[column], slopes[place] = current.features, slope
    return tails


def _explained(
    basis: Basis, gram: Floats, moments: Floats, ridge: float, tails: Tails
) -> tuple[Floats, float]:
    """Return the slopes of all lines together, and the sum of squares that they explain."""
    lines = straight_lines(basis, tails)
    along = lines.T @ moments
    slopes: Floats = scipy.linalg.solve(
        lines.T @ gram @ lines + ridge * np.eye(lines.shape[1]), along
    )
    return slopes, float(along @ slopes)
