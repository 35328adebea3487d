"""Measure how good a model is on other rows, with differential privacy.

The rows become pairs of a prediction and a residual, which are quantised and summed as in a fit.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from dpfit._parameters import Budget, entropy, integer
from dpfit._typing import Batch, Floats
from dpfit.accounting import Bill, BudgetTracker, Charge, LedgerLike, PrivacyRecord
from dpfit.exceptions import Code, NotFiniteError, ParameterError
from dpfit.models.calibration import Pieces
from dpfit.models.evaluation import Evaluation, MeasuredNumber
from dpfit.models.inputs import error_in_prediction, evaluation_source
from dpfit.models.model import Model
from dpfit.models.residual_sizes import SIZES, STEPS, Threshold, first_threshold, tail_edges
from dpfit.release import Released, Releaser
from dpfit.sources import Reading
from dpfit.sources.source import tell_nothing
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
)

if TYPE_CHECKING:
    from dpfit.models.base import PrivateModel

__all__ = ["QUANTILES", "PredictionsAndResiduals", "evaluate"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

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
# Bins of residuals on either side of zero, for quantiles.
_QUANTILE_EDGES = 40
_HALF = math.sqrt(0.5)
V = TypeVar("V")


@dataclass(frozen=True)
class PredictionsAndResiduals:
    """Makes the prediction the only column of a row, and the residual its target.

    Privacy
    -------
    Both depend on one row and on the public model only: effects are applied value by value.
    """

    model: Model

    def __call__(self, batch: Batch) -> Batch:
        """Return predictions and residuals of some rows."""
        columns, target = batch
        predictions = self.model.predict(columns)
        return [predictions], np.asarray(target, dtype=np.float64) - predictions


def evaluate(
    estimator: PrivateModel,
    X: Any,
    y: Any,
    spend: Budget,
    *,
    unit: Any,
    max_rows: int | None,
    ledger: LedgerLike | None,
    random_state: Any,
) -> Evaluation:
    """Measure how good a fitted model is; see :meth:`~dpfit.models.base.PrivateModel.evaluate`.

    Privacy
    -------
    If memory is short, the message of NumPy contains a shape, and so the number of rows. It is
    replaced. So are errors of the core, which do not know the parameters of estimators.
    """
    if (unit is None) != (max_rows is None):
        raise ParameterError("unit and max_rows must be given together", subject="max_rows")
    rows_per_unit = 1 if max_rows is None else integer("max_rows", max_rows, 1, 1 << 20)
    model = estimator.model_
    _ends(model)
    source = evaluation_source(estimator, X, y, unit, model)
    random = entropy(random_state)
    neighbors = model.privacy.neighbors
    unit_name = unit if isinstance(unit, str) else None
    charge = Charge(
        what=f"evaluation of {model.estimator}",
        mu=spend.mu,
        epsilon=spend.epsilon,
        delta=spend.delta,
        neighbors=neighbors,
        protects_units=max_rows is not None,
        unit_name=unit_name,
        max_rows=max_rows,
    )
    bill = Bill.of(ledger, charge, is_seeded=random_state is not None)
    releaser = Releaser(
        random,
        neighbors,
        n_jobs=estimator.n_jobs,
        rows_per_unit=rows_per_unit,
        reserve=bill,
    )
    change = PredictionsAndResiduals(model)
    reading = Reading(model.missing, estimator.n_jobs, max_rows, tell_nothing, change)
    rows_are_public = neighbors == "replace" and model.missing == "error" and unit is None
    found: dict[str, Any] | None = None
    problem: Exception = MemoryError("there is not enough memory for this evaluation")
    try:
        with contextlib.closing(source), np.errstate(all="ignore"):
            table = source.table(model.kinds, reading)
            found = _measured(table, model, releaser, spend.mu, rows_are_public=rows_are_public)
    except NotFiniteError:
        problem = NotFiniteError("X or y contains NaN or infinity", code=Code.NOT_FINITE)
    except MemoryError:
        pass
    except ParameterError as error:
        problem = error_in_prediction(error)
    if found is None:
        if bill is not None:
            bill.add_note(problem)
        raise problem
    record = PrivacyRecord.from_events(
        releaser.events,
        **cast(Any, spend.named()),
        insecure_seed=random.is_insecure,
        max_rows=None if unit is None else rows_per_unit,
        unit_name=unit_name,
        notes=("Rows with missing values were dropped.",) if model.missing == "drop" else (),
    )
    return Evaluation(estimator=model.estimator, privacy=record, **found)


def _measured(
    table: Table, model: Model, releaser: Releaser, mu: float, *, rows_are_public: bool
) -> dict[str, Any]:
    """Release how good a model is; return the fields of an evaluation.

    Parameters
    ----------
    table : Table
        The rows, changed by :class:`PredictionsAndResiduals`.
    model : Model
        The model.
    releaser : Releaser
        Adds noise.
    mu : float
        The budget.
    rows_are_public : bool
        Whether all neighbouring tables have the same number of rows.

    Privacy
    -------
    Each number is computed from releases that compose to mu. Thresholds and bins follow from the
    public model and from earlier releases.
    """
    budget = BudgetTracker(mu)
    rows, rows_noise = _rows(table, releaser, budget, public=rows_are_public)
    ends, mu_pieces = _ends(model), budget.spend(_SHARES["predictions"])
    pieces = Pieces.release(table, releaser, mu_pieces, ends, rows)
    stored = _Stored(table, releaser, model, budget)
    small = stored.threshold(stored.residual)
    sums = stored.sums(pieces, small.tau)
    total = Released(float(sums.value.sum()), (sums.sigma * math.sqrt(len(sums.value)),))
    shift = _mean(small.sum(total), rows, rows_noise)
    mean, off = pieces.mean(stored.unit * shift.value, stored.unit * shift.noise, rows)
    from_mean = stored.target(mean)
    large = stored.threshold(from_mean)
    inside = small.squares(stored.squares(stored.residual, small.tau))
    whole = large.squares(stored.squares(from_mean, large.tau))
    counts = stored.counts(small.tau)
    unit, variance = stored.unit, max(inside.value, 0.0) / rows
    fourth = small.fourth_moment(variance, rows)
    spread = unit * math.sqrt(variance)
    lost = unit * small.sum(Released(0.0, (0.0,))).sigma / rows
    return {
        "rows": rows,
        "rmse": _rmse(inside, rows, rows_noise, fourth, unit),
        "r2": _r2(inside, whole, off / unit, rows, fourth, pieces.kurtosis()),
        "mean_residual": MeasuredNumber(
            unit * shift.value, unit * shift.noise, spread / math.sqrt(rows)
        ),
        "residual_quantiles": _quantiles(counts, small.tau, rows, rows_noise, unit),
        "calibration": pieces.calibration(
            Released(unit * sums.value, (unit * sums.sigma,)), lost, spread
        ),
        "clipped": (unit * small.tau / STEPS, unit * large.tau / STEPS),
        "beyond": (small.below + small.above) / rows,
    }


def _rows(
    table: Table, releaser: Releaser, budget: BudgetTracker, *, public: bool
) -> tuple[float, float]:
    """Return the number of rows and the standard deviation of its noise."""
    if public:
        return max(releaser.public_rows(table), 1.0), 0.0
    found = releaser.release(table, RowCount(), budget.spend(_SHARES["rows"]))
    return max(found.value, 1.0), found.sigma


class _Stored:
    """Predictions and residuals as integers; residuals are in half-widths of the target's range.

    Privacy
    -------
    Each method is one release, or two, with shares of the budget.
    """

    def __init__(
        self, table: Table, releaser: Releaser, model: Model, budget: BudgetTracker
    ) -> None:
        low, high = model.prediction_range
        self._centre, self._half = (low + high) / 2, max((high - low) / 2, 1e-90)
        ends = _ends(model)
        self.unit = max((ends[1] - ends[0]) / 3.0, 1e-90)
        self._scale, self._releaser, self._budget = Scale(1.0 / STEPS), releaser, budget
        column = (self._centre, self._half, [(-1.0, 1.0, _HALF)])
        # A prediction is at most one half-width from the centre, so no row is weighted down.
        row_map = RowMap([column], (0.0, self.unit), self._scale, 0.5)
        self._table: StoredTable = table.store(row_map, gram=False)
        self.residual: Floats = np.zeros(2)

    def _release(self, statistic: Statistic[Any, V], share: str) -> Released[V]:
        mu = self._budget.spend(_SHARES[share])
        return self._releaser.release(self._table, statistic, mu)

    def target(self, centre: float) -> Floats:
        """Return the theta that makes the residual of a row its target minus `centre`."""
        constant = (centre - self._centre) / self.unit
        return np.array([-self._half / self.unit, constant]) / _HALF

    def threshold(self, theta: Floats) -> Threshold:
        """Release how large residuals are, in two steps, and choose where to clip them."""
        sizes = self._release(ResidualCounts(theta, SIZES, self._scale), "sizes")
        mu = self._budget.mu_of(_SHARES["squares"])
        (noise,) = self._releaser.sigmas(SquaredResiduals(theta, STEPS, self._scale), mu)
        first = first_threshold(sizes, noise)
        tails = self._release(ResidualCounts(theta, tail_edges(first), self._scale), "tails")
        return Threshold.after(first, tails, sizes, noise)

    def squares(self, theta: Floats, tau: int) -> Released[float]:
        """Release the sum of squared residuals, in squares of `unit`."""
        return self._release(SquaredResiduals(theta, tau, self._scale), "squares")

    def counts(self, tau: int) -> Released[Floats]:
        """Release counts of residuals in equal bins, with all that is left of the budget."""
        statistic = ResidualCounts(self.residual, _quantile_edges(tau), self._scale)
        return self._releaser.release(self._table, statistic, self._budget.spend_rest())

    def sums(self, pieces: Pieces, tau: int) -> Released[Floats]:
        """Release sums of residuals by pieces of the predictions."""
        places = (pieces.edges - self._centre) / self._half * _HALF / self._scale.row_step
        # Without edges, all rows are above the least integer.
        edges = tuple(int(place) for place in places) or (-32768,)
        found = self._release(ResidualSums(self.residual, tau, (edges, ()), self._scale), "sums")
        sums = found.value[0] if len(pieces.edges) else found.value[0][1:]
        return Released(sums, found.sigmas)


def _ends(model: Model) -> tuple[float, float]:
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


def _quantile_edges(tau: int) -> tuple[int, ...]:
    steps = range(1, _QUANTILE_EDGES + 1)
    return tuple(dict.fromkeys(max(round(tau * step / _QUANTILE_EDGES), 1) for step in steps))


def _mean(total: Released[float], rows: float, rows_noise: float) -> MeasuredNumber:
    """Return a mean, with the error of noise."""
    mean = total.value / rows
    return MeasuredNumber(mean, math.hypot(total.sigma, mean * rows_noise) / rows, 0.0)


def _rmse(
    inside: Released[float], rows: float, rows_noise: float, fourth: float, unit: float
) -> MeasuredNumber:
    """Return the root of the mean squared residual; errors by linearisation."""
    mean = _mean(inside, rows, rows_noise)
    sampling = math.sqrt(max(fourth - mean.value**2, 0.0) / rows)
    # Near zero, the root of a noisy number is about the root of its noise.
    root = math.sqrt(max(mean.value, mean.noise))
    return MeasuredNumber(
        unit * math.sqrt(max(mean.value, 0.0)),
        unit * mean.noise / (2 * root),
        unit * sampling / (2 * root),
        (0.0, math.inf),
    )


def _r2(
    inside: Released[float],
    whole: Released[float],
    off: float,
    rows: float,
    fourth: float,
    kurtosis: float,
) -> MeasuredNumber:
    """Return the coefficient of determination; errors by linearisation.

    Parameters
    ----------
    inside, whole : Released
        Sums of squares: of residuals, and of the target around its mean.
    off : float
        The standard error of that mean.
    rows : float
        The number of rows.
    fourth : float
        The mean of fourth powers of residuals.
    kurtosis : float
        The fourth moment of predictions by the squared variance. With residuals that do not depend
        on predictions, the sampling error follows from these moments.
    """
    sigma = math.hypot(whole.sigma, rows * off**2)
    if whole.value <= 2.0 * sigma:
        return MeasuredNumber(math.nan, math.inf, math.inf)
    left = inside.value / whole.value
    noise = math.hypot(inside.sigma, left * sigma) / whole.value
    residual, target = max(inside.value, 0.0) / rows, whole.value / rows
    share, explained = min(residual / target, 1.0), max(target - residual, 0.0)
    variance = (1.0 - share) ** 2 * max(fourth - residual**2, 0.0)
    variance += share**2 * (4 * explained * residual + (kurtosis - 1.0) * explained**2)
    sampling = math.sqrt(variance / rows) / target
    return MeasuredNumber(1.0 - left, noise, sampling, (-math.inf, 1.0))


def _quantiles(
    counts: Released[Floats], tau: int, rows: float, rows_noise: float, unit: float
) -> tuple[tuple[float, MeasuredNumber], ...]:
    """Return quantiles of residuals from counts in bins."""
    edges = np.array(_quantile_edges(tau), dtype=np.float64) / STEPS
    places = unit * np.concatenate([-edges[::-1], edges])
    below, above = np.cumsum(counts.value)[:-1], np.cumsum(counts.value[::-1])[:-1][::-1]
    # Counted from either end; the two are combined by their noise.
    from_below = np.arange(1, len(places) + 1) * counts.sigma**2
    from_above = from_below[::-1] + rows_noise**2
    weight = from_above / (from_below + from_above)
    shares = (weight * below + (1.0 - weight) * (rows - above)) / rows
    shares = np.clip(np.maximum.accumulate(shares), 0.0, 1.0) + 1e-12 * np.arange(len(shares))
    noise = np.sqrt(weight * from_below) / rows
    # Where in a bin a quantile is follows from a straight line.
    inexact = float(np.diff(places).max()) / math.sqrt(12.0)

    def at(share: float) -> float:
        return float(np.interp(share, shares, places))

    def error(share: float, change: float) -> float:
        return max(at(share + change) - at(share), at(share) - at(share - change))

    found = []
    for share in QUANTILES:
        value = at(share)
        released = error(share, float(np.interp(value, places, noise)))
        drawn = error(share, math.sqrt(share * (1.0 - share) / rows))
        found.append((share, MeasuredNumber(value, math.hypot(released, inexact), drawn)))
    return tuple(found)
