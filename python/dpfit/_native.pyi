"""The exact core: rows to integers to noise.

Everything here except the result of a `release` method is exact and therefore private. Only what
`release` returns may be published.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

_Floats: TypeAlias = npt.NDArray[np.float64]
_Array: TypeAlias = npt.NDArray[Any]
# One array with all columns, or one array for each.
_Table: TypeAlias = _Array | list[_Array]
_Missing: TypeAlias = Literal["error", "drop", "indicator"]

__all__ = [
    "EXAMPLE_SCALE",
    "FEATURE_BYTES",
    "MOST_EDGES",
    "MOST_FEATURES",
    "MOST_REACH",
    "MOST_TAU",
    "ROW_SCALE",
    "SMALLEST_SIGMA",
    "TARGET_BYTES",
    "Additive",
    "Bins",
    "Count",
    "Energy",
    "Entropy",
    "ExampleGradient",
    "Forms",
    "Gradient",
    "Gram",
    "Histogram",
    "Memory",
    "ResidualCounts",
    "ResidualSums",
    "RowMap",
    "Rows",
    "WeightedResiduals",
    "forked",
    "round_matrix",
    "round_theta",
    "rounded_gaussian",
]

ROW_SCALE: Final[int]
"""2**15: the integers q of a row satisfy sum(q**2) <= ROW_SCALE**2."""
EXAMPLE_SCALE: Final[int]
"""2**24: the integers q of a clipped gradient satisfy sum(q**2) <= EXAMPLE_SCALE**2."""
MOST_FEATURES: Final[int]
"""8192: the most features of a row, including the constant."""
FEATURE_BYTES: Final[int]
"""2: the bytes of a feature in `Rows`."""
TARGET_BYTES: Final[int]
"""4: the bytes of a target in `Rows`."""
MOST_TAU: Final[int]
"""2**20: the largest `tau`, in steps of the target."""
MOST_REACH: Final[int]
"""2**35: the largest `reach`, in steps of X'g."""
MOST_EDGES: Final[int]
"""64: the most edges of `ResidualCounts`."""
SMALLEST_SIGMA: Final[float]
"""2**-10: the smallest `sigma`."""

@final
class RowMap:
    """The map from a row of floats to a row of integers. It is public.

    `columns` describes every column of X, as (centre, scale, ramps) or as (count, height).

    - A column with ramps: with z = (x - centre) / scale, each ramp (low, high, gain) gives one
      feature, gain * (clamp(z, low, high) - clamp(0, low, high)). `low` may be `-inf` and `high`
      may be `inf`. A column without ramps has no features.
    - A column of `count` levels contains their indices, starting at 0. It gives one feature for
      each level: `height` for the level of the row and 0 for all others.

    `target` is (centre, scale) of y. After centring and scaling, y is rounded to integer multiples
    of `step`. `intercept` is the share of the squared norm that a constant feature gets; it is the
    last feature. With `max_weight`, the last column of X, which must have no features, contains
    weights: x, the constant and y are multiplied by the root of weight / `max_weight`, clamped to
    the interval from 0 to 1. This needs `norm="weight"`.

    A row whose norm is above one is scaled down to one. With `norm="clip"`, x alone is scaled (the
    features to norm sqrt(1 - intercept); the constant is sqrt(intercept)). With `norm="weight"`, x,
    the constant and y are scaled together. Entries are then truncated to multiples of 2**-15.

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
        step: float,
        norm: Literal["clip", "weight"] = ...,
        intercept: float | None = ...,
        max_weight: float | None = ...,
    ) -> RowMap: ...
    @property
    def columns(self) -> int:
        """The number of columns of X."""
    @property
    def features(self) -> int:
        """The number of integers in a row."""
    @property
    def step(self) -> float:
        """The step of the target's grid, after centring and scaling."""

@final
class Memory:
    """Memory that the stores of a fit share: what one frees, the next uses.

    It goes back to the system when neither this object nor any of these stores exists.
    """

    def __new__(cls) -> Memory: ...

