"""The covariance of estimated coordinates: a sandwich whose middle is released.

Coordinates z solve sum z g = 0. Their errors are J^-1 times the error of the mean of z g, where J
is the mean of zz'. The rows as a sample give the mean of z g the covariance M / n^2, with M the sum
of zz' g^2; this holds whatever the variance of the residuals depends on. M is released with noise.
What the noise hides of it is replaced by what it would be if all residuals had the same variance.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dpfit._typing import Floats
from dpfit.release import Released

__all__ = ["Covariance", "Path", "plain_covariance", "robust_covariance"]

# The least variance of residuals in any direction, as a share of their mean variance.
_LEAST = 0.1


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
    axes : tuple of two arrays, optional
        Eigenvalues and eigenvectors of `left`, if they are known.
    """

    left: Floats
    sigmas: tuple[float, ...]
    averaged: int
    axes: tuple[Floats, Floats] | None = None

    @functools.cached_property
    def _shares(self) -> tuple[Floats, Floats]:
        """The share of every round's noise that is in the average, and the axes."""
        values, vectors = scipy.linalg.eigh(self.left) if self.axes is None else self.axes
        values = np.clip(values, 0.0, 1.0)
        rounds = np.arange(len(self.sigmas))
        last = rounds[-self.averaged :]
        # Powers of what is left, from the round of the noise to those that are averaged.
        later = last[None, :] - rounds[:, None]
        powers = np.where(later >= 0, values[:, None, None] ** np.maximum(later, 0), 0.0)
        return powers.mean(axis=2), vectors

    @property
    def solved(self) -> Floats:
        """What a constant gradient moves the average by: the inverse of J, if rounds suffice."""
        shares, vectors = self._shares
        result: Floats = (vectors * shares.sum(axis=1)) @ vectors.T
        return result

    def noise(self, variances: Floats, rows: float) -> Floats:
        """Return the covariance of the average that is due to the noise."""
        shares, vectors = self._shares
        # The sum over rounds of sigma^2 times moved / variances moved', with moved = V share V'.
        rounds = (shares * np.square(self.sigmas)) @ shares.T
        inside = rounds * ((vectors.T / variances) @ vectors)
        total: Floats = vectors @ inside @ vectors.T
        return (total + total.T) / (2.0 * rows**2)


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
    change = path.solved
    unsure = kept * noise / variances + (1.0 - kept) * floor
    return Covariance(
        path.noise(variances, rows) / both,
        change @ middle @ change.T / rows / both,
        (change * unsure) @ change.T / rows / both,
    )


def plain_covariance(residual: float, path: Path, variances: Floats, rows: float) -> Covariance:
    """Return the covariance of coordinates if all residuals have the variance `residual`."""
    both = np.outer(np.sqrt(variances), np.sqrt(variances))
    change = path.solved
    sampling = residual * change @ change.T / rows / both
    return Covariance(path.noise(variances, rows) / both, sampling, np.zeros_like(both))
