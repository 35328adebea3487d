"""Estimates before shrinkage, with their errors by cause, and inference from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
import scipy.linalg
from numpy.polynomial.chebyshev import chebinterpolate, chebval
from scipy.special import fdtrc, ndtri, stdtr, stdtrit

from dpfit._parameters import one_of, real
from dpfit._typing import Floats
from dpfit.models.json_numbers import decode, encode

__all__ = ["Estimates", "Inference", "Inferred", "checked_inference", "checked_level"]

Inference: TypeAlias = Literal["population", "sample"]
Flags: TypeAlias = npt.NDArray[np.bool_]

_PARTS = ("noise", "sampling", "spread")
# Directions whose variance is a smaller share of the largest one are rounding errors.
_RANK = 1e-10
# From so many on, quantiles are interpolated.
_MANY = 1000


def checked_inference(value: Any) -> Inference:
    """Return what intervals are about: the population, or the least squares of these rows."""
    return cast(Inference, one_of("inference", value, get_args(Inference)))


def checked_level(value: Any, name: str = "level") -> float:
    """Return a confidence level between zero and one."""
    return real(name, value, 0.0, 1.0 - 1e-12)


@dataclass(frozen=True, eq=False)
class Inferred:
    """What is inferred about some linear functions of the parameters.

    Parameters
    ----------
    estimate : array of shape (m,)
        Their estimates.
    noise, sampling : arrays of shape (m,)
        Variances from privacy noise, and from the rows being a sample; the latter is zero if the
        inference is about the sample.
    freedom : array of shape (m,)
        Degrees of freedom of the variances; infinite if they are known.
    known : array of bool of shape (m,)
        Whether the errors are known. Otherwise there is no interval.
    """

    estimate: Floats
    noise: Floats
    sampling: Floats
    freedom: Floats
    known: Flags

    @classmethod
    def of(
        cls,
        estimate: Floats,
        noise: Floats,
        sampling: Floats,
        spread: Floats,
        known: Flags,
        inference: Inference,
    ) -> Self:
        """Return what is inferred from variances, and the standard error of one of them."""
        if inference == "sample":
            return cls(estimate, noise, np.zeros_like(noise), np.full(len(noise), np.inf), known)
        return cls(estimate, noise, sampling, _freedom(noise + sampling, spread), known)

    @property
    def std_error(self) -> Floats:
        """The root of all variances; NaN where nothing is known."""
        result: Floats = np.where(self.known, np.sqrt(self.noise + self.sampling), np.nan)
        return result

    @property
    def z(self) -> Floats:
        """Estimates in units of their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            result: Floats = self.estimate / self.std_error
        return result

    @property
    def p(self) -> Floats:
        """P-values of the hypotheses that the functions are zero (two-sided)."""
        # A billion degrees of freedom are a normal distribution.
        result: Floats = 2.0 * stdtr(np.minimum(self.freedom, 1e9), -np.abs(self.z))
        return result

    @property
    def privacy_share(self) -> Floats:
        """The share of the variance that is due to privacy noise."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share: Floats = self.noise / (self.noise + self.sampling)
        share[~self.known] = np.nan
        return share

    def interval(self, level: float) -> Floats:
        """Return lower and upper ends of confidence intervals; NaN where nothing is known.

        The sampling part of a variance is an estimate. As usual, the quantile is that of Student's
        t distribution, with the degrees of freedom of a variance that is as uncertain
        (Satterthwaite 1946).
        """
        level = checked_level(level)
        wide = np.full(len(self.estimate), float(ndtri(0.5 + level / 2)))
        finite = np.isfinite(self.freedom)
        wide[finite] = _t_quantiles(self.freedom[finite], 0.5 + level / 2)
        wide *= self.std_error
        return np.column_stack([self.estimate - wide, self.estimate + wide])

    def plus(self, variance: float) -> Inferred:
        """Return the same with an independent error of this variance, as of a new observation."""
        before = self.noise + self.sampling
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = np.square((before + variance) / before)
        # The added part is taken as known, so that the relative error of the sum is smaller.
        freedom = np.where(np.isfinite(self.freedom), self.freedom * grown, np.inf)
        freedom[~np.isfinite(freedom)] = np.inf
        return Inferred(self.estimate, self.noise, self.sampling + variance, freedom, self.known)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of all parameters of a model before shrinkage, and their errors by cause.

    The parameters are those of each column's effect, in the order of the columns, and last the
    prediction where all effects are zero. Errors of a column of levels are those of each level,
    whatever they are relative to, so that any coding follows from them.

    Parameters
    ----------
    values : array of shape (n,)
        Estimates without shrinkage, at which intervals are centred.
    noise : array of shape (n, n)
        Covariance from privacy noise.
    sampling : array of shape (n, n)
        Estimated covariance from the rows being a sample.
    spread : array of shape (n, n)
        The standard error of that estimate: a'Sa for the variance of a linear function a.
    known : array of bool of shape (n,)
        Whether the covariances hold. If not, nothing is known about functions of a parameter.
    """

    values: Floats
    noise: Floats
    sampling: Floats
    spread: Floats
    known: Flags

    def __post_init__(self) -> None:
        """Copy the arrays, make the copies read-only, and check their shapes."""
        for name in ("values", *_PARTS, "known"):
            kind = np.bool_ if name == "known" else np.float64
            array: Any = np.array(getattr(self, name), dtype=kind)
            if name in _PARTS and array.ndim == 2 and array.shape[0] == array.shape[1]:
                # They are symmetric up to rounding errors, and files contain one half.
                array = (array + array.T) / 2
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        square = self.values.shape * 2
        if (
            self.values.ndim != 1
            or self.known.shape != self.values.shape
            or any(part.shape != square for part in (self.noise, self.sampling, self.spread))
        ):
            raise ValueError("estimates and covariances must have the same parameters")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimates):
            return NotImplemented
        pairs = zip(self._arrays, other._arrays, strict=True)
        return all(np.array_equal(mine, others) for mine, others in pairs)

    def __reduce__(self) -> Any:
        return Estimates, self._arrays

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.values, self.noise, self.sampling, self.spread, self.known

    def of(self, functions: Any, inference: Inference = "population") -> Inferred:
        """Return what is inferred about linear functions, the rows of a matrix.

        The matrix may be a sparse one of SciPy.
        """
        noise = sampling = spread = _variances(functions, self.noise)
        if inference == "population":
            sampling = _variances(functions, self.sampling)
            spread = _variances(functions, self.spread)
        known = np.asarray(abs(functions) @ (~self.known).astype(np.float64)).ravel() == 0.0
        values = np.asarray(functions @ self.values).ravel()
        return Inferred.of(values, noise, sampling, spread, known, inference)

    def covariance(self, functions: Any, part: Literal["noise", "sampling", "spread"]) -> Floats:
        """Return a part of the covariance of linear functions, the rows of a matrix."""
        result: Floats = functions @ (functions @ getattr(self, part)).T
        return result

    def test(self, functions: Floats, inference: Inference = "population") -> float:
        """Return the p-value of the hypothesis that all these functions are zero (Wald test).

        NaN if there are none or nothing is known about one of them. As in :meth:`Inferred.interval`
        the covariance is an estimate, so the quantile is that of an F distribution.
        """
        found = self.of(functions, inference)
        if not (len(functions) and found.known.all()):
            return float("nan")
        total = self.covariance(functions, "noise")
        if inference == "population":
            total = total + self.covariance(functions, "sampling")
        values, vectors = scipy.linalg.eigh(total)
        kept = values > _RANK * max(values[-1], 0.0)
        count = int(kept.sum())
        if not count:
            return float("nan")
        axes = vectors[:, kept] / np.sqrt(values[kept])
        statistic = float(np.sum(np.square(axes.T @ found.estimate)))
        freedom = np.array([np.inf])
        if inference == "population":
            spread = float(np.trace(axes.T @ self.covariance(functions, "spread") @ axes))
            freedom = _freedom(np.array([float(count)]), np.array([spread]))
        return float(fdtrc(count, min(float(freedom[0]), 1e9), statistic / count))

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as a dictionary for JSON, with halves of symmetric matrices."""
        halves = {
            name: [encode(row[: place + 1]) for place, row in enumerate(getattr(self, name))]
            for name in _PARTS
        }
        return {"values": encode(self.values), **halves, "known": self.known.tolist()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the estimates that :meth:`to_dict` wrote."""
        values = [decode(value) for value in fields["values"]]
        parts = []
        for name in _PARTS:
            whole = np.zeros((len(values), len(values)))
            for place, row in enumerate(fields[name]):
                if len(row) != place + 1:
                    raise ValueError("expected the lower half of a matrix")
                whole[place, : place + 1] = whole[: place + 1, place] = [decode(x) for x in row]
            parts.append(whole)
        noise, sampling, spread = parts
        known = np.array(fields["known"], dtype=bool)
        return cls(np.array(values), noise, sampling, spread, known)


