"""The parameters of a fit and its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dpfit._typing import Floats
from dpfit.engine.constants import Constants
from dpfit.engine.features.basis import Basis
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.rounds import Averaged
from dpfit.engine.strategy import Strategy
from dpfit.schema import Kind, Numeric

__all__ = ["FitTask", "Fitted"]


def _no_progress(done: int, rounds: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class FitTask:
    """The parameters of a fit. All are public.

    Parameters
    ----------
    kinds : sequence of Kind
        The kinds of columns.
    target : Numeric
        The kind of the target.
    mu : float
        The budget.
    strategy : Strategy
        The features of the model: `LinearFeatures()` or `AdditiveFeatures()`.
    rows_are_public : bool
        Whether all neighbouring tables have the same number of rows.
    rows_per_unit : int
        How many rows may belong to one unit.
    progress : callable
        Called after each round, with the number of rounds done and of all rounds.
    constants : Constants
        Constants other than those of the strategy.
    """

    kinds: Sequence[Kind]
    target: Numeric
    mu: float
    strategy: Strategy
    rows_are_public: bool = False
    rows_per_unit: int = 1
    progress: Callable[[int, int], None] = _no_progress
    constants: Constants = field(default_factory=Constants)


@dataclass(frozen=True)
class Fitted:
    """The result of a fit, for features of norm one and targets of size one.

    Parameters
    ----------
    basis : Basis
        The features.
    centre, scale : float
        Centre and half-width of the target's range.
    averaged : Averaged
        Coefficients and the distribution of their noise.
    rows : float
        The released number of rows.
    rounds : int
        The number of rounds.
    residual_variance : float or None
        The variance of residuals before clipping, if they are normal; None for a mean-only model.
    clipped_variance : float or None
        The released mean of squared residuals after clipping.
    target_is_seen : bool
        Whether the noise shows the range of the target. Otherwise `centre` and `scale` are guesses.
    marginals : tuple of Marginal or None
        The released distributions of columns without bounds.
    tau : float
        Where residuals were clipped in the last rounds.
    means : array or None
        Means of the features, according to the released X'X.
    """

    basis: Basis
    centre: float
    scale: float
    averaged: Averaged
    rows: float
    rounds: int
    residual_variance: float | None = None
    clipped_variance: float | None = None
    target_is_seen: bool = True
    marginals: tuple[Marginal | None, ...] = ()
    tau: float = 1.0
    means: Floats | None = None
