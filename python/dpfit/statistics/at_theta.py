"""The common part of statistics of residuals at a public theta."""

from __future__ import annotations

import abc

from dpfit import _native
from dpfit._typing import Floats
from dpfit.statistics.row_map import Scale
from dpfit.statistics.statistic import Blocks, S, Statistic, V, merged

__all__ = ["AtTheta"]


class AtTheta(Statistic[S, V]):
    """A sum over stored rows that depends on their residuals y - x theta.

    Subclasses are dataclasses with these fields.

    Parameters
    ----------
    theta : array
        Coefficients of rows whose norm is at most `scale.bound`.
    scale : Scale
        What the stored integers are.
    """

    theta: Floats
    scale: Scale

    def sum(self, part: Blocks) -> S | None:
        """Sum over the rows of a part."""
        # The store holds rows divided by their bound.
        theta = self.theta * self.scale.bound
        return merged(self.of(rows, theta, part.n_jobs) for rows in part)

    @abc.abstractmethod
    def of(self, rows: _native.Rows, theta: Floats, n_jobs: int | None) -> S:
        """Sum over some rows, given the coefficients of rows of norm one at most."""
