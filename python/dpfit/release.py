"""The only door out: exact statistics leave with noise, and every release is an event."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit import _native
from dpfit.accounting import Event, Neighbors, Release, gaussian_sigma
from dpfit.accounting._rounding import fraction_up, root_up

__all__ = ["Publisher"]

Floats: TypeAlias = npt.NDArray[np.float64]

_SMALLEST_SIGMA = 2.0**-10
# One row of full length, in the units of the exact statistics.
_ROW = 2.0**15
_EXAMPLE = 2.0**24
_ROOT_TWO = math.nextafter(math.sqrt(2.0), math.inf)
_HALF_ROOT_TWO = math.nextafter(math.sqrt(0.5), math.inf)


class Publisher:
    """Adds noise to exact statistics and keeps the list of what was released.

    Parameters
    ----------
    entropy : Entropy
        Where the noise comes from.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation that sensitivities refer to.
    n_jobs : int or None
        Threads.
    rows_per_unit : int, default 1
        How many rows of the table may belong to the one who is protected.

    Privacy
    -------
    Each method multiplies the statistic's proven sensitivity by 1/mu, rounds up, and adds
    round(sigma Z) to exact integers, so that the release is mu-GDP; what it returns is computed
    from the noisy integers alone. A unit of m rows moves a sum m times as far as one row does.
    ``docs/privacy/statistics.md`` has the sensitivities.
    """

    def __init__(
        self,
        entropy: _native.Entropy,
        neighbors: Neighbors,
        *,
        n_jobs: int | None = None,
        rows_per_unit: int = 1,
    ) -> None:
        self._entropy = entropy
        self._neighbors = neighbors
        self._n_jobs = n_jobs
        self._rows_per_unit = rows_per_unit
        self._events: list[Event] = []

    @property
    def events(self) -> tuple[Event, ...]:
        """What was released so far."""
        return tuple(self._events)

    @property
    def _twice(self) -> float:
        """How many rows of a sum differ between neighbours: a unit's appear, or go, or both."""
        return self._rows_per_unit * (2.0 if self._neighbors == "replace" else 1.0)

    def gram(self, gram: _native.Gram, mu: float, bound: float) -> tuple[Floats, float]:
        """Release X'X for rows of norm at most `bound`; return it and its noise's sigma.

        The noise is symmetric: sigma on the diagonal and sigma/sqrt(2) beside it, which is equal
        noise in the coordinates (diagonal, sqrt(2) * upper triangle), in which the Euclidean norm
        is Frobenius's.
        """
        d = gram.features
        sensitivity = _ROW**2 * (_ROOT_TWO if self._neighbors == "replace" else 1.0)
        sensitivity = math.nextafter(sensitivity * self._rows_per_unit, math.inf)
        sigma = _sigma(sensitivity, mu)
        beside = max(math.nextafter(sigma * _HALF_ROOT_TWO, math.inf), _SMALLEST_SIGMA)
        rows, columns = np.triu_indices(d)
        sigmas = np.where(rows == columns, sigma, beside)
        noisy = gram.release(sigmas, self._entropy, n_jobs=self._n_jobs)
        unit = bound**2 / _ROW**2
        self._record("X'X", sensitivity * unit, mu)
        matrix = np.empty((d, d))
        matrix[rows, columns] = matrix[columns, rows] = noisy * unit
        return matrix, sigma * unit

    def smallest_eigenvalue(
        self, gram: _native.Gram, mu: float, bound: float
    ) -> tuple[float, float]:
        """Release the smallest eigenvalue of X'X; return it and its noise's sigma."""
        sensitivity = gram.eigenvalue_sensitivity * self._rows_per_unit
        sigma = _sigma(sensitivity, mu)
        noisy = gram.release_smallest_eigenvalue(sigma, self._entropy)
        unit = bound**2 / _ROW**2
        self._record("smallest eigenvalue of X'X", sensitivity * unit, mu)
        return noisy * unit, sigma * unit

    def gradient(
        self, gradient: _native.Gradient, tau: int, mu: float, bound: float, unit: float
    ) -> tuple[Floats, float]:
        """Release X'g for rows of norm at most `bound` and |g| at most `tau` times `unit`.

        Return it and its noise's sigma.
        """
        sensitivity = _ROW * tau * self._twice
        sigma = _sigma(sensitivity, mu)
        noisy = gradient.release(sigma, self._entropy, n_jobs=self._n_jobs)
        self._record("X'g", sensitivity * (bound / _ROW * unit), mu)
        return noisy * (bound / _ROW * unit), sigma * (bound / _ROW * unit)

    def example_gradient(
        self, gradient: _native.ExampleGradient, mu: float, bound: float
    ) -> Floats:
        """Release the sum of per-example gradients of norm at most `bound`."""
        sensitivity = _EXAMPLE * self._twice
        noisy = gradient.release(_sigma(sensitivity, mu), self._entropy, n_jobs=self._n_jobs)
        self._record("sum of clipped gradients", sensitivity * (bound / _EXAMPLE), mu)
        return noisy * (bound / _EXAMPLE)

    def energy(
        self, energy: _native.Energy, tau: int, mu: float, unit: float
    ) -> tuple[float, float]:
        """Release the sum of g**2 for |g| at most `tau` times `unit`; return it and its sigma.

        A row adds from zero to tau**2, so replacing one moves the sum no further than adding one.
        """
        sensitivity = fraction_up(Fraction(tau**2 * self._rows_per_unit))
        sigma = _sigma(sensitivity, mu)
        noisy = energy.release(sigma, self._entropy)
        self._record("sum of squared residuals", sensitivity * unit**2, mu)
        return noisy * unit**2, sigma * unit**2

    def histogram_sigmas(self, counted: Sequence[bool], mu: tuple[float, float]) -> list[float]:
        """Return the standard deviation of every column's noise in :meth:`histograms`.

        Privacy
        -------
        That of the features makes all of their histograms together mu[0]-GDP, that of the target
        makes its own mu[1]-GDP.
        """
        features = self._histogram_sensitivity(sum(counted[:-1]))
        target = self._histogram_sensitivity(1)
        return [_sigma(features, mu[0])] * (len(counted) - 1) + [_sigma(target, mu[1])]

    def histograms(
        self, histogram: _native.Histogram, lengths: Sequence[int], mu: tuple[float, float]
    ) -> tuple[list[Floats | None], list[float]]:
        """Release the counts of columns and, with noise of its own, of the target.

        Parameters
        ----------
        histogram : Histogram
            Exact counts.
        lengths : sequence of int
            Counts of every column of X and then of the target; 0 for one that is not counted.
        mu : tuple of two floats
            What the histograms of all features cost together, and what the target's costs.

        Privacy
        -------
        A row is in one bin of each column, so k features move by sqrt(k), and a replaced row moves
        two bins of each. The two parts are independent releases of the same rows.
        """
        counted = [length > 0 for length in lengths]
        sigmas = self.histogram_sigmas(counted, mu)
        noisy = histogram.release(np.repeat(sigmas, lengths), self._entropy, n_jobs=self._n_jobs)
        features = sum(counted[:-1])
        if features:
            name = (
                "histogram of a feature" if features == 1 else f"histograms of {features} features"
            )
            self._record(name, self._histogram_sensitivity(features), mu[0])
        if counted[-1]:
            self._record("histogram of the target", self._histogram_sensitivity(1), mu[1])
        ends = np.cumsum(lengths)
        parts = [noisy[end - n : end] if n else None for n, end in zip(lengths, ends, strict=True)]
        return parts, sigmas

    def _histogram_sensitivity(self, columns: int) -> float:
        moved = 2 if self._neighbors == "replace" else 1
        return root_up(max(columns, 1) * moved * self._rows_per_unit**2, 0)

    def count(self, rows: int, mu: float) -> float:
        """Release the number of rows."""
        sensitivity = float(self._rows_per_unit)
        noise = _native.rounded_gaussian(_sigma(sensitivity, mu), 1, self._entropy)
        self._record("number of rows", sensitivity, mu)
        return float(rows + noise[0])

    def random(self) -> random.Random:
        """Return a generator for mechanisms that are not Gaussian: the system's, or a seeded one.

        Privacy
        -------
        ``random.SystemRandom`` keeps no state; a seeded one is as insecure as its entropy.
        """
        if not self._entropy.is_insecure:
            return random.SystemRandom()
        return random.Random(_native.rounded_gaussian(2.0**90, 1, self._entropy)[0])

    def _record(self, statistic: str, sensitivity: float, mu: float) -> None:
        event = Release(
            statistic=statistic, sensitivity=sensitivity, mu=mu, neighbors=self._neighbors
        )
        last = self._events[-1] if self._events else None
        if isinstance(last, Release) and dataclasses.replace(last, count=1) == event:
            self._events[-1] = dataclasses.replace(last, count=last.count + 1)
        else:
            self._events.append(event)


def _sigma(sensitivity: float, mu: float) -> float:
    """Return sensitivity / mu, rounded up, in the range of the sampler."""
    return max(gaussian_sigma(sensitivity, mu), _SMALLEST_SIGMA)
