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
from dpfit.engine.seen import HIDDEN, Seen, without
from dpfit.engine.shrinkage import Prior, water_filling
from dpfit.engine.solve import eigen, is_diagonal, noise_norm, product
from dpfit.release import Released

__all__ = ["Coordinates", "first_scales", "room", "wide_room"]

# The share of rows that are longer than the bound if coordinates are normal; these are weighted
# down. A wider bound weights fewer rows and costs more noise in proportion.
_LONGER = 0.01
# The largest share of an eigenvalue that may be noise if X'X is not released again. A step is then
# off by as much, and the next one corrects it.
_SURE = 0.02
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
        The standard deviations of the mean squares of coordinates, as far as the noise of X'X
        leaves doubt about them.
    before : int
        How many coordinates are of functions that are not bends. These come first.
    wide : float
        How many times wider the bound is than it had to be.
    back : array of shape (q, p), optional
        The inverse of `matrix`, if it is known.
    """

    matrix: Floats
    variances: Floats
    bound: float
    slack: Floats
    known: Floats
    noise: Floats
    before: int
    wide: float = 1.0
    back: Floats | None = None

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
        size = scales / math.sqrt(total)
        matrix, back = np.diag(size)[:, order], np.diag(1.0 / size)[order]
        identity = np.eye(len(scales))
        shares, before = shares[order] / total, int(np.count_nonzero(~is_bend))
        nothing = np.zeros_like(shares)
        bound = room(len(scales))
        return cls(matrix, shares, bound, nothing, identity, nothing, before, back=back)

    def again(
        self,
        gram: Released[Floats],
        rows: float,
        prior: Prior,
        noise: float,
        empty: Floats | None = None,
    ) -> Coordinates:
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
        empty : array of shape (p, k), optional
            Combinations of lines and levels that are zero in all rows, as columns. Coordinates do
            without them.
        """
        factor = self.bound**2 / rows
        sigma = gram.sigma * factor
        seen = Seen.of(gram.value * factor, sigma, self.variances, self.before)
        if empty is None:
            empty = np.zeros((len(self.matrix), 0))
        parts, lacks = seen.whitened(self.variances, (self.inverse @ empty)[: self.before])
        # What is expected of coefficients along directions of variance one.
        axes, worth, inverses, turned = [], [], [], []
        spreads = np.sqrt(prior.variances)
        for (white, unwhite), lack in zip(parts, lacks, strict=True):
            expected = product(unwhite, self.inverse)
            scaled = expected * spreads
            values, vectors = eigen(product(scaled, scaled.T))
            worth.append(values)
            axes.append(product(white, vectors))
            inverses.append(product(vectors.T, expected))
            turned.append(product(vectors.T, lack))
        shares = water_filling(np.concatenate(worth), noise)
        used = shares > 1e-9
        # Without some of the coordinates, the others have another inverse.
        back = np.vstack(inverses) / np.sqrt(shares)[:, None] if used.all() else None
        change = (np.hstack(axes) * np.sqrt(shares))[:, used]
        size = np.square(change).sum(axis=0)
        matrix = product(self.matrix, change)
        if empty.shape[1]:
            # Of all coefficients that give the same predictions, those without an empty part.
            axis = scipy.linalg.qr(empty, mode="economic")[0]
            matrix = matrix - axis @ (axis.T @ matrix)
        result = replace(
            self,
            matrix=matrix,
            variances=shares[used],
            slack=HIDDEN * noise_norm(len(self.variances), sigma) * size,
            known=without(np.vstack(turned)[used]),
            noise=math.sqrt(seen.doubt) * sigma * size,
            before=int(np.count_nonzero(used[: len(worth[0])])),
            back=back,
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
        root = np.sqrt(self.variances)[:, None] * self.inverse
        result: Floats
        if is_diagonal(self.known):
            root *= np.sqrt(self.known.diagonal())[:, None]
            result = product(root.T, root)
        else:
            result = root.T @ self.known @ root
        return result

    def moments_with(self, coefficients: Floats) -> Floats:
        """Return :attr:`moments` times coefficients, in less time."""
        size, inverse = np.sqrt(self.variances), self.inverse
        result: Floats = inverse.T @ (size * (self.known @ (size * (inverse @ coefficients))))
        return result

    @functools.cached_property
    def inverse(self) -> Floats:
        """The coordinates of coefficients: those of z that give the same predictions."""
        if self.back is not None:
            return self.back
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
        return eigen(self.left)
