"""The only door out: exact statistics leave with noise, and every release is an event."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit import _native
from dpfit.accounting import Event, Neighbors, Release, gaussian_sigma
from dpfit.accounting._rounding import root_up

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

    Privacy
    -------
    Each method multiplies the statistic's proven sensitivity by 1/mu, rounds up, and adds
    round(sigma Z) to exact integers, so that the release is mu-GDP; what it returns is computed
    from the noisy integers alone. ``docs/privacy/statistics.md`` has the sensitivities.
    """

    def __init__(
        self, entropy: _native.Entropy, neighbors: Neighbors, *, n_jobs: int | None = None
    ) -> None:
        self._entropy = entropy
        self._neighbors = neighbors
        self._n_jobs = n_jobs
        self._events: list[Event] = []

    @property
    def events(self) -> tuple[Event, ...]:
        """What was released so far."""
        return tuple(self._events)

    @property
    def _twice(self) -> float:
        """How many rows of a sum differ between neighbours: one appears, or one goes, or both."""
        return 2.0 if self._neighbors == "replace" else 1.0

    def gram(self, gram: _native.Gram, mu: float, bound: float) -> tuple[Floats, float]:
        """Release X'X for rows of norm at most `bound`; return it and its noise's sigma.

        The noise is symmetric: sigma on the diagonal and sigma/sqrt(2) beside it, which is equal
        noise in the coordinates (diagonal, sqrt(2) * upper triangle), in which the Euclidean norm
        is Frobenius's.
        """
        d = gram.features
        sensitivity = _ROW**2 * (_ROOT_TWO if self._neighbors == "replace" else 1.0)
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
        sensitivity = gram.eigenvalue_sensitivity
        sigma = _sigma(sensitivity, mu)
        noisy = gram.release_smallest_eigenvalue(sigma, self._entropy)
        unit = bound**2 / _ROW**2
        self._record("smallest eigenvalue of X'X", sensitivity * unit, mu)
        return noisy * unit, sigma * unit

    def gradient(
        self, gradient: _native.Gradient, tau: int, mu: float, bound: float, unit: float
    ) -> Floats:
        """Release X'g for rows of norm at most `bound` and |g| at most `tau` times `unit`."""
        sensitivity = _ROW * tau * self._twice
        noisy = gradient.release(_sigma(sensitivity, mu), self._entropy, n_jobs=self._n_jobs)
        self._record("X'g", sensitivity * (bound / _ROW * unit), mu)
        return noisy * (bound / _ROW * unit)

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
        sensitivity = float(tau) ** 2
        sigma = _sigma(sensitivity, mu)
        noisy = energy.release(sigma, self._entropy)
        self._record("sum of squared residuals", sensitivity * unit**2, mu)
        return noisy * unit**2, sigma * unit**2

    def histogram(self, histogram: _native.Histogram, mu: float) -> tuple[Floats, float]:
        """Release all counts, column after column; return them and their noise's sigma.

        A row is in one bin of each column that is counted; a replaced row leaves that bin and
        enters another.
        """
        columns = histogram.counted
        sensitivity = root_up(columns * (2 if self._neighbors == "replace" else 1), 0)
        sigma = _sigma(sensitivity, mu)
        noisy = histogram.release(sigma, self._entropy, n_jobs=self._n_jobs)
        name = "histogram of 1 column" if columns == 1 else f"histograms of {columns} columns"
        self._record(name, sensitivity, mu)
        return noisy, sigma

    def count(self, rows: int, mu: float) -> float:
        """Release the number of rows."""
        noise = _native.rounded_gaussian(_sigma(1.0, mu), 1, self._entropy)
        self._record("number of rows", 1.0, mu)
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
