"""Which levels of categorical columns have effects, and what their effects add up to."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.linalg

from dpfit._typing import Floats
from dpfit.engine.constants import LevelConstants
from dpfit.engine.features.basis import Basis
from dpfit.release import Released

__all__ = ["level_directions", "seen_levels"]


def seen_levels(basis: Basis, gram: Released[Floats], constants: LevelConstants) -> Basis:
    """Return the basis with the levels marked that X'X shows, and columns with unlisted levels.

    Parameters
    ----------
    basis : Basis
        Features.
    gram : Released
        X'X.
    constants : LevelConstants
        When a level counts as seen.

    Privacy
    -------
    A function of released numbers.
    """
    unseen = {
        i
        for i, ramp in enumerate(basis.ramps)
        if ramp.level is not None and gram.value[i, i] < constants.seen * gram.sigma
    }
    rare = {
        i
        for i, ramp in enumerate(basis.ramps)
        if ramp.level is not None and gram.value[i, i] < constants.sure * gram.sigma
    }
    free = set()
    for column in basis.level_columns:
        # The weight of a row without a level that is seen, zero for all other rows.
        others = np.zeros(basis.features)
        others[-1] = 1.0 / math.sqrt(basis.constant_share)
        for i in basis.of_column(column):
            if i not in unseen:
                others[i] = -1.0 / (basis.gain * basis.ramps[i].height)
        least = constants.unlisted * gram.sigma * float(others @ others)
        if float(others @ gram.value @ others) > least:
            free.add(column)
    return replace(
        basis, unseen=frozenset(unseen), rare=frozenset(rare - unseen), free=frozenset(free)
    )


def level_directions(basis: Basis) -> list[Floats]:
    """Return orthonormal directions of the effects of levels.

    If every row of a column has a level that is seen, the sum of their effects and the constant
    could not be separated. Then the effects of levels that surely have rows add up to zero, and any
    other level counts as an average one. If rows with other levels are seen, the effects are
    relative to those rows.
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
