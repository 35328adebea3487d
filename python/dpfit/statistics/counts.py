"""The number of rows, and histograms of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfit import _native
from dpfit._rounding import root_up
from dpfit._typing import Floats
from dpfit.statistics.at_theta import AtTheta
from dpfit.statistics.bins import Bins
from dpfit.statistics.row_map import Scale
from dpfit.statistics.statistic import (
    Batches,
    Component,
    Noise,
    Relation,
    Statistic,
)

__all__ = ["Histograms", "ResidualCounts", "RowCount", "ScoreCounts"]


@dataclass(frozen=True)
class RowCount(Statistic[_native.Count, float]):
    """The number of rows that are not dropped.

    It reads every value of every row: with ``missing="error"``, a value that is not finite is an
    error before anything is released.

    Privacy
    -------
    A row adds one, or nothing if it is dropped. A histogram of the target whose bins cover all
    numbers has each of these rows in one bin, so that the sum of its counts is the same number.
    """

    name = "number of rows"
    native = _native.Count

    def sum(self, part: Batches) -> _native.Count | None:
        """Count the rows of a part."""
        found: _native.Count | None = part.added(
            lambda x: _native.Count(len(x) if isinstance(x, list) else x.shape[1])
        )
        return found

    def told_by(self, other: Statistic[Any, Any], total: Any) -> _native.Count | None:
        """Return the count if a histogram of the target tells it."""
        return _native.Count.told_by(total) if isinstance(other, Histograms) else None

    def sensitivity(self, relation: Relation) -> float:
        """Return the rows of a unit, which may also be replaced by fewer or more rows."""
        return float(relation.rows_per_unit)

    def noisy(self, total: _native.Count, noise: Noise) -> float:
        """Return the noisy count."""
        return total.release(noise.sigma, noise.entropy)


@dataclass(frozen=True)
class Histograms(Statistic[_native.Histogram, "list[Floats | None]"]):
    """Counts of rows in bins, for each column of X and then for the target.

    There is one component for all features together, and one for the target; each only if there is
    something to count.

    Parameters
    ----------
    bins : tuple of Bins or None
        Bins of every column of X and then of the target; None for a column that is not counted.
    with_missing : bool, default False
        Whether every column of X has one more count, its last, of missing values. They occur with
        ``missing="indicator"``, and are in no other bin.

    Privacy
    -------
    A row is in at most one bin of each column, so adding a row changes the counts of k features by
    at most sqrt(k), and replacing one changes two bins of each column. The two components are
    separate releases.
    """

    bins: tuple[Bins | None, ...]
    with_missing: bool = False

    native = _native.Histogram

    def _native_bins(self) -> list[_native.Bins | None]:
        return [None if bins is None else bins.native() for bins in self.bins]

    def sum(self, part: Batches) -> _native.Histogram | None:
        """Count the rows of a part."""
        found: _native.Histogram | None = part.added(
            lambda _: _native.Histogram(self._native_bins(), with_missing=self.with_missing)
        )
        return found

    def read(self, packed: bytes) -> _native.Histogram:
        """Read counts, which need their bins."""
        bins = self._native_bins()
        return _native.Histogram.from_bytes(bins, packed, with_missing=self.with_missing)

    def sensitivity(self, relation: Relation) -> float:
        """Return the sensitivity of all counts together."""
        return _sensitivity(sum(bins is not None for bins in self.bins), relation)

    def components(self, relation: Relation) -> tuple[Component, ...]:
        """Return a component for the features, and one for the target."""
        features = sum(bins is not None for bins in self.bins[:-1])
        found = []
        if features:
            name = "histogram of a feature"
            if features > 1:
                name = f"histograms of {features} features"
            found.append(Component(name, _sensitivity(features, relation)))
        if self.bins[-1] is not None:
            found.append(Component("histogram of the target", _sensitivity(1, relation)))
        return tuple(found)

    def noisy(self, total: _native.Histogram, noise: Noise) -> list[Floats | None]:
        """Return the noisy counts of every column."""
        lengths = [
            0 if bins is None else len(bins) + (self.with_missing and place + 1 < len(self.bins))
            for place, bins in enumerate(self._native_bins())
        ]
        ends = np.cumsum(lengths)
        features, target = noise.sigmas[0], noise.sigmas[-1]
        sigmas = np.repeat([features, target], [ends[-1] - lengths[-1], lengths[-1]])
        counts = total.release(sigmas, noise.entropy, n_jobs=noise.n_jobs)
        return [counts[end - n : end] if n else None for n, end in zip(lengths, ends, strict=True)]


@dataclass(frozen=True, eq=False)
class ResidualCounts(AtTheta[_native.ResidualCounts, Floats]):
    """Counts of stored rows by their residual r = y - X theta.

    With m edges e_1 < ... < e_m there are 2 * m + 1 counts, from r < -e_m up to r > e_m; the one in
    the middle counts abs(r) <= e_1. Dropped rows are not counted.

    Parameters
    ----------
    theta : array
        Coefficients of rows whose norm is at most `scale.bound`.
    edges : tuple of int
        Strictly increasing and positive, in steps of the target's grid; at most 64.
    scale : Scale
        What the stored integers are.

    Privacy
    -------
    A row is in one bin or in none, so adding or removing one moves the counts by at most 1, and
    replacing one by at most sqrt(2).
    """

    theta: Floats
    edges: tuple[int, ...]
    scale: Scale

    name = "histogram of residuals"
    native = _native.ResidualCounts

    def of(self, rows: _native.Rows, theta: Floats, n_jobs: int | None) -> _native.ResidualCounts:
        """Count some rows."""
        return _native.ResidualCounts.of(rows, theta, self.edges, n_jobs=n_jobs)

    def sensitivity(self, relation: Relation) -> float:
        """Return the sensitivity of one histogram."""
        return _sensitivity(1, relation)

    def noisy(self, total: _native.ResidualCounts, noise: Noise) -> Floats:
        """Return the noisy counts."""
        return total.release(noise.sigma, noise.entropy, n_jobs=noise.n_jobs)


@dataclass(frozen=True, eq=False)
class ScoreCounts(ResidualCounts):
    """Counts of stored rows by their residual times their norm, in steps of X'g.

    Otherwise it is :class:`ResidualCounts`, and so is its sensitivity.
    """

    name = "histogram of scores"

    def of(self, rows: _native.Rows, theta: Floats, n_jobs: int | None) -> _native.ResidualCounts:
        """Count some rows."""
        return _native.ResidualCounts.of_scores(rows, theta, self.edges, n_jobs=n_jobs)


def _sensitivity(columns: int, relation: Relation) -> float:
    moved = 2 if relation.replaces else 1
    return root_up(columns * moved * relation.rows_per_unit**2, 0)
