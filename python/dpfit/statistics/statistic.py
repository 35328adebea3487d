"""The interface of statistics: an exact sum over rows, its sensitivity, and its noisy value."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from dpfit import _native
from dpfit._typing import Array, Batch, Missing, Neighbors

__all__ = [
    "Batches",
    "Blocks",
    "Component",
    "Noise",
    "Relation",
    "S",
    "Statistic",
    "Sum",
    "V",
    "merged",
]


class Sum(Protocol):
    """An exact sum of the core."""

    def merge(self, other: Any) -> None:
        """Add another part of the same sum."""

    def to_bytes(self) -> bytes:
        """Return the sum, to move between trusted processes."""


S = TypeVar("S", bound=Sum)
V = TypeVar("V")


def merged(sums: Iterable[S]) -> S | None:
    """Return the total of sums, None if there are none."""
    total: S | None = None
    for part in sums:
        if total is None:
            total = part
        else:
            total.merge(part)
    return total


@dataclass(frozen=True)
class Batches:
    """A part of a table: batches of numbers, summed with `n_jobs` threads.

    `missing` says what to do with a row that contains NaN or an infinity; "indicator" keeps it if
    its target is finite. With `max_weight`, the last column of X contains weights, which most
    statistics do not read.
    """

    batches: Iterable[Batch]
    missing: Missing
    n_jobs: int | None
    max_weight: float | None = None

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.batches)

    def added(self, new: Callable[[Array | list[Array]], Any], *arguments: Any) -> Any:
        """Return a new sum to which all batches were added, None if there are none.

        `new` makes the sum, given the X of the first batch; `arguments` go to its `extend`. Neither
        sees weights.
        """
        total = None
        for x, y in self.batches:
            if self.max_weight is not None:
                x = x[:-1] if isinstance(x, list) else x[:, :-1]
            total = new(x) if total is None else total
            total.extend(*arguments, x, y, missing=self.missing, n_jobs=self.n_jobs)
        return total


@dataclass(frozen=True)
class Blocks:
    """A part of a stored table: blocks of integers, summed with `n_jobs` threads."""

    blocks: Iterable[_native.Rows]
    n_jobs: int | None

    def __iter__(self) -> Iterator[_native.Rows]:
        return iter(self.blocks)


@dataclass(frozen=True)
class Relation:
    """How two neighbouring tables differ.

    Parameters
    ----------
    neighbors : {"add_remove", "replace"}
        Whether the rows of one unit are added or removed, or replaced by others.
    rows_per_unit : int, default 1
        How many rows of the table may belong to one unit.
    """

    neighbors: Neighbors
    rows_per_unit: int = 1

    @property
    def replaces(self) -> bool:
        """Whether the rows of a unit are replaced by others."""
        return self.neighbors == "replace"

    @property
    def rows(self) -> int:
        """How many terms of a sum differ: the rows of a unit, twice if they are replaced."""
        return self.rows_per_unit * (2 if self.replaces else 1)


@dataclass(frozen=True)
class Component:
    """A part of a statistic that has its own noise and its own event, called `name`.

    `sensitivity` is the l2 sensitivity in steps of the exact integers, rounded up.
    """

    name: str
    sensitivity: float


@dataclass(frozen=True)
class Noise:
    """The noise of one release: a standard deviation for every component, and where it comes from.

    Standard deviations are in steps of the exact integers.
    """

    sigmas: tuple[float, ...]
    entropy: _native.Entropy
    n_jobs: int | None

    @property
    def sigma(self) -> float:
        """The standard deviation, for a statistic with one component."""
        (sigma,) = self.sigmas
        return sigma


class Statistic(abc.ABC, Generic[S, V]):
    """An exact sum over rows that can be released with Gaussian noise.

    A new statistic is a frozen dataclass with the methods below. Tables, engines and the releaser
    do not change.

    Privacy
    -------
    Sums are sums of integers, so parts, their order and repeated work do not change them. They are
    exact and therefore private: only the result of :meth:`noisy` may leave
    :class:`~dpfit.release.Releaser`. ``docs/privacy/statistics.md`` proves the sensitivities.
    """

    # The name of the event, and the class of the core that holds the exact sums.
    name: ClassVar[str]
    native: ClassVar[Any]

    @property
    def resolution(self) -> float:
        """What one step of the exact integers is in public numbers."""
        return 1.0

    @abc.abstractmethod
    def sum(self, part: Any) -> S | None:
        """Return the exact sum over a part of a table, None if the part is empty.

        `part` is of type :class:`Batches` or, if the sum is over stored rows, :class:`Blocks`.
        """

    def read(self, packed: bytes) -> S:
        """Read the bytes of a sum."""
        total: S = self.native.from_bytes(packed)
        return total

    def kept(self, gram: _native.Gram) -> S | None:
        """Return the sum if it is the X'X that was computed when rows were stored, else None."""
        return None

    def told_by(self, other: Statistic[Any, Any], total: Any) -> S | None:
        """Return the sum if that of another statistic over the same rows tells it, else None."""
        return None

    @abc.abstractmethod
    def sensitivity(self, relation: Relation) -> float:
        """Return the l2 sensitivity in steps of the exact integers, rounded up."""

    def components(self, relation: Relation) -> tuple[Component, ...]:
        """Return the parts with their own noise: one, unless a subclass has several."""
        return (Component(self.name, self.sensitivity(relation)),)

    @abc.abstractmethod
    def noisy(self, total: S, noise: Noise) -> V:
        """Return the sum plus noise, in public numbers.

        Privacy
        -------
        The result is computed from the noisy integers alone.
        """
