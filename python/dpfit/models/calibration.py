"""The calibration curve: the mean of the target where predictions are low, ..., high."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from dpfit._typing import Floats
from dpfit.models.evaluation import CalibrationBin, MeasuredNumber
from dpfit.release import Released, Releaser
from dpfit.statistics import Component, EqualBins, Histograms, Relation, Table

__all__ = ["Pieces", "PredictionHistogram"]

# Bins of the histogram of predictions, and bins of the calibration curve.
_PREDICTION_BINS = 32
_MOST_PIECES = 10
# A bin of the calibration curve has at least so many standard deviations of the noise in its count.
_LEAST_ROWS = 8.0
# A bin has predictions if its count is above so many standard deviations of its noise.
_SEEN = 2.0


@dataclass(frozen=True)
class PredictionHistogram(Histograms):
    """The histogram of the only column, under the name of what it contains."""

    def components(self, relation: Relation) -> tuple[Component, ...]:
        """Return the one component."""
        return (Component("histogram of predictions", self.sensitivity(relation)),)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Bins of predictions, chosen by a released histogram.

    Parameters
    ----------
    fine : array of shape (k + 1,)
        Edges of the bins of the histogram.
    counts : array of shape (k,)
        Their noisy counts.
    sigma : float
        The standard deviation of the noise in a count.
    edges : array
        Those edges that divide the pieces.
    """

    fine: Floats
    counts: Floats
    sigma: float
    edges: Floats

    @classmethod
    def release(
        cls, table: Table, releaser: Releaser, mu: float, ends: tuple[float, float], rows: float
    ) -> Pieces:
        """Release a histogram of predictions; join its bins to about equally many rows each.

        Privacy
        -------
        One release, which is mu-GDP. Which bins are joined follows from it.
        """
        low, high = ends
        bins = EqualBins(low, high, _PREDICTION_BINS)
        found = releaser.release(table, PredictionHistogram((bins, None)), mu)
        counts = found.value[0]
        assert counts is not None
        # The first and the last bin are for what is outside of the range.
        inner = counts[1:-1].copy()
        inner[0] += counts[0]
        inner[-1] += counts[-1]
        return cls.of(cls.fine_edges(ends), Released(inner, found.sigmas), rows)

    @staticmethod
    def fine_edges(ends: tuple[float, float]) -> Floats:
        """Return the edges of the bins of the histogram, given the range of most predictions."""
        return np.linspace(*ends, _PREDICTION_BINS + 1)

    @classmethod
    def of(cls, fine: Floats, counts: Released[Floats], rows: float) -> Pieces:
        """Return pieces with about equally many rows each, given a histogram.

        Privacy
        -------
        A function of released numbers.
        """
        inner, sigma = counts.value, counts.sigma
        edges, waiting, start = [], 0.0, 0
        for place, count in enumerate(inner):
            waiting += float(count)
            enough = max(rows / _MOST_PIECES, _LEAST_ROWS * sigma * math.sqrt(place + 1 - start))
            if waiting >= enough and place + 1 < len(inner):
                edges.append(fine[place + 1])
                waiting, start = 0.0, place + 1
        if edges and waiting < _LEAST_ROWS * sigma * math.sqrt(len(inner) - start):
            edges.pop()
        return cls(fine, inner, sigma, np.array(edges))

    def _weights(self) -> tuple[Floats, Floats]:
        """Return middles of fine bins and their shares of the rows, without bins of noise."""
        middles = (self.fine[1:] + self.fine[:-1]) / 2
        seen = np.where(self.counts > _SEEN * self.sigma, self.counts, 0.0)
        if not seen.any():
            seen = np.ones(len(seen))
        return middles, seen / seen.sum()

    def mean(self, shift: float, noise: float, rows: float) -> tuple[float, float]:
        """Return the mean of the target and its standard error, given those of residuals."""
        middles, shares = self._weights()
        found = float(shares @ middles)
        used = self.counts > _SEEN * self.sigma
        own = self.sigma * math.sqrt(float(np.square(middles[used] - found).sum())) / rows
        if not used.any():
            own = float(self.fine[-1] - self.fine[0]) / 2
        width = float(self.fine[1] - self.fine[0])
        return found + shift, math.hypot(own, noise, width / 4)

    def kurtosis(self) -> float:
        """Return the fourth central moment of predictions, divided by the squared variance."""
        middles, shares = self._weights()
        off = middles - shares @ middles
        variance = float(shares @ off**2)
        return float(shares @ off**4) / variance**2 if variance > 0.0 else 1.0

    def calibration(
        self, sums: Released[Floats], lost: float, spread: float
    ) -> tuple[CalibrationBin, ...]:
        """Return the calibration curve.

        Parameters
        ----------
        sums : Released
            Sums of residuals in every piece.
        lost : float
            How much clipping of residuals may change a mean.
        spread : float
            The standard deviation of residuals.
        """
        ends = [
            0,
            *(int(np.searchsorted(self.fine, edge)) for edge in self.edges),
            len(self.counts),
        ]
        limits = [-math.inf, *self.edges.tolist(), math.inf]
        middles = (self.fine[1:] + self.fine[:-1]) / 2
        found = []
        for place, (first, last) in enumerate(itertools.pairwise(ends)):
            counts = self.counts[first:last]
            rows = max(float(counts.sum()), 1.0)
            noise = self.sigma * math.sqrt(last - first)
            weights = np.maximum(counts, 0.0) if (counts > 0.0).any() else np.ones(last - first)
            predicted = float(weights @ middles[first:last] / weights.sum())
            mean = float(sums.value[place]) / rows
            error = math.hypot(sums.sigma / rows, mean * noise / rows, lost)
            sampling = spread / math.sqrt(rows)
            observed = MeasuredNumber.unless_hidden(predicted + mean, error, sampling)
            found.append(
                CalibrationBin(limits[place], limits[place + 1], predicted, observed, rows)
            )
        return tuple(found)
