"""Which levels a model tells apart, and in which directions their effects may go."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg

from dpfit.basis import Basis

__all__ = ["level_directions", "seen_levels"]

Floats: TypeAlias = npt.NDArray[np.float64]

# A level has an effect if the sum of its rows in X'X is this many standard deviations of the noise.
# What is less has noise for an effect; with 2 or 4 instead of 1 the errors of tables grow.
_SEEN = 1.0
# Below this many, a level may have no rows at all. It then is none of those whose effects add up to
# zero: the noise in its effect would move all others.
_SURE = 4.0
# Rows without a listed level have one if their sum is: by chance in one column of 30,000.
_UNLISTED = 4.0


def seen_levels(basis: Basis, gram: Floats, sigma: float) -> Basis:
    """Return the basis that knows which levels X'X shows, and where it shows unlisted ones.

    Parameters
    ----------
    basis : Basis
        Features.
    gram : array
        Released X'X.
    sigma : float
        The standard deviation of its diagonal's noise.

    Privacy
    -------
    A function of released numbers.
    """
    unseen = {
        i
        for i, ramp in enumerate(basis.ramps)
        if ramp.level is not None and gram[i, i] < _SEEN * sigma
    }
    rare = {
        i
        for i, ramp in enumerate(basis.ramps)
        if ramp.level is not None and gram[i, i] < _SURE * sigma
    }
    free = set()
    for column in basis.level_columns:
        # The weight of a row if it has no level that is seen, zero if it has.
        others = np.zeros(basis.features)
        others[-1] = 1.0 / math.sqrt(basis.intercept)
        for i in basis.of_column(column):
            if i not in unseen:
                others[i] = -1.0 / (basis.gain * basis.ramps[i].height)
        if float(others @ gram @ others) > _UNLISTED * sigma * float(others @ others):
            free.add(column)
    return replace(
        basis, unseen=frozenset(unseen), rare=frozenset(rare - unseen), free=frozenset(free)
    )


def level_directions(basis: Basis) -> list[Floats]:
    """Return orthonormal directions of the effects of levels.

    If every row of a column has a level that is seen, the sum of their effects could not be told
    from the constant: those of levels that surely have rows add up to zero then, and any other
    level is an average one. Where other rows are seen, the effects are relative to those.
    """
    directions: list[Floats] = []
    for column in basis.level_columns:
        features = [i for i in basis.of_column(column) if i not in basis.unseen]
        sure = [i for i in features if i not in basis.rare]
        if column in basis.free or len(sure) < 2:
            sure = [] if column in basis.free or len(features) == 1 else features
        each = np.eye(basis.features)
        if sure:
            part = np.zeros((len(sure) - 1, basis.features))
            part[:, sure] = scipy.linalg.helmert(len(sure))
            directions += list(part)
        directions += [each[i] for i in features if i not in sure]
    return directions
