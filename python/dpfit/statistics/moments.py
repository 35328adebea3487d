"""X'X of the quantised rows, and its smallest eigenvalue."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfit import _native
from dpfit._typing import Floats
from dpfit.statistics.at_theta import AtTheta
from dpfit.statistics.row_map import RowMap, Scale
from dpfit.statistics.statistic import Batches, Blocks, Noise, Relation, Statistic, V, merged

__all__ = ["Gram", "MappedGram", "ScoreProducts", "SmallestEigenvalue", "WeightSum"]

_ROOT_TWO = math.nextafter(math.sqrt(2.0), math.inf)
# A constant needs a share of the norm below one. Truncation makes q**2 no more than this share.
_WEIGHT_SHARE = 1.0 - 2.0**-20
_HALF_ROOT_TWO = math.nextafter(math.sqrt(0.5), math.inf)


@dataclass(frozen=True)
class _OfGram(Statistic[_native.Gram, V]):
    """A statistic whose exact sum is X'X.

    Parameters
    ----------
    row_map : RowMap
        The map from rows of numbers to rows of integers.
    """

    row_map: RowMap

    native = _native.Gram

    @property
    def resolution(self) -> float:
        """One step of X'X."""
        return self.row_map.scale.bound**2 / _native.ROW_SCALE**2

    def sum(self, part: Batches) -> _native.Gram | None:
        """Sum over the rows of a part, which are not stored."""
        if part.max_weight is not None:
            raise ValueError("X'X of weighted rows is a sum over stored rows")
        row_map = self.row_map.native()
        found: _native.Gram | None = part.added(lambda _: _native.Gram(row_map), row_map)
        return found

    def kept(self, gram: _native.Gram) -> _native.Gram:
        """Return X'X of stored rows; refuse that of another row map.

        Privacy
        -------
        The sensitivity of the eigenvalue depends on the number of features. The core compares keys.
        """
        row_map = self.row_map.native()
        # No row is added.
        gram.extend(row_map, np.zeros((0, row_map.columns)), np.zeros(0))
        return gram


@dataclass(frozen=True)
class Gram(_OfGram[Floats]):
    """X'X.

    Privacy
    -------
    The noise is symmetric: sigma on the diagonal and sigma/sqrt(2) elsewhere. That is equal noise
    in the coordinates (diagonal, sqrt(2) * upper triangle), whose Euclidean norm is the Frobenius
    norm.
    """

    name = "X'X"

    def sensitivity(self, relation: Relation) -> float:
        """Return the sensitivity in the Frobenius norm."""
        return _sensitivity(relation)

    def noisy(self, total: _native.Gram, noise: Noise) -> Floats:
        """Return the noisy matrix."""
        return _noisy(total, noise) * self.resolution


@dataclass(frozen=True, eq=False)
class MappedGram(Statistic[_native.Gram, Floats]):
    """X'X of the rows of :meth:`StoredTable.mapped`, without storing them.

    With an identity matrix it is X'X of the stored rows.

    Parameters
    ----------
    matrix : array of shape (features, new features)
        The public matrix.

    Privacy
    -------
    A mapped row depends on one stored row only and has norm at most one, so that sensitivity and
    noise are those of :class:`Gram`. The matrix must be public.
    """

    matrix: Floats

    name = "X'X of mapped rows"
    native = _native.Gram

    @property
    def resolution(self) -> float:
        """One step of X'X."""
        return 1.0 / _native.ROW_SCALE**2

    def sum(self, part: Blocks) -> _native.Gram | None:
        """Sum over the rows of a part."""
        return merged(
            _native.Gram.of_mapped(rows, self.matrix, n_jobs=part.n_jobs) for rows in part
        )

    def sensitivity(self, relation: Relation) -> float:
        """Return the sensitivity in the Frobenius norm."""
        return _sensitivity(relation)

    def noisy(self, total: _native.Gram, noise: Noise) -> Floats:
        """Return the noisy matrix."""
        return _noisy(total, noise) * self.resolution


