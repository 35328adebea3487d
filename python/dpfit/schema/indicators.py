"""Columns that indicate missing values: a flag for each column of numbers, a level for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfit._typing import Array
from dpfit.exceptions import Code, ParameterError
from dpfit.schema.kinds import Binary, Kind, Level

__all__ = ["MISSING_LEVEL", "Indicators"]

# The level of missing values in a categorical column.
MISSING_LEVEL = "(missing)"


@dataclass(frozen=True)
class LevelsAndMissing(Kind):
    """A categorical column in which missing values are one more level, the last one.

    It is made for models and never written to a file.
    """

    values: tuple[Level, ...]
    reference: int
    levels: tuple[Level, ...]

    @property
    def listed(self) -> tuple[Level, ...]:
        """The values that are encoded as their positions: all levels but the last."""
        return self.values

    @property
    def reference_place(self) -> int:
        """The position of the level that coefficients of other levels are relative to."""
        return self.reference


@dataclass(frozen=True)
class Indicators:
    """The columns of a model with ``missing="indicator"``.

    These are the columns of the table and then a flag, one or zero, for each column of numbers that
    may have missing values. In a categorical column, missing values are a level. Columns may have
    missing values unless their kind has ``missing=False``; if some kinds have ``missing=True``,
    only those may.

    Parameters
    ----------
    kinds : tuple of Kind
        Kinds of the columns of the table.

    Privacy
    -------
    Which columns and levels there are follows from the kinds, and never from whether a value is
    missing. Columns are changed value by value.
    """

    kinds: tuple[Kind, ...]

    @property
    def flagged(self) -> tuple[int, ...]:
        """The columns that have a flag, in the order of flags."""
        return tuple(
            place
            for place, kind in enumerate(self.kinds)
            if self._is_indicated(kind) and not kind.levels
        )

    @property
    def columns(self) -> tuple[Kind, ...]:
        """The kinds of the columns of the model."""
        own = (_with_level(kind) if self._has_level(kind) else kind for kind in self.kinds)
        return (*own, *(Binary() for _ in self.flagged))

    def _is_indicated(self, kind: Kind) -> bool:
        """Return whether missing values of a column are indicated."""
        if kind.missing is None:
            # Whoever lists columns with missing values lists them all.
            return not any(other.missing for other in self.kinds)
        return kind.missing

    def _has_level(self, kind: Kind) -> bool:
        return self._is_indicated(kind) and bool(kind.levels)

    def names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the columns of the model, given those of the table."""
        return [*names, *(f"{names[place]} (missing)" for place in self.flagged)]

    def check(self, names: Sequence[str]) -> None:
        """Raise an error if the table has a column, or a level, with the name of an indicator."""
        for name, kind in zip(names, self.kinds, strict=True):
            if self._has_level(kind) and MISSING_LEVEL in kind.levels:
                raise ParameterError(
                    f"column {name!r} lists the level {MISSING_LEVEL!r}, which is the name of the "
                    'level that missing="indicator" adds',
                    subject=name,
                    hint="Categorical(levels, missing=False) adds no level",
                )
        for name in self.names(names)[len(names) :]:
            if name in names:
                raise ParameterError(
                    f"X has a column {name!r}, which is the name of the flag that "
                    'missing="indicator" adds',
                    code=Code.DUPLICATE_COLUMN,
                    subject=name,
                    hint="rename the column, or list it in the schema with missing=False",
                )

    def added_to(self, columns: Sequence[Array]) -> list[Array]:
        """Return the columns of the model, in which missing numbers are still NaN or infinite.

        Levels are given by their positions.
        """
        found = [
            _with_code(column, len(kind.levels)) if self._has_level(kind) else column
            for column, kind in zip(columns, self.kinds, strict=True)
        ]
        return [*found, *(~np.isfinite(columns[place]) for place in self.flagged)]

    def unexpected(self, columns: Sequence[Array]) -> Array:
        """Return whether rows have a missing value in a column without an indicator."""
        found = np.zeros(len(columns[0]) if columns else 0, dtype=bool)
        for column, kind in zip(columns, self.kinds, strict=True):
            if not self._is_indicated(kind):
                found |= ~np.isfinite(column)
        return found


def _with_level(kind: Kind) -> Kind:
    return LevelsAndMissing(kind.listed, kind.reference_place, (*kind.levels, MISSING_LEVEL))


def _with_code(codes: Array, missing: int) -> Array:
    """Return positions of levels, with another position for missing values."""
    there = np.isfinite(codes)
    return codes if there.all() else np.where(there, codes, missing)
