"""The exact core: rows to integers to noise.

Everything here that is not a `release` is exact and therefore private. Only what `release`
returns may be shown.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

_Floats: TypeAlias = npt.NDArray[np.float64]
_Array: TypeAlias = npt.NDArray[Any]
# One array of all columns, or one for each.
_Table: TypeAlias = _Array | list[_Array]
_Missing: TypeAlias = Literal["error", "drop"]

__all__ = [
    "Bins",
    "Energy",
    "Entropy",
    "ExampleGradient",
    "Gradient",
    "Gram",
    "Histogram",
    "RowMap",
    "Rows",
    "round_theta",
    "rounded_gaussian",
]

@final
class RowMap:
    """The public description of the map from a row of floats to a row of integers.

    `columns` has, for every column of X, (centre, scale, ramps) or (count, height). With
    z = (x - centre) / scale, every ramp (low, high, gain) of the column gives one feature,
    gain * (clamp(z, low, high) - clamp(0, low, high)). `low` may be `-inf` and `high` may be `inf`;
    a column without ramps is not used. A column of `count` levels holds their numbers from 0 on
    and gives a feature for each, `height` for that of the row and 0 for all others. `target` is
    (centre, scale) of y, whose values are then integer multiples of `unit`. `intercept` is the
    share of the squared norm that a constant feature gets, the last one.

    A row of norm above one is scaled down to one: with `norm="clip"` x alone (the features within
    sqrt(1 - intercept), the constant being sqrt(intercept)), with `norm="weight"` x, the constant
    and y together. Entries are then truncated to multiples of 2^-15.

    Privacy
    -------
    For every input, the integers q of a row satisfy sum(q**2) <= 2**30.
    """

    def __new__(
        cls,
        columns: Sequence[
            tuple[float, float, Sequence[tuple[float, float, float]]] | tuple[int, float]
        ],
        *,
        target: tuple[float, float] = ...,
        unit: float,
        norm: Literal["clip", "weight"] = ...,
        intercept: float | None = ...,
    ) -> RowMap: ...
    @property
    def columns(self) -> int:
        """Columns of X."""
    @property
    def features(self) -> int:
        """Integers in a row."""
    @property
    def unit(self) -> float:
        """What one unit of the target's grid is, after centring and scaling."""

