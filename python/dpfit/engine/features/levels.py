"""Which levels the released X'X shows, and which columns have rows without a listed level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.features.basis import Basis
from dpfit.engine.features.gram import ScaledGram

__all__ = ["SeenLevels", "empty_directions"]

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
        unsure = frozenset(
            (function.column, function.level)
            for place, function in enumerate(basis.functions[1:], start=1)
            if function.heights is None and gram.value[place, place] < _SURE * gram.sigma
        )
        unlisted = frozenset(
            column
            for column, others in _unlisted_rows(basis, gram).items()
            if not _is_empty(others, gram)
        )
        return cls(frozenset(_unseen(basis, gram)), unsure, unlisted)


def empty_directions(basis: Basis, gram: ScaledGram) -> Floats:
    """Return combinations of functions that are zero in all rows, as columns.

    One minus all levels of a column is zero if every row has a listed level. It is also taken to
    be zero if X'X shows no rows that have none, but not if the noise hides all levels.

    Privacy
    -------
    A function of released numbers.
    """
    found = [
        others
        for others in _unlisted_rows(basis, gram).values()
        if np.any(others[1:]) and _is_empty(others, gram)
    ]
    return np.array(found).reshape(-1, len(basis.functions)).T


def _unseen(basis: Basis, gram: ScaledGram) -> set[tuple[int, int]]:
    """Return the columns and their levels that the noise hides."""
    return {
        (function.column, function.level)
        for place, function in enumerate(basis.functions)
        if function.column >= 0
        and basis.columns[function.column].kind.levels
        and gram.value[place, place] < _SEEN * gram.sigma
    }


def _unlisted_rows(basis: Basis, gram: ScaledGram) -> dict[int, Floats]:
    """Return, for each column of levels, one minus all that are seen, in terms of functions."""
    found, unseen = {}, _unseen(basis, gram)
    for column, kind in enumerate(part.kind for part in basis.columns):
        if not kind.levels:
            continue
        others = np.zeros(len(basis.functions))
        others[0] = 1.0
        for place, function in enumerate(basis.functions):
            if function.column == column and (column, function.level) not in unseen:
                others[place] = -1.0
        found[column] = others
    return found


def _is_empty(others: Floats, gram: ScaledGram) -> bool:
    """Return whether X'X shows no rows in which a combination of functions is not zero."""
    scaled = others / gram.scales
    rows = float(scaled @ gram.value @ scaled)
    return rows <= _UNLISTED * gram.sigma * float(scaled @ scaled)
