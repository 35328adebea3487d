"""The whole fit: ranges, functions, coordinates, rounds. Rows are seen through releases only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpfit._typing import Floats
from dpfit.accounting import BudgetTracker
from dpfit.engine.estimate import Estimate
from dpfit.engine.explained import Explained, explained
from dpfit.engine.features.basis import Basis, Column
from dpfit.engine.features.functions import Knots
from dpfit.engine.plan import Plan
from dpfit.engine.ranges.find import Unknown, release_marginals
from dpfit.engine.ranges.histograms import ColumnCounter
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.schedule import FIRST, FULL, LAST
from dpfit.engine.stage import STEPS, Stage
from dpfit.engine.strategy import Pieces, Strategy
from dpfit.engine.task import FitTask, Fitted
from dpfit.engine.threshold import Tails
from dpfit.engine.worth import affords_slopes
from dpfit.release import Releaser
from dpfit.schema import Kind
from dpfit.statistics import (
    Histograms,
    PowerBins,
    RowCount,
    RowMap,
    Scale,
    Statistic,
    StoredTable,
    Table,
    WeightSum,
)

__all__ = ["Fitted", "first_statistics", "fit"]

# Shares of what is left for a first model of lines, and then for the look at its residuals.
_FIRST = 0.2
_LOOK = 0.1
# The share of what is left for R-squared. It makes intervals wider by one per cent.
_EXPLAINED = 0.02
# Curves and lines end at the 1 % and 99 % quantiles: the noise rarely shows what is beyond.
_OUTER = 0.01
# With a smaller variance, as a share of the squared half-width of its range, a target is one value.
_CONSTANT = 1e-3


def fit(table: Table, task: FitTask, releaser: Releaser) -> Fitted:
    """Fit a model.

    Parameters
    ----------
    table : Table
        The rows.
    task : FitTask
        What to fit, and with which budget.
    releaser : Releaser
        Adds noise.

    Privacy
    -------
    Exact sums over the rows of `table` go to `releaser` alone. What is decided on the way (ranges,
    functions, coordinates, thresholds) follows from what was released before. A tracker keeps the
    releases within mu, and the last of them spend what is left, so that they compose to it.
    """
    budget = BudgetTracker(task.mu)
    rows = _rows(table, task, releaser, budget)
    weight = _weight(table, task, releaser, budget, rows)
    plan = Plan(task.mu / task.rows_per_unit, rows, task.constants)
    counter = ColumnCounter(table, releaser, budget, rows)
    # The ranges of columns are of no use to a mean.
    left = (budget.left / task.mu) ** 2
    signal = plan.signal_of_rounds(left, FULL)
    has_slopes = affords_slopes(task.kinds, task.strategy.bends, signal)
    wanted = [_wanted(kind) if has_slopes else None for kind in task.kinds]
    wanted.append(_wanted(task.target))
    *marginals, of_target = release_marginals(counter, wanted, plan.shares, plan.constants.ranges)
    assert of_target is not None
    low, high = of_target.range(_OUTER)
    centre, variance = _moments(of_target, low, high)
    scale = max((high - low) / 2, 2.0**-60, 2.0**-50 * abs(low + high))
    least_variance = _least_variance(of_target, centre, low, high) / scale**2
    variance = min(max(variance / scale**2, _CONSTANT), 1.0)
    tails = Tails.of(of_target, centre, scale)
    columns = _columns(task.kinds, marginals, task.strategy.positions)

    def store(basis: Basis, *, free: bool) -> StoredTable:
        """Store what a basis needs of the rows."""
        step = Scale(1.0 / STEPS)
        row_map = RowMap(basis.row_map_columns(), (centre, scale), step, basis.constant_share)
        return table.store(row_map, gram=False, free=free)

    # Pieces of a column are told apart by what is stored of it, which weights scale.
    looks = task.strategy.looks and has_slopes and not table.is_weighted
    basis = Basis.curves(task.strategy.first(columns))
    basis = basis if has_slopes else basis.kept(np.zeros(1, dtype=np.int64))
    stage = Stage(
        store(basis, free=not looks),
        releaser,
        weight,
        task.rows_per_unit,
        variance,
        tails,
        task.progress,
        infers=task.strategy.infers,
    )
    first = None
    if looks:
        basis, stage, first = _with_ends(basis, columns, stage, task.strategy, budget, store)
    if first is None:
        basis = basis.kept(stage.affordable(basis, budget.left, FULL))
    share: Explained | None = None
    if len(basis.functions) == 1:
        estimate = stage.mean(basis, budget.spend_rest())
    else:
        mu_explained = budget.spend_rest(_EXPLAINED)
        schedule = FULL if first is None else LAST
        estimate = stage.fit(basis, budget.spend_rest(), schedule, after=first)
        share = explained(stage, estimate, mu_explained)
    limits = -math.inf, math.inf
    # If nothing but zeros was found, other values may be hidden, and slopes would be of zeros.
    is_zero = max(-low, high) < 2.0 ** (task.constants.ranges.least_power + 2)
    near = 2.0 * _OUTER * (high - low)
    is_zero = is_zero or (low - near <= 0.0 <= high + near and variance <= _CONSTANT)
    target_is_seen = of_target.is_seen and (not is_zero or task.target.bounds is not None)
    if target_is_seen:
        limits = low - (high - low), high + (high - low)
    if task.target.bounds is not None:
        least, most = task.target.bounds
        low, high = min(max(low, least), most), max(min(high, most), least)
        limits = max(limits[0], least), min(limits[1], most)
    return Fitted(
        estimate,
        centre,
        scale,
        (low, high),
        limits,
        variance,
        least_variance,
        rows,
        target_is_seen,
        tuple(marginals),
        share,
        table.is_weighted,
    )


def first_statistics(
    task: FitTask, *, with_missing: bool = False
) -> tuple[Statistic[Any, Any], ...]:
    """Return what a fit sums first, as far as it is known before anything is released.

    A histogram of the target tells the number of rows, which is asked for before it. With
    indicators of missing values, these are counted as well.
    """
    ranges = task.constants.ranges
    bins: list[PowerBins | None] = []
    for kind in [*task.kinds, task.target]:
        wanted = _wanted(kind)
        if wanted not in ("range", None):
            # How many bins there are between bounds depends on the number of rows.
            return (RowCount(),)
        powers = PowerBins(ranges.least_power, ranges.most_power)
        bins.append(powers if wanted == "range" else None)
    histograms = Histograms(tuple(bins), with_missing=with_missing)
    return (histograms,) if bins[-1] is not None else (RowCount(), histograms)


def _rows(table: Table, task: FitTask, releaser: Releaser, budget: BudgetTracker) -> float:
    """Return the number of rows: public, or released once, or twice if the first is too noisy."""
    if task.rows_are_public:
        return releaser.public_rows(table)
    constants = task.constants
    share = constants.shares.rows
    found = releaser.release(table, RowCount(), budget.spend(share))
    rows = max(found.value, 1.0)
    error = found.sigma / (constants.count_error * rows)
    if error > 1.0:
        more = min(share * error**2, constants.most_for_count)
        again = releaser.release(table, RowCount(), budget.spend(more)).value
        rows = max((share * rows + more * again) / (share + more), 1.0)
    return rows


def _weight(
    table: Table, task: FitTask, releaser: Releaser, budget: BudgetTracker, rows: float
) -> float:
    """Return what sums over stored rows are divided by: the sum of weights, if rows have weights.

    It is in multiples of the largest weight, as stored rows are. Ranges are those of rows without
    weights.
    """
    if not table.is_weighted:
        return rows
    mu = budget.spend(task.constants.shares.rows)
    return min(max(releaser.release(table, WeightSum(), mu).value, 1.0), rows)


def _with_ends(
    basis: Basis,
    columns: Sequence[Column],
    stage: Stage,
    strategy: Strategy,
    budget: BudgetTracker,
    store: Callable[..., StoredTable],
) -> tuple[Basis, Stage, Estimate | None]:
    """Choose where lines end, after a look at the residuals of a first model, if that can help."""
    pieces = Pieces.of(basis, columns, Scale(1.0).row_step)
    mu_look = math.sqrt((1.0 - _FIRST) * _LOOK) * budget.left
    kept = stage.affordable(basis, math.sqrt((1.0 - _FIRST) * (1.0 - _LOOK)) * budget.left, LAST)
    if len(kept) == 1 or not stage.can_see_bends(pieces, mu_look):
        return basis, stage, None
    lines = basis.kept(kept)
    first = stage.fit(lines, budget.spend_rest(_FIRST), FIRST, later=LAST.rounds)
    bends = stage.look(pieces, first, budget.spend_rest(_LOOK))
    chosen = Basis.curves(strategy.chosen(columns, bends))
    if chosen.stores_as(basis):
        return lines, stage, first
    return chosen.kept(kept), stage.on(store(chosen, free=True)), first


def _columns(
    kinds: Sequence[Kind], marginals: Sequence[Marginal | None], positions: Floats
) -> list[Column]:
    """Return what is stored of each column."""
    found = []
    for kind, marginal in zip(kinds, marginals, strict=True):
        if marginal is None or marginal.is_point():
            found.append(Column(kind))
        else:
            knots = Knots.at_quantiles(marginal, positions, _OUTER, kind.bounds)
            found.append(Column(kind, knots))
    return found


def _moments(marginal: Marginal, low: float, high: float) -> tuple[float, float]:
    """Return mean and variance of the target, cut to its range."""
    points, shares = marginal.points()
    points = np.clip(points, low, high)
    mean = float(shares @ points)
    return mean, float(shares @ np.square(points - mean))


def _least_variance(marginal: Marginal, mean: float, low: float, high: float) -> float:
    """Return the variance if targets in each bin are as near to the mean as they can be."""
    nearest = np.clip(np.clip(mean, marginal.edges[:-1], marginal.edges[1:]), low, high)
    return float(marginal.points()[1] @ np.square(nearest - mean))


def _wanted(kind: Kind) -> Unknown:
    """Return what has to be found out about a column."""
    return kind.bounds or ("range" if kind.needs_range else None)