@final
class Rows:
    """A compact store of quantised rows, in memory or in unnamed files in `directory`.

    With `memory`, the store and those that its rows are mapped to use memory that others freed.
    """

    def __new__(
        cls, row_map: RowMap, *, directory: str | None = ..., memory: Memory | None = ...
    ) -> Rows: ...
    @property
    def features(self) -> int:
        """The number of integers in a row."""
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
        """Add the rows of a batch to the store and, if given, to `gram`.

        On error, neither contains any of them.
        """
    def mapped(
        self,
        matrix: _Floats,
        *,
        directory: str | None = ...,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> Rows:
        """Map every row to a row by a public matrix of shape (features, new features).

        With z = (q * 2^-15) @ round_matrix(matrix) and w = min(1, 1 / norm(z)), the new row is
        2^15 * w * z and its target w times the old one, both truncated toward zero. The result
        cannot be extended.

        Privacy
        -------
        A new row depends on one row and on the matrix only, and satisfies sum(q**2) <= 2**30.
        """
    def to_bytes(self) -> bytes:
        """Return the rows as bytes, to move them between trusted processes."""
    @staticmethod
    def from_bytes(row_map: RowMap, bytes: bytes, matrices: Sequence[_Floats] = ...) -> Rows:
        """Read what `to_bytes` wrote for the same map; other bytes raise a `ValueError`.

        `matrices` are those of `mapped`, in order.
        """
    def save(self, path: str) -> None:
        """Write the rows to a new file, which only this user can read."""
    @staticmethod
    def open(row_map: RowMap, path: str, matrices: Sequence[_Floats] = ...) -> Rows:
        """Map a file that `save` wrote for the same map; another file raises a `ValueError`.

        The file must not change afterwards. It may be removed. `matrices` are those of `mapped`, in
        order.
        """

@final
class Gram:
    """The upper triangle of X'X, row by row, in multiples of 2**-30.

    Privacy
    -------
    The Frobenius sensitivity is 2**30 when a row is added or removed and sqrt(2) * 2**30 when one
    is replaced. The sensitivity of the upper triangle as a vector, with off-diagonal entries
    counted once, is not larger.
    """

    def __new__(cls, row_map: RowMap) -> Gram: ...
    @property
    def features(self) -> int:
        """The number of rows and columns of the matrix."""
    @property
    def eigenvalue_sensitivity(self) -> float:
        """The sensitivity of the smallest eigenvalue, including the error of its computation."""
    def insecure_smallest_eigenvalue(self) -> int:
        """Return the smallest eigenvalue in multiples of 2**-30: private, for tests."""
    def release_smallest_eigenvalue(self, sigma: float, entropy: Entropy) -> float:
        """Return the smallest eigenvalue plus round(sigma * Z), in multiples of 2**-30."""
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
        """Add the rows of a batch without storing them. On error, the sums are unchanged."""
    @staticmethod
    def of_mapped(
        rows: Rows, matrix: _Floats, *, n_jobs: int | None = ..., portable: bool = ...
    ) -> Gram:
        """Compute X'X of `rows.mapped(matrix)` without storing the mapped rows."""
    @staticmethod
    def of_scores(
        rows: Rows,
        theta: _Floats,
        tau: int,
        reach: int,
        *,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> Gram:
        """Compute the sum of uu' over rows q, with u = q * g / 2**k rounded toward zero.

        g is the residual of `Gradient.of` with this `tau` and `reach`, and k is
        `score_shift(reach)`. The norm of u is at most 32767.
        """
    @staticmethod
    def score_shift(reach: int) -> int:
        """Return the smallest k with reach / 2**k <= 32767."""
    def merge(self, other: Gram) -> None:
        """Add the sums over other rows."""
    def to_bytes(self) -> bytes:
        """Return the exact sums as bytes, to move them between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> Gram:
        """Read what `to_bytes` wrote; other bytes raise a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact sums: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the sums plus round(sigma * Z), with one sigma for all entries or one for each."""

@final
class Gradient:
    """X'g in multiples of 2**-15 times the step of the target.

    Privacy
    -------
    The l2 sensitivity is 2**15 * tau when a row is added or removed and 2**16 * tau when one is
    replaced. With a reach, it is at most `reach` and 2 * `reach`.
    """

    @staticmethod
    def of(
        rows: Rows,
        theta: _Floats,
        tau: int,
        reach: int | None = ...,
        *,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> Gradient:
        """Compute X'g with g = clip(y - X theta, +-tau), where `tau` is in steps of the target.

        With `reach`, in steps of X'g, the residual of a row q is clipped to
        min(tau, floor(reach / norm(q))), so that norm(q) * abs(g) <= reach.
        """
    def merge(self, other: Gradient) -> None:
        """Add the sums over other rows."""
    def to_bytes(self) -> bytes:
        """Return the exact sums as bytes, to move them between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> Gradient:
        """Read what `to_bytes` wrote; other bytes raise a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact sums: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the sums plus round(sigma * Z), with one sigma for all entries or one for each."""

@final
class Energy:
    """The sum of squared clipped residuals, in squared steps of the target.

    Privacy
    -------
    The sensitivity is tau**2 when a row is added, removed or replaced.
    """

    @staticmethod
    def of(
        rows: Rows, theta: _Floats, tau: int, *, n_jobs: int | None = ..., portable: bool = ...
    ) -> Energy:
        """Compute the sum of g**2, with the same integers g as in `Gradient.of`."""
    def merge(self, other: Energy) -> None:
        """Add the sum over other rows."""
    def to_bytes(self) -> bytes:
        """Return the exact sum as bytes, to move it between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> Energy:
        """Read what `to_bytes` wrote; other bytes raise a `ValueError`."""
    def insecure_exact(self) -> int:
        """Return the exact sum: private, for tests."""
    def release(self, sigma: float, entropy: Entropy) -> float:
        """Return the sum plus round(sigma * Z)."""

@final
class ResidualCounts:
    """The number of rows with a residual r = y - X theta between edges, in steps of the target.

    Edges e_1 < ... < e_m give 2 * m + 1 counts: r < -e_m, -e_m <= r < -e_(m-1), ..., |r| <= e_1,
    ..., e_(m-1) < r <= e_m, r > e_m. A row whose features and target are all zero is not counted;
    dropped rows are stored like that.

    Privacy
    -------
    The l2 sensitivity is 1 when a row is added or removed, at most sqrt(2) when one is replaced.
    """

    @staticmethod
    def of(
        rows: Rows,
        theta: _Floats,
        edges: Sequence[int],
        *,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> ResidualCounts:
        """Count residuals. There are 1 to 64 strictly increasing edges between 1 and 2**20."""
    @staticmethod
    def of_scores(
        rows: Rows,
        theta: _Floats,
        edges: Sequence[int],
        *,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> ResidualCounts:
        """Count rows by their residual times their norm, in steps of X'g, with edges up to 2**35.

        A residual above 2**20 counts as 2**20 + 1.
        """
    def merge(self, other: ResidualCounts) -> None:
        """Add the counts of other rows."""
    def to_bytes(self) -> bytes:
        """Return the exact counts as bytes, to move them between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> ResidualCounts:
        """Read what `to_bytes` wrote; other bytes raise a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact counts: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the counts plus round(sigma * Z), one sigma for all entries or one for each."""

@final
class ResidualSums:
    """Sums of g = clip(y - X theta, +-tau) over the rows between edges, for every feature.

    The sums of a feature with m edges are those of the rows below the first edge, from each edge to
    the next, and from the last edge on, in steps of the target. Edges are in steps of 2**-15, as
    stored rows are. Features without edges have no sums.

    Privacy
    -------
    With k features that have edges, the l2 sensitivity is sqrt(k) * tau when a row is added or
    removed, at most twice that when one is replaced.
    """

    @staticmethod
    def of(
        rows: Rows,
        theta: _Floats,
        tau: int,
        edges: Sequence[Sequence[int]],
        *,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> ResidualSums:
        """Add up residuals. A feature has up to 64 strictly increasing edges; not all have none."""
    def merge(self, other: ResidualSums) -> None:
        """Add the sums over other rows."""
    def to_bytes(self) -> bytes:
        """Return the exact sums as bytes, to move them between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> ResidualSums:
        """Read what `to_bytes` wrote; other bytes raise a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact sums: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the counts plus round(sigma * Z), one sigma for all entries or one for each."""

@final
class WeightedResiduals:
    """Sums over rows of a weight times one, a residual or its square.

    `weights` are the position of the feature that is the weight of a row, and its largest value m,
    in steps of 2**-15: the weight is clamped to the interval from 0 to m.

    Privacy
    -------
    When a row is added or removed, counts change by at most m, sums by at most m * tau, and the sum
    of squares by at most m * tau**2. When a row is replaced, counts change by at most sqrt(2) times
    as much, sums by at most twice as much, and the sum of squares by no more.
    """

    @staticmethod
    def counts(
        rows: Rows,
        theta: _Floats,
        edges: Sequence[int],
        weights: tuple[int, int],
        *,
        n_jobs: int | None = ...,
    ) -> WeightedResiduals:
        """Add up weights by the residual, in the order of `ResidualCounts`."""
    @staticmethod
    def counts_by(
        rows: Rows,
        theta: _Floats,
        by: int,
        edges: Sequence[int],
        weights: tuple[int, int],
        *,
        n_jobs: int | None = ...,
    ) -> WeightedResiduals:
        """Add up weights by the edges of the feature `by`; without edges, in one sum."""
    @staticmethod
    def sums(
        rows: Rows,
        theta: _Floats,
        tau: int,
        by: int,
        edges: Sequence[int],
        weights: tuple[int, int],
        *,
        n_jobs: int | None = ...,
    ) -> WeightedResiduals:
        """Add up weights times clipped residuals, by the edges of the feature `by`."""
    @staticmethod
    def squares(
        rows: Rows,
        theta: _Floats,
        tau: int,
        weights: tuple[int, int],
        *,
        n_jobs: int | None = ...,
    ) -> WeightedResiduals:
        """Add up weights times squares of clipped residuals, in one sum."""
    def merge(self, other: WeightedResiduals) -> None:
        """Add the sums over other rows."""
    def to_bytes(self) -> bytes:
        """Return the exact sums as bytes, to move them between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> WeightedResiduals:
        """Read what `to_bytes` wrote; other bytes raise a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact sums: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the sums plus round(sigma * Z), with one sigma for all entries or one for each."""

@final
class Count:
    """The number of rows without missing values. `columns` is the number of columns of X.

    Privacy
    -------
    The sensitivity is 1 when a row is added, removed or replaced. With `missing="error"` no row is
    dropped, so replacing a row does not change the count.
    """

    def __new__(cls, columns: int) -> Count: ...
    @staticmethod
    def told_by(histogram: Histogram) -> Count | None:
        """Return the number of rows that a histogram counted; None if it does not count the target.

        Privacy
        -------
        Every row that is not dropped is in exactly one bin of the target, so this is the count.
        """
    @property
    def rows(self) -> int:
        """The exact number of rows.

        Privacy
        -------
        It is private, and only `release` may be published, if neighbours differ by an added or
        removed row or by the rows of a unit, or if rows may be dropped. It is public only if
        neighbours differ by one replaced row and `missing` is "error".
        """
    def extend(
        self,
        x: _Table,
        y: _Array,
        *,
        missing: _Missing = ...,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> None:
        """Count the rows of a batch. On error, the count is unchanged."""
    def merge(self, other: Count) -> None:
        """Add the count of other rows."""
    def to_bytes(self) -> bytes:
        """Return the exact count as bytes, to move it between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> Count:
        """Read what `to_bytes` wrote; other bytes raise a `ValueError`."""
    def insecure_exact(self) -> int:
        """Return the exact count: private, for tests."""
    def release(self, sigma: float, entropy: Entropy) -> float:
        """Return the count plus round(sigma * Z)."""

@final
class ExampleGradient:
    """The sum over rows of clip(r * x, bound) with r = y - x theta, in multiples of bound * 2**-24.

    If `theta` has one entry more than X has columns, the last one is for a constant.

    Privacy
    -------
    The l2 sensitivity is 2**24 when a row is added or removed and 2**25 when one is replaced.
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
        """Compute the sum over a batch."""
    def merge(self, other: ExampleGradient) -> None:
        """Add the sums over other rows."""
    def to_bytes(self) -> bytes:
        """Return the exact sums as bytes, to move them between trusted processes."""
    @staticmethod
    def from_bytes(bytes: bytes) -> ExampleGradient:
        """Read what `to_bytes` wrote; other bytes raise a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact sums: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the sums plus round(sigma * Z), with one sigma for all entries or one for each."""

@final
class Bins:
    """The bins of a column."""

    @staticmethod
    def powers(least: int, most: int) -> Bins:
        """Create bins of signed powers of two, with zero in the middle and open ends.

        There are 2 * (most - least + 1) + 1 bins.
        """
    @staticmethod
    def equal(low: float, high: float, count: int) -> Bins:
        """Create `count` equal bins from `low` to `high`, one bin below and one above."""
    def __len__(self) -> int: ...

@final
class Histogram:
    """Counts for every column of X and then y; `None` for a column that is not counted.

    If `with_missing`, every column of X that is counted has one more count, its last, of values
    that are missing; without it, these are not counted. They occur with `missing="indicator"`.

    Privacy
    -------
    With k columns counted, the l2 sensitivity is sqrt(k) when a row is added or removed and at most
    sqrt(2 * k) when one is replaced.
    """

    def __new__(cls, columns: Sequence[Bins | None], *, with_missing: bool = ...) -> Histogram: ...
    @property
    def counted(self) -> int:
        """The number of columns that are counted."""
    def extend(
        self,
        x: _Table,
        y: _Array,
        *,
        missing: _Missing = ...,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> None:
        """Count the rows of a batch. On error, the counts are unchanged."""
    def merge(self, other: Histogram) -> None:
        """Add the counts of other rows."""
    def to_bytes(self) -> bytes:
        """Return the exact counts as bytes, to move them between trusted processes."""
    @staticmethod
    def from_bytes(
        columns: Sequence[Bins | None], bytes: bytes, *, with_missing: bool = ...
    ) -> Histogram:
        """Read what `to_bytes` wrote for the same bins; other bytes raise a `ValueError`."""
    def insecure_exact(self) -> list[int]:
        """Return the exact counts, column after column: private, for tests."""
    def release(
        self, sigma: float | _Floats, entropy: Entropy, *, n_jobs: int | None = ...
    ) -> _Floats:
        """Return the counts plus round(sigma * Z), with one sigma for all or one for each."""

@final
class Additive:
    """A public model: the sum of an intercept and the effects of columns, clipped to a range.

    Effects are None for nothing; (low, high, slope) for a line through the origin that is constant
    outside a range; (points, heights) for a curve, with increasing points; or a list of the effects
    of levels, which are given by their positions. Any other level has no effect.
    """

    def __new__(
        cls,
        intercept: float,
        effects: Sequence[
            tuple[float, float, float] | tuple[list[float], list[float]] | list[float] | None
        ],
        range: tuple[float, float],
    ) -> Additive: ...
    def predict(
        self,
        x: _Array | Sequence[_Array],
        *,
        finite: bool,
        n_jobs: int | None = ...,
        portable: bool = ...,
    ) -> _Floats:
        """Return predictions; NaN for rows with NaN, or an error if values must be finite."""

@final
class Forms:
    """Linear and quadratic forms of what rows are in the coordinates of all columns.

    A term gives the coordinates of a column: None for none; (low, high, centre) for one with the
    weight clamp(x, low, high) - centre; a list of increasing points for one at each, between which
    weights are linear; or a number of levels for one each, and one more for any other value.
    `values`, `unknown` and the symmetric `matrices` have all coordinates in order, and last a
    constant with the weight one.
    """

    def __new__(
        cls,
        terms: Sequence[tuple[float, float, float] | list[float] | int | None],
        values: _Floats,
        unknown: npt.NDArray[np.bool_],
        matrices: tuple[_Floats, _Floats, _Floats],
    ) -> Forms: ...
    def evaluate(
        self, x: _Array | Sequence[_Array], *, n_jobs: int | None = ..., portable: bool = ...
    ) -> _Floats:
        """Return five columns: w'values, w'Mw for each matrix M, and 1 where w has an unknown."""

@final
class Entropy:
    """The source of noise: a new key from the operating system for every release.

    Privacy
    -------
    With `insecure_seed`, everyone who knows the seed knows the noise. Use it in tests, never with
    real data.
    """

    def __new__(cls) -> Entropy: ...
    @staticmethod
    def insecure_seed(seed: int) -> Entropy:
        """Create a source of noise that is computed from a seed. Not private."""
    @property
    def is_insecure(self) -> bool:
        """Whether the noise is computed from a seed."""

def rounded_gaussian(
    sigma: float | _Floats, size: int, entropy: Entropy, *, n_jobs: int | None = ...
) -> list[int]:
    """Return `size` independent draws of round(sigma * Z) with exactly normal Z.

    `sigma` is between 2**-10 and 2**100.
    """

def forked() -> None:
    """Say that this process was just forked, so that it does not wait for its parent's threads."""

def round_theta(theta: _Floats, step: float) -> tuple[list[int], int]:
    """Return the integers t and the exponent e to which a pass rounds theta.

    theta is approximately step * t * 2**-e.
    """

def round_matrix(matrix: _Floats) -> _Floats:
    """Return the matrix that `Rows.mapped` uses: each column is rounded to about 24 bits."""
