"""The privacy profile of a Gaussian release, to 25 digits with a proven error bound.

With ``a = epsilon/mu - mu/2`` and ``b = epsilon/mu + mu/2``,

    delta(epsilon; mu) = Phi(-a) - exp(epsilon) Phi(-b)

(Balle and Wang 2018, theorem 8; Dong, Roth and Su 2022, corollary 2.13). In double precision, most
digits of the two terms may cancel. Here each term is computed with 50 decimal digits to a relative
error below 4e-38, and at most ten digits cancel. ``docs/privacy/gdp.md`` has the full argument.
"""

from __future__ import annotations

import functools
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from typing import NamedTuple

__all__ = ["CONTEXT", "HIGHEST_A", "LOWEST_A", "RELATIVE_ERROR", "Profile", "evaluate"]

CONTEXT = Context(
    prec=50,
    Emin=-999_999,
    Emax=999_999,
    traps=[InvalidOperation, DivisionByZero, Overflow],
)
"""Arithmetic that :func:`evaluate` must run in (``with decimal.localcontext(CONTEXT)``)."""

RELATIVE_ERROR = Decimal("1e-25")
"""Bound on the relative error of ``Profile.delta`` (proven: 1e-28)."""

LOWEST_A = -9
"""Below this value of ``a`` the profile exceeds 1 - 1e-18."""

HIGHEST_A = Decimal("37.5")
"""Above this value of ``a`` the profile is less than 1e-300."""

_INVERSE_ROOT_TWO_PI = Decimal("0.39894228040143267793994605993438186847585863116493465766592583")
_HALF = Decimal("0.5")
_SWITCH = 5

# Levels of the continued fraction for arguments >= the given value. There, the relative truncation
# error is below 1e-38; it decreases with the argument.
_LEVELS = tuple(
    (Decimal(start), tuple(Decimal(k) for k in range(levels, 0, -1)))
    for start, levels in ((24, 20), (16, 26), (11, 37), (8, 53), (6, 78), (_SWITCH, 103))
)

# Terms of the series for arguments up to the given magnitude, where the last one is below 1e-46.
_TERMS = tuple(
    (Decimal(end), tuple(CONTEXT.divide(1, 2 * k + 1) for k in range(terms, 0, -1)))
    for end, terms in (("0.5", 24), (1, 33), (2, 48), (3, 63), (4, 79), (_SWITCH, 98))
)


class Profile(NamedTuple):
    """The profile at one point, with its two derivatives."""

    delta: Decimal
    """``delta(epsilon; mu)``."""

    slope_mu: Decimal
    """The derivative with respect to mu: the normal density at ``a``."""

    slope_epsilon: Decimal
    """The derivative with respect to epsilon: ``-exp(epsilon) Phi(-b)``."""


# A fit converts its budget more than once, and the next fit often has the same one.
@functools.lru_cache(maxsize=256)
def evaluate(epsilon: Decimal, mu: Decimal) -> Profile:
    """Return the profile at one point. The current decimal context must be :data:`CONTEXT`.

    Parameters
    ----------
    epsilon : Decimal
        From 1e-6 to 1e3.
    mu : Decimal
        Such that ``a`` is between :data:`LOWEST_A` and :data:`HIGHEST_A`.

    Returns
    -------
    Profile
        ``delta`` has a relative error below :data:`RELATIVE_ERROR`.

    Notes
    -----
    ``exp(epsilon)`` times the density at ``b`` equals the density at ``a``, so both terms use one
    density and nothing overflows.
    """
    ratio = epsilon / mu
    half = mu * _HALF
    a = ratio - half
    b = ratio + half
    density = _INVERSE_ROOT_TWO_PI * (-a * a * _HALF).exp()
    if a <= -_SWITCH:
        first = 1 - density * _mills(-a)
    elif a < _SWITCH:
        first = _HALF - density * _series(a)
    else:
        first = density * _mills(a)
    second = epsilon.exp() * _HALF - density * _series(b) if b < _SWITCH else density * _mills(b)
    return Profile(first - second, density, -second)


def _mills(x: Decimal) -> Decimal:
    """Return ``Phi(-x)`` divided by the density at x, for x >= 5, by Laplace's continued fraction.

    ``1/(x + 1/(x + 2/(x + 3/(x + ...))))``. Convergents lie on alternate sides of the limit, so the
    distance to the next one bounds the error.
    """
    numerators = next(numerators for start, numerators in _LEVELS if x >= start)
    tail = x
    for numerator in numerators:
        tail = x + numerator / tail
    return 1 / tail


def _series(x: Decimal) -> Decimal:
    """Return ``Phi(x) - 1/2`` divided by the density at x, for x between -5 and 5.

    ``x + x^3/3 + x^5/(3*5) + x^7/(3*5*7) + ...``: all terms have the sign of x.
    """
    inverses = next(inverses for end, inverses in _TERMS if -end <= x <= end)
    square = x * x
    total = Decimal(1)
    for inverse in inverses:
        total = total * square * inverse + 1
    return total * x
