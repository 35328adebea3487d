"""Tests of the curves of an additive model, and their effective degrees of freedom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from dpfit._typing import Array, Floats
from dpfit.models.effects import Curve, Levels
from dpfit.models.estimates import Inference
from dpfit.models.numbers import NONE

if TYPE_CHECKING:
    from dpfit.models.model import Model

__all__ = ["CurveTest", "significance"]


@dataclass(frozen=True)
class CurveTest:
    """What the data say about the curve of a column.

    Parameters
    ----------
    edf : float
        Effective degrees of freedom; NaN if they are not known.
    p_no_effect : float
        The p-value of the hypothesis that the curve is flat, or that all levels have the same
        effect; NaN if nothing is known.
    p_line : float
        The p-value of the hypothesis that the curve is a line; NaN if it cannot bend.
    """

    edf: float = math.nan
    p_no_effect: float = math.nan
    p_line: float = math.nan

    @property
    def edf_text(self) -> str:
        """Effective degrees of freedom with one decimal."""
        return f"{self.edf:.1f}" if math.isfinite(self.edf) else NONE


def significance(model: Model, inference: Inference = "population") -> list[CurveTest]:
    """Return the tests of every column.

    Effective degrees of freedom are those of a linear shrinkage: a part of the parameters that is
    multiplied by s counts s times their number. The factors follow from estimates before and after
    shrinkage, separately for lines and bends, whose priors differ.
    """
    found = []
    for start, effect in zip(model.starts, model.effects, strict=False):
        if isinstance(effect, Levels):
            found.append(_of_levels(model, start, effect, inference))
        elif isinstance(effect, Curve) and effect.size:
            found.append(_of_curve(model, start, effect, inference))
        else:
            found.append(CurveTest())
    return found


def _of_curve(model: Model, start: int, effect: Curve, inference: Inference) -> CurveTest:
    functions = np.array(effect.functions).T
    shrunk = np.linalg.lstsq(functions, np.array(effect.heights), rcond=None)[0]
    places = np.arange(start, start + effect.size)
    lines, bends = places[: effect.straight], places[effect.straight :]
    edf = 0.0
    for part in (lines, bends):
        if len(part):
            edf += _freedom(model, _units(part, model.size), shrunk[part - start])
    whole = _units(places, model.size)
    return CurveTest(
        edf,
        model.estimates.test(whole, inference),
        model.estimates.test(_units(bends, model.size), inference),
    )


def _of_levels(model: Model, start: int, effect: Levels, inference: Inference) -> CurveTest:
    known = np.flatnonzero(model.estimates.known[start : start + effect.size])
    # Relative to rows whose level is not listed, or to the first of the levels.
    first = [] if effect.has_others else known[:1].tolist()
    others = known[len(first) :]
    if not len(others):
        return CurveTest()
    functions = _units(start + others, model.size)
    shrunk = np.array(effect.effects)[others]
    if first:
        functions[:, start + first[0]] = -1.0
        shrunk = shrunk - effect.effects[first[0]]
    edf = _freedom(model, functions, shrunk)
    return CurveTest(edf, model.estimates.test(functions, inference))


def _freedom(model: Model, functions: Floats, shrunk: Floats) -> float:
    """Return the number of functions, times what shrinkage leaves of them."""
    estimates = model.estimates
    if not estimates.of(functions).known.all():
        return math.nan
    total = estimates.covariance(functions, "noise") + estimates.covariance(functions, "sampling")
    values = functions @ estimates.values
    # In units of their errors, so that what is known best counts most.
    weighted = scipy.linalg.pinvh(total) @ values
    size = float(weighted @ values)
    if size <= 0.0:
        return math.nan
    return len(values) * min(max(float(weighted @ shrunk) / size, 0.0), 1.0)


def _units(places: Array, size: int) -> Floats:
    """Return rows that are one at these places and zero elsewhere."""
    rows = np.zeros((len(places), size))
    rows[np.arange(len(places)), places] = 1.0
    return rows
