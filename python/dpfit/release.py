"""Release statistics with noise, and record every release. Exact statistics leave nowhere else."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from dpfit import _native
from dpfit._forks import this_process
from dpfit._typing import Neighbors
from dpfit.accounting import Event, Release, gaussian_sigma
from dpfit.exceptions import Code, DpfitError
from dpfit.statistics import Component, Relation, RowCount, Statistic, StoredTable, Table
from dpfit.statistics.statistic import Noise

__all__ = ["Released", "Releaser", "Watch", "watched"]

V = TypeVar("V")


class Watch(Protocol):
    """What :mod:`dpfit.audit` does with the releases of a fit, to compare two tables."""

    def sum(self, statistic: Statistic[Any, Any], total: Any, mus: Sequence[float]) -> Any:
        """Return what takes the place of an exact sum in a release."""

    def public(self, number: float) -> float:
        """Return a number that is used without noise, because all neighbours have it."""

    def random(self) -> None:
        """Take note that a mechanism is not Gaussian."""


_watch: ContextVar[Watch | None] = ContextVar("dpfit_watch", default=None)


@contextlib.contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Let all releases of this thread pass through `watch`.

    Privacy
    -------
    A watch sees exact sums and may replace noisy ones. It is for audits, which fit estimators on
    made-up tables.
    """
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


@dataclass(frozen=True)
class Released(Generic[V]):
    """A noisy statistic, in public numbers.

    Parameters
    ----------
    value : any
        The statistic plus noise.
    sigmas : tuple of float
        The standard deviation of the noise in each component of the statistic.
    """

    value: V
    sigmas: tuple[float, ...]

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise, of a statistic with one component."""
        (sigma,) = self.sigmas
        return sigma


class Releaser:
    """Adds noise to exact statistics and records every release.

    Parameters
    ----------
    entropy : Entropy
        Where the noise comes from.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation.
    n_jobs : int or None
        Threads.
    rows_per_unit : int, default 1
        How many rows of the table may belong to one unit.
    reserve : callable, optional
        Called once, before the first noise is drawn; for a ledger. If it raises, nothing is
        released.

    Privacy
    -------
    A release adds round(sigma Z) to exact integers, where sigma is the statistic's proven
    sensitivity divided by mu, rounded up, and Z is normal. So it is mu-GDP. The result is computed
    from the noisy integers alone. ``docs/privacy/statistics.md`` has the sensitivities.

    A process that is forked in the middle of a fit releases nothing: the fit was paid for once, and
    two processes would go on with different noise. It is noticed even if both have the same number.
    """

    def __init__(
        self,
        entropy: _native.Entropy,
        neighbors: Neighbors,
        *,
        n_jobs: int | None = None,
        rows_per_unit: int = 1,
        reserve: Callable[[], None] | None = None,
    ) -> None:
        self._reserve = reserve
        self._process = this_process()
        self._entropy = entropy
        self._relation = Relation(neighbors, rows_per_unit)
        self._n_jobs = n_jobs
        self._events: list[Event] = []

    @property
    def events(self) -> tuple[Event, ...]:
        """The releases so far."""
        return tuple(self._events)

    def release(
        self, table: Table | StoredTable, statistic: Statistic[Any, V], *mus: float
    ) -> Released[V]:
        """Release a statistic of a table.

        Parameters
        ----------
        table : Table or StoredTable
            The rows.
        statistic : Statistic
            What to release.
        *mus : float
            The budget of each component of the statistic. Most statistics have one.

        Returns
        -------
        Released
            The noisy value and the standard deviation of its noise.

        Privacy
        -------
        Each component is mu-GDP with its own mu, and each is an event.
        """
        components = statistic.components(self._relation)
        sigmas = _sigmas(components, mus)
        # Rows that cannot be read are found here, before anything is spent.
        total, watch = table.sum(statistic), _watch.get()
        self._reserve_once()
        if watch is not None:
            total = watch.sum(statistic, total, mus)
        value = statistic.noisy(total, Noise(sigmas, self._entropy, self._n_jobs))
        for component, mu in zip(components, mus, strict=True):
            self._record(component.name, component.sensitivity * statistic.resolution, mu)
        return Released(value, tuple(sigma * statistic.resolution for sigma in sigmas))

    def sigmas(self, statistic: Statistic[Any, Any], *mus: float) -> tuple[float, ...]:
        """Return the standard deviations of the noise that a release would have."""
        found = _sigmas(statistic.components(self._relation), mus)
        return tuple(sigma * statistic.resolution for sigma in found)

    def public_rows(self, table: Table) -> float:
        """Return the exact number of rows, if it is the same in all neighbouring tables.

        Privacy
        -------
        The number of rows is public if one row is replaced by another and no row is dropped. The
        caller has to make sure that none is. Otherwise the number has to be released.
        """
        if self._relation != Relation("replace"):
            raise ValueError("the number of rows is not public")
        rows, watch = float(table.sum(RowCount()).rows), _watch.get()
        return rows if watch is None else watch.public(rows)

    def random(self) -> random.Random:
        """Return a random number generator, for mechanisms that are not Gaussian.

        Privacy
        -------
        It is ``random.SystemRandom``, which keeps no state, unless the entropy is seeded. To ask
        for it counts as the first release.
        """
        self._reserve_once()
        watch = _watch.get()
        if watch is not None:
            watch.random()
        if not self._entropy.is_insecure:
            return random.SystemRandom()
        return random.Random(_native.rounded_gaussian(2.0**90, 1, self._entropy)[0])

    def record(self, *events: Event) -> None:
        """Record the events of a mechanism that is not Gaussian."""
        self._reserve_once()
        self._events.extend(events)

    def _reserve_once(self) -> None:
        if this_process() != self._process:
            raise DpfitError(
                "the process was forked in the middle of a fit; only the process that began the "
                "fit can go on with it",
                code=Code.FAILED,
            )
        if self._reserve is not None:
            self._reserve()
            # Only now: after an error, the next release has to fail, too.
            self._reserve = None

    def _record(self, statistic: str, sensitivity: float, mu: float) -> None:
        last = self._events[-1] if self._events else None
        same = statistic, sensitivity, mu, self._relation.neighbors
        # The sigma of all events is the least that their mu allows.
        if (
            isinstance(last, Release)
            and (last.statistic, last.sensitivity, last.mu, last.neighbors) == same
        ):
            self._events[-1] = dataclasses.replace(last, count=last.count + 1)
            return
        event = Release(
            statistic=statistic,
            sensitivity=sensitivity,
            mu=mu,
            neighbors=self._relation.neighbors,
        )
        self._events.append(event)


def _sigmas(components: Sequence[Component], mus: Sequence[float]) -> tuple[float, ...]:
    return tuple(_sigma(part.sensitivity, mu) for part, mu in zip(components, mus, strict=True))


def _sigma(sensitivity: float, mu: float) -> float:
    """Return sensitivity / mu, rounded up, in the range of the sampler."""
    return max(gaussian_sigma(sensitivity, mu), _native.SMALLEST_SIGMA)