@final
class Rows:
    """A compact store of quantised rows: in memory, or in unnamed files in `directory`."""

    def __new__(cls, row_map: RowMap, *, directory: str | None = ...) -> Rows: ...
    def extend(
        self,
        x: _Table,
        y: _Array,
        gram: Gram | None = ...,
        *,
        missing: _Missing = ...,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> None:
        """Map the rows of a batch into the store and, if given, add them to `gram`.

        All of them or, on error, none.
        """
    def gradient(
        self, theta: _Floats, tau: int, *, n_jobs: int | None = ..., portable: bool = ...
    ) -> Gradient:
        """X'g with g = clip(y - X theta, +-tau), `tau` in units of the target, at most 2**20."""
    def energy(
        self, theta: _Floats, tau: int, *, n_jobs: int | None = ..., portable: bool = ...
    ) -> Energy:
        """Return the sum of g**2, with the integers g of `gradient`."""
    def to_bytes(self) -> bytes:
        """Return the rows, to move between trusted processes."""
    @staticmethod
    def from_bytes(row_map: RowMap, bytes: bytes) -> Rows:
        """Read what `to_bytes` wrote; anything else is a `ValueError`."""

@final
class Gram:
    """X'X in units of 2^-30: its upper triangle, row by row.

    Privacy
    -------
    The Frobenius sensitivity is 2**30 when a row is added or removed, sqrt(2) * 2**30 when one is
    replaced. Over the upper triangle as a vector, with off-diagonal entries counted once, it is no
    larger.
    """

    def __new__(cls, row_map: RowMap) -> Gram: ...
    @property
    def features(self) -> int:
        """Rows and columns of the matrix."""
    @property
    def eigenvalue_sensitivity(self) -> float:
        """How far one row moves the smallest eigenvalue, with the error of its computation."""
    def insecure_smallest_eigenvalue(self) -> int:
        """Return the smallest eigenvalue in units of 2^-30: private, for tests."""
    def release_smallest_eigenvalue(self, sigma: float, entropy: Entropy) -> float:
        """Return the smallest eigenvalue plus round(sigma * Z), in units of 2^-30."""
    def extend(
        self,
        row_map: RowMap,
        x: _Table,
        y: _Array,
        *,
        missing: _Missing = ...,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> None:
        """Add the rows of a batch without keeping them. All of them or, on error, none."""
    def merge(self, other: Gram) -> None:
        """Add another part of the same sum."""
    def to_bytes(self) -> bytes:
        """Return the exact sums, to move between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> Gram:
        """Read what `to_bytes` wrote; anything else is a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact sums: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the sums plus round(sigma * Z), one sigma for all entries or one for each."""

@final
class Gradient:
    """X'g in units of 2^-15 times the target's unit.

    Privacy
    -------
    The l2 sensitivity is 2**15 * tau when a row is added or removed, 2**16 * tau when one is
    replaced.
    """

    def merge(self, other: Gradient) -> None:
        """Add another part of the same sum."""
    def to_bytes(self) -> bytes:
        """Return the exact sums, to move between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> Gradient:
        """Read what `to_bytes` wrote; anything else is a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact sums: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the sums plus round(sigma * Z), one sigma for all entries or one for each."""

@final
class Energy:
    """The sum of squared clipped residuals, in units of the target's unit, squared.

    Privacy
    -------
    The sensitivity is tau**2 when a row is added or removed, and tau**2 when one is replaced.
    """

    def merge(self, other: Energy) -> None:
        """Add another part of the same sum."""
    def to_bytes(self) -> bytes:
        """Return the exact sum, to move between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> Energy:
        """Read what `to_bytes` wrote; anything else is a `ValueError`."""
    def insecure_exact(self) -> int:
        """Return the exact sum: private, for tests."""
    def release(self, sigma: float, entropy: Entropy) -> float:
        """Return the sum plus round(sigma * Z)."""

@final
class ExampleGradient:
    """The sum over rows of clip(r * x, bound), r = y - x theta, in units of bound * 2^-24.

    If `theta` has an entry more than X has columns, it is that of a constant one.

    Privacy
    -------
    The l2 sensitivity is 2**24 when a row is added or removed, 2**25 when one is replaced.
    """

    @staticmethod
    def of(
        x: _Table,
        y: _Array,
        theta: _Floats,
        bound: float,
        *,
        missing: _Missing = ...,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> ExampleGradient:
        """Return the sum over a batch."""
    def merge(self, other: ExampleGradient) -> None:
        """Add another part of the same sum."""
    def to_bytes(self) -> bytes:
        """Return the exact sums, to move between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> ExampleGradient:
        """Read what `to_bytes` wrote; anything else is a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact sums: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the sums plus round(sigma * Z), one sigma for all entries or one for each."""

@final
class Bins:
    """How a column is cut into bins."""

    @staticmethod
    def powers(least: int, most: int) -> Bins:
        """Signed powers of two, zero in the middle, the ends open.

        There are 2 * (most - least + 1) + 1 bins.
        """
    @staticmethod
    def equal(low: float, high: float, count: int) -> Bins:
        """`count` equal bins from low to high, one below and one above."""
    def __len__(self) -> int: ...

@final
class Histogram:
    """Counts for every column of X and then y; `None` for a column that is not counted.

    Privacy
    -------
    With k columns counted, the l2 sensitivity is sqrt(k) when a row is added or removed, at most
    sqrt(2 * k) when one is replaced.
    """

    def __new__(cls, columns: Sequence[Bins | None]) -> Histogram: ...
    @property
    def counted(self) -> int:
        """Columns that are counted."""
    def extend(
        self,
        x: _Table,
        y: _Array,
        *,
        missing: _Missing = ...,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> None:
        """Count the rows of a batch. All of them or, on error, none."""
    def merge(self, other: Histogram) -> None:
        """Add another part of the same counts."""
    def to_bytes(self) -> bytes:
        """Return the exact counts, to move between trusted processes."""
    @staticmethod
    def from_bytes(columns: Sequence[Bins | None], bytes: bytes) -> Histogram:
        """Read what `to_bytes` wrote for the same bins; anything else is a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact counts, column after column: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the counts plus round(sigma * Z), one sigma for all entries or one for each."""

@final
class Entropy:
    """Where noise comes from: a fresh key from the operating system for every release.

    Privacy
    -------
    With `insecure_seed` the noise is known to everyone who knows the seed: for tests, never for
    real data.
    """

    def __new__(cls) -> Entropy: ...
    @staticmethod
    def insecure_seed(seed: int) -> Entropy:
        """Noise that follows from a seed. Not private."""
    @property
    def is_insecure(self) -> bool:
        """Whether the noise follows from a seed."""

def rounded_gaussian(
    sigma: float | _Floats, size: int, entropy: Entropy, *, n_jobs: int | None = ...
) -> list[int]:
    """Return `size` independent draws of round(sigma * Z) with Z exactly normal.

    `sigma` is from 2**-10 to 2**100.
    """

def round_theta(theta: _Floats, unit: float) -> tuple[list[int], int]:
    """Return t and e with theta = unit * t * 2**-e, the integers to which a pass rounds theta."""
