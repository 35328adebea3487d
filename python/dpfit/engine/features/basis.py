"""All features of a model."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.constants import PlanConstants
from dpfit.engine.features.ramps import Ramp, Term
from dpfit.engine.ranges.marginal import Marginal
from dpfit.schema import Kind
from dpfit.statistics import LevelColumn, RampColumn

__all__ = ["Basis"]


@dataclass(frozen=True)
class Basis:
    """All features of a model: ramps, and a constant last.

    Parameters
    ----------
    ramps : sequence of Ramp
        In the order of the columns.
    columns : int
        Columns of X.
    gain : float
        The factor of all ramps.
    constant_share : float
        The constant's share of the squared norm.
    free : set of int
        Categorical columns whose effects need not add up to zero.
    unseen : set of int
        Features of levels that are too rare for an effect.
    rare : set of int
        Features of other levels that may have no rows.
    """

    ramps: tuple[Ramp, ...]
    columns: int
    gain: float
    constant_share: float
    free: frozenset[int] = frozenset()
    unseen: frozenset[int] = frozenset()
    rare: frozenset[int] = frozenset()

    @classmethod
    def fit_to_norm(
        cls,
        ramps: Sequence[Ramp],
        kinds: Sequence[Kind],
        marginals: Sequence[Marginal | None],
        *,
        room: float,
        constants: PlanConstants,
    ) -> Basis:
        """Return the basis whose rows have a norm of about 1 / `room`.

        The mean of the squared norm follows from the marginals, however the columns depend on each
        other. The row map gives longer rows less weight.
        """
        mean = 0.0
        for ramp in ramps:
            kind, marginal = kinds[ramp.column], marginals[ramp.column]
            if kind.is_binary or kind.levels:
                continue
            known = marginal or Marginal.uniform(ramp.low, ramp.high)
            middles, shares = known.points()
            mean += float(np.square(ramp.values(middles)) @ shares)
        binary = sum(kind.is_binary for kind in kinds)
        mean += constants.binary_norm * math.sqrt(binary)
        # A row has one level of a column.
        mean += sum(bool(kind.levels) for kind in kinds)
        share = constants.constant_share
        gain = math.sqrt((1.0 - share) / max(mean, 0.05)) / room
        return cls(tuple(ramps), len(kinds), gain, share)

    @property
    def features(self) -> int:
        """The number of features, including the constant."""
        return len(self.ramps) + 1

    def row_map_columns(self) -> list[RampColumn | LevelColumn]:
        """Return the columns of the core's row map."""
        columns: list[RampColumn | LevelColumn] = []
        for column in range(self.columns):
            ramps = [self.ramps[i] for i in self.of_column(column)]
            if ramps and ramps[0].level is not None:
                columns.append((len(ramps), self.gain * ramps[0].height))
                continue
            centre, scale = (
                (ramps[0].centre, (ramps[0].high - ramps[0].low) / 2) if ramps else (0.0, 1.0)
            )
            parts = [
                (
                    (ramp.low - centre) / scale,
                    (ramp.high - centre) / scale,
                    self.gain * ramp.slope * scale,
                )
                for ramp in ramps
            ]
            columns.append((centre, scale, parts))
        return columns

    def of_column(self, column: int) -> list[int]:
        """Return the features of a column."""
        return self._by_column.get(column, [])

    def of_term(self, term: Term) -> list[int]:
        """Return the features of a column, or of one of its levels."""
        features = self.of_column(term[0])
        return features if term[1] is None else [features[term[1]]]

    @functools.cached_property
    def terms(self) -> list[Term]:
        """The terms that the features belong to, in order."""
        return list(dict.fromkeys(ramp.term for ramp in self.ramps))

    @functools.cached_property
    def lines(self) -> list[int]:
        """Numeric columns that have features."""
        return [column for column, level in self.terms if level is None]

    @functools.cached_property
    def level_columns(self) -> list[int]:
        """Categorical columns."""
        return [column for column, level in self.terms if level == 0]

    @functools.cached_property
    def _by_column(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for i, ramp in enumerate(self.ramps):
            found.setdefault(ramp.column, []).append(i)
        return found

    def straight(self, features: Sequence[int]) -> Floats:
        """Return the unit vector of coefficients for one straight line through adjacent ramps."""
        direction = np.zeros(self.features)
        for i in features:
            direction[i] = 1.0 / self.ramps[i].slope
        scaled: Floats = direction / np.abs(direction).max()
        return scaled / float(np.linalg.norm(scaled))
