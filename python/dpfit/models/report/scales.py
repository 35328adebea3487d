"""Scales of drawings: where values are, and round numbers for axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Scale", "points", "tick_texts", "ticks"]

# Steps between ticks, as multiples of powers of ten.
_STEPS = (1.0, 2.0, 5.0, 10.0)
# The largest number that is written with all its digits.
_LONG = 1e6


@dataclass(frozen=True)
class Scale:
    """A linear map from values to places.

    Parameters
    ----------
    low, high : float
        Values at the ends; `high` is larger.
    start, stop : float
        Their places.
    """

    low: float
    high: float
    start: float = 0.0
    stop: float = 100.0

    def __call__(self, value: float) -> float:
        """Return the place of a value; that of an end for values beyond it."""
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + min(max(share, 0.0), 1.0) * (self.stop - self.start)

    @classmethod
    def around(cls, values: Iterable[float], start: float = 0.0, stop: float = 100.0) -> Scale:
        """Return a scale that shows zero and all finite values, with a margin."""
        finite = [value for value in values if math.isfinite(value)]
        low, high = min([*finite, 0.0]), max([*finite, 0.0])
        if not math.isfinite(margin := 0.04 * (high - low)) or margin <= 0.0:
            low, high, margin = -1.0, 1.0, 0.0
        return cls(low - margin, high + margin, start, stop)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return at most `most` round numbers between two values."""
    width = high - low
    if not (math.isfinite(width) and width > 0.0):
        return []
    power = 10.0 ** math.floor(math.log10(width / most))
    for step in (factor * power for factor in (*_STEPS, 20.0, 50.0)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [place * step for place in range(first, last + 1)]
    return []


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return numbers with as many digits as tell them apart."""
    if not values:
        return []
    largest = max(map(abs, values))
    step = min((b - a for a, b in itertools.pairwise(values)), default=largest) or 1.0
    if largest >= _LONG or largest < 1e-3:
        return [f"{value:.6g}" for value in values]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{value:,.{decimals}f}".replace("-", "\N{MINUS SIGN}") for value in values]


def points(places: Iterable[tuple[float, float]]) -> str:
    """Return the points of a path, without its first command."""
    return " L".join(f"{x:.2f} {y:.2f}" for x, y in places)
