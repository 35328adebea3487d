"""Coefficients of linear models, their standard errors and their confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from dpfit._parameters import real
from dpfit._typing import Floats
from dpfit.models.json_numbers import decode_array, encode

__all__ = ["CoefficientErrors", "Coefficients"]

_PARTS = ("estimates", "noise", "sampling", "spread")


@dataclass(frozen=True, eq=False)
class CoefficientErrors:
    """Estimates that are not shrunk, and their errors by cause. The intercept is last.

    Parameters
    ----------
    estimates : array of shape (n_terms + 1,)
        Estimates without shrinkage, at which intervals are centred.
    noise : array of shape (n_terms + 1, n_terms + 1)
        Covariance from privacy noise; infinite where nothing is known.
    sampling : array of shape (n_terms + 1, n_terms + 1)
        Estimated covariance from the rows being a sample.
    spread : array of shape (n_terms + 1, n_terms + 1)
        The standard error of that estimate: a'Sa for the variance of a linear function a.
    """

    estimates: Floats
    noise: Floats
    sampling: Floats
    spread: Floats

    def __post_init__(self) -> None:
        """Copy the arrays, make the copies read-only, and check their shapes."""
        for name in _PARTS:
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        square = self.estimates.shape * 2
        if self.estimates.ndim != 1 or any(part.shape != square for part in self._arrays[1:]):
            raise ValueError("estimates and covariances must have the same coefficients")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CoefficientErrors):
            return NotImplemented
        pairs = zip(self._arrays, other._arrays, strict=True)
        return all(np.array_equal(mine, others) for mine, others in pairs)

    def __reduce__(self) -> Any:
        return CoefficientErrors, self._arrays

    @property
    def _arrays(self) -> tuple[Floats, ...]:
        return self.estimates, self.noise, self.sampling, self.spread

    def standard_errors(self, *, sampling: bool = True) -> Floats:
        """Return standard errors, with or without sampling error."""
        variance = np.diag(self.noise)
        if sampling:
            variance = variance + np.diag(self.sampling)
        return _root(variance)

    def quantiles(self, level: float, *, sampling: bool = True) -> Floats:
        """Return how many standard errors the two sides of intervals are.

        The sampling part of a variance is an estimate. As usual, the quantile is that of Student's
        t distribution, with the degrees of freedom of a variance that is as uncertain
        (Satterthwaite 1946).
        """
        normal = np.full(len(self.estimates), float(ndtri(0.5 + level / 2)))
        if not sampling:
            return normal
        variance = np.diag(self.noise) + np.diag(self.sampling)
        spread = np.diag(self.spread)
        known = np.isfinite(variance) & (spread > 0.0) & (variance > 0.0)
        freedom = 2.0 * np.square(variance[known] / spread[known])
        normal[known] = stdtrit(np.clip(freedom, 2.0, 1e9), 0.5 + level / 2)
        return normal

    def by_cause(self) -> dict[str, Floats]:
        """Return standard errors and their parts: noise and sampling."""
        return {
            "std_error": self.standard_errors(),
            "noise": _root(np.diag(self.noise)),
            "sampling": _root(np.diag(self.sampling)),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the errors as a dictionary that can be written as JSON."""
        return {name: encode(array) for name, array in zip(_PARTS, self._arrays, strict=True)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the errors that :meth:`to_dict` wrote."""
        return cls(*(decode_array(fields[name]) for name in _PARTS))


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of a linear model: one for each term, and the intercept last.

    A term is a column of numbers, or a level of a categorical column.

    Parameters
    ----------
    names : list of str
        The terms: a column's name, or ``column=level``.
    is_level : array of bool
        Whether a term is a level.
    estimates : array of shape (n_terms + 1,)
        Slopes and effects of levels, then the intercept, as predictions use them: shrunk.
    ranges : array of shape (n_terms, 2)
        The range of each line; infinite if nothing is known about the term.
    errors : CoefficientErrors
        Errors of the estimates.
    """

    names: list[str]
    is_level: npt.NDArray[np.bool_]
    estimates: Floats
    ranges: Floats
    errors: CoefficientErrors

    @property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """Whether anything is known about a term."""
        return np.isfinite(self.ranges[:, 0]) & np.isfinite(self.ranges[:, 1])

    def interval(self, level: float = 0.95, *, sampling: bool = True) -> Floats:
        """Return lower and upper ends of confidence intervals; NaN where nothing is known."""
        level = real("level", level, 0.0, 1.0 - 1e-12)
        wide = self.errors.quantiles(level, sampling=sampling)
        wide *= self.errors.standard_errors(sampling=sampling)
        wide[np.flatnonzero(~self.is_known)] = np.nan
        centre = self.errors.estimates
        return np.column_stack([centre - wide, centre + wide])


def _root(variance: Floats) -> Floats:
    result: Floats = np.sqrt(np.maximum(variance, 0.0))
    return result
