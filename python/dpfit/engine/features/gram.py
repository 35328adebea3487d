"""The released X'X of functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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

    @classmethod
    def of(cls, released: Released[Floats], matrix: Floats) -> ScaledGram:
        """Return X'X of functions from that of the same functions, scaled and in another order.

        The matrix has one entry that is not zero in every row and every column.
        """
        places = np.abs(matrix).argmax(axis=1)
        value = released.value[np.ix_(places, places)]
        return cls(Released(value, released.sigmas), np.abs(matrix).max(axis=1))

    @property
    def value(self) -> Floats:
        """The noisy matrix."""
        return self.released.value

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on its diagonal."""
        return self.released.sigma