@dataclass(frozen=True, eq=False)
class ScoreProducts(AtTheta[_native.Gram, Floats]):
    """The sum of uu' over stored rows x, where u = x g is what a row adds to X'g.

    It is the middle matrix of the robust covariance of coefficients. The g is that of
    :class:`~dpfit.statistics.Gradient` with the same parameters.

    Privacy
    -------
    The norm of u is at most `reach`. The core divides u by a power of two, so that it fits into the
    integers of a row, and rounds toward zero, which makes no entry larger. Sensitivity and noise
    are then those of :class:`Gram`.
    """

    theta: Floats
    tau: int
    scale: Scale
    reach: int

    name = "products of scores"
    native = _native.Gram

    @property
    def resolution(self) -> float:
        """One step of the sum."""
        step = self.scale.row_step * self.scale.step
        return float(step * 2.0 ** _native.Gram.score_shift(self.reach)) ** 2

    def of(self, rows: _native.Rows, theta: Floats, n_jobs: int | None) -> _native.Gram:
        """Sum over some rows."""
        return _native.Gram.of_scores(rows, theta, self.tau, self.reach, n_jobs=n_jobs)

    def sensitivity(self, relation: Relation) -> float:
        """Return the sensitivity in the Frobenius norm."""
        return _sensitivity(relation)

    def noisy(self, total: _native.Gram, noise: Noise) -> Floats:
        """Return the noisy matrix."""
        return _noisy(total, noise) * self.resolution


@dataclass(frozen=True)
class SmallestEigenvalue(_OfGram[float]):
    """The smallest eigenvalue of X'X.

    Privacy
    -------
    It is computed in floating-point arithmetic; the sensitivity includes twice the proven bound on
    the error.
    """

    name = "smallest eigenvalue of X'X"

    def sensitivity(self, relation: Relation) -> float:
        """Return the sensitivity, which depends on the number of features alone."""
        return _native.Gram(self.row_map.native()).eigenvalue_sensitivity * relation.rows_per_unit

    def noisy(self, total: _native.Gram, noise: Noise) -> float:
        """Return the noisy eigenvalue."""
        return total.release_smallest_eigenvalue(noise.sigma, noise.entropy) * self.resolution


@dataclass(frozen=True)
class WeightSum(Statistic[_native.Gram, float]):
    """The sum of the weights of all rows, in multiples of the largest weight.

    It is X'X of rows whose only feature is the constant, which has the root of the weight.

    Privacy
    -------
    A row adds a number between zero and one, so replacing a row changes the sum by no more than
    adding one.
    """

    name = "sum of weights"
    native = _native.Gram

    @property
    def resolution(self) -> float:
        """One step of the sum."""
        return 1.0 / (_WEIGHT_SHARE * _native.ROW_SCALE**2)

    def sum(self, part: Batches) -> _native.Gram | None:
        """Sum over the rows of a part."""
        total: _native.Gram | None = None
        for x, y in part:
            columns = (len(x) if isinstance(x, list) else x.shape[1]) - 1
            row_map = RowMap([(0.0, 1.0, [])] * columns, (0.0, 1.0), Scale(1.0), _WEIGHT_SHARE)
            native = row_map.weighted(part.max_weight).native()
            total = _native.Gram(native) if total is None else total
            total.extend(native, x, y, missing=part.missing, n_jobs=part.n_jobs)
        return total

    def sensitivity(self, relation: Relation) -> float:
        """Return what a row adds at most, for every row of a unit."""
        row = _native.ROW_SCALE**2 * _WEIGHT_SHARE
        return math.nextafter(row * relation.rows_per_unit, math.inf)

    def noisy(self, total: _native.Gram, noise: Noise) -> float:
        """Return the noisy sum."""
        return float(_noisy(total, noise)[0, 0]) * self.resolution


def _sensitivity(relation: Relation) -> float:
    row = float(_native.ROW_SCALE) ** 2 * (_ROOT_TWO if relation.replaces else 1.0)
    return math.nextafter(row * relation.rows_per_unit, math.inf)


def _noisy(total: _native.Gram, noise: Noise) -> Floats:
    """Return X'X plus symmetric noise, in steps of the exact integers."""
    beside = math.nextafter(noise.sigma * _HALF_ROOT_TWO, math.inf)
    rows, columns = np.triu_indices(total.features)
    sigmas = np.where(rows == columns, noise.sigma, max(beside, _native.SMALLEST_SIGMA))
    entries = total.release(sigmas, noise.entropy, n_jobs=noise.n_jobs)
    matrix = np.empty((total.features, total.features))
    matrix[rows, columns] = matrix[columns, rows] = entries
    return matrix
