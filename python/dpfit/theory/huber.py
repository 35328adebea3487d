"""The limit of boosting the mean on a given table: the Huber estimate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpfit._typing import Floats
from dpfit.exceptions import NotFiniteError, ParameterError
from dpfit.theory._checks import check_positive, must_be

__all__ = ["huber_fixed_point"]

_LARGEST_VALUE = 1e300


def huber_fixed_point(values: npt.ArrayLike, tau: float) -> float:
    """Return the centre m at which the clipped residuals ``values - m`` sum to zero.

    Parameters
    ----------
    values : array-like of shape (n,)
        Finite numbers of magnitude at most 1e300; at least one.
    tau : float
        Clipping threshold; positive.

    Returns
    -------
    float
        The root m of ``sum(clip(values - m, -tau, tau))``, or the midpoint if the roots form an
        interval. It minimises the Huber loss with threshold ``tau``.

    Raises
    ------
    ParameterError
        If ``tau`` is not a positive number, ``values`` is not a non-empty vector of numbers, or a
        magnitude exceeds 1e300.
    NotFiniteError
        If ``values`` contains NaN or infinity.

    Notes
    -----
    The sum is piecewise linear and non-increasing in m. Its kinks are sorted, bisection finds the
    piece that crosses zero, and the linear equation of that piece is solved. There is no
    tolerance; the only error is rounding.

    The roots form an interval if and only if n is even and the two middle values are more than
    2 tau apart; the midpoint is then the median. As tau decreases to 0, the result tends to the
    median. It equals the median if tau is at most the distance from the median to its neighbours
    (n odd), or half the distance between the two middle values (n even). As tau increases, the
    result tends to the mean. It equals the mean if tau is at least the range of the values.

    Privacy
    -------
    None: the result is computed from the data without noise. It is the limit of the noiseless
    iteration in the paper's section on the fixed point.

    Examples
    --------
    >>> from dpfit.theory import huber_fixed_point
    >>> huber_fixed_point([1.0, 2.0, 3.0, 100.0], tau=2.0)
    2.6666666666666665
    >>> huber_fixed_point([1.0, 2.0, 3.0, 100.0], tau=1e-9)
    2.5
    >>> huber_fixed_point([1.0, 2.0, 3.0, 100.0], tau=1e9)
    26.5
    """
    tau = check_positive("tau", tau)
    ordered = np.sort(_check_values(values))
    middle = float(np.median(ordered))
    low, high = ordered[(ordered.size - 1) // 2], ordered[ordered.size // 2]
    if ordered.size % 2 == 0 and high - low >= 2.0 * tau:
        return middle
    shifted = ordered - middle
    # If tau is at least the range, no residual is clipped; and no root is more than 2 tau from the
    # median. So neither limit changes the result, and both prevent overflow.
    tau = min(tau, float(shifted[-1] - shifted[0]))
    if tau == 0.0:
        return middle
    return middle + _root(np.clip(shifted, -4.0 * tau, 4.0 * tau), tau)


def _check_values(values: npt.ArrayLike) -> Floats:
    """Return ``values`` as a vector of doubles. Messages contain none of them."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("values must be real numbers", subject="values") from None
    if array.ndim != 1 or array.size == 0:
        raise must_be("values", "a vector with at least one entry", f"shape {array.shape}")
    if not np.isfinite(array).all():
        raise NotFiniteError("values must be finite", subject="values")
    if np.abs(array).max() > _LARGEST_VALUE:
        raise ParameterError("values must have magnitudes <= 1e300", subject="values")
    return array


def _root(ordered: Floats, tau: float) -> float:
    """Return the root on the piece of the sum that crosses zero."""
    kinks = np.sort(np.concatenate([ordered - tau, ordered + tau]))
    left, right = 0, kinks.size - 1
    while right - left > 1:
        half = (left + right) // 2
        if np.clip(ordered - kinks[half], -tau, tau).sum() >= 0.0:
            left = half
        else:
            right = half
    low, high = float(kinks[left]), float(kinks[right])
    inside = 0.5 * (low + high)
    below = int(np.searchsorted(ordered, inside - tau, side="left"))
    above = int(np.searchsorted(ordered, inside + tau, side="right"))
    free = ordered[below:above]
    if free.size == 0:
        return inside
    total = float(free.sum()) + tau * (ordered.size - above - below)
    return min(max(total / free.size, low), high)
