"""Which levels the released X'X shows, and which columns have rows without a listed level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfit.engine.features.basis import Basis
from dpfit.engine.features.gram import ScaledGram

__all__ = ["SeenLevels"]

# A level has an effect if its rows are this many standard deviations of the noise in their number:
# less, and the effect would be noise.
_SEEN = 1.0
# Below this many, it may have no rows at all.
_SURE = 4.0
# A column has rows without a listed level from here on: by chance in one column of 30,000.
_UNLISTED = 4.0


@dataclass(frozen=True)
class SeenLevels:
    """What X'X shows of levels.

    Parameters
    ----------
    unseen : frozenset of (int, int)
        Columns and their levels that the noise hides.
    unsure : frozenset of (int, int)
        Columns and levels, or flags, that may have no rows: nothing is known of their effects.
    unlisted : frozenset of int
        Columns that have rows without a listed level.
    """

    unseen: frozenset[tuple[int, int]] = frozenset()
    unsure: frozenset[tuple[int, int]] = frozenset()
    unlisted: frozenset[int] = frozenset()

    @classmethod
    def of(cls, basis: Basis, gram: ScaledGram) -> SeenLevels:
        """Return what X'X of the functions shows.

        Privacy
        -------
        A function of released numbers.
        """
        unseen, unlisted = set(), set()
        unsure = {
            (function.column, function.level)
            for place, function in enumerate(basis.functions[1:], start=1)
            if function.heights is None and gram.value[place, place] < _SURE * gram.sigma
        }
        for column, kind in enumerate(part.kind for part in basis.columns):
            if not kind.levels:
                continue
            # One minus all levels: one for rows without a listed level, zero for others.
            others = np.zeros(len(basis.functions))
            others[0] = 1.0
            for place, function in enumerate(basis.functions):
                if function.column == column:
                    others[place] = -1.0
                    count = gram.value[place, place]
                    if count < _SEEN * gram.sigma:
                        unseen.add((column, function.level))
                        others[place] = 0.0
            others /= gram.scales
            if float(others @ gram.value @ others) > _UNLISTED * gram.sigma * float(
                others @ others
            ):
                unlisted.add(column)
        return cls(frozenset(unseen), frozenset(unsure), frozenset(unlisted))
