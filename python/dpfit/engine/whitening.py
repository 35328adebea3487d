"""Coordinates in which noise does least harm: released X'X, used before the noise and not after it.

A round adds the same noise to every coordinate of a gradient. So coordinates are chosen in which
rows vary equally in all directions that matter, and not at all in others. The released X'X tells
how functions vary together; what its noise hides is taken to be as large as the noise can make it,
so that steps are rather too small than too large. A second X'X, in the new coordinates, sees
directions that the noise of the first one hid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.special

from dpfit._typing import Floats
from dpfit.engine.shrinkage import Prior, water_filling
from dpfit.engine.solve import noise_norm
from dpfit.release import Released

__all__ = ["Coordinates", "first_scales", "room"]

# The share of rows that are longer than the bound if coordinates are normal; these are weighted
# down. A wider bound weights fewer rows and costs more noise in proportion.
_LONGER = 0.01
# What is added to eigenvalues, as a share of the spectral norm of the noise. With the whole norm no
# step could overshoot, however the noise falls; most of it is enough, since noise rarely points
# against the data.
_RIDGE = 0.7
# The largest share of an eigenvalue that may be noise if X'X is not released again. A step is then
# off by as much, and the next one corrects it.
_SURE = 0.02
# The least share of the way to go that a round is believed to make.
_LEAST_STEP = 0.1
# The mean squared norm is believed between these multiples of what it should be.
_LEAST_NORM, _MOST_NORM = 0.05, 1.2


def room(number: int) -> float:
    """Return the bound on the norm of rows, in root mean squares.

    One coordinate is the constant. The norm of many coordinates varies less than that of few.
    """
    others = max(number - 1, 1)
    return math.sqrt((1.0 + float(scipy.special.chdtri(others, _LONGER))) / (1.0 + others))


def first_scales(variances: Floats, prior: Prior, noise: float) -> Floats:
    """Return the scales of functions in the first X'X, zero for those that are not worth it.

    The root mean square of the norm of rows is then 1 / :func:`room`.

    Parameters
    ----------
    variances : array
        Expected mean squares of the functions.
    prior : Prior
        What is expected of their coefficients.
    noise : float
        The variance of the noise in the coefficient of a function that has the whole norm.
    """
    shares = water_filling(prior.variances * variances, noise)
    # The constant is part of every model.
    shares[0] = max(shares[0], shares.max())
    result: Floats = np.sqrt(shares / np.sum(shares)) / room(int(np.count_nonzero(shares)))
    return result / np.sqrt(variances)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """New coordinates z = f A of the functions' values f.

    Parameters
    ----------
    matrix : array of shape (p, q)
        A.
    variances : array of shape (q,)
        The mean squares of the coordinates, which are uncorrelated.
    bound : float
        The bound on the norm of z.
    left : array of shape (q, q)
        What a round leaves of the way to go, for coordinates of variance one.
    is_sure : bool
        Whether the noise is so small in all directions that another X'X would not help.
    """

    matrix: Floats
    variances: Floats
    bound: float
    left: Floats
    is_sure: bool = False

    @classmethod
    def first(
        cls, gram: Released[Floats], scales: Floats, rows: float, prior: Prior, noise: float
    ) -> Coordinates:
        """Return coordinates from X'X of functions times `scales`."""
        values, vectors = scipy.linalg.eigh(gram.value)
        ridge = _RIDGE * noise_norm(len(values), gram.sigma)
        is_sure = bool(ridge < _SURE * values[0])
        both = np.outer(scales, scales) * rows
        known = (vectors * (np.maximum(values, 0.0) + ridge)) @ vectors.T / both
        values, vectors = scipy.linalg.eigh(known)
        values = np.maximum(values, 1e-12 * values[-1])
        root = (vectors * np.sqrt(values)) @ vectors.T
        # Along these axes both the rows and what is expected of the coefficients are independent.
        worth, axes = scipy.linalg.eigh(root @ (prior.variances[:, None] * root))
        shares = water_filling(worth, noise)
        used = shares > 1e-9
        inverse = (vectors / np.sqrt(values)) @ vectors.T
        matrix = (inverse @ axes[:, used]) * np.sqrt(shares[used])
        norm = float(np.einsum("ij,ik,kj->", matrix, gram.value / both, matrix))
        left = np.zeros(matrix.shape[1:] * 2)
        return cls(matrix, shares[used], _bound(norm, shares[used]), left, is_sure)

    def again(self, gram: Released[Floats], rows: float) -> Coordinates:
        """Return better coordinates from X'X of rows z divided by the bound."""
        size = np.sqrt(self.variances)
        factor = self.bound**2 / rows
        moments = gram.value * factor / np.outer(size, size)
        noise = gram.sigma * factor * float(np.mean(1.0 / self.variances))
        values, vectors = scipy.linalg.eigh(moments)
        values = np.maximum(values, 0.0)
        ridge = _RIDGE * noise_norm(len(values), noise)
        change = (vectors / np.sqrt(values + ridge)) @ vectors.T
        left = (vectors * (ridge / (values + ridge))) @ vectors.T
        matrix = (self.matrix / size) @ change * size
        bound = _bound(float(self.variances @ (1.0 - left.diagonal())), self.variances)
        return Coordinates(matrix, self.variances, bound, left)

    def errors(self, gradient: float, residual: float, rows: float) -> tuple[Floats, Floats]:
        """Return covariances of coordinates that solve the gradient's equations.

        Parameters
        ----------
        gradient : float
            The variance of the noise in an entry of the mean gradient.
        residual : float
            The variance of residuals.
        rows : float
            The released number of rows.

        Returns
        -------
        noise, sampling : arrays of shape (q, q)
            Of the noise, and of the rows as a sample.
        """
        values, vectors = scipy.linalg.eigh(self.left)
        steps = np.clip(1.0 - values, _LEAST_STEP, 1.0)
        solved = (vectors / steps) @ vectors.T
        noise = gradient / rows**2 * (solved / self.variances) @ solved.T
        sampling = residual / rows * (vectors / steps) @ vectors.T
        size = np.sqrt(self.variances)
        both = np.outer(size, size)
        return noise / both, sampling / both

    def missing(self, rounds: int, averaged: int) -> Floats:
        """Return what the average of the last rounds misses of the coordinates, as a matrix."""
        values, vectors = scipy.linalg.eigh(self.left)
        times = np.arange(rounds - averaged + 1, rounds + 1)
        missed = np.mean(np.clip(values, 0.0, 1.0)[:, None] ** times, axis=1)
        size = np.sqrt(self.variances)
        result: Floats = (vectors * missed) @ vectors.T * np.outer(1.0 / size, size)
        return result

    @property
    def inverse(self) -> Floats:
        """The coordinates of coefficients: those of z that give the same predictions."""
        result: Floats = scipy.linalg.pinv(self.matrix)
        return result


def _bound(norm: float, variances: Floats) -> float:
    """Return the bound on the norm of rows whose mean square seems to be `norm`."""
    whole = float(variances.sum())
    return room(len(variances)) * math.sqrt(min(max(norm, _LEAST_NORM * whole), _MOST_NORM * whole))
