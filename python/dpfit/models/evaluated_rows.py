"""Rows that are evaluated: as predictions and residuals, of which counts and sums are released."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from dpfit import _native
from dpfit._typing import Batch, Floats
from dpfit.accounting import BudgetTracker
from dpfit.exceptions import ParameterError
from dpfit.models.calibration import Pieces
from dpfit.models.model import Model
from dpfit.models.residual_sizes import SIZES, STEPS, Threshold, first_threshold, tail_edges
from dpfit.release import Released, Releaser
from dpfit.statistics import (
    ResidualCounts,
    ResidualSums,
    RowCount,
    RowMap,
    Scale,
    SquaredResiduals,
    Statistic,
    StoredTable,
    Table,
    WeightedCounts,
    WeightedPredictions,
    WeightedSquares,
    WeightedSums,
    WeightedTotal,
)

__all__ = ["EvaluatedRows", "PredictionsAndResiduals", "WeightedRows", "range_of"]

# Shares of mu squared. Sizes, tails and squares are released twice: of residuals, and of the target
# around its mean. Counts of residuals for quantiles get the rest.
_SHARES = {
    "rows": 0.03,
    "predictions": 0.06,
    "sums": 0.08,
    "sizes": 0.04,
    "tails": 0.2,
    "squares": 0.13,
}
V = TypeVar("V")


@dataclass(frozen=True)
class PredictionsAndResiduals:
    """Makes the prediction the first column of a row, and the residual its target.

    The second column is the weight, if rows have weights. A row that the fit would drop has no
    residual.

    Privacy
    -------
    All depend on one row and on the public model only: effects are applied value by value.
    """

    model: Model

    def __call__(self, batch: Batch) -> Batch:
        """Return predictions and residuals of some rows."""
        columns, target = batch
        separate = columns if isinstance(columns, list) else list(columns.T)
        count = len(self.model.kinds)
        features, weights = separate[:count], separate[count:]
        predictions = self.model.predict(features)
        if self.model.missing == "drop":
            for column in features:
                predictions[~np.isfinite(column)] = np.nan
        return [predictions, *weights], np.asarray(target, dtype=np.float64) - predictions


class EvaluatedRows:
    """Predictions and residuals as integers; residuals are in half-widths of the target's range.

    Parameters
    ----------
    table : Table
        The rows, changed by :class:`PredictionsAndResiduals`.
    releaser : Releaser
        Adds noise.
    model : Model
        The model.
    budget : BudgetTracker
        The budget.

    Privacy
    -------
    Each method is one release, or two, with shares of the budget.
    """

    # The constant's share of the squared norm of a stored row, and the height of the prediction.
    constant_share = 0.5
    height = math.sqrt(0.5)

    def __init__(
        self, table: Table, releaser: Releaser, model: Model, budget: BudgetTracker
    ) -> None:
        low, high = model.prediction_range
        self._centre, self._half = (low + high) / 2, max((high - low) / 2, 1e-90)
        self._table, self._ends = table, range_of(model)
        self.unit = max((self._ends[1] - self._ends[0]) / 3.0, 1e-90)
        self._scale, self._releaser, self._budget = Scale(1.0 / STEPS), releaser, budget
        self.residual: Floats = np.zeros(2 + len(self.others))

    @property
    def others(self) -> list[Any]:
        """How columns other than the prediction are stored."""
        return []

    @functools.cached_property
    def _stored(self) -> StoredTable:
        # A prediction is at most one half-width from the centre, so no row is weighted down.
        column = (self._centre, self._half, [(-1.0, 1.0, self.height)])
        target = (0.0, self.unit)
        row_map = RowMap([column, *self.others], target, self._scale, self.constant_share)
        return self._table.store(row_map, gram=False)

    def _release(self, statistic: Statistic[Any, V], share: str) -> Released[V]:
        mu = self._budget.spend(_SHARES[share])
        return self._releaser.release(self._stored, statistic, mu)

    def number(self, *, public: bool) -> tuple[float, float]:
        """Return the number of rows and the standard deviation of its noise."""
        if public:
            return max(self._releaser.public_rows(self._table), 1.0), 0.0
        mu = self._budget.spend(_SHARES["rows"])
        found = self._releaser.release(self._table, RowCount(), mu)
        return max(found.value, 1.0), found.sigma

    def total(self, rows: float, noise: float) -> tuple[float, float]:
        """Return what means are divided by, and its noise: the number of rows."""
        return rows, noise

    def pieces(self, rows: float) -> Pieces:
        """Release a histogram of predictions."""
        mu = self._budget.spend(_SHARES["predictions"])
        return Pieces.release(self._table, self._releaser, mu, self._ends, rows)

    def target(self, centre: float) -> Floats:
        """Return the theta that makes the residual of a row its target minus `centre`."""
        theta = np.zeros_like(self.residual)
        theta[0] = -self._half / self.unit / self.height
        theta[-1] = (centre - self._centre) / self.unit / math.sqrt(self.constant_share)
        return theta

    def threshold(self, theta: Floats, rows: float) -> Threshold:
        """Release how large residuals are, in two steps, and choose where to clip them."""
        sizes = self._release(self.counts_of(theta, SIZES), "sizes")
        mu = self._budget.mu_of(_SHARES["squares"])
        (noise,) = self._releaser.sigmas(self.squares_of(theta, STEPS), mu)
        first = first_threshold(sizes, noise)
        tails = self._release(self.counts_of(theta, tail_edges(first)), "tails")
        return Threshold.after(first, tails, sizes, noise, rows)

    def squares(self, theta: Floats, tau: int) -> Released[float]:
        """Release the sum of squared residuals, in squares of `unit`."""
        found = self._release(self.squares_of(theta, tau), "squares")
        return Released(float(np.sum(found.value)), found.sigmas)

    def counts(self, edges: tuple[int, ...]) -> Released[Floats]:
        """Release counts of residuals, with all that is left of the budget."""
        statistic = self.counts_of(self.residual, edges)
        return self._releaser.release(self._stored, statistic, self._budget.spend_rest())

    def sums(self, pieces: Pieces, tau: int) -> Released[Floats]:
        """Release sums of residuals by pieces of the predictions."""
        # Without edges, all rows are above the least integer.
        edges = self._places(pieces.edges) or (-32768,)
        found = self.sums_between(edges, tau)
        return Released(found.value if len(pieces.edges) else found.value[1:], found.sigmas)

    def sums_between(self, edges: tuple[int, ...], tau: int) -> Released[Floats]:
        """Release sums of residuals by the prediction."""
        statistic = ResidualSums(self.residual, tau, (edges, ()), self._scale)
        found = self._release(statistic, "sums")
        return Released(found.value[0], found.sigmas)

    def _places(self, points: Floats) -> tuple[int, ...]:
        """Return predictions in steps of stored rows."""
        places = (points - self._centre) / self._half * self.height / self._scale.row_step
        return tuple(int(place) for place in places)

    def counts_of(self, theta: Floats, edges: tuple[int, ...]) -> Statistic[Any, Floats]:
        """Return counts of residuals."""
        return ResidualCounts(theta, edges, self._scale)

    def squares_of(self, theta: Floats, tau: int) -> Statistic[Any, Any]:
        """Return the sum of squared residuals."""
        return SquaredResiduals(theta, tau, self._scale)


class WeightedRows(EvaluatedRows):
    """Rows with weights, which are stored as a feature: all counts and sums are weighted.

    They are in multiples of `max_weight`, so that means are weighted means if they are divided by
    the sum of weights. That is at most the effective number of rows of Kish, so that sampling
    errors are not too small.

    Parameters
    ----------
    max_weight : float
        The largest weight; weights above it are clipped.
    """

    constant_share = 0.2
    # A power of two, so that multiples of the largest weight are exact.
    _weight_height = 0.5

    def __init__(
        self,
        table: Table,
        releaser: Releaser,
        model: Model,
        budget: BudgetTracker,
        max_weight: float,
    ) -> None:
        self._max_weight = max_weight
        super().__init__(table, releaser, model, budget)
        self._weights = 1, int(self._weight_height * _native.ROW_SCALE)

    @property
    def others(self) -> list[Any]:
        """The weight, as a feature from zero to the largest weight."""
        return [(0.0, self._max_weight, [(0.0, 1.0, self._weight_height)])]

    def total(self, rows: float, noise: float) -> tuple[float, float]:
        """Release the sum of weights."""
        found = self._release(WeightedTotal(self.residual, self._scale, self._weights), "rows")
        return min(max(float(found.value[0]), 1.0), rows), found.sigma

    def pieces(self, rows: float) -> Pieces:
        """Release a weighted histogram of predictions."""
        fine = Pieces.fine_edges(self._ends)
        edges = self._places(fine[1:-1])
        statistic = WeightedPredictions(self.residual, self._scale, self._weights, edges)
        return Pieces.of(fine, self._release(statistic, "predictions"), rows)

    def counts_of(self, theta: Floats, edges: tuple[int, ...]) -> Statistic[Any, Floats]:
        """Return weighted counts of residuals."""
        return WeightedCounts(theta, self._scale, self._weights, edges)

    def squares_of(self, theta: Floats, tau: int) -> Statistic[Any, Any]:
        """Return the weighted sum of squared residuals."""
        return WeightedSquares(theta, self._scale, self._weights, tau)

    def sums_between(self, edges: tuple[int, ...], tau: int) -> Released[Floats]:
        """Release weighted sums of residuals by the prediction."""
        statistic = WeightedSums(self.residual, self._scale, self._weights, tau, edges)
        return self._release(statistic, "sums")


def range_of(model: Model) -> tuple[float, float]:
    """Return the range of most predictions: that of most targets, and a quarter on either side."""
    (low, high), (least, most) = model.target_range, model.prediction_range
    if not math.isfinite(least) or not math.isfinite(most) or most <= least:
        raise ParameterError(
            "the model does not know the range of its target, so there is nothing to evaluate",
            hint="fit it with more rows, a larger budget or public bounds of the target",
        )
    if not math.isfinite(high - low) or high <= low:
        low, high = least, most
    width = high - low
    return max(low - width / 4, least), min(high + width / 4, most)
