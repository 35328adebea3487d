"""Coordinates in which noise does least harm: released X'X, used before the noise and not after it.

A round adds the same noise to every coordinate of a gradient. So coordinates are chosen in which
rows vary equally in all directions that matter, and not at all in others. The released X'X tells
how functions vary together; what its noise hides is taken to be as large as the noise can make it,
so that steps are rather too small than too large. A second X'X, in the new coordinates, sees
directions that the noise of the first one hid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.special

from dpfit._typing import Floats
from dpfit.engine.features.gram import ScaledGram
from dpfit.engine.shrinkage import Prior, water_filling
from dpfit.engine.solve import noise_norm
from dpfit.release import Released

__all__ = ["Coordinates", "first_scales", "room", "wide_room"]

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
# The share of the variance of coordinates that the noise of their X'X may be, and the widest bound.
_NOISY = 0.4
_WIDEST = 8.0
# The mean squared norm is believed between these multiples of what it should be.
_LEAST_NORM, _MOST_NORM = 0.05, 1.2


def room(number: int) -> float:
    """Return the bound on the norm of rows, in root mean squares.

    One coordinate is the constant. The norm of many coordinates varies less than that of few.
    """
    others = max(number - 1, 1)
    return math.sqrt((1.0 + float(scipy.special.chdtri(others, _LONGER))) / (1.0 + others))


def wide_room(number: int, signal: float) -> float:
    """Return how many times wider than :func:`room` the bound on the norm may be.

    The noise of X'X of coordinates grows with the square of the bound. Its norm may be 0.4 of
    their variance: then steps are off by as much, and five of them leave a hundredth. Fewer rows
    are weighted the wider the bound is.
    """
    wide = _NOISY * signal / (math.sqrt(2.0) * number**1.5)
    return min(max(math.sqrt(wide) / room(number), 1.0), _WIDEST)


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
    wide : float
        How many times wider the bound is than it had to be.
    """

    matrix: Floats
    variances: Floats
    bound: float
    left: Floats
    is_sure: bool = False
    wide: float = 1.0

    @classmethod
    def first(cls, gram: ScaledGram, rows: float, prior: Prior, noise: float) -> Coordinates:
        """Return coordinates from X'X of functions."""
        values, vectors = scipy.linalg.eigh(gram.value)
        ridge = _RIDGE * noise_norm(len(values), gram.sigma)
        is_sure = bool(ridge < _SURE * values[0])
        both = np.outer(gram.scales, gram.scales) * rows
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
        found = replace(self, matrix=matrix, left=left, is_sure=False)
        # No row may get more weight than it had in this X'X: steps would be too long for it.
        most = self.bound / math.sqrt(float(values[-1]) + ridge)
        wide = self.wide * _bound(found.norm**2, self.variances)
        return replace(found, bound=min(wide, most))

    def wider(self, signal: float) -> Coordinates:
        """Return the coordinates with the bound that a second X'X affords.

        `signal` is the number of rows, divided by the noise of a count with its budget.
        """
        wide = wide_room(len(self.variances), signal)
        return replace(self, bound=self.bound * wide, wide=wide)

    @property
    def norm(self) -> float:
        """The root mean square of the norm of z."""
        return math.sqrt(
            _believed(float(self.variances @ (1.0 - self.left.diagonal())), self.variances)
        )

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
    return room(len(variances)) * math.sqrt(_believed(norm, variances))


def _believed(norm: float, variances: Floats) -> float:
    """Return the mean square of the norm of rows, or the nearest one that can be believed."""
    whole = float(variances.sum())
    return min(max(norm, _LEAST_NORM * whole), _MOST_NORM * whole)
