"""Transcripts: every release of a fit, and what another table would have released in its place.

A fit on one table is recorded. Then the estimator is fitted to the other table, and every release
returns the recorded numbers, as if the noise had made up the difference. So both tables go through
the same steps, whatever these depend on, and their exact sums can be compared release by release.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpfit._typing import Floats
from dpfit.exceptions import ParameterError
from dpfit.release import watched
from dpfit.statistics import Statistic

__all__ = ["Diverged", "Entry", "recorded", "replayed"]

PUBLIC = "a number without noise"


class Diverged(Exception):  # noqa: N818 - it is not an error of the caller
    """A fit made other releases than the recorded one, although it had got the same answers."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One release: exact numbers, the noise that was asked for, and what came out.

    Parameters
    ----------
    statistic : str
        Its name.
    exact : tuple of int
        The exact sums.
    sigmas : array
        The standard deviation of the noise of each sum, as the sampler got it.
    answer : float or array
        What was released.
    cost : Fraction
        The square of the mu that the release is said to cost.
    """

    statistic: str
    exact: tuple[int, ...]
    sigmas: Floats
    answer: Any
    cost: Fraction

    @property
    def noisy(self) -> Floats:
        """What was released, as an array."""
        return np.ravel(np.asarray(self.answer, dtype=np.float64))

    def moved(self, other: Entry) -> list[int]:
        """Return how far apart the exact sums of two tables are."""
        return [a - b for a, b in zip(self.exact, other.exact, strict=True)]

    def exceeds(self, other: Entry) -> bool:
        """Return whether two tables are further apart than the noise allows, in exact arithmetic.

        Privacy
        -------
        A release with noise sigma_i in coordinate i is mu-GDP for two tables that differ by m_i if
        and only if the sum of (m_i / sigma_i)**2 is at most mu**2.
        """
        squares: dict[float, int] = {}
        for sigma, step in zip(self.sigmas.tolist(), self.moved(other), strict=True):
            squares[sigma] = squares.get(sigma, 0) + step * step
        if any(square and not sigma for sigma, square in squares.items()):
            return True
        total = sum(
            (Fraction(square) / Fraction(sigma) ** 2 for sigma, square in squares.items() if sigma),
            Fraction(0),
        )
        return total > self.cost


class _Total:
    """Takes the place of an exact sum: `answer` decides what its release returns."""

    def __init__(self, total: Any, watch: _Record, name: str, cost: Fraction) -> None:
        self._total, self._watch, self._name, self._cost = total, watch, name, cost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._total, name)

    def release(self, sigma: Any, entropy: Any, **options: Any) -> Any:
        """Release the sums."""
        exact = self._total.insecure_exact()
        return self._released(exact, sigma, lambda: self._total.release(sigma, entropy, **options))

    def release_smallest_eigenvalue(self, sigma: float, entropy: Any) -> Any:
        """Release the smallest eigenvalue."""
        exact = self._total.insecure_smallest_eigenvalue()
        draw = self._total.release_smallest_eigenvalue
        return self._released(exact, sigma, lambda: draw(sigma, entropy))

    def _released(self, exact: Any, sigma: Any, draw: Any) -> Any:
        exact = tuple(exact) if isinstance(exact, list | tuple) else (exact,)
        sigmas = np.broadcast_to(np.asarray(sigma, dtype=np.float64), (len(exact),))
        return self._watch.answer(self._name, exact, sigmas, self._cost, draw)


@dataclass
class _Record:
    """Keeps every release of a fit."""

    entries: list[Entry] = field(default_factory=list)

    def sum(self, statistic: Statistic[Any, Any], total: Any, mus: Sequence[float]) -> Any:
        """Return what takes the place of an exact sum."""
        name = getattr(statistic, "name", type(statistic).__name__.lower())
        cost = sum((Fraction(mu) ** 2 for mu in mus), Fraction(0))
        return _Total(total, self, name, cost)

    def public(self, number: float) -> float:
        """Keep a number that is used without noise."""
        exact = (int(number),)
        return float(self.answer(PUBLIC, exact, np.zeros(1), Fraction(0), lambda: number))

    def random(self) -> None:
        """Refuse mechanisms that are not Gaussian."""
        raise ParameterError(
            "the estimator uses noise that is not Gaussian, so it has no transcript",
            subject="method",
            hint='use method="black_box"',
        )

    def answer(
        self, name: str, exact: tuple[int, ...], sigmas: Floats, cost: Fraction, draw: Any
    ) -> Any:
        """Draw noise and keep what comes out."""
        noisy = draw()
        self.entries.append(Entry(name, exact, np.array(sigmas), copy.copy(noisy), cost))
        return noisy


@dataclass
class _Replay(_Record):
    """Answers every release from an earlier fit."""

    earlier: Sequence[Entry] = ()

    def answer(
        self, name: str, exact: tuple[int, ...], sigmas: Floats, cost: Fraction, draw: Any
    ) -> Any:
        """Return what the earlier fit got."""
        place = len(self.entries)
        if place == len(self.earlier):
            raise Diverged
        entry = self.earlier[place]
        same = name == entry.statistic and np.array_equal(sigmas, entry.sigmas)
        if not same or cost != entry.cost or len(exact) != len(entry.exact):
            raise Diverged
        self.entries.append(Entry(name, exact, entry.sigmas, entry.answer, cost))
        return copy.copy(entry.answer)


def recorded(estimator: Any, table: Any) -> list[Entry]:
    """Fit an estimator and return all its releases."""
    watch = _Record()
    with watched(watch):
        _fit(estimator, table)
    if not watch.entries:
        raise ParameterError(
            "the estimator makes no releases that dpfit can see, so it has no transcript",
            subject="method",
            hint='use method="black_box"',
        )
    return watch.entries


def replayed(estimator: Any, table: Any, transcript: Sequence[Entry]) -> list[Entry]:
    """Fit an estimator with the answers of an earlier fit, and return its own exact sums.

    Raises
    ------
    Diverged
        If the fit makes other releases than the earlier one.
    """
    watch = _Replay(earlier=transcript)
    with watched(watch):
        _fit(estimator, table)
    if len(watch.entries) != len(transcript):
        raise Diverged
    return watch.entries


def _fit(estimator: Any, table: Any) -> None:
    if isinstance(table, dict):
        estimator.fit(**table)
    else:
        estimator.fit(*table)
