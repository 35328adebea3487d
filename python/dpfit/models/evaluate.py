"""Measure how good a model is on other rows, with differential privacy.

The rows become pairs of a prediction and a residual, which are quantised and summed as in a fit.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpfit._parameters import Budget, entropy, integer, real
from dpfit._typing import Floats, Missing
from dpfit.accounting import Bill, BudgetTracker, Charge, LedgerLike, PrivacyRecord
from dpfit.exceptions import NotFiniteError, ParameterError
from dpfit.models.evaluated_rows import (
    EvaluatedRows,
    PredictionsAndResiduals,
    WeightedRows,
    range_of,
)
from dpfit.models.evaluation import Evaluation, MeasuredNumber
from dpfit.models.inputs import (
    check_limits,
    error_in_prediction,
    evaluation_source,
    not_finite,
)
from dpfit.models.residual_sizes import STEPS
from dpfit.release import Released, Releaser
from dpfit.sources import Reading
from dpfit.sources.source import tell_nothing

if TYPE_CHECKING:
    from dpfit.models.base import PrivateModel

__all__ = ["QUANTILES", "evaluate"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

# Sentences to add to the privacy statement.
_NOTES: dict[Missing, tuple[str, ...]] = {
    "error": (),
    "drop": ("Rows with missing values were dropped.",),
    "indicator": ("Rows without a target were dropped.",),
}
# Bins of residuals on either side of zero, for quantiles.
_QUANTILE_EDGES = 40
# R-squared is not known if the variance of the target is not so many of its errors above zero.
_SURE = 2.0


def evaluate(
    estimator: PrivateModel,
    X: Any,
    y: Any,
    spend: Budget,
    *,
    unit: Any,
    max_rows: int | None,
    weight: Any,
    max_weight: float | None,
    ledger: LedgerLike | None,
    random_state: Any,
) -> Evaluation:
    """Measure how good a fitted model is; see :meth:`~dpfit.models.base.PrivateModel.evaluate`.

    Privacy
    -------
    If memory is short, the message of NumPy contains a shape, and so the number of rows. It is
    replaced. So are errors of the core, which do not know the parameters of estimators.
    """
    check_limits(unit, max_rows, weight, max_weight)
    most = None if weight is None else real("max_weight", max_weight, 0.0, 1e90)
    rows_per_unit = 1 if max_rows is None else integer("max_rows", max_rows, 1, 1 << 20)
    model = estimator.model_
    range_of(model)
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
    # With indicators, only rows without a target have no residual.
    missing: Missing = "error" if model.missing == "error" else "drop"
    reading = Reading(missing, estimator.n_jobs, max_rows, tell_nothing, change)
    rows_are_public = neighbors == "replace" and model.missing == "error" and unit is None
    found: dict[str, Any] | None = None
    problem: Exception = MemoryError("there is not enough memory for this evaluation")
    try:
        # Rows are looked at from here on.
        source = evaluation_source(estimator, X, y, unit, weight, model)
        with contextlib.closing(source), np.errstate(all="ignore"):
            table = source.table(model.kinds, reading)
            budget = BudgetTracker(spend.mu)
            if most is None:
                rows = EvaluatedRows(table, releaser, model, budget)
            else:
                rows = WeightedRows(table, releaser, model, budget, most)
            found = _measured(rows, rows_are_public=rows_are_public)
    except NotFiniteError:
        problem = not_finite(weight, 'rows are dropped if the model was fitted with missing="drop"')
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
        notes=_NOTES[model.missing],
    )
    return Evaluation(estimator=model.estimator, privacy=record, max_weight=most, **found)


def _measured(stored: EvaluatedRows, *, rows_are_public: bool) -> dict[str, Any]:
    """Release how good a model is; return the fields of an evaluation.

    Parameters
    ----------
    stored : EvaluatedRows
        The rows.
    rows_are_public : bool
        Whether all neighbouring tables have the same number of rows.

    Privacy
    -------
    Each number is computed from releases that compose to the budget. Thresholds and bins follow
    from the public model and from earlier releases.
    """
    number, noise = stored.number(public=rows_are_public)
    rows, rows_noise = stored.total(number, noise)
    pieces = stored.pieces(rows)
    small = stored.threshold(stored.residual, rows)
    sums = stored.sums(pieces, small.tau)
    total = Released(float(sums.value.sum()), (sums.sigma * math.sqrt(len(sums.value)),))
    shift = _mean(small.sum(total), rows, rows_noise)
    mean, off = pieces.mean(stored.unit * shift.value, stored.unit * shift.noise, rows)
    from_mean = stored.target(mean)
    large = stored.threshold(from_mean, rows)
    inside = small.squares(stored.squares(stored.residual, small.tau))
    whole = large.squares(stored.squares(from_mean, large.tau))
    counts = stored.counts(_quantile_edges(small.tau))
    unit, variance = stored.unit, max(inside.value, 0.0) / rows
    fourth = small.fourth_moment(variance, rows)
    spread = unit * math.sqrt(variance)
    lost = unit * small.sum(Released(0.0, (0.0,))).sigma / rows
    return {
        "rows": number,
        "rmse": _rmse(inside, rows, rows_noise, fourth, unit),
        "r2": _r2(inside, whole, off / unit, rows, fourth, pieces.kurtosis()),
        "mean_residual": MeasuredNumber.unless_hidden(
            unit * shift.value, unit * shift.noise, spread / math.sqrt(rows)
        ),
        "residual_quantiles": _quantiles(counts, small.tau, rows, rows_noise, unit),
        "calibration": pieces.calibration(
            Released(unit * sums.value, (unit * sums.sigma,)), lost, spread
        ),
        "clipped": (unit * small.tau / STEPS, unit * large.tau / STEPS),
        "beyond": (small.below + small.above) / rows,
    }


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
    if math.isinf(mean.noise):
        return MeasuredNumber(math.nan, math.inf, math.inf)
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
    if whole.value <= _SURE * sigma or math.isinf(inside.sigma):
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
