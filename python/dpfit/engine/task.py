"""What a fit is asked for, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dpfit.engine.constants import Constants
from dpfit.engine.estimate import Estimate
from dpfit.engine.explained import Explained
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.strategy import Strategy
from dpfit.schema import Kind, Numeric

__all__ = ["FitTask", "Fitted"]

# Counts that show this share of the residuals say how large they are: an interval for 95 % of
# observations does not need to know more.
_ENOUGH = 0.95
# If predictions and residuals together have less than this share of the target's variance, the
# noise hides the residuals of the rows that have the rest. A judgement: the noise in the three
# variances can make them differ, too.
_LEAST = 0.25


def _no_progress(done: int, rounds: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class FitTask:
    """What a fit is asked for. Everything is public.

    Parameters
    ----------
    kinds : sequence of Kind
        What the columns are.
    target : Numeric
        What the target is.
    mu : float
        The budget.
    strategy : Strategy
        Which functions the model consists of: `Lines()` or `Curves()`.
    rows_are_public : bool
        Whether the number of rows is the same in all neighbouring tables.
    rows_per_unit : int
        How many rows may belong to one unit.
    progress : callable
        Called with the number of rounds done and the number of all rounds.
    constants : Constants
        What can be tried with other values.
    """

    kinds: Sequence[Kind]
    target: Numeric
    mu: float
    strategy: Strategy
    rows_are_public: bool = False
    rows_per_unit: int = 1
    progress: Callable[[int, int], None] = _no_progress
    constants: Constants = field(default_factory=Constants)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model in its own scale: targets are half-widths of their range.

    Parameters
    ----------
    estimate : Estimate
        Functions, coefficients and their errors.
    centre, scale : float
        Of the target: what zero and one stand for.
    target_range : tuple of two floats
        Where most of the target lies.
    prediction_range : tuple of two floats
        Where predictions are plausible: between public bounds, and not far from where most of the
        target lies; infinite if neither is known.
    target_variance, least_target_variance : float
        The variance of the target by its marginal, in the scale of the model; and what it is at
        least, wherever in their bins targets are.
    rows : float
        The released number of rows.
    target_is_seen : bool
        Whether it is known where the target lies. Otherwise `centre` and `scale` are guesses.
    marginals : tuple of Marginal or None
        The released distributions of the columns of numbers.
    explained : Explained or None
        How much of the target's variance the model explains; None for a mean.
    is_weighted : bool
        Whether rows have weights.
    """

    estimate: Estimate
    centre: float
    scale: float
    target_range: tuple[float, float]
    prediction_range: tuple[float, float]
    target_variance: float
    least_target_variance: float
    rows: float
    target_is_seen: bool
    marginals: tuple[Marginal | None, ...]
    explained: Explained | None = None
    is_weighted: bool = False

    @property
    def residuals_are_seen(self) -> bool:
        """Whether residuals are as large as what predictions leave of the target's variance.

        If a few rows have another value than all others, and the noise hides them, the counts show
        tiny residuals of the others, and nothing is known of the errors of coefficients.
        """
        threshold, share = self.estimate.threshold, self.explained
        if threshold is None or share is None or self.is_weighted or threshold.seen < _ENOUGH / 2:
            return True
        return threshold.variance + share.predicted >= _LEAST * self.least_target_variance

    @property
    def residual_variance(self) -> float | None:
        """The mean of squared residuals, in the scale of the model; None for a mean.

        It follows from counts of scores. These have the whole weight of a row, and their squares
        its square, so that they are too small if rows have weights; and if the noise hides some of
        the counts, it hides those of large residuals. The sum of squared residuals has neither
        fault, but more noise. If that is too much, the model may explain nothing.
        """
        threshold = self.estimate.threshold
        if threshold is None:
            return None
        if not self.is_weighted and threshold.seen > _ENOUGH and self.residuals_are_seen:
            return threshold.variance
        if self.explained is not None and self.explained.is_known:
            return max(threshold.variance, self.explained.residual)
        return max(threshold.variance, self.target_variance)
