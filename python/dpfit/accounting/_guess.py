"""First guesses in doubles for the two inverses of the privacy profile.

Nothing here has to be accurate for privacy's sake: a guess is refined and then checked with
50 digits. It has to be close (about ten digits) for the sake of speed.

Write R for Mills' ratio ``Phi(-x)/phi(x)``. Then ``delta = phi(a) (R(a) - R(b))``, and log delta is
concave in log mu and in epsilon, so that Newton's iteration cannot leave the private side once it
is there. Both iterations start on it.
"""

from __future__ import annotations

import math

__all__ = ["guess_epsilon", "guess_mu"]

_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_ITERATIONS = 60
_CLOSE = 1e-9
_NARROW = 0.05

# Three-point Gauss-Legendre rule on [-1/2, 1/2].
_NODE = 0.5 * math.sqrt(0.6)
_OUTER, _MIDDLE = 5.0 / 18.0, 8.0 / 18.0


def guess_mu(epsilon: float, delta: float) -> float:
    """Return roughly the mu at which the profile equals delta."""
    target = math.log(delta)
    start = math.sqrt(-2.0 * target)
    mu = 2.0 * epsilon / (start + math.sqrt(start * start + 2.0 * epsilon))
    for _ in range(_ITERATIONS):
        log_delta, difference, _ = _log_profile(epsilon, mu)
        step = (target - log_delta) * difference / mu
        mu *= math.exp(step)
        if abs(step) < _CLOSE:
            break
    return mu


def guess_epsilon(mu: float, delta: float, low: float, high: float) -> float:
    """Return roughly the epsilon at which the profile equals delta, at most just outside a range.

    The answer is ``low`` or ``high`` if the iteration runs below or stays above the range.
    """
    target = math.log(delta)
    epsilon = mu * (math.sqrt(max(0.0, -2.0 * (target + math.log(2.0)))) + 0.5 * mu)
    for _ in range(_ITERATIONS):
        log_delta, difference, tail = _log_profile(epsilon, mu)
        step = (log_delta - target) * difference / tail
        epsilon += step
        if epsilon <= low:
            return low
        if abs(step) < _CLOSE * epsilon:
            break
    return min(epsilon, high)


def _log_profile(epsilon: float, mu: float) -> tuple[float, float, float]:
    """Return log delta, ``R(a) - R(b)`` and ``R(b)``."""
    middle = epsilon / mu
    a = middle - 0.5 * mu
    b = middle + 0.5 * mu
    tail = _mills(b)
    if mu < _NARROW:
        outer = _fall(middle - _NODE * mu) + _fall(middle + _NODE * mu)
        difference = mu * (_OUTER * outer + _MIDDLE * _fall(middle))
    else:
        difference = _mills(a) - tail
    return math.log(difference) - 0.5 * a * a - _LOG_ROOT_TWO_PI, difference, tail


def _fall(x: float) -> float:
    """Return minus the derivative of Mills' ratio, ``1 - x R(x)``."""
    if x < 4.0:
        return 1.0 - x * _mills(x)
    tail = _tail(x)
    return tail / (x + tail)


def _mills(x: float) -> float:
    """Return Mills' ratio."""
    if x < 4.0:
        return _ROOT_HALF_PI * math.exp(0.5 * x * x) * math.erfc(_ROOT_HALF * x)
    return 1.0 / (x + _tail(x))


def _tail(x: float) -> float:
    """Return ``1/(x + 2/(x + 3/(x + ...)))``, for x of 4 or more."""
    tail = x
    for k in range(40 if x < 8.0 else 12, 1, -1):
        tail = x + k / tail
    return 1.0 / tail
