"""The whole fit: ranges, features, rounds. Rows are seen through releases only."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit import _native
from dpfit._progress import rounds
from dpfit.accounting import Purse, per_round
from dpfit.basis import Basis, Ramp, additive_ramps, level_ramps, linear_ramps
from dpfit.boosting import Averaged, Boosting
from dpfit.bounds import Bounds, narrowed_bounds
from dpfit.levels import seen_levels
from dpfit.marginal import Marginal
from dpfit.plain import RowMap
from dpfit.plan import SHARES, Plan
from dpfit.ranges import all_curves, choose_tails, straight_lines
from dpfit.release import Publisher
from dpfit.scaling import release_marginals
from dpfit.schema import Categorical, Kind, Numeric, terms
from dpfit.solve import unclipped
from dpfit.table import Stored, Table

__all__ = ["Fitted", "fit_table"]

Floats: TypeAlias = npt.NDArray[np.float64]

# One is this many units of the target's grid; residuals are clipped at no more than four.
_ONE = 1 << 18
_UNIT = 1.0 / _ONE
_MOST_TAU = 4.0
_LEAST_TAU = 0.02
# With little data, never wider than the range of the target that was found.
_WIDE_TAU_FROM = 3000.0
# The smallest residuals that are believed, as a share of the threshold.
_LEAST_RESIDUAL = 0.05


@dataclass(frozen=True)
class Fitted:
    """A model in its own units: features of norm one, targets of size one.

    Parameters
    ----------
    basis : Basis
        The features.
    centre, scale : float
        Of the target.
    mean : Averaged
        Coefficients, and the law of their noise.
    rows : float
        The number of rows, as released.
    residual_variance : float or None
        Of residuals before clipping, as if they were normal; None if the model is a mean.
    clipped_variance : float or None
        The mean of squared residuals after clipping, as released.
    rounds : int
        How many there were.
    target_is_seen : bool
        Whether it is known where the target lies. Otherwise `centre` and `scale` are guesses.
    marginals : tuple of Marginal or None
        What was released of the columns, for those without bounds.
    tau : float
        Where residuals were clipped in the last rounds.
    means : array or None
        Of the features, by the released X'X.
    """

    basis: Basis
    centre: float
    scale: float
    mean: Averaged
    rows: float
    residual_variance: float | None
    clipped_variance: float | None
    rounds: int
    target_is_seen: bool = True
    marginals: tuple[Marginal | None, ...] = ()
    tau: float = 1.0
    means: Floats | None = None


def fit_table(
    table: Table,
    kinds: Sequence[Kind],
    target: Numeric,
    publisher: Publisher,
    mu: float,
    *,
    additive: bool,
    knots: int | None,
    rows_are_public: bool,
    rows_per_unit: int,
    n_jobs: int | None,
    show: bool,
    name: str,
) -> Fitted:
    """Fit a linear or an additive model with a budget of mu.

    Privacy
    -------
    Rows are touched by `table` alone, whose exact results go to `publisher` alone. What is decided
    on the way (ranges, features, thresholds) follows from what was released before. The purse
    holds the releases to mu, and the last of them take what is left, so that they compose to it.
    """
    purse = Purse(mu)
    if rows_are_public:
        rows = float(table.rows())
    else:
        rows = max(publisher.count(table.rows(), purse.take(SHARES.rows)), 1.0)
    wanted = [isinstance(kind, Numeric) and kind.bounds is None for kind in kinds]
    plan = Plan(mu / rows_per_unit, rows, len(terms(kinds)), sum(wanted))
    # Decided once: the second count, below, may say that slopes would do after all.
    shares, mean_only = plan.shares, plan.mean_only
    if mean_only:
        wanted = [False] * len(wanted)
        if not rows_are_public:
            again = publisher.count(table.rows(), purse.take(shares.rows))
            plan = replace(plan, rows=max(_combined(rows, again, shares.rows / SHARES.rows), 1.0))
    *bounds, of_target_bounds = narrowed_bounds(
        table.histogram,
        publisher,
        [*(None if mean_only else _bounds(kind) for kind in kinds), target.bounds],
        plan.rows,
        mu,
        purse,
        shares,
        functools.partial(plan.hides, additive=additive),
    )
    kinds = [Numeric(*pair) if pair else kind for kind, pair in zip(kinds, bounds, strict=True)]
    target = Numeric(*of_target_bounds) if of_target_bounds else target
    marginals = release_marginals(
        table.histogram, publisher, [*wanted, target.bounds is None], plan.rows, purse, shares
    )
    of_target = marginals.pop()
    centre, scale = _target_range(target, of_target, plan.target_share)
    if mean_only:
        basis = Basis((), table.columns, 1.0, 0.999)
    else:
        ramps: list[Ramp] = []
        for column, (kind, marginal) in enumerate(zip(kinds, marginals, strict=True)):
            if isinstance(kind, Categorical):
                ramps += level_ramps(column, kind)
            elif additive:
                apart = 0.0 if knots is not None else plan.knots_apart
                ramps += additive_ramps(column, kind, marginal, knots or plan.knots, apart=apart)
            else:
                ramps += linear_ramps(column, kind, marginal, plan.cuts)
        basis = Basis.fit_to_norm(
            ramps, kinds, marginals, intercept=plan.intercept, room=plan.room(additive=additive)
        )
    row_map = RowMap(basis.row_map_columns(), (centre, scale), _UNIT, basis.intercept)
    stored, gram = table.store(row_map)
    model = _Model(basis, centre, scale, stored, publisher, plan, n_jobs, show, name)
    is_seen = of_target is None or of_target.is_seen
    if mean_only:
        return replace(model.mean(purse.rest()), target_is_seen=is_seen)
    fitted = model.boost(gram, purse, additive=additive)
    return replace(fitted, target_is_seen=is_seen, marginals=tuple(marginals), tau=model.tau)


def _bounds(kind: Kind) -> Bounds | None:
    return kind.bounds if isinstance(kind, Numeric) else None


def _combined(first: float, second: float, ratio: float) -> float:
    """Return the mean of two counts, the second of which had `ratio` times the budget."""
    return (first + ratio * second) / (1.0 + ratio)


def _target_range(
    target: Numeric, marginal: Marginal | None, outside: float
) -> tuple[float, float]:
    if marginal is None:
        low, high = target.bounds or (-1.0, 1.0)
    else:
        low, high = (float(point) for point in marginal.quantiles([outside, 1.0 - outside]))
        if not high > low:
            low, high = float(marginal.edges[0]), float(marginal.edges[-1])
    return (low + high) / 2, max((high - low) / 2, 2.0**-60, 2.0**-50 * abs(low + high))


@dataclass
class _Model:
    basis: Basis
    centre: float
    scale: float
    stored: Stored
    publisher: Publisher
    plan: Plan
    n_jobs: int | None
    show: bool
    name: str
    tau: float = 1.0
    mu_round: float = 0.0
    # Of the noise in the last gradient.
    sigma: float = 0.0

    def gradient(self, theta: Floats) -> tuple[Floats, float]:
        """Release X'g at theta; return it and its noise's sigma.

        Privacy
        -------
        The exact sums go to the publisher and nowhere else.
        """
        tau = max(round(self.tau * _ONE), 1)
        exact = self.stored.gradient(theta, tau, n_jobs=self.n_jobs)
        noisy, self.sigma = self.publisher.gradient(exact, tau, self.mu_round, 1.0, _UNIT)
        return noisy, self.sigma

    def residuals(self, theta: Floats, mu: float) -> tuple[float, float]:
        """Release the mean of squared residuals at theta; return it and its noise's sigma.

        Privacy
        -------
        The exact sum goes to the publisher and nowhere else.
        """
        tau = max(round(self.tau * _ONE), 1)
        exact = self.stored.energy(theta, tau, n_jobs=self.n_jobs)
        total, sigma = self.publisher.energy(exact, tau, mu, _UNIT)
        least = (_LEAST_RESIDUAL * self.tau) ** 2
        return max(total / self.plan.rows, least), sigma / self.plan.rows

    def mean(self, mu: float) -> Fitted:
        """Return the mean of the target, and no slope."""
        self.mu_round = mu
        noisy, sigma = self.gradient(np.zeros(1))
        length = math.sqrt(self.basis.intercept)
        # All of the noise in a few rows would be a mean beyond the range of the target.
        theta = np.clip(noisy / (self.plan.rows * length), -1.0, 1.0) / length
        covariance = np.array([[(sigma / (self.plan.rows * self.basis.intercept)) ** 2]])
        sampling = np.array([[1.0 / self.plan.rows]])
        averaged = Averaged(theta, np.eye(1), covariance, sampling, np.zeros((1, 1)))
        return Fitted(self.basis, self.centre, self.scale, averaged, self.plan.rows, None, None, 1)

    def boost(self, gram: _native.Gram, purse: Purse, *, additive: bool) -> Fitted:
        """Return the mean of the last rounds."""
        plan = self.plan
        mu_threshold, mu_residuals = purse.take(SHARES.residuals), purse.take(SHARES.residuals)
        noisy_gram, sigma = self.publisher.gram(gram, purse.rest(SHARES.gram), 1.0)
        self.mu_round = per_round(purse.rest(), plan.rounds)
        self.basis = seen_levels(self.basis, noisy_gram, sigma)
        lines = straight_lines(self.basis)
        if additive:
            directions = all_curves(self.basis)
            bent = np.eye(self.basis.features) - lines @ lines.T
            engine = Boosting(noisy_gram, sigma, directions)
            if plan.straightening:
                held_back = plan.straightening * engine.norm * bent
                engine = Boosting(noisy_gram, sigma, directions, held_back)
        else:
            engine = Boosting(noisy_gram, sigma, lines)
        counter = rounds(plan.rounds, show=self.show, name=self.name)
        moments = []
        for _ in range(plan.warm_up):
            next(counter)
            moments.append(engine.round(self.gradient))
        if not additive:
            noise = self.sigma / math.sqrt(len(moments))
            ridge = 0.5 * engine.norm
            tails = choose_tails(self.basis, noisy_gram, np.mean(moments, axis=0), noise, ridge)
            if tails:
                engine.restrict(straight_lines(self.basis, tails))
        # Rather too wide than too narrow: a threshold within the noise would stop the rounds.
        spread = math.sqrt(sum(self.residuals(engine.theta, mu_threshold)))
        widest = _MOST_TAU if plan.signal > _WIDE_TAU_FROM else 1.0
        self.tau = min(max(plan.threshold * spread, _LEAST_TAU), widest)
        for _ in range(plan.rounds - plan.warm_up - plan.averaged):
            next(counter)
            engine.round(self.gradient)
        averaged = engine.average(self.gradient, counter, plan.averaged, spread**2)
        # The bar's end.
        next(counter, None)
        clipped, _ = self.residuals(averaged.theta, mu_residuals)
        variance, inside = unclipped(clipped, self.tau)
        # A clipped residual does not answer to theta: what is left of the noise grows.
        averaged = replace(
            averaged, noise=averaged.noise / inside**2, sampling=averaged.sampling / inside**2
        )
        weight = max(float(noisy_gram[-1, -1]), sigma)
        means = noisy_gram[:-1, -1] / weight * math.sqrt(self.basis.intercept)
        return Fitted(
            *(self.basis, self.centre, self.scale, averaged, plan.rows, variance, clipped),
            rounds=plan.rounds,
            means=means,
        )
