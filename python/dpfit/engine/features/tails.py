"""How far a line goes: whether the tails of a column belong to its range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg

from dpfit._typing import Floats
from dpfit.engine.features.basis import Basis
from dpfit.engine.features.levels import level_directions
from dpfit.release import Released

__all__ = ["Evidence", "TailConstants", "Tails", "all_curves", "choose_tails", "straight_lines"]

# For every column with tails: the features that its line goes through.
Tails: TypeAlias = dict[int, tuple[int, ...]]


@dataclass(frozen=True)
class TailConstants:
    """Constants of the decision whether a line continues in a tail."""

    # A longer line is chosen if it raises the explained sum of squares by this much, relative to
    # the variance of the noise.
    evidence: float = 0.5
    # Passes over all columns.
    sweeps: int = 3
    # Added to squared norms, relative to the spectral norm of the noise in X'X, because noise can
    # make a norm look small.
    ridge: float = 0.5


@dataclass(frozen=True)
class Evidence:
    """Released results of the first rounds.

    Parameters
    ----------
    gram : array
        Released X'X.
    moments : Released
        X'y.
    norm : float
        The spectral norm of the noise in X'X.
    """

    gram: Floats
    moments: Released[Floats]
    norm: float


def straight_lines(basis: Basis, tails: Tails | None = None) -> Floats:
    """Return the directions of a linear model: lines, effects of levels, and the constant.

    Parameters
    ----------
    basis : Basis
        Features.
    tails : dict, optional
        The features that the line of a column goes through; all by default.

    Returns
    -------
    array
        Orthonormal columns: lines in the order of `basis.lines`, levels, the constant.
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


def choose_tails(basis: Basis, evidence: Evidence, constants: TailConstants) -> Tails:
    """Choose the line of each column that explains most.

    Parameters
    ----------
    basis : Basis
        Features.
    evidence : Evidence
        Released results of the first rounds.
    constants : TailConstants
        Constants of the decision.

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
            _Line.of(basis, evidence.gram, range(first, last + 1))
            for last in range(inner, features[-1] + 1)
            for first in range(inner, features[0] - 1, -1)
        ]
    if not options:
        return {}
    search = _Search(basis, evidence, constants, options)
    found = [
        search.improved({column: lines[place].features for column, lines in options.items()})
        for place in (0, -1)
    ]
    return max(found, key=lambda tails: search.explained(tails)[1])


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


@dataclass(frozen=True)
class _Search:
    """A search for the lines that explain most, among the options for columns with tails."""

    basis: Basis
    evidence: Evidence
    constants: TailConstants
    options: dict[int, list[_Line]]

    @property
    def ridge(self) -> float:
        return self.constants.ridge * self.evidence.norm

    def improved(self, tails: Tails) -> Tails:
        """Return better lines: one column after the other is changed, given all others."""
        basis, gram = self.basis, self.evidence.gram
        for _ in range(self.constants.sweeps):
            slopes, _ = self.explained(tails)
            left = self.evidence.moments.value - gram @ (straight_lines(basis, tails) @ slopes)
            for column, lines in self.options.items():
                place = basis.lines.index(column)
                (current,) = (line for line in lines if line.features == tails[column])
                left = left + slopes[place] * current.image
                best = -np.inf
                for line in lines:
                    along = float(line.values @ left[line.places])
                    explained = (
                        along**2 / (line.square + self.ridge) / self.evidence.moments.sigma**2
                    )
                    if explained > best + self.constants.evidence:
                        best, current, slope = explained, line, along / (line.square + self.ridge)
                left = left - slope * current.image
                tails[column], slopes[place] = current.features, slope
        return tails

    def explained(self, tails: Tails) -> tuple[Floats, float]:
        """Return the slopes of all lines, and the sum of squares that they explain together."""
        lines = straight_lines(self.basis, tails)
        along = lines.T @ self.evidence.moments.value
        slopes: Floats = scipy.linalg.solve(
            lines.T @ self.evidence.gram @ lines + self.ridge * np.eye(lines.shape[1]), along
        )
        return slopes, float(along @ slopes)
