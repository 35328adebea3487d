"""Coordinates in which noise does least harm: released X'X, used before the noise and not after it.

A round adds the same noise to every coordinate of a gradient. So coordinates are chosen in which
rows vary equally in all directions that matter, and not at all in others. The released X'X tells
how functions vary together as far as it stands out from its noise, whose spectrum is known; what
does not is taken to be as the marginals say: functions are uncorrelated and have variance one. A
second X'X, in the new coordinates, shows directions that the noise of the first one hid.

Lines and levels come before bends, so that they have coordinates of their own: the linear model is
the beginning of the additive one.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.special

from dpfit._typing import Array, Floats
from dpfit.engine.shrinkage import Prior, water_filling
from dpfit.engine.solve import noise_norm
from dpfit.release import Released

__all__ = ["Coordinates", "first_scales", "room", "wide_room"]

# The share of rows that are longer than the bound if coordinates are normal; these are weighted
# down. A wider bound weights fewer rows and costs more noise in proportion.
_LONGER = 0.01
# What the noise of X'X can hide in one direction, as a share of its spectral norm: beyond half of
# it, a direction stands out among the eigenvalues of the noise (Baik, Ben Arous and Peche 2005).
_HIDDEN = 0.5
# The largest share of an eigenvalue that may be noise if X'X is not released again. A step is then
# off by as much, and the next one corrects it.
_SURE = 0.02
# Smaller mean squares, relative to what they should be, are below the resolution of stored rows.
_FINEST = 1e-3
# The least mean squared norm of rows, as a share of what it should be.
_LEAST_NORM = 0.05
# Coordinates whose directions are closer to one another than this are not independent.
_SINGULAR = 1e-10
# The share of the variance of coordinates that the noise of their X'X may be, and the widest bound.
_NOISY = 0.4
_WIDEST = 8.0


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
        The mean squares that coordinates should have; their sum is one.
    bound : float
        The bound on the norm of z.
    slack : array of shape (q,)
        How much larger a mean square, in any direction, may be than it should: what the noise of
        X'X can hide.
    known : array of shape (q, q)
        The mean products of coordinates as far as X'X shows them, relative to the roots of
        `variances`.
    noise : array of shape (q,)
        The standard deviations of the noise of X'X in the mean squares of coordinates.
    before : int
        How many coordinates are of functions that are not bends. These come first.
    wide : float
        How many times wider the bound is than it had to be.
    """

    matrix: Floats
    variances: Floats
    bound: float
    slack: Floats
    known: Floats
    noise: Floats
    before: int
    wide: float = 1.0

    @classmethod
    def start(cls, scales: Floats, variances: Floats, is_bend: Array) -> Coordinates:
        """Return the functions themselves, scaled, before anything is known about them together.

        Parameters
        ----------
        scales : array of shape (p,)
            The scales of the functions.
        variances : array of shape (p,)
            Their expected mean squares.
        is_bend : array of bool of shape (p,)
            Whether they are bends, which come last.
        """
        shares = np.square(scales) * variances
        total = float(shares.sum())
        order = np.argsort(is_bend, kind="stable")
        matrix = np.diag(scales / math.sqrt(total))[:, order]
        identity = np.eye(len(scales))
        shares, before = shares[order] / total, int(np.count_nonzero(~is_bend))
        nothing = np.zeros_like(shares)
        return cls(matrix, shares, room(len(scales)), nothing, identity, nothing, before)

    def again(self, gram: Released[Floats], rows: float, prior: Prior, noise: float) -> Coordinates:
        """Return better coordinates from X'X of rows z divided by the bound.

        Parameters
        ----------
        gram : Released
            X'X.
        rows : float
            The released number of rows.
        prior : Prior
            What is expected of the functions' coefficients.
        noise : float
            The variance of the noise in the coefficient of a function that has the whole norm.
        """
        factor = self.bound**2 / rows
        sigma = gram.sigma * factor
        seen = _Seen.of(gram.value * factor, sigma, self.variances, self.before)
        parts = seen.whitened(self.variances)
        # What is expected of coefficients along directions of variance one.
        axes, worth = [], []
        for white, back in parts:
            expected = back @ self.inverse
            found = scipy.linalg.eigh((expected * prior.variances) @ expected.T)
            worth.append(found[0])
            axes.append(white @ found[1])
        shares = water_filling(np.concatenate(worth), noise)
        used = shares > 1e-9
        change = (np.hstack(axes) * np.sqrt(shares))[:, used]
        both = np.sqrt(np.outer(shares[used], shares[used]))
        size = np.square(change).sum(axis=0)
        result = replace(
            self,
            matrix=self.matrix @ change,
            variances=shares[used],
            slack=_HIDDEN * noise_norm(len(self.variances), sigma) * size,
            known=_positive(change.T @ seen.moments @ change / both),
            noise=sigma * size,
            before=int(np.count_nonzero(used[: self.before])),
        )
        return replace(result, bound=self.wide * room(len(result.variances)) * result.norm)

    def wider(self, signal: float) -> Coordinates:
        """Return the coordinates with the bound that another X'X affords.

        `signal` is the number of rows, divided by the noise of a count with its budget.
        """
        wide = wide_room(len(self.variances), signal)
        return replace(self, bound=self.bound * wide / self.wide, wide=wide)

    @property
    def is_sure(self) -> bool:
        """Whether the noise is so small in all directions that another X'X would not help."""
        return bool(np.all(self.slack < _SURE * self.variances))

    @property
    def steps(self) -> Floats:
        """The mean squares that steps are divided by: what they should be, and what is hidden."""
        result: Floats = self.variances + self.slack
        return result

    @property
    def left(self) -> Floats:
        """What a round leaves of the way to go, in coordinates times the roots of `steps`."""
        share = np.sqrt(self.variances / self.steps)
        result: Floats = np.eye(len(share)) - self.known * np.outer(share, share)
        return result

    @property
    def norm(self) -> float:
        """The root mean square of the norm of z."""
        seen = float(self.variances @ self.known.diagonal())
        return math.sqrt(max(seen, _LEAST_NORM * float(self.variances.sum())))

    @property
    def moments(self) -> Floats:
        """The mean products of the functions, as far as X'X shows them."""
        size = np.sqrt(self.variances)
        inverse = self.inverse
        result: Floats = inverse.T @ (self.known * np.outer(size, size)) @ inverse
        return result

    def missing(self, rounds: int, averaged: int) -> Floats:
        """Return what the average of the last rounds misses of the coordinates, as a matrix."""
        values, vectors = self.axes
        times = np.arange(rounds - averaged + 1, rounds + 1)
        missed = np.mean(np.clip(values, 0.0, 1.0)[:, None] ** times, axis=1)
        size = np.sqrt(self.steps)
        result: Floats = (vectors * missed) @ vectors.T * np.outer(1.0 / size, size)
        return result

    @functools.cached_property
    def inverse(self) -> Floats:
        """The coordinates of coefficients: those of z that give the same predictions."""
        orthogonal, triangle = scipy.linalg.qr(self.matrix, mode="economic")
        size = np.abs(triangle.diagonal())
        result: Floats
        if len(triangle) == triangle.shape[1] and size.min() > _SINGULAR * size.max():
            result = scipy.linalg.solve_triangular(triangle, orthogonal.T)
        else:
            # Much slower, and rarely needed.
            result = scipy.linalg.pinv(self.matrix)
        return result

    @functools.cached_property
    def axes(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of `left`."""
        values, vectors = scipy.linalg.eigh(self.left)
        return values, vectors


@dataclass(frozen=True, eq=False)
class _Seen:
    """Mean products of coordinates as far as the noise shows them, and what it can hide.

    Parameters
    ----------
    moments : array of shape (q, q)
        Mean products.
    before : int
        The number of coordinates that are not of bends.
    hidden : tuple of two floats
        How much the noise can hide in a direction of these coordinates, and of the others.
    """

    moments: Floats
    before: int
    hidden: tuple[float, float]

    @classmethod
    def of(cls, moments: Floats, sigma: float, expected: Floats, before: int) -> _Seen:
        """Return what is seen of noisy mean products.

        The fewer coordinates there are, the less noise has any direction of them. So lines and
        levels are looked at alone, then bends, and then what they have in common.
        """
        # Nothing is seen of a coordinate if even a correlation of one would be within the noise.
        visible = np.sqrt(expected * expected.max()) > sigma / math.sqrt(2.0)
        moments = np.where(np.outer(visible, visible), moments, np.diag(expected))
        one, two = slice(0, before), slice(before, None)
        found = np.zeros_like(moments)
        for part in (one, two):
            found[part, part] = _denoised(moments[part, part], sigma, expected[part])
        shared = _denoised_rectangle(moments[one, two], sigma / math.sqrt(2.0))
        found[one, two], found[two, one] = shared, shared.T
        edges = [noise_norm(number, sigma) for number in (before, len(expected) - before)]
        return cls(found, before, (_HIDDEN * edges[0], _HIDDEN * edges[1]))

    def whitened(self, expected: Floats) -> list[tuple[Floats, Floats]]:
        """Return directions of variance one, and the map of coefficients to theirs.

        First those of lines and levels, then those of bends without what lines explain of them.
        """
        one, two = slice(0, self.before), slice(self.before, None)
        white, back = _white(self.moments[one, one], expected[one], self.hidden[0])
        number = len(expected)
        first = np.zeros((number, self.before)), np.zeros((self.before, number))
        first[0][one], first[1][:, one] = white, back
        if number == self.before:
            return [first]
        # Lines explain z_one K of the bends.
        explained = white @ (white.T @ self.moments[one, two])
        rest = self.moments[two, two] - self.moments[two, one] @ explained
        first[1][:, two] = back @ explained
        white, back = _white(rest, expected[two], self.hidden[1])
        second = np.zeros((number, number - self.before)), np.zeros((number - self.before, number))
        second[0][one], second[0][two], second[1][:, two] = -explained @ white, white, back
        return [first, second]


def _white(moments: Floats, expected: Floats, hidden: float) -> tuple[Floats, Floats]:
    """Return directions of variance one as columns, and the inverse matrix."""
    size = np.sqrt(expected)
    values, vectors = scipy.linalg.eigh(moments / np.outer(size, size))
    least = hidden * (np.square(vectors).T @ (1.0 / expected))
    root = np.sqrt(np.maximum(values, np.clip(least, _FINEST, 1.0)))
    return (vectors / root) / size[:, None], (vectors * root).T * size


def _denoised(moments: Floats, sigma: float, expected: Floats) -> Floats:
    """Return mean products as far as symmetric noise shows them.

    What is hidden is zero, and mean squares are as expected. Eigenvalues beyond the spectral norm
    of the noise are shrunk by what it adds to them.
    """
    if not len(expected):
        return moments
    # Each mean square has little noise of its own.
    change = moments.diagonal() - expected
    seen = change * np.maximum(1.0 - (sigma / np.maximum(np.abs(change), sigma)) ** 2, 0.0)
    middle = np.diag(np.maximum(expected + seen, 1e-6 * expected))
    values, vectors = scipy.linalg.eigh(moments - middle)
    edge = noise_norm(len(values), sigma)
    values = np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    result: Floats = middle + (vectors * values) @ vectors.T
    return result


def _denoised_rectangle(products: Floats, sigma: float) -> Floats:
    """Return mean products as far as noise shows them that is independent in all entries.

    Singular values are shrunk by what noise adds to them (Gavish and Donoho 2017).
    """
    if not products.size:
        return products
    left, values, right = scipy.linalg.svd(products, full_matrices=False)
    one, two = (number * sigma**2 for number in products.shape)
    squares = (values**2 - one - two) ** 2 - 4.0 * one * two
    seen = values > math.sqrt(one) + math.sqrt(two)
    values = np.where(seen, np.sqrt(np.maximum(squares, 0.0)) / np.maximum(values, 1e-300), 0.0)
    result: Floats = (left * values) @ right
    return result


def _positive(matrix: Floats) -> Floats:
    """Return the nearest matrix whose eigenvalues are between zero and one."""
    values, vectors = scipy.linalg.eigh(matrix)
    result: Floats = (vectors * np.clip(values, 0.0, 1.0)) @ vectors.T
    return result
