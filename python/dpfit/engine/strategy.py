"""The base class of objects that make a model linear or additive."""

from __future__ import annotations

import abc

from dpfit._typing import Floats
from dpfit.engine.features.basis import Basis
from dpfit.engine.features.ramps import Ramp
from dpfit.engine.features.tails import Evidence
from dpfit.engine.plan import Plan
from dpfit.engine.ranges.marginal import Marginal
from dpfit.schema import Kind

__all__ = ["Strategy"]


class Strategy(abc.ABC):
    """The features of a model, and the directions in which its coefficients move.

    Privacy
    -------
    All methods see only public and released numbers.
    """

    @abc.abstractmethod
    def room(self, plan: Plan) -> float:
        """Return the bound on a row's norm, as a multiple of the norm's root mean square."""

    @abc.abstractmethod
    def ramps(self, column: int, kind: Kind, marginal: Marginal | None, plan: Plan) -> list[Ramp]:
        """Return the features of a numeric column.

        `marginal` is its released distribution, None if it has bounds.
        """

    @abc.abstractmethod
    def directions(self, basis: Basis) -> Floats:
        """Return orthonormal directions for the first rounds, the constant last."""

    def held_back(self, basis: Basis, norm: float, plan: Plan) -> Floats | None:
        """Return a matrix that is added to X'X in the steps, so that some directions move slowly.

        `norm` is the spectral norm of the noise in X'X in the directions.
        """
        return None

    def later_directions(self, basis: Basis, evidence: Evidence) -> Floats | None:
        """Return the directions after the first rounds; None if they do not change."""
        return None
