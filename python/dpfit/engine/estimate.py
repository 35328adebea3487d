"""What a fit of functions to rows finds: coefficients, and their errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

from dpfit._typing import Floats
from dpfit.engine.covariance import Covariance
from dpfit.engine.features.basis import Basis
from dpfit.engine.features.gram import ScaledGram
from dpfit.engine.features.levels import SeenLevels
from dpfit.engine.threshold import Threshold
from dpfit.engine.whitening import Coordinates
from dpfit.release import Released

__all__ = ["Estimate"]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Coefficients of functions, and their errors.

    Parameters
    ----------
    basis : Basis
        The functions.
    coefficients : array of shape (p,)
        Shrunk by what is expected of them.
    unshrunk : array of shape (p,)
        Before they were shrunk.
    errors : callable
        Returns the covariances of errors in `unshrunk`, which take long to compute.
    threshold : Threshold or None
        Where scores were clipped; None for a mean.
    rounds : int
        How many there were.
    gram : ScaledGram or None
        X'X of the functions; None for a mean.
    coordinates : Coordinates or None
        The coordinates of the rounds; None for a mean.
    levels : SeenLevels
        Which levels X'X shows.
    counts : Released or None
        Counts of scores, from which the threshold follows; None for a mean.
    """

    basis: Basis
    coefficients: Floats
    unshrunk: Floats
    errors: Callable[[], Covariance]
    threshold: Threshold | None
    rounds: int
    gram: ScaledGram | None = None
    coordinates: Coordinates | None = None
    levels: SeenLevels = field(default_factory=SeenLevels)
    counts: Released[Floats] | None = None

    @functools.cached_property
    def covariance(self) -> Covariance:
        """Covariances of errors in `unshrunk`."""
        return self.errors()
