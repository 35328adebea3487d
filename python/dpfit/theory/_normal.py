"""Two integrals of the normal distribution function, accurate to the last digits.

Let Q(t) = P(N(0, 1) > t). Both integrals are over [centre - radius, centre + radius] with
0 <= radius <= centre, where their integrands are positive. Wide intervals use the closed form. On
narrow intervals, the closed form is a difference of nearly equal numbers, so a quadrature rule
replaces it. The integrands are entire functions, for which 20 nodes reach double precision.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["SQRT_TWO", "sign_integral", "tail_integral"]

SQRT_TWO = math.sqrt(2.0)

_SQRT_TWO_PI = math.sqrt(2.0 * math.pi)
_NARROW = 0.5
_NO_TAIL = 40.0
_NODES, _WEIGHTS = (array.tolist() for array in np.polynomial.legendre.leggauss(20))


def tail_integral(centre: float, radius: float) -> float:
    """Return the integral of Q(t)."""
    if radius < _NARROW:
        values = (math.erfc((centre + radius * node) / SQRT_TWO) for node in _NODES)
        return 0.5 * radius * math.fsum(map(float.__mul__, _WEIGHTS, values))
    return _loss(centre - radius) - _loss(centre + radius)


def sign_integral(centre: float, radius: float) -> float:
    """Return the integral of 1/2 - Q(t), which is ``radius`` minus the integral of Q(t)."""
    if radius < _NARROW:
        values = (math.erf((centre + radius * node) / SQRT_TWO) for node in _NODES)
        return 0.5 * radius * math.fsum(map(float.__mul__, _WEIGHTS, values))
    return radius - tail_integral(centre, radius)


def _loss(x: float) -> float:
    """Return the integral of Q from ``x`` to infinity, E max(N(0, 1) - x, 0)."""
    if x > _NO_TAIL:
        return 0.0
    density = math.exp(-0.5 * x * x) / _SQRT_TWO_PI
    return max(density - 0.5 * x * math.erfc(x / SQRT_TWO), 0.0)
