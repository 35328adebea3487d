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

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.solve import is_above
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
        How uncertain `left` is: an entry on the diagonal has this standard deviation, one beside it
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

    @functools.cached_property
    def _draws(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of what rounds may leave; the first dimension is the draw.

        There is one draw if J is known.
        """
        if not np.any(self.unsure):
            values, vectors = self._axes
            return values[None], vectors[None]
        number = max(math.ceil(_DRAWN / len(self.unsure)), _FEWEST_DRAWS)
        noise = np.random.default_rng(0).standard_normal((number, *self.left.shape))
        size = np.sqrt(self.unsure)
        noise = (noise + noise.transpose(0, 2, 1)) / 2.0 * np.outer(size, size)
        values, vectors = np.linalg.eigh(self.left + noise)
        return np.clip(values, 0.0, 1.0), vectors

    @functools.cached_property
    def _axes(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of what rounds leave if J is known."""
        values, vectors = np.linalg.eigh(self.left) if self.axes is None else self.axes
        return np.clip(values, 0.0, 1.0), vectors

    def _shares(self, values: Floats) -> Floats:
        """Return the share of every round's noise that is in the average, by eigenvalues."""
        rounds = np.arange(len(self.sigmas))
        last = rounds[-self.averaged :]
        # Powers of what is left, from the round of the noise to those that are averaged.
        later = last[None, :] - rounds[:, None]
        powers = np.ones((*values.shape, len(rounds)))
        powers[..., 1:] = values[..., None]
        np.cumprod(powers, axis=-1, out=powers)
        result: Floats = np.where(later >= 0, powers[..., np.maximum(later, 0)], 0.0).mean(axis=-1)
        return result

    @functools.cached_property
    def _solved(self) -> Floats:
        """J^-1, as far as rounds suffice."""
        values, vectors = self._axes
        result: Floats = (vectors * self._shares(values).sum(axis=1)) @ vectors.T
        return result

    def sampling(self, middle: Floats) -> Floats:
        """Return J^-1 M J^-1, as far as rounds suffice.

        Where rows vary less than X'X shows, so do scores, and M is smaller than the noise lets see:
        the two errors offset each other, and J is taken as it is.
        """
        result: Floats = self._solved @ middle @ self._solved.T
        return result

    def noise(self, variances: Floats, rows: float) -> Floats:
        """Return the covariance of the average that is due to the noise."""
        vectors, moved = self._noise(variances)
        total = (moved @ vectors.transpose(0, 2, 1)).sum(axis=0)
        result: Floats = (total + total.T) / (2.0 * len(vectors) * rows**2)
        return result

    def noise_variances(self, variances: Floats, rows: float) -> Floats:
        """Return the diagonal of :meth:`noise`, in less time."""
        vectors, moved = self._noise(variances)
        result: Floats = (moved * vectors).sum(axis=(0, 2)) / (len(vectors) * rows**2)
        return result

    def missed(self, way: Floats) -> Floats:
        """Return the mean products of what the average misses of the way to go.

        `way` are those of the way at the start.
        """
        values, vectors = self._draws
        # The noise of the first round goes the same way, but for that round itself.
        shares = values * self._shares(values)[..., 0]
        inside = vectors.transpose(0, 2, 1) @ way @ vectors
        inside *= shares[:, :, None] * shares[:, None, :]
        result: Floats = (vectors @ inside @ vectors.transpose(0, 2, 1)).mean(axis=0)
        return result

    def _noise(self, variances: Floats) -> tuple[Floats, Floats]:
        """Return axes, and their products with the covariance of the noise along them."""
        values, vectors = self._draws
        shares, turned = self._shares(values), vectors.transpose(0, 2, 1)
        inside = (turned / variances) @ vectors
        inside *= (shares * np.square(self.sigmas)) @ shares.transpose(0, 2, 1)
        return vectors, vectors @ inside


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
    middle = same * np.eye(len(size)) + kept * different
    if not is_above(middle, _LEAST * same):
        values, vectors = np.linalg.eigh(middle)
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
