"""Coefficients of linear models, their standard errors and their confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dpfit._parameters import real
from dpfit._typing import Floats
from dpfit.models.json_numbers import decode_array, encode

__all__ = ["CoefficientErrors", "Coefficients"]


@dataclass(frozen=True, eq=False)
class CoefficientErrors:
    """Errors of coefficients by cause. The intercept is last.

    Parameters
    ----------
    noise : array of shape (n_terms + 1, n_terms + 1)
        Covariance from privacy noise; infinite where nothing is known.
    sampling : array of shape (n_terms + 1, n_terms + 1)
        Covariance from the rows being a sample.
    bias : array of shape (n_terms + 1,)
        Estimated bias; infinite if the noise in X'X hides too much of a coefficient.
    """

    noise: Floats
    sampling: Floats
    bias: Floats

    def __post_init__(self) -> None:
        """Copy the arrays, make the copies read-only, and check their shapes."""
        for name in ("noise", "sampling", "bias"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if (
            self.bias.ndim != 1
            or not self.noise.shape == self.sampling.shape == self.bias.shape * 2
        ):
            raise ValueError("covariances and biases must have the same coefficients")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CoefficientErrors):
            return NotImplemented
        pairs = zip(self._arrays, other._arrays, strict=True)
        return all(np.array_equal(mine, others) for mine, others in pairs)

    def __reduce__(self) -> Any:
        return CoefficientErrors, self._arrays

    @property
    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.noise, self.sampling, self.bias

    def standard_errors(self, *, sampling: bool = True) -> Floats:
        """Return standard errors, with or without sampling error."""
        variance = np.diag(self.noise)
        if sampling:
            variance = variance + np.diag(self.sampling)
        return _root(variance + np.square(self.bias))

    def by_cause(self) -> dict[str, Floats]:
        """Return standard errors and their parts: noise, sampling and bias."""
        return {
            "std_error": self.standard_errors(),
            "noise": _root(np.diag(self.noise)),
            "sampling": _root(np.diag(self.sampling)),
            "bias": self.bias,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the errors as a dictionary that can be written as JSON."""
        names = ("noise", "sampling", "bias")
        return {name: encode(array) for name, array in zip(names, self._arrays, strict=True)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the errors that :meth:`to_dict` wrote."""
        return cls(*(decode_array(fields[name]) for name in ("noise", "sampling", "bias")))


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
        Slopes and effects of levels, then the intercept.
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

    @property
    def is_hidden(self) -> npt.NDArray[np.bool_]:
        """Whether the noise in X'X hides too much of a coefficient for an interval."""
        return np.isinf(self.errors.bias[:-1])

    def interval(self, level: float = 0.95, *, sampling: bool = True) -> Floats:
        """Return lower and upper ends of confidence intervals; NaN where nothing is known."""
        level = real("level", level, 0.0, 1.0 - 1e-12)
        wide = float(ndtri(0.5 + level / 2)) * self.errors.standard_errors(sampling=sampling)
        wide[np.flatnonzero(~self.is_known | self.is_hidden)] = np.nan
        return np.column_stack([self.estimates - wide, self.estimates + wide])


def _root(variance: Floats) -> Floats:
    result: Floats = np.sqrt(np.maximum(variance, 0.0))
    return result
