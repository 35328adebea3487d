"""Linear algebra on released numbers."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf

from dpfit._typing import Floats

__all__ = ["LearningRate", "Ridge", "inverse", "is_above", "learning_rate", "noise_norm"]

Ridge: TypeAlias = Literal["adassp", "literal"]
LearningRate: TypeAlias = Literal["constant", "1/t", "1/sqrt(t)"]

# The smallest eigenvalue that is inverted, relative to the noise's spectral norm: with noise of
# either sign, X'X plus its ridge can still have eigenvalues near zero, along which nothing is
# known.
_FLOOR = 0.3
# The two-sided 95 % quantile of the normal distribution, as in AdaSSP's reference code.
_QUANTILE = 1.96


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
    moved[np.diag_indices_from(moved)] -= least
    _, failed = dpotrf(moved, lower=1, clean=0, overwrite_a=1)
    return not failed


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
