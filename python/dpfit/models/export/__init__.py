"""Exports of models that work without dpfit: scikit-learn pipelines and SQL queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpfit.exceptions import Code, ParameterError

if TYPE_CHECKING:
    from dpfit.models.effects import Effect
    from dpfit.models.model import Model
    from dpfit.schema import Kind

__all__ = ["NOT_PRIVATE", "check_kinds", "effects_of_listed"]

NOT_PRIVATE = "NOT PRIVATE: the noise of this model came from a fixed seed."


def check_kinds(model: Model) -> None:
    """Raise an error if an export does not know how the values of a column become numbers."""
    for name, kind in zip(model.column_names, model.kinds, strict=True):
        if kind.is_encoded and not (kind.listed or kind.is_date):
            problem = f"column {name!r} is {type(kind).__name__}, which cannot be exported"
            raise ParameterError(problem, code=Code.WRONG_TYPE, subject=name)


def effects_of_listed(kind: Kind, effect: Effect) -> tuple[list[float], float]:
    """Return the effect of each listed value of a column, and the effect of all other values."""
    others, *each = effect(np.arange(-1, len(kind.listed))).tolist()
    return each, others
