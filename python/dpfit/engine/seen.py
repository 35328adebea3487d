"""What released X'X shows through its noise, whose spectrum is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dpfit._typing import Floats
from dpfit.engine.solve import eigen, eigen_beyond, is_above, noise_norm

__all__ = ["HIDDEN", "Seen", "without"]

# What the noise of X'X can hide in one direction, as a share of its spectral norm: beyond half of
# it, a direction stands out among the eigenvalues of the noise (Baik, Ben Arous and Peche 2005).
HIDDEN = 0.5
# Smaller mean squares, relative to what they should be, are below the resolution of stored rows.
_FINEST = 1e-3
# Eigenvalues are at most one up to rounding.
_ROUNDED = 1e-12


@dataclass(frozen=True, eq=False)
class Seen:
    """Mean products of coordinates as far as the noise shows them, and what it can hide.

    Parameters
    ----------
    moments : array of shape (q, q)
        Mean products.
    before : int
        The number of coordinates that are not of bends.
    hidden : tuple of two floats
        How much the noise can hide in a direction of these coordinates, and of the others.
    doubt : float
        The share of the noise's variance that remains as doubt about mean products. They are what
        is expected, up to differences of a size that all of them show together; the smaller these
        differences are, the less of the noise can be one.
    """

    moments: Floats
    before: int
    hidden: tuple[float, float]
    doubt: float

    @classmethod
    def of(cls, moments: Floats, sigma: float, expected: Floats, before: int) -> Seen:
        """Return what is seen of noisy mean products.

        The fewer coordinates there are, the less noise has any direction of them. So lines and
        levels are looked at alone, then bends, and then what they have in common.
        """
        # Nothing is seen of a coordinate if even a correlation of one would be within the noise.
        visible = np.sqrt(expected * expected.max()) > sigma / math.sqrt(2.0)
        looked_at = np.outer(visible, visible)
        moments = np.where(looked_at, moments, np.diag(expected))
        one, two = slice(0, before), slice(before, None)
        found = np.zeros_like(moments)
        for part in (one, two):
            found[part, part] = _denoised(moments[part, part], sigma, expected[part])
        shared = _denoised_rectangle(moments[one, two], sigma / math.sqrt(2.0))
        found[one, two], found[two, one] = shared, shared.T
        edges = [noise_norm(number, sigma) for number in (before, len(expected) - before)]
        differences = float(
            np.square(moments - np.diag(expected)) @ (1.0 / expected) @ (1.0 / expected)
        )
        # Noise in an entry: sigma on the diagonal, sigma / sqrt(2) beside it.
        parts = visible / expected
        of_noise = sigma**2 * float(parts.sum() ** 2 + parts @ parts) / 2.0
        doubt = max(0.0, 1.0 - of_noise / max(differences, 1e-300))
        return cls(found, before, (HIDDEN * edges[0], HIDDEN * edges[1]), doubt)

    def whitened(
        self, expected: Floats, empty: Floats
    ) -> tuple[list[tuple[Floats, Floats]], list[Floats]]:
        """Return directions of variance one, and the map of coefficients to theirs.

        First those of lines and levels, then those of bends without what lines explain of them.
        Directions in which less is seen than the noise can hide have less than variance one: the
        mean products of all directions are the identity without gg', where g is what is returned
        second, in parts that are its rows.

        Parameters
        ----------
        expected : array of shape (q,)
            The mean squares that coordinates should have.
        empty : array of shape (before, k)
            Combinations of lines and levels that are zero in all rows, as columns. There is no
            direction for these.
        """
        one, two = slice(0, self.before), slice(self.before, None)
        white, back, lack = _white(self.moments[one, one], expected[one], self.hidden[0], empty)
        number, short = len(expected), np.flatnonzero(lack)
        lacks = np.eye(len(back))[:, short] * np.sqrt(lack[short])
        first = np.zeros((number, len(back))), np.zeros((len(back), number))
        first[0][one], first[1][:, one] = white, back
        if number == self.before:
            return [first], [lacks]
        # Lines explain z_one K of the bends.
        shared = white.T @ self.moments[one, two]
        explained = white @ shared
        rest = self.moments[two, two] - self.moments[two, one] @ explained
        first[1][:, two] = back @ explained
        nothing = np.zeros((len(rest), 0))
        white, back, other = _white(rest, expected[two], self.hidden[1], nothing)
        second = np.zeros((number, number - self.before)), np.zeros((number - self.before, number))
        second[0][one], second[0][two], second[1][:, two] = -explained @ white, white, back
        # What lines lack, they do not explain of the bends.
        others = np.flatnonzero(other)
        own = np.eye(len(back))[:, others] * np.sqrt(other[others])
        crossed = -(shared[short] @ white).T * np.sqrt(lack[short])
        lacks = np.hstack([lacks, np.zeros((len(lacks), len(others)))])
        return [first, second], [lacks, np.hstack([crossed, own])]


def _white(
    moments: Floats, expected: Floats, hidden: float, empty: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return directions of variance one as columns, and the inverse matrix, but for empty ones.

    The third result is what a direction lacks of variance one if less is seen of it than the noise
    can hide.
    """
    size = np.sqrt(expected)
    moments = moments / np.outer(size, size)
    if empty.shape[1]:
        # The other directions, by an orthogonal matrix whose first columns span the empty ones.
        others = scipy.linalg.qr(size[:, None] * empty)[0][:, empty.shape[1] :]
        values, vectors = np.linalg.eigh(others.T @ moments @ others)
        vectors = others @ vectors
    else:
        values, vectors = eigen(moments)
    least = np.clip(hidden * (np.square(vectors).T @ (1.0 / expected)), _FINEST, 1.0)
    root = np.sqrt(np.maximum(values, least))
    lack = np.where(values < least, 1.0 - values / least, 0.0)
    return (vectors / root) / size[:, None], (vectors * root).T * size, lack


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
    edge = noise_norm(len(moments), sigma)
    values, vectors = eigen_beyond(moments - middle, edge)
    values = np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    result: Floats = middle + (vectors * values) @ vectors.T
    return result


def _denoised_rectangle(products: Floats, sigma: float) -> Floats:
    """Return mean products as far as noise shows them that is independent in all entries.

    Singular values are shrunk by what noise adds to them (Gavish and Donoho 2017).
    """
    if not products.size:
        return products
    if products.shape[0] > products.shape[1]:
        return _denoised_rectangle(products.T, sigma).T
    one, two = (number * sigma**2 for number in products.shape)
    # Squares of singular values, which are seen well beyond the noise, and those on the left.
    squares, left = eigen_beyond(products @ products.T, (math.sqrt(one) + math.sqrt(two)) ** 2)
    kept = np.sqrt(np.maximum((squares - one - two) ** 2 - 4.0 * one * two, 0.0)) / squares
    result: Floats = (left * kept) @ (left.T @ products)
    return result


def without(lacks: Floats) -> Floats:
    """Return the identity without gg', or the nearest matrix that has no negative eigenvalues."""
    inside = lacks.T @ lacks
    if not is_above(-inside, -1.0 - _ROUNDED):
        values, vectors = np.linalg.eigh(inside)
        lacks = (lacks @ vectors) / np.sqrt(np.maximum(values, 1.0))
    result: Floats = np.eye(len(lacks)) - lacks @ lacks.T
    return result
