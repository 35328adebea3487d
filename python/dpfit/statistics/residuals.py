"""Sums of residuals and gradients at a public theta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpfit import _native
from dpfit._rounding import fraction_up, root_up
from dpfit._typing import Floats
from dpfit.statistics.at_theta import AtTheta
from dpfit.statistics.row_map import Scale
from dpfit.statistics.statistic import Batches, Noise, Relation, Statistic, merged

__all__ = ["MOST_REACH", "ClippedGradients", "Gradient", "ResidualSums", "SquaredResiduals"]

# The largest joint bound of a row and its residual.
MOST_REACH: int = _native.MOST_REACH


@dataclass(frozen=True, eq=False)
class Gradient(AtTheta[_native.Gradient, Floats]):
    """X'g of stored rows, with g = clip(y - X theta, +-tau).

    With `reach`, a row and its residual have a joint bound: the residual of a row of norm |x| is
    clipped to min(tau, reach / |x|), so that a short row may have a larger residual.

    Parameters
    ----------
    theta : array
        Coefficients of rows whose norm is at most `scale.bound`.
    tau : int
        Where residuals are clipped, in steps of the target's grid.
    scale : Scale
        What the stored integers are.
    reach : int, optional
        The bound on the norm of a row times its residual, in steps of `resolution`.

    Privacy
    -------
    A row moves the sum by its norm times its clipped residual: at most by the norm of a row times
    tau, and by `reach`. The core checks the latter for every row, in integers.
    """

    theta: Floats
    tau: int
    scale: Scale
    reach: int | None = None

    name = "X'g"
    native = _native.Gradient

    @property
    def resolution(self) -> float:
        """One step of X'g."""
        return self.scale.row_step * self.scale.step

    def of(self, rows: _native.Rows, theta: Floats, n_jobs: int | None) -> _native.Gradient:
        """Sum over some rows."""
        return _native.Gradient.of(rows, theta, self.tau, self.reach, n_jobs=n_jobs)

    def sensitivity(self, relation: Relation) -> float:
        """Return the norm of a row times tau or the reach, for every row that differs."""
        most = _native.ROW_SCALE * self.tau
        if self.reach is not None:
            most = min(most, self.reach)
        return fraction_up(Fraction(most * relation.rows))

    def noisy(self, total: _native.Gradient, noise: Noise) -> Floats:
        """Return the noisy vector."""
        found = total.release(noise.sigma, noise.entropy, n_jobs=noise.n_jobs)
        return found * self.resolution


@dataclass(frozen=True, eq=False)
class ResidualSums(AtTheta[_native.ResidualSums, "list[Floats]"]):
    """Sums of g over stored rows between edges of each feature, with the g of :class:`Gradient`.

    Parameters
    ----------
    theta : array
        Coefficients of rows whose norm is at most `scale.bound`.
    tau : int
        Where residuals are clipped, in steps of the target's grid.
    edges : tuple of tuples of int
        For each feature, strictly increasing edges in steps of ``2**-15``; none for a feature
        without sums. A feature with m edges has m + 1 sums.
    scale : Scale
        What the stored integers are.

    Privacy
    -------
    A row adds its residual, at most tau, to one sum of each of k features, so adding or removing a
    row moves all sums by at most sqrt(k) * tau, and replacing one by twice that.
    """

    theta: Floats
    tau: int
    edges: tuple[tuple[int, ...], ...]
    scale: Scale

    name = "sums of residuals"
    native = _native.ResidualSums

    @property
    def resolution(self) -> float:
        """One step of the target."""
        return self.scale.step

    def of(self, rows: _native.Rows, theta: Floats, n_jobs: int | None) -> _native.ResidualSums:
        """Sum over some rows."""
        return _native.ResidualSums.of(rows, theta, self.tau, self.edges, n_jobs=n_jobs)

    def sensitivity(self, relation: Relation) -> float:
        """Return the root of the number of features times tau, for every row that differs."""
        features = sum(bool(edges) for edges in self.edges)
        return root_up(features * (self.tau * relation.rows) ** 2, 0)

    def noisy(self, total: _native.ResidualSums, noise: Noise) -> list[Floats]:
        """Return the noisy sums of every feature, empty for one without edges."""
        found = total.release(noise.sigma, noise.entropy, n_jobs=noise.n_jobs) * self.resolution
        lengths = [len(edges) + 1 if edges else 0 for edges in self.edges]
        return np.split(found, np.cumsum(lengths)[:-1])


@dataclass(frozen=True, eq=False)
class SquaredResiduals(AtTheta[_native.Energy, float]):
    """The sum of g**2 over stored rows, with the g of :class:`Gradient` and its parameters.

    Privacy
    -------
    A row adds between zero and tau**2, so replacing a row changes the sum by no more than adding
    one.
    """

    theta: Floats
    tau: int
    scale: Scale

    name = "sum of squared residuals"
    native = _native.Energy

    @property
    def resolution(self) -> float:
        """One step of the sum."""
        return self.scale.step**2

    def of(self, rows: _native.Rows, theta: Floats, n_jobs: int | None) -> _native.Energy:
        """Sum over some rows."""
        return _native.Energy.of(rows, theta, self.tau, n_jobs=n_jobs)

    def sensitivity(self, relation: Relation) -> float:
        """Return tau squared for every row of a unit."""
        return fraction_up(Fraction(self.tau**2 * relation.rows_per_unit))

    def noisy(self, total: _native.Energy, noise: Noise) -> float:
        """Return the noisy sum."""
        return total.release(noise.sigma, noise.entropy) * self.resolution


@dataclass(frozen=True, eq=False)
class ClippedGradients(Statistic[_native.ExampleGradient, Floats]):
    """The sum over rows of clip((y - x theta) x, bound), clipped row by row.

    Parameters
    ----------
    theta : array
        Coefficients of the columns of X and, if there is one more, of a constant one.
    bound : float
        The norm to which the gradient of a row is clipped.

    Privacy
    -------
    The core checks the norm of what each row adds, in integers: at most ``EXAMPLE_SCALE``.
    """

    theta: Floats
    bound: float

    name = "sum of clipped gradients"
    native = _native.ExampleGradient

    @property
    def resolution(self) -> float:
        """One step of the sum."""
        return self.bound / _native.EXAMPLE_SCALE

    def sum(self, part: Batches) -> _native.ExampleGradient | None:
        """Sum over the rows of a part."""
        return merged(
            _native.ExampleGradient.of(
                x, y, self.theta, self.bound, missing=part.missing, n_jobs=part.n_jobs
            )
            for x, y in part
        )

    def sensitivity(self, relation: Relation) -> float:
        """Return the norm of a clipped gradient, for every row that differs."""
        return float(_native.EXAMPLE_SCALE * relation.rows)

    def noisy(self, total: _native.ExampleGradient, noise: Noise) -> Floats:
        """Return the noisy vector."""
        found = total.release(noise.sigma, noise.entropy, n_jobs=noise.n_jobs)
        return found * self.resolution
