"""The features of an additive model: one piecewise-linear curve for each column."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.features.basis import Basis
from dpfit.engine.features.ramps import Ramp, public_ramp, separated
from dpfit.engine.features.tails import all_curves, straight_lines
from dpfit.engine.plan import Plan
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.strategy import Strategy
from dpfit.schema import Kind

__all__ = ["AdditiveFeatures"]


@dataclass(frozen=True)
class AdditiveFeatures(Strategy):
    """A curve for each column, with knots at quantiles.

    All other fields are constants; see :mod:`dpfit.engine.constants`.

    Parameters
    ----------
    knots : int or None
        Points at which a curve may bend; None for as many as the signal allows.
    """

    knots: int | None = None
    # Curves end at the 1 % and 99 % quantiles: the noise rarely shows what is beyond.
    outer: float = 0.01
    # The number of knots below a column signal: more knots, more noise.
    knots_below: tuple[tuple[float, int], ...] = ((200.0, 2), (450.0, 3), (1200.0, 5), (5000.0, 7))
    most_knots: int = 11
    # The least distance between knots, in bins, below a column signal: closer knots are guesses,
    # and noise if the column has integers only. Both were chosen with a look at even tables, too
    # (diamonds, SGEMM).
    least_step: float = 0.5
    least_step_below: float = 20_000.0
    # A bin stands alone if its neighbours have less than this share of its weight.
    alone: float = 0.25
    # With at most this many knots, curves are mainly lines: other directions are held back.
    straight_to: int = 3
    # The bound on norms, in root mean squares, and its growth for every factor of ten in the signal
    # above 3000.
    least_room: float = 1.1
    room_growth: float = 0.35

    def room(self, plan: Plan) -> float:
        """Return the bound on a row's norm, as a multiple of the norm's root mean square."""
        return self.least_room + self.room_growth * plan.tenfolds

    def ramps(self, column: int, kind: Kind, marginal: Marginal | None, plan: Plan) -> list[Ramp]:
        """Return ramps between knots at quantiles, or at equal steps between public bounds.

        Unless their number is given, knots have a least distance. It is a whole bin where a bin
        stands alone: all its rows may have one value, next to which a curve would bend by noise
        alone. A column that does not seem to vary has no ramps.
        """
        if kind.is_binary:
            return [public_ramp(column, kind)]
        if marginal is None:
            whole = public_ramp(column, kind)
            marginal = Marginal.uniform(whole.low, whole.high)
            outer = (0.0, 1.0)
        elif marginal.is_point():
            return []
        else:
            outer = (self.outer, 1.0 - self.outer)
        knots = self.knots or self._planned_knots(plan)
        inside = np.arange(1, knots + 1) / (knots + 1)
        points = marginal.quantiles(np.concatenate([[outer[0]], inside, [outer[1]]]))
        median = float(marginal.quantiles([0.5])[0])
        least = 1e-9 * (points[-1] - points[0])
        kept = [float(points[0])]
        for point in points[1:]:
            bins = self._bins_apart(marginal, float(point), plan)
            if point - kept[-1] > max(least, bins * marginal.width_at(float(point))):
                kept.append(float(point))
        if len(kept) == 1:
            kept = list(separated(kept[0], kept[0]))
        return [Ramp(column, low, high, median, 1.0) for low, high in itertools.pairwise(kept)]

    def _planned_knots(self, plan: Plan) -> int:
        """Return the number of knots that the signal allows."""
        if plan.few_features:
            return 1
        signal = plan.column_signal
        return next((knots for below, knots in self.knots_below if signal < below), self.most_knots)

    def _bins_apart(self, marginal: Marginal, point: float, plan: Plan) -> float:
        """Return the least distance of a knot from the one before it, in bins of the marginal."""
        if self.knots is not None:
            return 0.0
        if marginal.stands_alone(point, self.alone):
            return 1.0
        return self.least_step if plan.column_signal < self.least_step_below else 1e-9

    def directions(self, basis: Basis) -> Floats:
        """Return all directions: each piece of a curve has its own slope."""
        return all_curves(basis)

    def held_back(self, basis: Basis, norm: float, plan: Plan) -> Floats | None:
        """Return a penalty on bends if there is little signal."""
        if self._planned_knots(plan) > self.straight_to:
            return None
        lines = straight_lines(basis)
        bent: Floats = np.eye(basis.features) - lines @ lines.T
        return norm * bent
