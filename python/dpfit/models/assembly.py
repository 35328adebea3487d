"""What all models make of the engine's result: effects of levels, and errors of parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.task import Fitted
from dpfit.models.effects import Effect, Levels, NoEffect
from dpfit.models.estimates import Estimates
from dpfit.models.model import Assembled
from dpfit.schema import Kind

__all__ = ["estimates_of", "levels_of", "nothing"]


def levels_of(
    fitted: Fitted, column: int, kind: Kind, heights: dict[int, float]
) -> tuple[Levels, float]:
    """Return the effects of a column's levels, and what they leave to the intercept.

    Effects are relative to rows whose level is not listed, if there are any. Otherwise their mean
    over the levels that clearly have rows is zero, and the intercept gets it.

    Parameters
    ----------
    fitted : Fitted
        The engine's result.
    column : int
        The column.
    kind : Kind
        Its kind.
    heights : dict of int to float
        Coefficients of the levels that are in the model, in the units of y.
    """
    shown = fitted.estimate.levels
    found = np.array([heights.get(level, 0.0) for level in range(len(kind.levels))])
    places = [(column, level) for level in range(len(kind.levels))]
    seen = np.array([place[1] in heights and place not in shown.unseen for place in places])
    sure = seen & np.array([place not in shown.unsure for place in places])
    found[~seen] = 0.0
    baseline = np.zeros(len(places))
    if column not in shown.unlisted and seen.any():
        chosen = sure if sure.any() else seen
        baseline = chosen / chosen.sum()
    mean = float(baseline @ found)
    found[seen] -= mean
    return Levels(kind.levels, *(tuple(part.tolist()) for part in (found, seen, baseline))), mean


def estimates_of(
    fitted: Fitted, effects: Sequence[Effect], places: Sequence[int], factors: Floats
) -> Estimates:
    """Return the parameters of all effects with their errors.

    Parameters
    ----------
    fitted : Fitted
        The engine's result.
    effects : sequence of Effect
        One for each column.
    places : sequence of int
        The parameter of its effect that each function's coefficient is, but for a factor; any
        number for the constant, which is last.
    factors : array
        These factors, in the units of y.
    """
    estimate = fitted.estimate
    starts = np.concatenate([[0], np.cumsum([effect.size for effect in effects])])
    size = int(starts[-1]) + 1
    values, known = np.zeros(size), np.zeros(size, dtype=bool)
    # A parameter is one coefficient times a factor, or nothing is known of it.
    kept, found = [], []
    for i, function in enumerate(estimate.basis.functions):
        if function.column < 0:
            place = size - 1
        else:
            effect, own = effects[function.column], (function.column, function.level)
            if isinstance(effect, Levels) and not effect.seen[function.level]:
                continue
            place = int(starts[function.column]) + places[i]
            known[place] = function.heights is not None or own not in estimate.levels.unsure
        kept.append(i)
        found.append(place)
    known[-1] = True
    known &= fitted.residuals_are_seen
    both = np.outer(factors[kept], factors[kept])

    def of_parameters(part: Floats) -> Floats:
        """Return the covariance of parameters, given that of coefficients."""
        result: Floats = np.zeros((size, size))
        result[np.ix_(found, found)] = both * part[np.ix_(kept, kept)]
        return result

    values[found] = factors[kept] * estimate.unshrunk[kept]
    values[-1] += fitted.centre
    covariance = estimate.covariance
    noise = of_parameters(covariance.private)
    sampling, unsure = of_parameters(covariance.sampling), of_parameters(covariance.spread)
    return Estimates(values, noise, sampling, unsure, known)


def nothing(kinds: Sequence[Kind], bounds: tuple[float, float]) -> Assembled:
    """Return a model that predicts the middle of public bounds, or zero if there are none.

    What was fitted is not used: where the noise hides the location of the target, its centre and
    its scale are powers of two that the noise chose.
    """
    middle = sum(bounds) / 2 if np.isfinite(bounds).all() else 0.0
    effects: list[Effect] = []
    for kind in kinds:
        if kind.levels:
            zeros = (0.0,) * len(kind.levels)
            effects.append(Levels(kind.levels, zeros, (False,) * len(zeros), zeros))
        else:
            effects.append(NoEffect())
    size = sum(effect.size for effect in effects) + 1
    values, none = np.zeros(size), np.zeros((size, size))
    values[-1] = middle
    unknown = Estimates(values, none, none, none, np.zeros(size, dtype=bool))
    return middle, tuple(effects), unknown
