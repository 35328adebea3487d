"""Coefficients of linear models: slopes, and effects of levels relative to a reference or mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse

from dpfit._parameters import one_of
from dpfit._typing import Floats
from dpfit.models.effects import Curve, Levels, Line, NoEffect
from dpfit.models.estimates import Estimates, Inference, Inferred

if TYPE_CHECKING:
    from dpfit.models.model import Model

__all__ = ["NOT_LISTED", "Coding", "Coefficients", "Term", "checked_coding", "terms_of"]

Coding: TypeAlias = Literal["treatment", "sum"]

# The name of the level that stands for all values that are not listed.
NOT_LISTED = "(not listed)"


def checked_coding(value: Any) -> Coding:
    """Return what effects of levels are relative to."""
    return cast(Coding, one_of("coding", value, get_args(Coding)))


@dataclass(frozen=True, eq=False)
class Term:
    """A coefficient as a linear function of the model's parameters.

    Parameters
    ----------
    name : str
        The column's name, or ``column=level``.
    column : int
        The position of the column.
    level : int or None
        The position of the level, -1 for values that are not listed; None for a column of numbers.
    is_reference : bool
        Whether it is the level that others are relative to: its coefficient is zero.
    value : float
        The coefficient as predictions use it: shrunk.
    range : tuple of two floats
        Where the line goes; infinite if the term is not in the model.
    weights : dict of int to float
        The function: weights of parameters.
    """

    name: str
    column: int
    level: int | None
    is_reference: bool
    value: float
    range: tuple[float, float]
    weights: dict[int, float]


def terms_of(
    model: Model, coding: Coding = "treatment"
) -> tuple[list[Term], float, dict[int, float]]:
    """Return all terms, then the intercept (at x = 0), as predictions use it and as a function.

    Rows whose level is not listed have a term if there are any. Curves that bend have none.
    """
    found: list[Term] = []
    starts = model.starts
    intercept, weights = model.intercept, {starts[-1]: 1.0}
    for column, (name, effect) in enumerate(zip(model.column_names, model.effects, strict=True)):
        start = starts[column]
        match effect:
            case NoEffect():
                found.append(Term(name, column, None, False, 0.0, effect.range, {}))
            case Line(slope=slope, centre=centre):
                found.append(Term(name, column, None, False, slope, effect.range, {start: 1.0}))
                weights[start] = -centre
            case Curve(points=(0.0, 1.0), heights=heights) if effect.size == 1:
                # A flag of an additive model.
                rise = heights[1] - heights[0]
                found.append(Term(name, column, None, False, rise, effect.range, {start: 1.0}))
            case Levels():
                own = model.estimates.known[start : start + effect.size]
                shift = _shift(model, column, effect, own, coding)
                others = {start + i: -weight for i, weight in enumerate(shift) if weight}
                value = float(shift @ np.array(effect.effects))
                intercept += value
                weights |= {place: -weight for place, weight in others.items()}
                found += _levels(model, column, start, others, value, coding)
    return found, intercept, weights


def _shift(
    model: Model, column: int, effect: Levels, known: npt.NDArray[np.bool_], coding: Coding
) -> Floats:
    """Return the weights of levels in what coefficients are relative to."""
    if not any(effect.seen):
        return np.zeros(effect.size)
    if coding == "treatment":
        weights = np.zeros(effect.size)
        weights[model.columns[column].reference_place] = 1.0
        return weights
    chosen = known if known.any() else np.array(effect.seen)
    average: Floats = chosen / chosen.sum()
    return average


def _levels(
    model: Model,
    column: int,
    start: int,
    others: dict[int, float],
    shift: float,
    coding: Coding,
) -> list[Term]:
    """Return the terms of a column of levels, whose parameters begin at `start`."""
    name, effect = model.column_names[column], model.effects[column]
    assert isinstance(effect, Levels)
    reference = model.columns[column].reference_place if coding == "treatment" else None
    found = []
    for level, (label, height, seen) in enumerate(
        zip(effect.levels, effect.effects, effect.seen, strict=True)
    ):
        is_reference = level == reference
        weights = dict(others)
        weights[start + level] = weights.get(start + level, 0.0) + 1.0
        # Without rows that are seen, the effect is zero: predictions are those of no level.
        found.append(
            Term(
                f"{name}={label}",
                column,
                level,
                is_reference,
                0.0 if is_reference else height - shift,
                (0.0, 1.0) if seen else NoEffect.range,
                {} if is_reference else weights,
            )
        )
    if effect.has_others and NOT_LISTED not in effect.levels:
        rest = Term(f"{name}={NOT_LISTED}", column, -1, False, -shift, (0.0, 1.0), dict(others))
        found.append(rest)
    return found


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of a linear model: one for each term, and the intercept last.

    Parameters
    ----------
    terms : list of Term
        Columns of numbers, and levels of categorical columns.
    intercept : float
        The constant term at x = 0, as predictions use it: shrunk.
    functions : scipy.sparse array of shape (n_terms + 1, n_parameters)
        Coefficients as linear functions of the model's parameters.
    estimates : Estimates
        The parameters and their errors.
    """

    terms: list[Term]
    intercept: float
    functions: Any
    estimates: Estimates

    @classmethod
    def of(
        cls, model: Model, coding: Coding = "treatment", *, others: bool = False
    ) -> Coefficients:
        """Return the coefficients; with `others` also those of rows whose level is not listed."""
        if any(isinstance(effect, Curve) for effect in model.effects):
            raise TypeError("only linear models have coefficients")
        terms, intercept, at_zero = terms_of(model, coding)
        terms = [term for term in terms if others or term.level != -1]
        rows = [*(term.weights for term in terms), at_zero]
        return cls(terms, intercept, matrix_of(rows, model.size), model.estimates)

    @property
    def names(self) -> list[str]:
        """The terms: a column's name, or ``column=level``."""
        return [term.name for term in self.terms]

    @property
    def values(self) -> Floats:
        """Coefficients and, last, the intercept, as predictions use them: shrunk."""
        return np.array([*(term.value for term in self.terms), self.intercept])

    @property
    def ranges(self) -> Floats:
        """The range of each line; infinite if the term is not in the model."""
        return np.array([term.range for term in self.terms]).reshape(-1, 2)

    @property
    def unshrunk(self) -> Floats:
        """Estimates before shrinkage."""
        result: Floats = self.functions @ self.estimates.values
        return result

    def inferred(self, inference: Inference = "population") -> Inferred:
        """Return estimates with their errors; unknown if a term is not in the model."""
        found = self.estimates.of(self.functions, inference)
        inside = np.isfinite(self.ranges).all(axis=1)
        found.known[:-1] &= inside
        return found

    def interval(self, level: float = 0.95, inference: Inference = "population") -> Floats:
        """Return lower and upper ends of confidence intervals; NaN where nothing is known."""
        return self.inferred(inference).interval(level)

    def covariance(self, part: Literal["noise", "sampling"]) -> Floats:
        """Return a part of the covariance; the noise is infinite where nothing is known."""
        found = self.estimates.covariance(self.functions, part)
        if part == "noise":
            hidden = np.flatnonzero(~self.inferred().known & (np.diag(found) > 0.0))
            found[hidden, hidden] = np.inf
        found.setflags(write=False)
        return found


def matrix_of(rows: Sequence[dict[int, float]], size: int) -> Any:
    """Return a sparse matrix with these rows."""
    heads = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    places = np.array([place for row in rows for place in row], dtype=np.intp)
    values = np.array([value for row in rows for value in row.values()], dtype=np.float64)
    return scipy.sparse.csr_array((values, places, heads), shape=(len(rows), size))
