"""Bins of histograms, as data that can go to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dpfit import _native

__all__ = ["Bins", "EqualBins", "PowerBins"]


@dataclass(frozen=True)
class PowerBins:
    """Signed powers of two, from `least` to `most`; see `Bins.powers` of the core."""

    least: int
    most: int

    def native(self) -> _native.Bins:
        """Return the bins of the core."""
        return _native.Bins.powers(self.least, self.most)


@dataclass(frozen=True)
class EqualBins:
    """Bins of equal width, from `low` to `high`; see `Bins.equal` of the core."""

    low: float
    high: float
    count: int

    def native(self) -> _native.Bins:
        """Return the bins of the core."""
        return _native.Bins.equal(self.low, self.high, self.count)


Bins: TypeAlias = PowerBins | EqualBins
