"""What a budget pays for, by what is expected before the data say anything."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.features.basis import Basis, Function
from dpfit.engine.shrinkage import EXPLAINED
from dpfit.engine.whitening import first_scales, room
from dpfit.schema import Kind

__all__ = ["affords_slopes", "expected_noise", "expected_tau", "worth_scales"]

# Thresholds in standard deviations of normal residuals, to plan with.
_TYPICAL_TAU = 3.0
# The evidence that a function needs before it is estimated: with 3, its expected size is the root
# of 3 times the noise.
_EVIDENCE = 3.0


def expected_tau(variance: float) -> float:
    """Return about where residuals will be clipped, for a target of this variance."""
    return _TYPICAL_TAU * math.sqrt(variance * (1.0 - EXPLAINED))


def expected_noise(functions: int, signal: float, tau: float) -> float:
    """Return the variance of noise in a coefficient that has the whole norm of a row.

    `signal` is the number of rows, divided by the noise of a count with the budget of the rounds.
    """
    return (room(functions) * tau / signal) ** 2


def worth_scales(basis: Basis, variance: float, noise: float) -> Floats:
    """Return the scales of functions in the first X'X, zero for those that are not worth it."""
    variances = np.array([function.variance for function in basis.functions])
    return first_scales(variances, basis.prior(variance), _EVIDENCE * noise)


def affords_slopes(kinds: Sequence[Kind], bends: int, signal: float) -> bool:
    """Return whether any line or level is worth its noise if all columns have all functions.

    What is expected of effects is a share of the target's variance, and so is the noise: neither
    needs to be known.

    Parameters
    ----------
    kinds : sequence of Kind
        The columns.
    bends : int
        The number of bends of a column of numbers.
    signal : float
        The number of rows, divided by the noise of a count with the budget of the rounds.
    """
    functions = [Function(-1)]
    # What a function is worth does not depend on its column.
    line, bend, level = (
        Function(0, np.zeros(2)),
        Function(0, np.zeros(2), is_bend=True),
        Function(0),
    )
    for kind in kinds:
        if kind.levels or kind.is_binary:
            functions += [level] * max(len(kind.levels), 1)
        else:
            functions += [line, *[bend] * bends]
    noise = expected_noise(len(functions), signal, expected_tau(1.0))
    return int(np.count_nonzero(worth_scales(Basis((), tuple(functions)), 1.0, noise))) > 1
