"""Weighted counts and sums of residuals at a public theta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpfit import _native
from dpfit._rounding import fraction_up, root_up
from dpfit._typing import Floats
from dpfit.statistics.at_theta import AtTheta
from dpfit.statistics.row_map import Scale
from dpfit.statistics.statistic import Noise, Relation

__all__ = [
    "WeightedCounts",
    "WeightedPredictions",
    "WeightedSquares",
    "WeightedSums",
    "WeightedTotal",
]


@dataclass(frozen=True, eq=False)
class _Weighted(AtTheta[_native.WeightedResiduals, Floats]):
    """Sums over stored rows of a weight times something, in multiples of the largest weight.

    Parameters
    ----------
    theta : array
        Coefficients of rows whose norm is at most `scale.bound`.
    scale : Scale
        What the stored integers are.
    weights : tuple of two int
        The stored feature that is the weight of a row, and its largest value in steps of the grid.

    Privacy
    -------
    The core clamps the weight of every row to the interval from zero to the largest value.
    """

    theta: Floats
    scale: Scale
    weights: tuple[int, int]

    native = _native.WeightedResiduals

    @property
    def resolution(self) -> float:
        """One step of a sum."""
        return self._step / self.weights[1]

    @property
    def _step(self) -> float:
        """What one step is without the weight."""
        return 1.0

    def noisy(self, total: _native.WeightedResiduals, noise: Noise) -> Floats:
        """Return the noisy sums."""
        found = total.release(noise.sigma, noise.entropy, n_jobs=noise.n_jobs)
        return found * self.resolution


@dataclass(frozen=True, eq=False)
class WeightedCounts(_Weighted):
    """Sums of weights by the residual, in the order of :class:`ResidualCounts`.

    Privacy
    -------
    A row adds at most the largest weight to one count. So replacing one changes two counts.
    """

    edges: tuple[int, ...]

    name = "weighted histogram of residuals"

    def of(
        self, rows: _native.Rows, theta: Floats, n_jobs: int | None
    ) -> _native.WeightedResiduals:
        """Sum over some rows."""
        return _native.WeightedResiduals.counts(
            rows, theta, self.edges, self.weights, n_jobs=n_jobs
        )

    def sensitivity(self, relation: Relation) -> float:
        """Return the sensitivity of one histogram of weights."""
        return _of_counts(self.weights[1], relation)


@dataclass(frozen=True, eq=False)
class WeightedPredictions(_Weighted):
    """Sums of weights between edges of the first feature, which contains predictions.

    Privacy
    -------
    A row adds at most the largest weight to one count. So replacing one changes two counts.
    """

    edges: tuple[int, ...]

    name = "weighted histogram of predictions"

    def of(
        self, rows: _native.Rows, theta: Floats, n_jobs: int | None
    ) -> _native.WeightedResiduals:
        """Sum over some rows."""
        return _native.WeightedResiduals.counts_by(
            rows, theta, 0, self.edges, self.weights, n_jobs=n_jobs
        )

    def sensitivity(self, relation: Relation) -> float:
        """Return the sensitivity of one histogram of weights."""
        return _of_counts(self.weights[1], relation)


@dataclass(frozen=True, eq=False)
class WeightedTotal(_Weighted):
    """The sum of all weights.

    Privacy
    -------
    A row adds between zero and the largest weight, so replacing one changes the sum by no more than
    adding one.
    """

    name = "sum of weights"

    def of(
        self, rows: _native.Rows, theta: Floats, n_jobs: int | None
    ) -> _native.WeightedResiduals:
        """Sum over some rows."""
        return _native.WeightedResiduals.counts_by(rows, theta, 0, (), self.weights, n_jobs=n_jobs)

    def sensitivity(self, relation: Relation) -> float:
        """Return the largest weight for every row of a unit."""
        return fraction_up(Fraction(self.weights[1] * relation.rows_per_unit))


@dataclass(frozen=True, eq=False)
class WeightedSums(_Weighted):
    """Weighted sums of clipped residuals between edges of the first feature.

    Privacy
    -------
    A row adds at most the largest weight times tau to one sum, and replacing one changes sums by at
    most twice that.
    """

    tau: int
    edges: tuple[int, ...]

    name = "weighted sums of residuals"

    @property
    def _step(self) -> float:
        return self.scale.step

    def of(
        self, rows: _native.Rows, theta: Floats, n_jobs: int | None
    ) -> _native.WeightedResiduals:
        """Sum over some rows."""
        return _native.WeightedResiduals.sums(
            rows, theta, self.tau, 0, self.edges, self.weights, n_jobs=n_jobs
        )

    def sensitivity(self, relation: Relation) -> float:
        """Return the largest weight times tau, for every row that differs."""
        return fraction_up(Fraction(self.weights[1] * self.tau * relation.rows))


@dataclass(frozen=True, eq=False)
class WeightedSquares(_Weighted):
    """The weighted sum of squares of clipped residuals.

    Privacy
    -------
    A row adds between zero and the largest weight times tau**2, so replacing one changes the sum by
    no more than adding one.
    """

    tau: int

    name = "weighted sum of squared residuals"

    @property
    def _step(self) -> float:
        return self.scale.step**2

    def of(
        self, rows: _native.Rows, theta: Floats, n_jobs: int | None
    ) -> _native.WeightedResiduals:
        """Sum over some rows."""
        return _native.WeightedResiduals.squares(rows, theta, self.tau, self.weights, n_jobs=n_jobs)

    def sensitivity(self, relation: Relation) -> float:
        """Return the largest weight times tau squared, for every row of a unit."""
        return fraction_up(Fraction(self.weights[1] * self.tau**2 * relation.rows_per_unit))


def _of_counts(most: int, relation: Relation) -> float:
    """Return the sensitivity of a histogram in which a row adds at most `most`."""
    moved = 2 if relation.replaces else 1
    return root_up(moved * (most * relation.rows_per_unit) ** 2, 0)
