"""The released X'X of functions."""

from __future__ import annotations

from dataclasses import dataclass

from dpfit._typing import Floats
from dpfit.release import Released

__all__ = ["ScaledGram"]


@dataclass(frozen=True, eq=False)
class ScaledGram:
    """X'X of functions times scales.

    Parameters
    ----------
    released : Released
        X'X with its noise.
    scales : array of shape (p,)
        The scales, with which rows are no longer than one.
    """

    released: Released[Floats]
    scales: Floats

    @property
    def value(self) -> Floats:
        """The noisy matrix."""
        return self.released.value

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on its diagonal."""
        return self.released.sigma
