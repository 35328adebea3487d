"""One model on stored rows: coordinates, rounds, thresholds and shrinkage."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpfit._typing import Array, Floats
from dpfit.accounting import BudgetTracker, per_round
from dpfit.engine.features.basis import Basis
from dpfit.engine.features.levels import SeenLevels
from dpfit.engine.shrinkage import EXPLAINED, Prior
from dpfit.engine.strategy import Bends, Pieces
from dpfit.engine.threshold import EDGES, Tails, Threshold, best_threshold
from dpfit.engine.whitening import Coordinates, first_scales, room
from dpfit.release import Released, Releaser
from dpfit.statistics import (
    MOST_REACH,
    Gradient,
    MappedGram,
    ResidualCounts,
    ResidualSums,
    Scale,
    StoredTable,
)

__all__ = ["FIRST", "FULL", "STEPS", "Estimate", "Schedule", "Stage"]

# Steps of the target's grid in a half-width of its range: residuals keep four digits, and
# thresholds can be 64 half-widths.
STEPS = 1 << 14
# A residual is clipped at this many thresholds, however short its row is.
_MOST_TAU = 3.0
# Thresholds in standard deviations of normal residuals, to plan with.
_TYPICAL_TAU = 3.0
# The evidence that a function needs before it is estimated: with 3, its expected size is the root
# of 3 times the noise.
_EVIDENCE = 3.0
_LARGEST = 1e6
# A look at bends is worth its budget if it can show some that explain this share of the variance.
_VISIBLE = 0.1


@dataclass(frozen=True)
class Schedule:
    """How a stage spends its budget: shares of its square, and rounds.

    Parameters
    ----------
    gram, second_gram : float
        For X'X of functions, and of coordinates; the latter may be zero.
    counts : float
        For counts of residuals, from which the threshold follows.
    rounds : int
        All rounds, which share what is left.
    wide : int
        Rounds before the threshold is set.
    averaged : int
        Last rounds that are averaged.
    """

    gram: float
    second_gram: float
    counts: float
    rounds: int
    wide: int
    averaged: int

    @property
    def left(self) -> float:
        """The share for all rounds."""
        return 1.0 - self.gram - self.second_gram - self.counts


FIRST = Schedule(0.3, 0.0, 0.1, rounds=4, wide=2, averaged=2)
FULL = Schedule(0.12, 0.15, 0.03, rounds=10, wide=2, averaged=6)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Coefficients of functions, and their errors.

    Parameters
    ----------
    basis : Basis
        The functions.
    coefficients : array of shape (p,)
        Shrunk by what is expected of them.
    unshrunk : array of shape (p,)
        Before they were shrunk.
    noise, sampling, hidden : arrays of shape (p, p)
        Covariances of errors in `unshrunk`: of the noise, of the rows as a sample, and of what the
        rounds do not reach because the noise of X'X hides it.
    threshold : Threshold or None
        Where residuals were clipped; None for a mean.
    rounds : int
        How many there were.
    levels : SeenLevels
        Which levels X'X shows.
    """

    basis: Basis
    coefficients: Floats
    unshrunk: Floats
    noise: Floats
    sampling: Floats
    hidden: Floats
    threshold: Threshold | None
    rounds: int
    levels: SeenLevels


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
    ) -> None:
        self._stored, self._releaser, self._rows, self._tails = stored, releaser, rows, tails
        self._rows_per_unit, self._variance, self._progress = rows_per_unit, variance, progress
        self._done = 0

    def on(self, stored: StoredTable) -> Stage:
        """Return the stage that goes on with rows that are stored differently."""
        other = copy.copy(self)
        other._stored = stored
        return other

    def affordable(self, basis: Basis, mu: float, schedule: Schedule) -> Array:
        """Return the functions that this budget pays for, by what is expected of them."""
        _, scales = self._scales(basis, mu, schedule)
        return np.flatnonzero(scales)

    def fit(self, basis: Basis, mu: float, schedule: Schedule, later: int = 0) -> Estimate:
        """Fit a model with all functions of the basis; `later` rounds are still to come.

        Privacy
        -------
        The releases compose to mu.
        """
        budget = BudgetTracker(mu)
        prior, scales = self._scales(basis, mu, schedule)
        scales = np.maximum(scales, 1e-2 * scales.max())
        noise = self._noise(basis, mu, schedule)
        functions = basis.matrix()
        gram = self._release(MappedGram(functions * scales), budget.spend(schedule.gram))
        levels = SeenLevels.of(basis, gram, scales)
        found = Coordinates.first(gram, scales, self._rows, prior, noise)
        if schedule.second_gram and not found.is_sure:
            mapped = MappedGram(functions @ found.matrix / found.bound)
            again = self._release(mapped, budget.spend(schedule.second_gram))
            found = found.again(again, self._rows)
        return replace(self._rounds(basis, found, prior, budget, schedule, later), levels=levels)

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
        theta = basis.matrix() @ first.coefficients
        tau = max(round(min(first.threshold.tau, EDGES[-1]) * STEPS), 1)
        statistic = ResidualSums(theta, tau, pieces.edges, scale)
        found = self._releaser.release(self._stored, statistic, mu)
        lines = {f.column: c for f, c in zip(basis.functions, first.coefficients, strict=True)}
        noise, residual = (found.sigma / self._rows) ** 2, first.threshold.variance
        return [
            None
            if knots is None
            else Bends(
                lines.get(column, 0.0),
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
        tau = _TYPICAL_TAU * math.sqrt(self._variance * (1.0 - EXPLAINED))
        sigma = tau * math.sqrt(pieces.columns) * self._rows_per_unit / (self._rows * mu)
        sampling = self._variance / self._rows
        bends = Bends(0.0, np.zeros(2), np.zeros(pieces.most), sigma**2, sampling, 0.0)
        return pieces.columns > 0 and bends.evidence < _VISIBLE * self._variance

    def mean(self, basis: Basis, mu: float) -> Estimate:
        """Return the mean of the target, in one release."""
        stored = self._stored.mapped(basis.matrix())
        theta, scale = np.zeros(1), Scale(step=1.0 / STEPS)
        tau = self._tails.threshold(self._rows_per_unit / (self._rows * mu))
        found = self._releaser.release(stored, Gradient(theta, round(tau * STEPS), scale), mu)
        self._report(0)
        # All of the noise in a few rows would be a mean beyond the range of the target.
        mean = np.clip(found.value / self._rows, -1.0, 1.0)
        noise = np.array([[(found.sigma / self._rows) ** 2]])
        sampling = np.array([[1.0 / self._rows]])
        nothing = np.zeros((1, 1))
        return Estimate(basis, mean, mean, noise, sampling, nothing, None, 1, SeenLevels())

    def _noise(self, basis: Basis, mu: float, schedule: Schedule) -> float:
        """Return the variance of noise in a coefficient that has the whole norm of a row."""
        tau = _TYPICAL_TAU * math.sqrt(self._variance * (1.0 - EXPLAINED))
        signal = self._rows * mu * math.sqrt(schedule.left) / self._rows_per_unit
        return (room(len(basis.functions)) * tau / signal) ** 2

    def _scales(self, basis: Basis, mu: float, schedule: Schedule) -> tuple[Prior, Floats]:
        prior = basis.prior(self._variance)
        variances = np.array([function.variance for function in basis.functions])
        return prior, first_scales(variances, prior, _EVIDENCE * self._noise(basis, mu, schedule))

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
        later: int,
    ) -> Estimate:
        # Rows longer than the bound are weighted down, here as in the X'X that coordinates rest on.
        stored = self._stored.mapped(basis.matrix() @ found.matrix / found.bound)
        scale = Scale(step=1.0 / STEPS, bound=found.bound)
        theta = np.zeros(len(found.variances))
        mu_counts = budget.spend(schedule.counts)
        mu_round = per_round(budget.spend_rest(), schedule.rounds)
        # Wide enough to find the mean, and no wider: residuals are counted after these rounds, and
        # their noise counts, too.
        threshold = Threshold(1.0, self._variance, 0.0)
        total, sigma = np.zeros_like(theta), 0.0
        for done in range(schedule.rounds):
            if done == schedule.wide:
                edges = np.round(EDGES * STEPS).astype(np.int64)
                counts = self._releaser.release(
                    stored, ResidualCounts(theta, tuple(edges.tolist()), scale), mu_counts
                )
                mu_averaged = mu_round * math.sqrt(schedule.averaged) / self._rows_per_unit
                cost = room(len(theta)) * len(theta) / (self._rows * mu_averaged)
                threshold = best_threshold(
                    counts.value, counts.sigma, self._rows, cost, self._tails
                )
            tau = max(round(min(_MOST_TAU * threshold.tau, EDGES[-1]) * STEPS), 1)
            reach = int(found.bound * threshold.tau / (scale.row_step * scale.step))
            reach = min(max(reach, 1), MOST_REACH)
            gradient = Gradient(theta, tau, scale, reach)
            step = self._releaser.release(stored, gradient, mu_round)
            sigma = step.sigma
            moved = theta + step.value / (self._rows * found.variances)
            theta = np.clip(np.nan_to_num(moved), -_LARGEST, _LARGEST)
            if done >= schedule.rounds - schedule.averaged:
                total += theta
            self._report(schedule.rounds - done - 1 + later)

        stored.free()
        estimates = total / schedule.averaged
        noise, sampling = found.errors(sigma**2 / schedule.averaged, threshold.variance, self._rows)
        inverse = found.inverse
        missing = found.matrix @ found.missing(schedule.rounds, schedule.averaged) @ inverse
        hidden = (missing * prior.variances) @ missing.T
        errors = np.diag(noise) + np.diag(sampling)
        prior = prior.updated(inverse, estimates, errors)
        mean, _ = prior.posterior(inverse, estimates, errors)
        return Estimate(
            basis,
            mean,
            found.matrix @ estimates,
            found.matrix @ noise @ found.matrix.T,
            found.matrix @ sampling @ found.matrix.T,
            hidden,
            threshold,
            schedule.rounds,
            SeenLevels(),
        )