def _variances(functions: Any, part: Floats) -> Floats:
    """Return a'Pa for each row a of a matrix."""
    products = functions @ part
    if isinstance(functions, np.ndarray):
        found = np.einsum("ij,ij->i", functions, products)
    else:
        found = np.asarray(functions.multiply(products).sum(axis=1)).ravel()
    result: Floats = np.maximum(found, 0.0)
    return result


def _freedom(variance: Floats, spread: Floats) -> Floats:
    """Return the degrees of freedom of variances with these standard errors."""
    freedom = np.full(len(variance), np.inf)
    known = (spread > 0.0) & (variance > 0.0)
    # Two or more: with fewer, the mean of a squared t variable, and so a width, does not exist.
    freedom[known] = np.clip(2.0 * np.square(variance[known] / spread[known]), 2.0, 1e9)
    return freedom


def _t_quantiles(freedom: Floats, probability: float) -> Floats:
    """Return quantiles of Student's t distribution with two or more degrees of freedom.

    Those of many are interpolated: the logarithm of a quantile is a smooth function of the inverse
    of the degrees of freedom, and a polynomial of degree 32 has an error below 1e-9.
    """
    if len(freedom) < _MANY or probability < 0.75:
        few: Floats = stdtrit(freedom, probability)
        return few

    def logarithm(place: Floats) -> Floats:
        # From -1 for infinitely many degrees of freedom to 1 for two.
        found: Floats = np.log(stdtrit(4.0 / np.maximum(place + 1.0, 4e-9), probability))
        return found

    series: Any = chebinterpolate(cast(Any, logarithm), 32)
    result: Floats = np.exp(chebval(4.0 / freedom - 1.0, series))
    return result
