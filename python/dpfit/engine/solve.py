"""Linear algebra on released numbers."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
import scipy.linalg
from scipy.optimize import brentq
from scipy.special import ndtr

from dpfit._typing import Floats

__all__ = ["LearningRate", "Ridge", "inverse", "learning_rate", "noise_norm", "unclipped"]

Ridge: TypeAlias = Literal["adassp", "literal"]
LearningRate: TypeAlias = Literal["constant", "1/t", "1/sqrt(t)"]

# The smallest eigenvalue that is inverted, relative to the noise's spectral norm: with noise of
# either sign, X'X plus its ridge can still have eigenvalues near zero, along which nothing is
# known.
_FLOOR = 0.3
# A smaller estimate of the threshold, in standard deviations, is not believed.
_FEWEST_SIGMAS = 0.5
# The two-sided 95 % quantile of the normal distribution, as in AdaSSP's reference code.
_QUANTILE = 1.96


def noise_norm(d: int, sigma: float) -> float:
    """Return the spectral norm of symmetric noise, to leading order in d.

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
        ``"adassp"``: add the difference between the norm of the noise and a lower bound on the
        smallest eigenvalue. ``"literal"``: add the noisy smallest eigenvalue itself, as the
        paper's text says.
    """
    values, vectors = scipy.linalg.eigh(gram)
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


def unclipped(mean_square: float, threshold: float) -> tuple[float, float]:
    """Return the variance of residuals before clipping, and the share that was not clipped.

    Parameters
    ----------
    mean_square : float
        The mean of squared residuals after clipping.
    threshold : float
        Where they were clipped.

    Notes
    -----
    Residuals are assumed to be normal: the threshold is k standard deviations if the mean of
    min(z^2, k^2) is k^2 times `mean_square` / `threshold`^2.
    """
    wanted = mean_square / threshold**2

    def gap(k: float) -> float:
        inside = 2.0 * ndtr(k) - 1.0
        density = math.exp(-k * k / 2.0) / math.sqrt(2.0 * math.pi)
        return float((inside - 2.0 * k * density) / k**2 + 1.0 - inside) - wanted

    # With noise, the mean square can be larger than possible; then nearly all were clipped.
    k = _FEWEST_SIGMAS if gap(_FEWEST_SIGMAS) < 0.0 else brentq(gap, _FEWEST_SIGMAS, 1e3)
    return (threshold / k) ** 2, float(2.0 * ndtr(k) - 1.0)
