"""The features of a linear model: one line for each column, over a range that fits the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.features.basis import Basis
from dpfit.engine.features.ramps import Ramp, public_ramp, separated
from dpfit.engine.features.tails import Evidence, TailConstants, choose_tails, straight_lines
from dpfit.engine.plan import Plan
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.strategy import Strategy
from dpfit.schema import Kind

__all__ = ["LinearFeatures"]

Cuts: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class LinearFeatures(Strategy):
    """A line for each column; the data decide whether it continues in the tails of the column.

    All fields are constants; see :mod:`dpfit.engine.constants`.
    """

    # Lines end at the 1 % and 99 % quantiles: the noise rarely shows what is beyond.
    outer: float = 0.01
    # Where lines may end, (share of the column, ratio of distances). The second list is used from
    # a column signal on. The ratios are above those of a normal distribution (1.82; 1.41 and
    # 1.95), so that the line of a normal column is not cut.
    few_cuts: Cuts = ((0.1, 1.85),)
    cuts: Cuts = ((0.05, 1.7), (0.2, 2.4))
    cuts_from: float = 500.0
    # The least distance of a cut from the median, in bins.
    least_step: float = 1.5
    # The height of a tail's ramp, in half-widths of the inner range: a higher one would take norm
    # from all rows for the sake of a few.
    tail_height: float = 2.0
    # Whether a line continues in a tail.
    tails: TailConstants = field(default_factory=TailConstants)
    # The bound on norms, in root mean squares: less room means less noise, and more rows that are
    # weighted down. With few columns the norm varies more; without more room for them, the
    # coverage of 95 % intervals was 51 to 88 % with three columns.
    least_room: float = 1.2
    room_per_column: float = 1.5
    wide_room_from: float = 1000.0
    # More room for every factor of ten in the signal above 3000, where noise matters less than
    # weights: with 0.35, intervals without sampling covered 92 % at n = 5000 and epsilon = 10.
    room_growth: float = 0.9

    def room(self, plan: Plan) -> float:
        """Return the bound on a row's norm, as a multiple of the norm's root mean square.

        Longer rows are weighted down, unlike in least squares. With more signal, noise matters less
        and fewer rows are weighted. With fewer columns the bound is wider, because the norm varies
        more.
        """
        if plan.signal < self.wide_room_from:
            return self.least_room
        growth = self.room_growth * plan.tenfolds
        return self.least_room + self.room_per_column / plan.columns + growth

    def cuts_of(self, plan: Plan) -> Cuts:
        """Return where lines may end, from the outside in.

        A line may end where a share of the column is beyond it, if the next point outside is at
        least the ratio times as far from the median. More options fit more tables and need more
        signal.
        """
        if plan.few_features:
            return ()
        return self.few_cuts if plan.column_signal < self.cuts_from else self.cuts

    def ramps(self, column: int, kind: Kind, marginal: Marginal | None, plan: Plan) -> list[Ramp]:
        """Return the ramp of a column and, if its tails reach far, ramps for the tails.

        A column that does not seem to vary has none.
        """
        if marginal is None:
            return [public_ramp(column, kind)]
        if marginal.is_point():
            return []
        median = float(marginal.quantiles([0.5])[0])
        lower = self._long_pieces(marginal, median, -1, plan)
        upper = self._long_pieces(marginal, median, 1, plan)
        low, high = lower[-1], upper[-1]
        if not high > low:
            # Half of the weight is in one point: only the tails are left.
            lower, upper = lower[:1], upper[:1]
            low, high = separated(lower[0], upper[0])
        half = (high - low) / 2
        ramps = [Ramp(column, low, high, median, 2.0)]
        for outside, inside in zip(lower[-2::-1], lower[:0:-1], strict=True):
            height = min((inside - outside) / half, self.tail_height)
            ramps.insert(0, Ramp(column, outside, inside, median, height, ramps[0].tail - 1))
        for outside, inside in zip(upper[-2::-1], upper[:0:-1], strict=True):
            height = min((outside - inside) / half, self.tail_height)
            ramps.append(Ramp(column, inside, outside, median, height, ramps[-1].tail + 1))
        return ramps

    def _long_pieces(self, marginal: Marginal, median: float, side: int, plan: Plan) -> list[float]:
        """Return where pieces begin on one side of the median, from the outside in."""
        cuts = self.cuts_of(plan)
        shares = np.array([self.outer, *(share for share, _ in cuts)])
        outside, *insides = (
            float(q) for q in marginal.quantiles(shares if side < 0 else 1.0 - shares)
        )
        points = [outside]
        for inside, (_, ratio) in zip(insides, cuts, strict=True):
            # A line that ends within a bin or two of the median would be a step.
            is_line = abs(inside - median) > self.least_step * marginal.width_at(median)
            if is_line and abs(outside - median) > ratio * abs(inside - median):
                points.append(inside)
            outside = inside
        return points

    def directions(self, basis: Basis) -> Floats:
        """Return lines that go through all pieces."""
        return straight_lines(basis)

    def later_directions(self, basis: Basis, evidence: Evidence) -> Floats | None:
        """Return lines over the ranges that explain most; None if no column has tails."""
        tails = choose_tails(basis, evidence, self.tails)
        return straight_lines(basis, tails) if tails else None
