"""Exact random choices when the probabilities contain exponentials.

A number such as ``exp(-1/3)`` has no finite expansion, but two decimals can enclose it as closely
as needed. So a random choice draws a uniform number bit by bit and encloses the probabilities digit
by digit, until it is certain on which side of every boundary the number lies. The result then has
exactly the stated distribution; only the number of bits that are used varies.

The same enclosures decide inequalities between such numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from typing import NamedTuple, Protocol

__all__ = [
    "ONE",
    "START_DIGITS",
    "ZERO",
    "Bounds",
    "Enclosing",
    "RandomBits",
    "decide",
    "draw_below",
    "exact_choice",
]

START_DIGITS = 50
"""Precision of the first attempt. It is doubled until the answer is certain."""

_BITS_PER_DIGIT = 4  # more than log2(10), so the uniform number is finer than the enclosures


class RandomBits(Protocol):
    """A source of independent fair bits.

    Examples are ``random.SystemRandom()`` and, for tests, ``random.Random(seed)``. The output of
    the latter is predictable, and predictable noise protects nobody.
    """

    def getrandbits(self, k: int, /) -> int:
        """Return an integer with ``k`` fair bits."""
        ...


class Bounds(NamedTuple):
    """Two decimals that enclose a non-negative number."""

    low: Decimal
    high: Decimal


ZERO = Bounds(Decimal(0), Decimal(0))
ONE = Bounds(Decimal(1), Decimal(1))


class Enclosing:
    """Arithmetic on enclosed non-negative numbers: lower bounds round down, upper bounds up.

    Parameters
    ----------
    digits : int
        Significant decimal digits of every result.
    """

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self.floor = _context(digits, ROUND_FLOOR)
        self.ceiling = _context(digits, ROUND_CEILING)

    def integer(self, value: int) -> Bounds:
        """Enclose an integer. For speed, one much longer than the precision is truncated first."""
        surplus = 3 * value.bit_length() // 10 - 2 * self.digits
        if surplus <= 0:
            exact = Decimal(value)
            return Bounds(self.floor.plus(exact), self.ceiling.plus(exact))
        kept = value // 10**surplus
        return Bounds(
            self.floor.scaleb(self.floor.create_decimal(kept), surplus),
            self.ceiling.scaleb(self.ceiling.create_decimal(kept + 1), surplus),
        )

    def plus(self, a: Bounds, b: Bounds) -> Bounds:
        """Enclose a sum."""
        return Bounds(self.floor.add(a.low, b.low), self.ceiling.add(a.high, b.high))

    def minus(self, a: Bounds, b: Bounds) -> Bounds:
        """Enclose a difference that is known to be >= 0."""
        low = self.floor.subtract(a.low, b.high)
        return Bounds(max(low, Decimal(0)), self.ceiling.subtract(a.high, b.low))

    def times(self, a: Bounds, b: Bounds) -> Bounds:
        """Enclose a product."""
        return Bounds(self.floor.multiply(a.low, b.low), self.ceiling.multiply(a.high, b.high))

    def over(self, a: Bounds, b: Bounds) -> Bounds:
        """Enclose a quotient whose divisor has a positive lower bound."""
        return Bounds(self.floor.divide(a.low, b.high), self.ceiling.divide(a.high, b.low))

    def exp(self, exponent: Fraction) -> Bounds:
        """Enclose ``exp(exponent)`` for a rational of either sign.

        The exponent is enclosed first. ``Context.exp`` always rounds to the nearest, so the
        result is widened by one ulp on each side.
        """
        if exponent == 0:
            return ONE
        numerator, denominator = Decimal(exponent.numerator), Decimal(exponent.denominator)
        low = self.floor.exp(self.floor.divide(numerator, denominator))
        high = self.ceiling.exp(self.ceiling.divide(numerator, denominator))
        return Bounds(self.floor.next_minus(low), self.ceiling.next_plus(high))


def decide(
    question: Callable[[Enclosing], bool | None], *, start_digits: int = START_DIGITS
) -> bool:
    """Evaluate a question with growing precision until the answer is certain.

    Parameters
    ----------
    question : callable
        Returns True or False if the enclosures decide the question, and None if they do not.
    start_digits : int
        Precision of the first attempt. It does not affect the answer.

    Returns
    -------
    bool

    Privacy
    -------
    The answer is that of exact arithmetic. Rounding to a "safe" side would not be enough for a
    sensitivity: two neighbouring inputs could be rounded differently and end up further apart than
    the proof allows.
    """
    for enclosing in _precisions(start_digits):
        answer = question(enclosing)
        if answer is not None:
            return answer
    raise AssertionError("unreachable: precisions never end")


def draw_below(limit: int, source: RandomBits) -> int:
    """Draw an integer from 0 to ``limit - 1``, all equally likely.

    Parameters
    ----------
    limit : int
        At least 1, of any length.
    source : RandomBits
        The source of randomness.

    Returns
    -------
    int

    Privacy
    -------
    Exactly uniform: numbers that are too large are rejected and drawn again.
    """
    bits = (limit - 1).bit_length()
    if bits == 0:
        return 0
    while (drawn := source.getrandbits(bits)) >= limit:
        pass
    return drawn


def exact_choice(
    cumulative: Callable[[Enclosing], Sequence[Bounds]],
    source: RandomBits,
    *,
    start_digits: int = START_DIGITS,
) -> int:
    """Draw an index with probability proportional to its weight.

    Parameters
    ----------
    cumulative : callable
        Encloses the partial sums of the weights: the i-th encloses the sum of weights 0 to i, the
        last one the positive total. Lower bounds must be non-decreasing, and so must upper bounds.
    source : RandomBits
        The source of randomness.
    start_digits : int
        Precision of the first attempt. It does not affect the distribution.

    Returns
    -------
    int

    Privacy
    -------
    With U uniform on [0, 1], index i is returned only if it is certain that
    ``sum(weights[:i]) <= U * total <= sum(weights[:i + 1])``. This determines i except for finitely
    many values of U, so the distribution is exact, and with probability one the precision is raised
    finitely often. An index of weight zero is never returned.
    """
    numerator = length = 0
    for enclosing in _precisions(start_digits):
        more = _BITS_PER_DIGIT * enclosing.digits - length
        numerator = numerator << more | source.getrandbits(more)
        length += more
        sums = cumulative(enclosing)
        scale = Decimal(1 << length)
        uniform = enclosing.over(
            Bounds(Decimal(numerator), Decimal(numerator + 1)), Bounds(scale, scale)
        )
        reached = enclosing.times(uniform, sums[-1])
        index = bisect_right(sums, reached.low, key=lambda partial: partial.high)
        if index < len(sums) and reached.high <= sums[index].low:
            return index
    raise AssertionError("unreachable: precisions never end")


def _precisions(digits: int) -> Iterator[Enclosing]:
    """Yield arithmetic with growing precision."""
    while True:
        yield Enclosing(digits)
        digits *= 2


def _context(digits: int, rounding: str) -> Context:
    """Return a separate context, so that the caller's context cannot change a result."""
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )
