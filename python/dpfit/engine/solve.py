"""Linear algebra on released numbers."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf

from dpfit._typing import Floats

__all__ = [
    "LearningRate",
    "Ridge",
    "diagonal",
    "eigen",
    "eigen_beyond",
    "inverse",
    "is_above",
    "is_diagonal",
    "learning_rate",
    "noise_norm",
    "product",
    "sandwich",
]

Ridge: TypeAlias = Literal["adassp", "literal"]
LearningRate: TypeAlias = Literal["constant", "1/t", "1/sqrt(t)"]

# The smallest eigenvalue that is inverted, relative to the noise's spectral norm: with noise of
# either sign, X'X plus its ridge can still have eigenvalues near zero, along which nothing is
# known.
_FLOOR = 0.3
# The two-sided 95 % quantile of the normal distribution, as in AdaSSP's reference code.
_QUANTILE = 1.96
# Matrices of fewer entries are multiplied in less time than it takes to count their zeros. Of
# larger ones, those with a smaller share of other numbers are mostly zero.
_SMALL = 1 << 13
_MOSTLY_ZERO = 0.05


def noise_norm(d: int, sigma: float) -> float:
    """Return the spectral norm of symmetric noise, to leading order in d.

    Diagonal entries have standard deviation sigma, others sigma / sqrt(2): a Gaussian orthogonal
    ensemble, whose norm tends to sqrt(2 d) sigma.
    """
    return float(np.sqrt(2.0 * d) * sigma)


def is_above(matrix: Floats, least: float) -> bool:
    """Return whether all eigenvalues of a symmetric matrix are above a number.

    It takes a tenth of the time of finding them.
    """
    moved = matrix.copy(order="F")
    diagonal(moved)[:] -= least
    _, failed = dpotrf(moved, lower=1, clean=0, overwrite_a=1)
    return not failed


def diagonal(matrix: Floats) -> Floats:
    """Return the diagonal of a matrix, to be written to."""
    result: Floats = np.einsum("ii->i", matrix)
    return result


def is_diagonal(matrix: Floats) -> bool:
    """Return whether all entries beside the diagonal are zero."""
    return bool(np.count_nonzero(matrix) == np.count_nonzero(matrix.diagonal()))


def product(one: Floats, two: Floats) -> Floats:
    """Return the product of two matrices, in less time if one of them is mostly zero."""
    if min(one.size, two.size) < _SMALL:
        return one @ two
    if np.count_nonzero(one) < _MOSTLY_ZERO * one.size:
        result: Floats = scipy.sparse.csr_array(one) @ two
        return result
    if np.count_nonzero(two) < _MOSTLY_ZERO * two.size:
        turned: Floats = scipy.sparse.csr_array(two.T) @ one.T
        return np.ascontiguousarray(turned.T)
    return one @ two


def sandwich(matrix: Floats, middle: Floats) -> Floats:
    """Return A M A' for a symmetric M, in two thirds of the time if it is positive."""
    if not is_diagonal(middle):
        root, failed = dpotrf(middle.T, lower=1)
        if not failed:
            # The turned product, in the order of LAPACK.
            half = dtrmm(1.0, root, matrix.T, trans_a=1, lower=1)
            result: Floats = half.T @ half
            return result
    return product(product(matrix, middle), matrix.T)


def eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues, ascending, and eigenvectors of a symmetric matrix."""
    if not is_diagonal(matrix):
        values, vectors = np.linalg.eigh(matrix)
        return values, vectors
    values = matrix.diagonal()
    order = np.argsort(values, kind="stable")
    return values[order], np.eye(len(values))[:, order]


def eigen_beyond(matrix: Floats, edge: float) -> tuple[Floats, Floats]:
    """Return eigenvalues of a symmetric matrix that are beyond +-edge, and their eigenvectors.

    If there are none on one side, which a triangular decomposition tells, it takes less time than
    to find all of them.
    """
    below, above = not is_above(matrix, -edge), not is_above(-matrix, -edge)
    if below and above:
        values, vectors = np.linalg.eigh(matrix)
        beyond = np.abs(values) > edge
        return values[beyond], vectors[:, beyond]
    if not below and not above:
        return np.zeros(0), np.zeros((len(matrix), 0))
    sign = 1.0 if above else -1.0
    values, vectors = scipy.linalg.eigh(
        sign * matrix, subset_by_value=(edge, np.inf), check_finite=False
    )
    return sign * values, vectors


def inverse(gram: Floats, sigma: float, eigenvalue: tuple[float, float], ridge: Ridge) -> Floats:
    """Return Gamma, the inverse of the noisy X'X with its ridge.

    Parameters
    ----------
    gram : array of shape (d, d)
        Noisy X'X.
    sigma : float
        The standard deviation of its diagonal's noise.
    eigenvalue : tuple of float
        The noisy smallest eigenvalue of X'X and the standard deviation of its noise.
    ridge : {"adassp", "literal"}
        ``"adassp"``: add the difference between the norm of the noise and a lower bound on the
        smallest eigenvalue. ``"literal"``: add the noisy smallest eigenvalue itself, as the
        paper's text says.
    """
    values, vectors = np.linalg.eigh(gram)
    norm = noise_norm(len(values), sigma)
    noisy, sigma_eigenvalue = eigenvalue
    if ridge == "literal":
        shifted = values + noisy
        # Keep away from zero: dividing by it would leave no coefficient finite.
        shifted = np.where(np.abs(shifted) < 1e-12 * norm, 1e-12 * norm, shifted)
    else:
        lower = max(0.0, noisy - _QUANTILE * sigma_eigenvalue)
        shifted = np.maximum(values + max(0.0, norm - lower), _FLOOR * norm)
    result: Floats = (vectors / shifted) @ vectors.T
    return result


def learning_rate(schedule: LearningRate, t: int) -> float:
    """Return the step of round t, counted from one."""
    if schedule == "1/t":
        return 1.0 / t
    if schedule == "1/sqrt(t)":
        return float(t**-0.5)
    return 1.0
