"""From released numbers to coefficients. Nothing here sees a row."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.optimize import brentq
from scipy.special import ndtr

__all__ = ["LearningRate", "Ridge", "inverse", "learning_rate", "noise_norm", "unclipped"]

Floats: TypeAlias = npt.NDArray[np.float64]
Ridge: TypeAlias = Literal["adassp", "literal"]
LearningRate: TypeAlias = Literal["constant", "1/t", "1/sqrt(t)"]

# The smallest eigenvalue that is inverted, as a share of the noise's spectral norm: with noise of
# either sign, X'X plus its ridge can still have eigenvalues near zero, along which nothing is
# known.
_FLOOR = 0.3
# A threshold of fewer standard deviations is not believed.
_FEWEST_SIGMAS = 0.5
# Two-sided 95 % point of the normal law, as in AdaSSP's reference code.
_QUANTILE = 1.96


def noise_norm(d: int, sigma: float) -> float:
    """Return the spectral norm that symmetric noise has, to leading order in d.

    Diagonal entries have standard deviation sigma, others sigma / sqrt(2): a Gaussian orthogonal
    ensemble, whose norm tends to sqrt(2 d) sigma.
    """
    return float(np.sqrt(2.0 * d) * sigma)


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
        ``"adassp"``: add what is missing between a lower bound on the smallest eigenvalue and the
        norm of the noise. ``"literal"``: add the noisy smallest eigenvalue itself, as the paper's
        text says.
    """
    values, vectors = scipy.linalg.eigh(gram)
    norm = noise_norm(len(values), sigma)
    noisy, sigma_eigenvalue = eigenvalue
    if ridge == "literal":
        shifted = values + noisy
        # Not zero: a division by it would leave no coefficient finite.
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


def unclipped(mean_square: float, threshold: float) -> tuple[float, float]:
    """Return the variance of residuals, and the share of them that was not clipped.

    Parameters
    ----------
    mean_square : float
        The mean of squared residuals after clipping.
    threshold : float
        Where they were clipped.

    Notes
    -----
    As for normal residuals: the threshold is k standard deviations if the mean of min(z^2, k^2)
    is k^2 times `mean_square` / `threshold`^2.
    """
    wanted = mean_square / threshold**2

    def gap(k: float) -> float:
        inside = 2.0 * ndtr(k) - 1.0
        density = math.exp(-k * k / 2.0) / math.sqrt(2.0 * math.pi)
        return float((inside - 2.0 * k * density) / k**2 + 1.0 - inside) - wanted

    # Noise can show more than clipped residuals can have; then nearly all were clipped.
    k = _FEWEST_SIGMAS if gap(_FEWEST_SIGMAS) < 0.0 else brentq(gap, _FEWEST_SIGMAS, 1e3)
    return (threshold / k) ** 2, float(2.0 * ndtr(k) - 1.0)
