"""What boosting the mean converges to on a given table: the Huber estimate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpfit.exceptions import NotFiniteError, ParameterError
from dpfit.theory._checks import check_positive

__all__ = ["huber_fixed_point"]

FloatArray = npt.NDArray[np.float64]

_LARGEST_VALUE = 1e300


def huber_fixed_point(values: npt.ArrayLike, tau: float) -> float:
    """Return the centre m at which clipped residuals ``values - m`` sum to zero.

    Parameters
    ----------
    values : array-like of shape (n,)
        Finite numbers of magnitude at most 1e300; at least one.
    tau : float
        Clipping threshold; positive.

    Returns
    -------
    float
        The root m of ``sum(clip(values - m, -tau, tau))``, or the midpoint of its roots where they
        fill an interval. It minimises the Huber loss of radius ``tau``.

    Raises
    ------
    ParameterError
        If ``tau`` is not a positive number, or ``values`` is not a non-empty list of numbers, or a
        magnitude exceeds 1e300.
    NotFiniteError
        If ``values`` hold NaN or infinity.

    Notes
    -----
    The sum is piecewise linear and does not increase with m. Its kinks are sorted, the piece that
    crosses zero is found by bisection over them, and its linear equation is solved: there is no
    tolerance and the only error is rounding.

    The roots fill an interval exactly if n is even and the two middle values are more than 2 tau
    apart; the midpoint is then the median. As tau falls to 0 the answer tends to the median. It
    *is* the median once tau is at most the distance from the median to its neighbours (n odd), or
    half the distance between the two middle values (n even). As tau grows the answer tends to the
    mean, and is the mean once tau reaches the range of the values.

    Privacy
    -------
    None: the answer is computed from the data without noise. The noiseless iteration of the paper's
    fixed-point section converges to it.

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
    # No residual is clipped once tau is the range, and no root is further than 2 tau from the
    # middle, so neither of these changes the answer; both keep the arithmetic within range.
    tau = min(tau, float(shifted[-1] - shifted[0]))
    if tau == 0.0:
        return middle
    return middle + _root(np.clip(shifted, -4.0 * tau, 4.0 * tau), tau)


def _check_values(values: npt.ArrayLike) -> FloatArray:
    """Return ``values`` as a vector of doubles; messages hold none of them."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("values must be real numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise ParameterError(f"values has shape {array.shape}: it must be (n,) with n >= 1")
    if not np.isfinite(array).all():
        raise NotFiniteError("values must be finite")
    if np.abs(array).max() > _LARGEST_VALUE:
        raise ParameterError("values are out of range: magnitudes must be at most 1e300")
    return array


def _root(ordered: FloatArray, tau: float) -> float:
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
