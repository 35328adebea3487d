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
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dpfit._typing import Floats
from dpfit.engine.solve import diagonal, eigen, is_above, product, sandwich
from dpfit.release import Released

__all__ = ["Covariance", "Path", "Scores", "way_after"]

# The least variance of residuals in any direction, as a share of their mean variance.
_LEAST = 0.1
# The mean over what J may be needs fewer draws, the more coordinates there are: about this number
# of coordinates in all. The first draws are the same in all fits, so that results repeat.
_DRAWN = 512
_FEWEST_DRAWS = 2
# Of smaller matrices, all are multiplied at once in less time than one after the other.
_MANY = 64


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariances of errors of coefficients.

    Parameters
    ----------
    noise : array of shape (p, p)
        From the noise of the rounds.
    missed : array of shape (p, p)
        From what rounds do not reach because the noise of X'X hides it, by what is expected of the
        coefficients.
    clipped : array of shape (p, p)
        From what clipping may lose, as far as it is known.
    sampling : array of shape (p, p)
        From the rows being a sample, estimated.
    spread : array of shape (p, p)
        The standard error of that estimate: a'Sa for the variance of a linear function a.
    """

    noise: Floats
    missed: Floats
    clipped: Floats
    sampling: Floats
    spread: Floats

    @property
    def private(self) -> Floats:
        """Covariances of errors that are due to privacy."""
        return self.noise + self.missed + self.clipped


@dataclass(frozen=True, eq=False)
class Scores:
    """What is known of the scores of rows, in coordinates scaled to variance one.

    Parameters
    ----------
    products : array of shape (q, q)
        M / n, their mean products.
    unsure : array of shape (q,)
        The standard errors of these, alike for all products with a coordinate.
    """

    products: Floats
    unsure: Floats

    @classmethod
    def alike(cls, residual: float, number: int) -> Scores:
        """Return what is known if all residuals have this variance."""
        return cls(residual * np.eye(number), np.zeros(number))

    @classmethod
    def of(cls, products: Released[Floats], variances: Floats, rows: float) -> Scores:
        """Return what is known by released products.

        Parameters
        ----------
        products : Released
            M, the sum of zz' g^2.
        variances : array of shape (q,)
            The mean squares of the coordinates.
        rows : float
            The released number of rows.

        Privacy
        -------
        A function of released numbers.
        """
        size = np.sqrt(variances)
        middle = products.value / np.outer(size, size) / rows
        noise = products.sigma / rows
        # Noise in an entry: sigma on the diagonal, sigma / sqrt(2) beside it.
        parts = 1.0 / variances
        expected = noise**2 * float(parts.sum() ** 2 + parts @ parts) / 2.0
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
        return cls(middle, kept * noise / variances + (1.0 - kept) * floor)


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
        values, vectors = eigen(self.left) if self.axes is None else self.axes
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
        return product(vectors * self._shares(values).sum(axis=1), vectors.T)

    def variances(self, scores: Scores, variances: Floats, rows: float) -> Floats:
        """Return the variances of errors of coordinates, if J is what X'X shows.

        Parameters
        ----------
        scores : Scores
            What is known of the scores.
        variances : array of shape (q,)
            The mean squares of the coordinates.
        rows : float
            The released number of rows.
        """
        values, vectors = self._axes
        inside = self._noise(values[None], vectors[None], variances)[0] / rows**2
        found = (product(vectors, inside) * vectors).sum(axis=1)
        found += (product(self._solved, scores.products) * self._solved).sum(axis=1) / rows
        result: Floats = found / variances
        return result

    def covariance(
        self,
        scores: Scores,
        variances: Floats,
        rows: float,
        way: Floats,
        back: Floats,
        clipped: float,
    ) -> Covariance:
        """Return the covariances of errors of coefficients.

        Where rows vary less than X'X shows, so do scores, and M is smaller than the noise lets see:
        the two errors offset each other, and J is taken as it is for the sampling errors.

        Parameters
        ----------
        scores : Scores
            What is known of the scores.
        variances : array of shape (q,)
            The mean squares of the coordinates.
        rows : float
            The released number of rows.
        way : array of shape (q, any)
            A root of the mean products of the way to go at the start.
        back : array of shape (p, q)
            The coefficients that coordinates of variance one are.
        clipped : float
            The root mean square of what clipping scores may lose in a coordinate.
        """
        moved = product(back, self._solved)
        unsure = moved * np.sqrt(scores.unsure / rows)
        noise, missed = self.errors(variances, rows, way)
        return Covariance(
            sandwich(back, noise),
            sandwich(back, missed),
            clipped**2 * product(moved, moved.T),
            sandwich(moved, scores.products) / rows,
            product(unsure, unsure.T),
        )

    def errors(self, variances: Floats, rows: float, way: Floats) -> tuple[Floats, Floats]:
        """Return the mean products of what noise adds to the average, and of what it misses."""
        values, vectors = self._draws
        noise = self._noise(values, vectors, variances) / rows**2
        # The noise of the first round goes the same way, but for that round itself.
        shares = values * self._shares(values)[..., 0]
        start = shares[:, :, None] * (vectors.transpose(0, 2, 1) @ way)
        missed = start @ start.transpose(0, 2, 1)
        return _mean_turned(vectors, noise), _mean_turned(vectors, missed)

    def _noise(self, values: Floats, vectors: Floats, variances: Floats) -> Floats:
        """Return the covariance of the sum of the average's noise, along axes."""
        shares = self._shares(values)
        turned = vectors.transpose(0, 2, 1) / np.sqrt(variances)
        inside: Floats = turned @ turned.transpose(0, 2, 1)
        inside *= (shares * np.square(self.sigmas)) @ shares.transpose(0, 2, 1)
        return inside


def _mean_turned(vectors: Floats, inside: Floats) -> Floats:
    """Return the mean of V M V' over draws, for symmetric matrices M."""
    if len(inside[0]) < _MANY:
        total = (vectors @ inside @ vectors.transpose(0, 2, 1)).mean(axis=0)
        result: Floats = (total + total.T) / 2.0
        return result
    return sum(map(sandwich, vectors, inside), np.zeros_like(inside[0])) / len(vectors)


def way_after(expected: Floats, matrix: Floats, before: Covariance) -> Floats:
    """Return a root of the mean products of the way to go from where an earlier model ended.

    What is left are the errors of that model: its noise, as far as it was not shrunk, and what its
    rounds missed.

    Parameters
    ----------
    expected : array of shape (q, any)
        A root of the mean products of the way from zero.
    matrix : array of shape (q, p)
        Maps coefficients to coordinates.
    before : Covariance
        Of the coefficients of the earlier model, before they were shrunk.
    """
    start, noise = expected @ expected.T, sandwich(matrix, before.noise)
    root = _root(start + noise)
    # P (P + N)^-1 N is left of P if it is seen through the noise N.
    one, two = (scipy.linalg.solve_triangular(root, part, lower=True) for part in (start, noise))
    return _root(one.T @ two + sandwich(matrix, before.missed + before.clipped))


def _root(matrix: Floats) -> Floats:
    """Return a triangular root of a matrix that is positive but for rounding."""
    moved = (matrix + matrix.T) / 2.0
    diagonal(moved)[:] += 1e-10 * max(float(np.trace(moved)) / len(moved), 1e-300)
    return np.asarray(np.linalg.cholesky(moved), dtype=np.float64)
