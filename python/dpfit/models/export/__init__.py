"""Exports of models that work without dpfit: scikit-learn pipelines and SQL queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpfit.exceptions import Code, ParameterError

if TYPE_CHECKING:
    from dpfit.models.effects import Effect
    from dpfit.models.model import Model
    from dpfit.schema import Kind

__all__ = ["NOT_PRIVATE", "MissingEffects", "check_kinds", "effects_of_listed"]

NOT_PRIVATE = "NOT PRIVATE: the noise of this model came from a fixed seed."


def check_kinds(model: Model) -> None:
    """Raise an error if an export does not know how the values of a column become numbers."""
    for name, kind in zip(model.column_names, model.columns, strict=True):
        if kind.is_encoded and not (kind.listed or kind.is_date):
            problem = f"column {name!r} is {type(kind).__name__}, which cannot be exported"
            raise ParameterError(problem, code=Code.WRONG_TYPE, subject=name)


@dataclass(frozen=True)
class MissingEffects:
    """What missing values of columns add to predictions, in a model that has indicators.

    Parameters
    ----------
    constant : float
        What flags add if nothing is missing.
    flags : dict of int to float
        For columns of numbers with a flag: what it adds if the value is missing, beyond that.
    levels : dict of int to float
        For categorical columns: the effect of missing values.
    """

    constant: float
    flags: dict[int, float]
    levels: dict[int, float]

    @classmethod
    def of(cls, model: Model) -> MissingEffects:
        """Return the effects of missing values; empty if the model has no indicators."""
        constant, flags, levels = 0.0, {}, {}
        if model.indicators is not None:
            for flag, place in enumerate(model.indicators.flagged, len(model.kinds)):
                zero, one = model.effects[flag](np.arange(2)).tolist()
                constant, flags[place] = constant + zero, one - zero
            for place, (kind, own) in enumerate(zip(model.kinds, model.columns, strict=False)):
                if len(own.levels) > len(kind.levels):
                    (levels[place],) = model.effects[place](np.array([len(kind.levels)])).tolist()
        return cls(constant, flags, levels)

    def value(self, model: Model, place: int) -> float | None:
        """Return what a missing value of a column adds; None if there is no prediction then."""
        if place in self.flags:
            (middle,) = model.effects[place](np.array([model.middle(place)])).tolist()
            return float(middle) + self.flags[place]
        return self.levels.get(place)


def effects_of_listed(kind: Kind, effect: Effect) -> tuple[list[float], float]:
    """Return the effect of each listed value of a column, and the effect of all other values."""
    others, *each = effect(np.arange(-1, len(kind.listed))).tolist()
    return each, others
