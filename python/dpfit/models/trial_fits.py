"""Fits of made-up rows, by which :mod:`dpfit.models.plan` knows how wide intervals are.

Nearly everything that the engine decides depends on the number of rows times mu, that is on the
noise relative to sums over all rows. So a limited number of made-up rows, fitted with a mu that is
larger in proportion, shows the noise of a table of any size. The sampling error is that of few
rows, and is scaled to the number of rows that was asked for.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.special

from dpfit._parameters import budget
from dpfit._typing import Array, Floats, Neighbors
from dpfit.exceptions import InsecureSeedWarning
from dpfit.models.coefficients import Coefficients
from dpfit.models.estimates import Estimates
from dpfit.models.linear import PrivateLinearRegression
from dpfit.schema import Categorical, Kind, Numeric, Schema

__all__ = ["MOST_EPSILON", "NUMBER", "Design", "ExpectedWidth"]

# The kind of coefficients of columns of numbers.
NUMBER = "number"
# Made-up rows of a fit. Thresholds depend a little on the number of rows itself, so there are as
# many rows as asked for up to this number.
_ROWS = 20_000
# Fits vary, mostly those of few rows. So there are as many fits as have this number of rows
# together, but no fewer and no more than these.
_ALL_ROWS, _FITS = 300_000, (15, 61)
# The least share of coefficients that have an interval, for an expected width.
_MOST = 0.75
# Every second column, and the target, is so many standard deviations from zero, as columns of
# positive numbers are. Public bounds are as far from their means.
_MEAN = 4.0
# Where the smallest epsilon is looked for, and in which steps.
_LEAST_EPSILON, MOST_EPSILON = 0.01, 100.0
_STEP = 1.25


@dataclass(frozen=True)
class ExpectedWidth:
    """The expected width of the intervals of one kind of coefficients.

    Parameters
    ----------
    epsilon : float
        The budget.
    kind : str
        What the coefficients are of: ``number``, or ``level`` with the share of rows it has.
    levels : int or None
        The number of levels of its column; None for a column of numbers.
    share : float or None
        The share of the rows that have the level.
    width : float or None
        The expected width, relative to that of least squares without privacy; None if more than a
        quarter of these coefficients have no interval.
    known : float
        The share of these coefficients that have an interval.
    """

    epsilon: float
    kind: str
    levels: int | None
    share: float | None
    width: float | None
    known: float


@dataclass(frozen=True)
class Design:
    """What a table looks like, and how fits of made-up rows of it turn out.

    Parameters
    ----------
    rows, columns : int
        The number of rows, and of columns of numbers.
    levels : tuple of tuples of float
        The shares of the levels of every other column.
    r_squared : float
        The share of the target's variance that is explained.
    bounds : bool
        Whether numbers have public bounds.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation.
    max_rows : int
        The number of rows that one unit may have.
    level : float
        The confidence level.
    """

    rows: int
    columns: int
    levels: tuple[tuple[float, ...], ...]
    r_squared: float
    bounds: bool
    neighbors: Neighbors
    max_rows: int
    level: float
    _known: dict[float, tuple[ExpectedWidth, ...]] = field(default_factory=dict, compare=False)

    @property
    def _schema(self) -> Schema:
        kinds: dict[str | int, Kind] = {}
        target = Numeric()
        if self.bounds:
            kinds = {
                place: Numeric(mean - _MEAN, mean + _MEAN) for place, mean in enumerate(self._means)
            }
            target = Numeric(0.0, 2.0 * _MEAN)
        for place, shares in enumerate(self.levels, self.columns):
            kinds[place] = Categorical(list(range(len(shares))))
        return Schema(kinds, target=target)

    @property
    def _means(self) -> Floats:
        return np.where(np.arange(self.columns) % 2 == 0, _MEAN, 0.0)

    @property
    def _fits(self) -> int:
        return min(max(_ALL_ROWS // min(self.rows, _ROWS), _FITS[0]), _FITS[1])

    def _draw(self, rng: np.random.Generator, rows: int) -> tuple[Array, Array]:
        """Draw rows; every column explains the same share of the target, whose variance is 1."""
        X = rng.normal(size=(rows, self.columns + len(self.levels)))
        parts = [*X[:, : self.columns].T.copy()]
        for place, shares in enumerate(self.levels, self.columns):
            X[:, place] = rng.choice(len(shares), size=rows, p=shares)
            heights = np.arange(len(shares)) - np.arange(len(shares)) @ np.array(shares)
            size = math.sqrt(float(np.square(heights) @ np.array(shares)))
            parts.append(heights[X[:, place].astype(int)] / size)
        y = _MEAN + np.sum(parts, axis=0) * math.sqrt(self.r_squared / len(parts))
        X[:, : self.columns] += self._means
        return X, y + rng.normal(0.0, math.sqrt(1.0 - self.r_squared), size=rows)

    def _kinds(self) -> list[tuple[str, int | None, float | None]]:
        """Return the kind of every coefficient, except for the references of levels."""
        found: list[tuple[str, int | None, float | None]] = [(NUMBER, None, None)] * self.columns
        for shares in self.levels:
            for share in shares[1:]:
                found.append((f"level, {100 * share:.2g} % of rows", len(shares), share))
        return found

    def _least_squares(self) -> Floats:
        """Return the widths of intervals without privacy."""
        variances = [1.0] * self.columns
        for shares in self.levels:
            variances += [1.0 / shares[0] + 1.0 / share for share in shares[1:]]
        quantile = float(scipy.special.ndtri((1.0 + self.level) / 2.0))
        errors = np.sqrt(np.array(variances) * (1.0 - self.r_squared) / self.rows)
        result: Floats = 2.0 * quantile * errors
        return result

    def widths(self, epsilon: float, mu: float) -> tuple[ExpectedWidth, ...]:
        """Return the expected widths, by kinds of coefficients."""
        if mu in self._known:
            return tuple(replace(width, epsilon=epsilon) for width in self._known[mu])
        ratios = (
            np.array([self._fitted(mu, seed) for seed in range(self._fits)]) / self._least_squares()
        )
        kinds = self._kinds()
        found = []
        for kind in dict.fromkeys(kinds):
            own = ratios[:, [place for place, other in enumerate(kinds) if other == kind]]
            known = float(np.isfinite(own).mean())
            width = float(np.nanmedian(own)) if known >= _MOST else None
            found.append(ExpectedWidth(epsilon, *kind, width, known))
        self._known[mu] = tuple(found)
        return tuple(found)

    def _fitted(self, mu: float, seed: int) -> Floats:
        """Return the widths of the intervals of one fit; NaN for what is not known."""
        rows = min(self.rows, _ROWS)
        X, y = self._draw(np.random.default_rng((seed, rows)), rows)
        factor = rows / self.rows
        estimator = PrivateLinearRegression(
            mu=mu / factor / self.max_rows,
            schema=self._schema,
            neighbors=self.neighbors,
            random_state=seed,
            n_jobs=1,
        )
        with warnings.catch_warnings():
            # The rows are made up, so the noise may be reproducible.
            warnings.simplefilter("ignore", InsecureSeedWarning)
            model = estimator.fit(X, y).model_
        own = model.estimates
        scaled = Estimates(
            own.values, own.noise, factor * own.sampling, factor * own.spread, own.known
        )
        found = Coefficients.of(replace(model, estimates=scaled))
        low, high = found.interval(self.level)[:-1].T
        kept = np.array([not term.is_reference for term in found.terms])
        result: Floats = (high - low)[kept]
        return result

    def smallest_epsilon(self, width: float, delta: float) -> float | None:
        """Return the smallest epsilon for a width, to two digits; None if none is enough."""

        def is_enough(epsilon: float) -> bool:
            found = self.widths(epsilon, budget(epsilon, delta, None).mu)
            return all(part.width is not None and part.width <= width for part in found)

        # Widths do not fall everywhere, so the search comes from above: all larger ones suffice.
        if not is_enough(MOST_EPSILON):
            return None
        high = MOST_EPSILON
        while high > _LEAST_EPSILON and is_enough(high / _STEP):
            high /= _STEP
        unit = 10.0 ** (math.floor(math.log10(high)) - 1)
        return float(f"{math.ceil(high / unit - 1e-9) * unit:.2g}")
