"""Rounds in whitened coordinates: noisy gradients, and what is released of the residuals."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.threshold import EDGES
from dpfit.engine.whitening import Coordinates
from dpfit.release import Released, Releaser
from dpfit.statistics import (
    MOST_REACH,
    Gradient,
    Scale,
    ScoreCounts,
    ScoreProducts,
    SquaredResiduals,
    StoredTable,
)

__all__ = ["MOST_TAU", "STEPS", "Rounds"]

# Steps of the target's grid in a half-width of its range: residuals keep four digits, and
# thresholds can be 64 half-widths.
STEPS = 1 << 14
# No residual is larger, in steps.
MOST_TAU = round(float(EDGES[-1]) * STEPS)
_LARGEST = 1e6


@dataclass(frozen=True, eq=False)
class Rounds:
    """What is released of rows in their coordinates, at a public theta.

    A row z with residual g adds the score z g to the gradient. Its norm is clipped, not that of
    z: a long row with a small residual, or a short one with a large residual, is used as it is.
    Sizes of scores are in root mean squares of the norm of z, so that they are those of residuals
    for rows of average length.

    Parameters
    ----------
    stored : StoredTable
        Rows in their coordinates.
    found : Coordinates
        The coordinates.
    releaser : Releaser
        Adds noise.
    rows : float
        The released number of rows.
    """

    stored: StoredTable
    found: Coordinates
    releaser: Releaser
    rows: float

    @functools.cached_property
    def scale(self) -> Scale:
        """What the stored integers are."""
        return Scale(step=1.0 / STEPS, bound=self.found.bound)

    @functools.cached_property
    def norm(self) -> float:
        """The root mean square of the norm of rows, or their bound if that is less."""
        return min(self.found.norm, self.found.bound)

    @functools.cached_property
    def cost(self) -> float:
        """The noise in predictions of one round with mu = 1 that clips scores at one."""
        return self.norm * math.sqrt(float(np.sum(1.0 / self.found.variances))) / self.rows

    def _reach(self, size: float) -> int:
        """Return the size of a score in steps."""
        steps = size * self.norm / (self.scale.row_step * self.scale.step)
        return min(max(int(steps), 1), MOST_REACH)

    def step(self, theta: Floats, tau: float, mu: float) -> tuple[Floats, float]:
        """Return theta after one more round, and the standard deviation of the gradient's noise.

        Privacy
        -------
        One release, which is mu-GDP.
        """
        gradient = Gradient(theta, MOST_TAU, self.scale, self._reach(tau))
        found = self.releaser.release(self.stored, gradient, mu)
        moved = theta + found.value / (self.rows * self.found.steps)
        return np.clip(np.nan_to_num(moved), -_LARGEST, _LARGEST), found.sigma

    def counts(self, theta: Floats, mu: float) -> Released[Floats]:
        """Release how many scores there are of every size.

        Privacy
        -------
        One release, which is mu-GDP.
        """
        edges = tuple(self._reach(float(edge)) for edge in EDGES)
        return self.releaser.release(self.stored, ScoreCounts(theta, edges, self.scale), mu)

    def products(self, theta: Floats, tau: float, mu: float) -> Released[Floats]:
        """Release the sum of uu' over the scores u.

        Privacy
        -------
        One release, which is mu-GDP.
        """
        statistic = ScoreProducts(theta, MOST_TAU, self.scale, self._reach(tau))
        return self.releaser.release(self.stored, statistic, mu)

    def squares(self, theta: Floats, tau: float, mu: float) -> Released[float]:
        """Release the sum of squared residuals, clipped.

        Privacy
        -------
        One release, which is mu-GDP.
        """
        steps = min(max(round(tau * STEPS), 1), MOST_TAU)
        return self.releaser.release(self.stored, SquaredResiduals(theta, steps, self.scale), mu)
