"""Contrasts: sums of coefficients with weights, and what is inferred about them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit._parameters import real
from dpfit.exceptions import Code, ParameterError
from dpfit.models.coefficients import matrix_of, terms_of
from dpfit.models.effects import NoEffect
from dpfit.models.estimates import checked_inference, checked_level
from dpfit.models.names import shortened
from dpfit.models.numbers import number_text, p_text

if TYPE_CHECKING:
    from dpfit.models.model import Model

__all__ = ["Contrast", "contrast"]

_MOST_NAMES = 5
_LARGEST = 1e100


@dataclass(frozen=True, repr=False)
class Contrast:
    """A weighted sum of coefficients.

    Parameters
    ----------
    estimate : float
        The estimate, before shrinkage.
    std_error : float
        Its standard error; NaN if nothing is known about a coefficient, as all that follows.
    noise, sampling : float
        The parts of the standard error: from privacy noise, and from the rows being a sample.
    interval : tuple of two floats
        The confidence interval.
    z, p : float
        The estimate in standard errors, and the p-value of the hypothesis that the sum is zero.
    level : float
        The confidence level of the interval.
    """

    estimate: float
    std_error: float
    noise: float
    sampling: float
    interval: tuple[float, float]
    z: float
    p: float
    level: float

    def __str__(self) -> str:
        """Return the numbers as text."""
        if math.isnan(self.std_error):
            return "not known: the noise hides a coefficient"
        low, high = map(number_text, self.interval)
        ends = " to ".join((low, high))
        return (
            f"{number_text(self.estimate)}, std err {number_text(self.std_error)} "
            f"(noise {number_text(self.noise)}, sampling {number_text(self.sampling)}), "
            f"{100 * self.level:.12g} % interval {ends}, z {self.z:.2f}, p {p_text(self.p)}"
        )

    def __repr__(self) -> str:
        """Return the numbers as text, for the prompt."""
        return f"Contrast({self})"


def contrast(
    model: Model, weights: Mapping[str, float], level: float = 0.95, inference: Any = "population"
) -> Contrast:
    """Implement :meth:`dpfit.PrivateLinearRegression.contrast`."""
    level, inference = checked_level(level), checked_inference(inference)
    if not isinstance(weights, Mapping) or not weights:
        raise ParameterError(
            "weights must be a dictionary of names and numbers",
            subject="weights",
            hint='contrast({"sex=f": 1, "sex=m": -1})',
        )
    terms, _, _ = terms_of(model)
    total: dict[int, float] = {}
    is_known = True
    for name, given in weights.items():
        weight = real(f"the weight of {name!r}", given, -_LARGEST, _LARGEST)
        found = [term for term in terms if term.name == name]
        if len(found) != 1:
            raise _wrong_name(model, name, [term.name for term in terms])
        (term,) = found
        is_known &= term.is_reference or term.range != NoEffect.range
        for place, value in term.weights.items():
            total[place] = total.get(place, 0.0) + weight * value
    # What cancels is not asked for: the reference in a difference of two other levels.
    total = {place: value for place, value in total.items() if value != 0.0}
    result = model.estimates.of(matrix_of([total], model.size), inference)
    result.known[:] &= is_known
    (low, high), known = result.interval(level)[0], bool(result.known[0])
    noise, sampling = (float(np.sqrt(part[0])) for part in (result.noise, result.sampling))
    return Contrast(
        estimate=float(result.estimate[0]),
        std_error=float(result.std_error[0]),
        noise=noise if known else math.nan,
        sampling=sampling if known else math.nan,
        interval=(float(low), float(high)),
        z=float(result.z[0]),
        p=float(result.p[0]),
        level=level,
    )


def _wrong_name(model: Model, name: Any, known: list[str]) -> ParameterError:
    """Return the error for a name that is unknown, or that two coefficients have."""
    if known.count(name) > 1:
        problem = f"{name!r} is the name of two coefficients"
        return ParameterError(problem, subject=str(name), hint="rename a column before the fit")
    if name in model.column_names:
        place = model.column_names.index(name)
        if model.columns[place].levels:
            close = [f"{name}={level}" for level in model.columns[place].levels]
            hint = f"name its levels: {_listed(close)}"
            return _no_coefficient(
                f"column {name!r} has one coefficient for each level", name, hint
            )
        hint = "predict(X, interval=0.95) has the errors of predictions"
        return _no_coefficient(f"column {name!r} has a curve, and no coefficient", name, hint)
    close = difflib.get_close_matches(str(name), known, _MOST_NAMES, 0.4) or known
    hint = f"use {_listed(close)}" if len(close) == 1 else f"use one of {_listed(close)}"
    return _no_coefficient(f"no coefficient {name!r}", str(name), hint)


def _no_coefficient(problem: str, name: str, hint: str) -> ParameterError:
    return ParameterError(problem, code=Code.NO_COLUMN, subject=name, hint=hint)


def _listed(names: list[str]) -> str:
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return ", ".join(repr(shortened(name, 60)) for name in names[:_MOST_NAMES]) + more
