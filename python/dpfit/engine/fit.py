"""The whole fit: ranges, features, rounds. Rows are only seen through releases."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpfit._typing import Floats
from dpfit.accounting import BudgetTracker, per_round
from dpfit.engine.features.basis import Basis
from dpfit.engine.features.levels import seen_levels
from dpfit.engine.features.ramps import Ramp, level_ramps
from dpfit.engine.features.tails import Evidence
from dpfit.engine.plan import Plan
from dpfit.engine.ranges.find import release_marginals
from dpfit.engine.ranges.histograms import ColumnCounter
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.ranges.tighten import Bounds, narrowed_bounds
from dpfit.engine.rounds import Averaged, Boosting
from dpfit.engine.solve import noise_norm, unclipped
from dpfit.engine.task import FitTask, Fitted
from dpfit.release import Released, Releaser
from dpfit.schema import Kind, Numeric, terms
from dpfit.statistics import Gradient, Gram, RowCount, RowMap, Scale, SquaredResiduals, Table

__all__ = ["Fitted", "fit"]

# One is this many steps of the target's grid.
_ONE = 1 << 18
_SCALE = Scale(step=1.0 / _ONE)


def fit(table: Table, task: FitTask, releaser: Releaser) -> Fitted:
    """Fit a model.

    Parameters
    ----------
    table : Table
        The rows.
    task : FitTask
        What to fit, and with which budget.
    releaser : Releaser
        Adds noise to every sum over the rows.

    Returns
    -------
    Fitted
        The model.

    Privacy
    -------
    Exact sums over the rows of `table` go to `releaser` and nowhere else. All decisions (ranges,
    features, thresholds) depend on earlier releases only. A tracker keeps the releases within mu,
    and the last ones spend what is left, so that they compose to it.
    """
    budget = BudgetTracker(task.mu)
    known = _find_ranges(table, task, releaser, budget)
    basis = _choose_features(known, task)
    row_map = RowMap(basis.row_map_columns(), known.target_range(), _SCALE, basis.constant_share)
    rounds = _Rounds(table, row_map, releaser, known.plan, task)
    fitted = rounds.mean(basis, budget) if known.mean_only else rounds.boost(basis, budget)
    seen = known.target_marginal is None or known.target_marginal.is_seen
    marginals = () if known.mean_only else known.marginals
    return replace(fitted, target_is_seen=seen, marginals=marginals)


@dataclass(frozen=True)
class _Known:
    """What is known about the columns before features are chosen.

    Some kinds have narrower bounds than given. Columns without bounds have released marginals.
    """

    plan: Plan
    mean_only: bool
    kinds: tuple[Kind, ...]
    target: Numeric
    marginals: tuple[Marginal | None, ...]
    target_marginal: Marginal | None

    def target_range(self) -> tuple[float, float]:
        """Return centre and half-width of the range that targets are scaled to."""
        marginal = self.target_marginal
        if marginal is None:
            low, high = self.target.bounds or (-1.0, 1.0)
        else:
            outside = self.plan.target_share
            low, high = (float(point) for point in marginal.quantiles([outside, 1.0 - outside]))
            if not high > low:
                low, high = float(marginal.edges[0]), float(marginal.edges[-1])
        return (low + high) / 2, max((high - low) / 2, 2.0**-60, 2.0**-50 * abs(low + high))


def _find_ranges(table: Table, task: FitTask, releaser: Releaser, budget: BudgetTracker) -> _Known:
    """Release the number of rows and the ranges of columns and target."""
    constants, share = task.constants, task.constants.plan.shares.rows
    if task.rows_are_public:
        rows = releaser.public_rows(table)
    else:
        rows = max(releaser.release(table, RowCount(), budget.spend(share)).value, 1.0)
    unbounded = [kind.needs_range for kind in task.kinds]
    columns = len(terms(task.kinds)), sum(unbounded)
    plan = Plan(task.mu / task.rows_per_unit, rows, *columns, constants.plan)
    # Decided before the second count, which might say that there is enough data for slopes.
    shares, mean_only, room = plan.shares, plan.mean_only, task.strategy.room(plan)
    bounds = [kind.bounds for kind in task.kinds]
    if mean_only:
        bounds, unbounded = [None] * len(bounds), [False] * len(bounds)
        if not task.rows_are_public:
            second = releaser.release(table, RowCount(), budget.spend(shares.rows)).value
            ratio = shares.rows / share
            plan = replace(plan, rows=max((rows + ratio * second) / (1.0 + ratio), 1.0))
    counter = ColumnCounter(table, releaser, budget, plan.rows)
    narrowed: list[Bounds | None] = narrowed_bounds(
        counter,
        [*bounds, task.target.bounds],
        task.mu,
        shares,
        lambda variance: plan.hides(variance, room),
        constants.bounds,
    )
    *kinds, target = (
        Numeric(*pair) if pair else kind
        for kind, pair in zip([*task.kinds, task.target], narrowed, strict=True)
    )
    assert isinstance(target, Numeric)
    wanted = [*unbounded, target.bounds is None]
    *marginals, target_marginal = release_marginals(counter, wanted, shares, constants.ranges)
    return _Known(plan, mean_only, tuple(kinds), target, tuple(marginals), target_marginal)


def _choose_features(known: _Known, task: FitTask) -> Basis:
    """Return the features of the model."""
    constants, strategy = known.plan.constants, task.strategy
    if known.mean_only:
        return Basis((), len(known.kinds), 1.0, constants.mean_constant_share)
    ramps: list[Ramp] = []
    for column, (kind, marginal) in enumerate(zip(known.kinds, known.marginals, strict=True)):
        if kind.levels:
            ramps += level_ramps(column, kind)
        else:
            ramps += strategy.ramps(column, kind, marginal, known.plan)
    room = strategy.room(known.plan)
    return Basis.fit_to_norm(ramps, known.kinds, known.marginals, room=room, constants=constants)


class _Rounds:
    """Stores rows, then releases X'X once and X'g in each round."""

    def __init__(
        self, table: Table, row_map: RowMap, releaser: Releaser, plan: Plan, task: FitTask
    ) -> None:
        self._stored = table.store(row_map)
        self._row_map, self._releaser, self._plan, self._task = row_map, releaser, plan, task
        # The threshold of residuals, the budget of a round, and the number of rounds done.
        self._tau, self._mu_round, self._done = 1.0, 0.0, 0

    def _gradient(self, theta: Floats) -> Released[Floats]:
        """Release X'g at theta."""
        statistic = Gradient(theta, self._tau_steps(), _SCALE)
        return self._releaser.release(self._stored, statistic, self._mu_round)

    def _round(self, theta: Floats) -> Released[Floats]:
        """Release X'g at theta and report the progress."""
        found = self._gradient(theta)
        self._done += 1
        self._task.progress(self._done, self._plan.constants.rounds)
        return found

    def _mean_square(self, theta: Floats, mu: float) -> tuple[float, float]:
        """Release the mean of squared residuals at theta; return it and its noise's sigma."""
        statistic = SquaredResiduals(theta, self._tau_steps(), _SCALE)
        found = self._releaser.release(self._stored, statistic, mu)
        least = (self._task.constants.residuals.least_residual * self._tau) ** 2
        return max(found.value / self._plan.rows, least), found.sigma / self._plan.rows

    def _tau_steps(self) -> int:
        return max(round(self._tau * _ONE), 1)

    def mean(self, basis: Basis, budget: BudgetTracker) -> Fitted:
        """Return a mean-only model."""
        rows = self._plan.rows
        self._mu_round = budget.spend_rest()
        noisy = self._gradient(np.zeros(1))
        length = math.sqrt(basis.constant_share)
        # With few rows, noise alone could move the mean out of the target's range.
        theta = np.clip(noisy.value / (rows * length), -1.0, 1.0) / length
        covariance = np.array([[(noisy.sigma / (rows * basis.constant_share)) ** 2]])
        sampling = np.array([[1.0 / rows]])
        averaged = Averaged(theta, np.eye(1), covariance, sampling, np.zeros((1, 1)))
        return Fitted(basis, *self._row_map.target, averaged, rows, rounds=1)

    def boost(self, basis: Basis, budget: BudgetTracker) -> Fitted:
        """Return the average of the last rounds."""
        plan, constants, strategy = self._plan, self._plan.constants, self._task.strategy
        shares = constants.shares
        mu_threshold, mu_residuals = budget.spend(shares.residuals), budget.spend(shares.residuals)
        mu_gram = budget.spend_rest(shares.gram)
        gram = self._releaser.release(self._stored, Gram(self._row_map), mu_gram)
        self._mu_round = per_round(budget.spend_rest(), constants.rounds)
        basis = seen_levels(basis, gram, self._task.constants.levels)
        boosting = self._boosting(basis, gram)
        first = [boosting.round(self._round) for _ in range(constants.warm_up)]
        moments = Released(
            np.mean([found.value for found in first], axis=0),
            (first[-1].sigma / math.sqrt(len(first)),),
        )
        later = strategy.later_directions(basis, Evidence(gram.value, moments, boosting.norm))
        if later is not None:
            boosting.restrict(later)
        # Rather too large than too small: a threshold within the noise would stop the rounds.
        spread = math.sqrt(sum(self._mean_square(boosting.theta, mu_threshold)))
        self._tau = self._threshold(spread)
        for _ in range(constants.rounds - constants.warm_up - constants.averaged):
            boosting.round(self._round)
        averaged = boosting.average(self._round, constants.averaged, spread**2)
        clipped, _ = self._mean_square(averaged.theta, mu_residuals)
        variance, inside = unclipped(clipped, self._tau)
        # Clipped residuals do not respond to theta, so the remaining noise is larger.
        averaged = replace(
            averaged, noise=averaged.noise / inside**2, sampling=averaged.sampling / inside**2
        )
        weight = max(float(gram.value[-1, -1]), gram.sigma)
        return Fitted(
            basis,
            *self._row_map.target,
            averaged,
            plan.rows,
            rounds=constants.rounds,
            residual_variance=variance,
            clipped_variance=clipped,
            tau=self._tau,
            means=gram.value[:-1, -1] / weight * math.sqrt(basis.constant_share),
        )

    def _boosting(self, basis: Basis, gram: Released[Floats]) -> Boosting:
        directions = self._task.strategy.directions(basis)
        norm = noise_norm(directions.shape[1], gram.sigma)
        held_back = self._task.strategy.held_back(basis, norm, self._plan)
        return Boosting(gram, directions, held_back, self._task.constants.rounds)

    def _threshold(self, spread: float) -> float:
        """Return the threshold of residuals with this standard deviation."""
        constants = self._task.constants.residuals
        wide = self._plan.signal > constants.wide_tau_from
        widest = constants.most_tau if wide else 1.0
        return min(max(self._plan.threshold * spread, constants.least_tau), widest)
