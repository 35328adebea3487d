"""Starting points for the two inverses of the privacy profile, in double precision.

Privacy does not depend on their accuracy: a starting point is refined and then checked with 50
digits. Speed does: they are accurate to about ten digits.

Write R for Mills' ratio ``Phi(-x)/phi(x)``. Then ``delta = phi(a) (R(a) - R(b))``. As log delta is
concave in log mu and in epsilon, Newton's iteration stays on the private side once it is there.
Both iterations start on it.
"""

from __future__ import annotations

import math

__all__ = ["initial_epsilon", "initial_mu"]

_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_ITERATIONS = 60
_CONVERGED = 1e-9
# Below this mu, R(a) - R(b) is integrated instead of subtracted.
_NARROW = 0.05

# Three-point Gauss-Legendre rule on [-1/2, 1/2].
_NODE = 0.5 * math.sqrt(0.6)
_OUTER, _MIDDLE = 5.0 / 18.0, 8.0 / 18.0


def initial_mu(epsilon: float, delta: float) -> float:
    """Return approximately the mu at which the profile equals delta."""
    target = math.log(delta)
    start = math.sqrt(-2.0 * target)
    mu = 2.0 * epsilon / (start + math.sqrt(start * start + 2.0 * epsilon))
    for _ in range(_ITERATIONS):
        log_delta, difference, _ = _log_profile(epsilon, mu)
        step = (target - log_delta) * difference / mu
        mu *= math.exp(step)
        if abs(step) < _CONVERGED:
            break
    return mu


def initial_epsilon(mu: float, delta: float, low: float, high: float) -> float:
    """Return approximately the epsilon between ``low`` and ``high`` at which the profile is delta.

    The result is ``low`` or ``high`` if the iteration leaves the range.
    """
    target = math.log(delta)
    epsilon = mu * (math.sqrt(max(0.0, -2.0 * (target + math.log(2.0)))) + 0.5 * mu)
    for _ in range(_ITERATIONS):
        log_delta, difference, mills_b = _log_profile(epsilon, mu)
        step = (log_delta - target) * difference / mills_b
        epsilon += step
        if epsilon <= low:
            return low
        if abs(step) < _CONVERGED * epsilon:
            break
    return min(epsilon, high)


def _log_profile(epsilon: float, mu: float) -> tuple[float, float, float]:
    """Return log delta, ``R(a) - R(b)`` and ``R(b)``."""
    middle = epsilon / mu
    a = middle - 0.5 * mu
    b = middle + 0.5 * mu
    mills_b = _mills(b)
    if mu < _NARROW:
        outer = _minus_slope(middle - _NODE * mu) + _minus_slope(middle + _NODE * mu)
        difference = mu * (_OUTER * outer + _MIDDLE * _minus_slope(middle))
    else:
        difference = _mills(a) - mills_b
    return math.log(difference) - 0.5 * a * a - _LOG_ROOT_TWO_PI, difference, mills_b


def _minus_slope(x: float) -> float:
    """Return minus the derivative of Mills' ratio, ``1 - x R(x)``."""
    if x < 4.0:
        return 1.0 - x * _mills(x)
    tail = _fraction_tail(x)
    return tail / (x + tail)


def _mills(x: float) -> float:
    """Return Mills' ratio."""
    if x < 4.0:
        return _ROOT_HALF_PI * math.exp(0.5 * x * x) * math.erfc(_ROOT_HALF * x)
    return 1.0 / (x + _fraction_tail(x))


def _fraction_tail(x: float) -> float:
    """Return ``1/(x + 2/(x + 3/(x + ...)))`` for x >= 4."""
    tail = x
    for k in range(40 if x < 8.0 else 12, 1, -1):
        tail = x + k / tail
    return 1.0 / tail
