"""One model on stored rows: coordinates, rounds, thresholds and shrinkage."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpfit._typing import Array, Floats
from dpfit.accounting import BudgetTracker, per_round
from dpfit.engine.covariance import Covariance, Path, Scores, way_after
from dpfit.engine.estimate import Estimate
from dpfit.engine.features.basis import Basis
from dpfit.engine.features.gram import ScaledGram
from dpfit.engine.features.levels import SeenLevels, empty_directions
from dpfit.engine.rounds import MOST_TAU, STEPS, Rounds
from dpfit.engine.schedule import Schedule
from dpfit.engine.shrinkage import Prior
from dpfit.engine.strategy import Bends, Pieces
from dpfit.engine.threshold import EDGES, Tails, Threshold, best_threshold, shows_most
from dpfit.engine.whitening import Coordinates, room
from dpfit.engine.worth import expected_noise, expected_tau, worth_scales
from dpfit.release import Released, Releaser
from dpfit.statistics import (
    Gradient,
    MappedGram,
    ResidualSums,
    Scale,
    SquaredResiduals,
    StoredTable,
)

__all__ = ["STEPS", "Stage"]

# A look at bends is worth its budget if it can show some that explain this share of the variance.
_VISIBLE = 0.1
# The mean is within the target's range, widened by its width at either end.
_FARTHEST = 3.0
# How much more than noise the bias of coefficients counts: its square counts twice, because it is
# the same in all fits.
_BIAS = math.sqrt(2.0)


class Stage:
    """Fits models to stored rows.

    Parameters
    ----------
    stored : StoredTable
        Stored features and targets, the latter in half-widths of their range.
    releaser : Releaser
        Adds noise.
    rows : float
        The released number of rows.
    rows_per_unit : int
        Rows that may belong to one unit.
    variance : float
        The variance of the target, by its marginal.
    tails : Tails
        How far targets are from their mean, by their marginal.
    progress : callable
        Called with the number of rounds done, in all stages so far, and of all rounds.
    infers : bool
        Whether coefficients matter, and not predictions alone: residuals are then clipped less.
    """

    def __init__(
        self,
        stored: StoredTable,
        releaser: Releaser,
        rows: float,
        rows_per_unit: int,
        variance: float,
        tails: Tails,
        progress: Callable[[int, int], None],
        *,
        infers: bool,
    ) -> None:
        self._infers = infers
        self._stored, self._releaser, self._rows, self._tails = stored, releaser, rows, tails
        self._rows_per_unit, self._variance, self._progress = rows_per_unit, variance, progress
        self._done = 0

    def on(self, stored: StoredTable) -> Stage:
        """Return the stage that goes on with rows that are stored differently."""
        other = copy.copy(self)
        other._stored = stored
        return other

    @property
    def rows(self) -> float:
        """What sums over rows are divided by."""
        return self._rows

    @property
    def rows_per_unit(self) -> int:
        """Rows that may belong to one unit."""
        return self._rows_per_unit

    @property
    def tails(self) -> Tails:
        """How far targets are from their mean, by their marginal."""
        return self._tails

    def squared_residuals(self, theta: Floats, tau: float, mu: float) -> Released[float]:
        """Release the sum of squared residuals of stored rows, clipped.

        Privacy
        -------
        One release, which is mu-GDP.
        """
        steps = min(max(round(tau * STEPS), 1), MOST_TAU)
        statistic = SquaredResiduals(theta, steps, Scale(step=1.0 / STEPS))
        return self._releaser.release(self._stored, statistic, mu)

    def affordable(self, basis: Basis, mu: float, schedule: Schedule) -> Array:
        """Return the functions that this budget pays for, by what is expected of them."""
        return np.flatnonzero(self._scales(basis, mu, schedule))

    def fit(
        self,
        basis: Basis,
        mu: float,
        schedule: Schedule,
        *,
        after: Estimate | None = None,
        later: int = 0,
    ) -> Estimate:
        """Fit a model with all functions of the basis.

        Parameters
        ----------
        basis : Basis
            The functions.
        mu : float
            The budget.
        schedule : Schedule
            How to spend it.
        after : Estimate, optional
            A model of nearly the same functions to start from: its X'X and its coefficients.
        later : int, default 0
            The number of rounds that other models will have, for progress.

        Privacy
        -------
        The releases compose to mu.
        """
        budget = BudgetTracker(mu)
        prior = basis.prior(self._variance)
        noise = self._noise(basis, mu, schedule)
        if after is None:
            scales = self._scales(basis, mu, schedule)
            scales = np.maximum(scales, 1e-2 * scales.max())
            expected = np.array([function.variance for function in basis.functions])
            is_bend = np.array([function.is_bend for function in basis.functions])
            found = Coordinates.start(scales, expected, is_bend)
            statistic = MappedGram(basis.mapped(found.matrix / found.bound))
            released = self._release(statistic, budget.spend(schedule.gram))
            gram = ScaledGram.of(released, found.matrix / found.bound)
            empty = empty_directions(basis, gram)
            found = found.again(released, self._rows, prior, noise, empty)
        else:
            assert after.gram is not None
            assert after.coordinates is not None
            gram, found = after.gram, after.coordinates
        if schedule.second_gram and not (found.is_sure and after is None):
            mu_again = budget.spend(schedule.second_gram)
            found = found.wider(self._rows * mu_again / self._rows_per_unit)
            again = self._release(MappedGram(basis.mapped(found.matrix / found.bound)), mu_again)
            found = found.again(again, self._rows, prior, noise)
        estimate = self._rounds(basis, found, prior, budget, schedule, after, later)
        return replace(estimate, gram=gram, coordinates=found, levels=SeenLevels.of(basis, gram))

    def look(self, pieces: Pieces, first: Estimate, mu: float) -> list[Bends | None]:
        """Release how the residuals of a model of lines depend on every column.

        Parameters
        ----------
        pieces : Pieces
            Where columns are divided.
        first : Estimate
            The model.
        mu : float
            The budget.

        Privacy
        -------
        One release, which is mu-GDP.
        """
        assert first.threshold is not None
        basis, scale = first.basis, Scale(step=1.0 / STEPS)
        theta = basis.mapped(first.coefficients)
        tau = max(round(min(first.threshold.tau, EDGES[-1]) * STEPS), 1)
        statistic = ResidualSums(theta, tau, pieces.edges, scale)
        found = self._releaser.release(self._stored, statistic, mu)
        lines = {f.column: c for f, c in zip(basis.functions, first.coefficients, strict=True)}
        noise, residual = (found.sigma / self._rows) ** 2, first.threshold.variance
        related = _correlations(first, len(pieces.knots))
        return [
            None
            if knots is None
            else Bends(
                lines.get(column, 0.0),
                related[column],
                knots,
                found.value[basis.place(column)] / self._rows,
                noise,
                residual / self._rows,
                residual,
            )
            for column, knots in enumerate(pieces.knots)
        ]

    def can_see_bends(self, pieces: Pieces, mu: float) -> bool:
        """Return whether :meth:`look` would show bends that explain a tenth of the variance."""
        tau = expected_tau(self._variance)
        sigma = tau * math.sqrt(pieces.columns) * self._rows_per_unit / (self._rows * mu)
        sampling = self._variance / self._rows
        bends = Bends(0.0, np.zeros(0), np.zeros(2), np.zeros(0), sigma**2, sampling, 0.0)
        # A line of variance one has the height one in a typical piece.
        evidence = float(bends.evidence(np.array(pieces.most * sigma**2)))
        return pieces.columns > 0 and evidence < _VISIBLE * self._variance

    def mean(self, basis: Basis, mu: float) -> Estimate:
        """Return the mean of the target, in one release."""
        stored = self._stored.mapped(basis.matrix())
        theta, scale = np.zeros(1), Scale(step=1.0 / STEPS)
        tau = self._tails.threshold(self._rows_per_unit / (self._rows * mu))
        found = self._releaser.release(stored, Gradient(theta, round(tau * STEPS), scale), mu)
        self._report(0)
        # All of the noise in a few rows would be a mean far from the target. The range that was
        # found may be a part of the true one, so the mean may be outside it, as predictions may.
        mean = np.clip(found.value / self._rows, -_FARTHEST, _FARTHEST)
        noise = np.array([[(found.sigma / self._rows) ** 2]])
        sampling = np.array([[self._variance / self._rows]])
        nothing = np.zeros((1, 1))
        covariance = Covariance(noise, nothing, nothing, sampling, nothing)
        return Estimate(basis, mean, mean, lambda: covariance, None, 1)

    def _noise(self, basis: Basis, mu: float, schedule: Schedule) -> float:
        """Return the variance of noise in a coefficient that has the whole norm of a row."""
        number = len(basis.functions)
        signal = self._rows * mu * math.sqrt(schedule.left) / self._rows_per_unit
        tau = expected_tau(self._variance)
        if not shows_most(self._rows_per_unit / (mu * math.sqrt(schedule.counts)), self._rows):
            # Nothing but the marginal of the target will tell how large residuals are.
            tau = max(tau, self._tails.threshold(number * room(number) / signal))
        return expected_noise(number, signal, tau)

    def _scales(self, basis: Basis, mu: float, schedule: Schedule) -> Floats:
        return worth_scales(basis, self._variance, self._noise(basis, mu, schedule))

    def _report(self, left: int) -> None:
        """Report that one more round is done, and how many are left."""
        self._done += 1
        self._progress(self._done, self._done + left)

    def _release(self, statistic: MappedGram, mu: float) -> Released[Floats]:
        return self._releaser.release(self._stored, statistic, mu)

    def _rounds(
        self,
        basis: Basis,
        found: Coordinates,
        prior: Prior,
        budget: BudgetTracker,
        schedule: Schedule,
        after: Estimate | None,
        later: int,
    ) -> Estimate:
        # Rows longer than the bound are weighted down, here as in the X'X that coordinates rest on.
        stored = self._stored.mapped(basis.mapped(found.matrix / found.bound))
        rounds = Rounds(stored, found, self._releaser, self._rows)
        theta = np.zeros(len(found.variances))
        # Wide enough to find the mean, and no wider: residuals are counted after these rounds, and
        # their noise counts, too.
        threshold = Threshold(1.0, self._variance, 0.0, 0.0)
        if after is not None:
            assert after.threshold is not None
            theta, threshold = found.inverse @ after.coefficients, after.threshold
        mu_counts, mu_products = budget.spend(schedule.counts), 0.0
        if schedule.products:
            mu_products = budget.spend(schedule.products)
        early = schedule.wide + schedule.settling
        mu_early = per_round(budget.spend(schedule.early), early)
        mu_last = budget.spend_rest()
        mu_round = per_round(mu_last, schedule.averaged)
        total, sigmas, counts = np.zeros_like(theta), [], None
        for done in range(schedule.rounds):
            if done == schedule.wide:
                counts = rounds.counts(theta, mu_counts)
                noise = rounds.cost * self._rows_per_unit / mu_last
                # A score is a residual times the length of its row.
                tails = self._tails.times(found.bound / rounds.norm)
                seen = counts.value, counts.sigma, self._rows
                threshold = best_threshold(*seen, noise, tails)
                if self._infers:
                    # Every coefficient has to be right, and not the predictions alone, as long as
                    # the noise is not larger than what is to be explained.
                    most = max(math.sqrt(self._variance) / noise, threshold.tau)
                    noise /= math.sqrt(len(theta)) * (_BIAS if schedule.products else 1.0)
                    threshold = best_threshold(*seen, noise, tails, most)
            mu = mu_early if done < early else mu_round
            theta, sigma = rounds.step(theta, threshold.tau, mu)
            sigmas.append(sigma)
            if done >= early:
                total += theta
            self._report(schedule.rounds - done - 1 + later)
        estimates, unsure = total / schedule.averaged, found.noise / found.steps
        if mu_products:
            products = rounds.products(estimates, threshold.tau, mu_products)
            scores = Scores.of(products, found.steps, self._rows)
        else:
            # Nothing more is released for a first model, and J is taken to be known.
            scores, unsure = Scores.alike(threshold.variance, len(theta)), np.zeros_like(theta)
        path = Path(found.left, tuple(sigmas), schedule.averaged, unsure, found.axes)
        stored.free()
        inverse = found.inverse
        # Without those from not knowing J: shrunk by these as well, curves predict worse on most
        # real tables at small budgets.
        errors = path.variances(scores, found.steps, self._rows)
        updated, mean = prior.learned(inverse, estimates, errors)

        def covariance() -> Covariance:
            # Where rounds do not reach, effects may be as large as those that were found, and small
            # estimates say nothing.
            likely = np.sqrt(np.maximum(prior.variances, updated.variances))
            size = np.sqrt(found.steps)
            turned, back = size[:, None] * inverse, found.matrix / size
            way = turned * likely
            if after is not None and after.basis is basis:
                way = way_after(way, turned, after.covariance)
            # A coefficient to publish may have all that clipping takes; curves share it.
            clipped = threshold.lost / (1.0 if self._infers else math.sqrt(len(theta)))
            return path.covariance(scores, found.steps, self._rows, way, back, clipped)

        return Estimate(
            basis,
            mean,
            found.matrix @ estimates,
            covariance,
            threshold,
            schedule.rounds,
            counts=counts,
        )


def _correlations(first: Estimate, columns: int) -> Floats:
    """Return the correlations of the lines of columns; zero where a column has none."""
    assert first.coordinates is not None
    places = [i for i, f in enumerate(first.basis.functions) if f.heights is not None]
    moments = first.coordinates.moments[np.ix_(places, places)]
    size = np.sqrt(np.maximum(moments.diagonal(), 1e-12))
    found = np.zeros((columns, columns))
    of = [first.basis.functions[i].column for i in places]
    found[np.ix_(of, of)] = moments / np.outer(size, size)
    return found
