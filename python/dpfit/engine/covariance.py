"""The covariance of estimated coordinates: a sandwich whose middle is released.

Coordinates z solve sum z g = 0. Their errors are J^-1 times the error of the mean of z g, where J
is the mean of zz'. The rows as a sample give the mean of z g the covariance M / n^2, with M the sum
of zz' g^2; this holds whatever the variance of the residuals depends on. M is released with noise.
What the noise hides of it is replaced by what it would be if all residuals had the same variance.

J, too, is known only up to the noise of X'X. In directions in which rows vary less than X'X shows,
errors are larger than it says, and those in which they vary more do not make up for it. So the
covariance of the noise is an average over what J may be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from dpfit._typing import Floats
from dpfit.release import Released

__all__ = ["Covariance", "Path", "plain_covariance", "robust_covariance"]

# The least variance of residuals in any direction, as a share of their mean variance.
_LEAST = 0.1
# The mean over what J may be needs fewer draws, the more coordinates there are: about this number
# of coordinates in all. The first draws are the same in all fits, so that results repeat.
_DRAWN = 512
_FEWEST_DRAWS = 2


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariances of errors of coordinates, or of linear functions of them.

    Parameters
    ----------
    noise : array of shape (q, q)
        From the noise of the rounds.
    sampling : array of shape (q, q)
        From the rows being a sample, estimated.
    spread : array of shape (q, q)
        The standard error of that estimate: a'Sa for the variance of a linear function a.
    """

    noise: Floats
    sampling: Floats
    spread: Floats

    def mapped(self, matrix: Floats) -> Covariance:
        """Return the covariances of linear functions, the rows of the matrix."""
        parts = (self.noise, self.sampling, self.spread)
        return Covariance(*(matrix @ part @ matrix.T for part in parts))


@dataclass(frozen=True, eq=False)
class Path:
    """How noise and rows move the average of the last rounds.

    A round leaves the share `left` of the way to go, so that the noise of a round is in all later
    ones, less and less. Coordinates are scaled to variance one.

    Parameters
    ----------
    left : array of shape (q, q)
        What a round leaves of the way to go.
    sigmas : tuple of float
        Standard deviations of the noise in the gradients of all rounds.
    averaged : int
        How many of them are averaged, the last ones.
    unsure : array of shape (q,)
        The noise in `left`: an entry on the diagonal has this standard deviation, one beside it
        the root of the product of two of them, divided by sqrt(2).
    axes : tuple of two arrays, optional
        Eigenvalues and eigenvectors of `left`, if they are known.
    """

    left: Floats
    sigmas: tuple[float, ...]
    averaged: int
    unsure: Floats
    axes: tuple[Floats, Floats] | None = None

    @property
    def sure(self) -> Path:
        """The same if J were known."""
        return replace(self, unsure=np.zeros_like(self.unsure))

    @property
    def _number(self) -> int:
        """The number of draws: one if J is known."""
        if not np.any(self.unsure):
            return 1
        return max(math.ceil(_DRAWN / len(self.unsure)), _FEWEST_DRAWS)

    def _draws(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield what rounds may leave of their noise: shares of it in the average, and axes."""
        if self._number == 1:
            yield self._shares(self.left)
            return
        generator, size = np.random.default_rng(0), np.sqrt(self.unsure)
        for _ in range(self._number):
            noise = generator.standard_normal(self.left.shape)
            noise = (noise + noise.T) / 2.0
            yield self._shares(self.left + noise * np.outer(size, size))

    def _shares(self, left: Floats) -> tuple[Floats, Floats]:
        """Return the share of every round's noise that is in the average, and the axes."""
        if left is self.left and self.axes is not None:
            values, vectors = self.axes
        else:
            values, vectors = scipy.linalg.eigh(left)
        values = np.clip(values, 0.0, 1.0)
        rounds = np.arange(len(self.sigmas))
        last = rounds[-self.averaged :]
        # Powers of what is left, from the round of the noise to those that are averaged.
        later = last[None, :] - rounds[:, None]
        powers = np.where(later >= 0, values[:, None, None] ** np.maximum(later, 0), 0.0)
        return powers.mean(axis=2), vectors

    def sampling(self, middle: Floats) -> Floats:
        """Return J^-1 M J^-1, as far as rounds suffice.

        Where rows vary less than X'X shows, so do scores, and M is smaller than the noise lets see:
        the two errors offset each other, and J is taken as it is.
        """
        shares, vectors = self._shares(self.left)
        solved = (vectors * shares.sum(axis=1)) @ vectors.T
        result: Floats = solved @ middle @ solved.T
        return result

    def noise(self, variances: Floats, rows: float) -> Floats:
        """Return the covariance of the average that is due to the noise."""
        squares, total = np.square(self.sigmas), np.zeros_like(self.left)
        for shares, vectors in self._draws():
            inside = (vectors.T / variances) @ vectors
            total += vectors @ (inside * ((shares * squares) @ shares.T)) @ vectors.T
        return (total + total.T) / (2.0 * self._number * rows**2)


def robust_covariance(
    products: Released[Floats], path: Path, variances: Floats, rows: float
) -> Covariance:
    """Return the covariance of coordinates.

    Parameters
    ----------
    products : Released
        M, the sum of zz' g^2.
    path : Path
        What the rounds did.
    variances : array of shape (q,)
        The mean squares of the coordinates.
    rows : float
        The released number of rows.

    Privacy
    -------
    A function of released numbers.
    """
    size = np.sqrt(variances)
    both = np.outer(size, size)
    middle = products.value / both / rows
    noise = products.sigma / rows
    # Noise in an entry: sigma on the diagonal, sigma / sqrt(2) beside it.
    expected = noise**2 * float(np.sum((1.0 + np.eye(len(size))) / 2.0 / both**2))
    # If all residuals had the same variance, M would be a multiple of the identity.
    weights = variances**2 / float(np.sum(variances**2))
    floor = noise * float(np.sqrt(np.sum((weights / variances) ** 2)))
    same = max(float(weights @ np.diag(middle)), floor)
    different = middle - same * np.eye(len(size))
    kept = max(0.0, 1.0 - expected / max(float(np.sum(different**2)), 1e-300))
    values, vectors = scipy.linalg.eigh(same * np.eye(len(size)) + kept * different)
    middle = (vectors * np.maximum(values, _LEAST * same)) @ vectors.T
    unsure = kept * noise / variances + (1.0 - kept) * floor
    return Covariance(
        path.noise(variances, rows) / both,
        path.sampling(middle) / rows / both,
        path.sampling(np.diag(unsure)) / rows / both,
    )


def plain_covariance(residual: float, path: Path, variances: Floats, rows: float) -> Covariance:
    """Return the covariance of coordinates if all residuals have the variance `residual`."""
    both = np.outer(np.sqrt(variances), np.sqrt(variances))
    sampling = path.sampling(residual * np.eye(len(variances))) / rows / both
    return Covariance(path.noise(variances, rows) / both, sampling, np.zeros_like(both))
