"""What a budget buys, before it is spent: expected widths of confidence intervals.

The engine itself answers, on made-up rows. Nearly everything that it decides depends on the number
of rows times mu, that is on the noise relative to sums over all rows. So a few thousand made-up
rows, fitted with a mu that is larger in proportion, show the noise of a table of any size. The
sampling error is that of few rows, and is scaled to the number of rows that was asked for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import numpy as np
import scipy.special

from dpfit._parameters import budget, integer, one_of, real
from dpfit._typing import Array, Floats, Neighbors
from dpfit.exceptions import InsecureSeedWarning, ParameterError
from dpfit.models.coefficients import Coefficients
from dpfit.models.estimates import Estimates, checked_level
from dpfit.models.linear import PrivateLinearRegression
from dpfit.models.tables import Summary
from dpfit.schema import Categorical, Kind, Numeric, Schema

__all__ = ["ExpectedWidth", "Plan", "plan"]

# Made-up rows of a fit. Thresholds depend a little on the number of rows itself, so there are as
# many rows as asked for up to this number.
_ROWS = 20_000
# Fits vary, mostly those of few rows. So there are as many fits as have this number of rows
# together, but no fewer and no more than these.
_ALL_ROWS, _FITS = 300_000, (15, 61)
# The least share of coefficients that have an interval, for an expected width.
_MOST = 0.75
# Intervals that are wider than this say little, and so does their expected width.
_WIDEST = 5.0
# The largest number of rows that can be asked for, and of columns.
_MOST_ROWS = 1e12
_MOST_COLUMNS = 500
_MOST_LEVELS = 1_000
# Every second column, and the target, is so many standard deviations from zero, as columns of
# positive numbers are. Public bounds are as far from their means.
_MEAN = 4.0
# Where the smallest epsilon is looked for, and how exactly.
_LEAST_EPSILON, _MOST_EPSILON = 0.01, 100.0
_STEPS = 9


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
class Plan:
    """What a fit can be expected to show. It is made up from public numbers, and costs nothing.

    Parameters
    ----------
    rows, columns : int
        The number of rows, and of columns of numbers.
    levels : tuple of tuples of float
        The shares of the levels of every other column.
    delta : float
        The delta of all budgets.
    r_squared : float
        The share of the target's variance that is explained.
    level : float
        The confidence level.
    widths : tuple of ExpectedWidth
        One for each epsilon and kind of coefficients.
    wanted : float or None
        The width that `smallest_epsilon` is for.
    smallest_epsilon : float or None
        The smallest epsilon with which all coefficients can be expected to have intervals of the
        wanted width, rounded up to two digits; None if no width was given, or if none is enough.
    """

    rows: int
    columns: int
    levels: tuple[tuple[float, ...], ...]
    delta: float
    r_squared: float
    level: float
    widths: tuple[ExpectedWidth, ...]
    wanted: float | None = None
    smallest_epsilon: float | None = None

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The budgets, in the order in which they were given."""
        return tuple(dict.fromkeys(width.epsilon for width in self.widths))

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the expected widths as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; None for the first of them that is installed.
        """
        return self._summary().to_frame(backend)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as a dictionary that can be written as JSON."""
        return {
            **{name: value for name, value in asdict(self).items() if name != "widths"},
            "levels": [list(shares) for shares in self.levels],
            "widths": [asdict(width) for width in self.widths],
        }

    def __str__(self) -> str:
        return str(self._summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._summary().to_html()

    def _summary(self) -> Summary:
        names = ("epsilon", "kind", "levels", "share", "width", "known")
        numbers = tuple(
            (name, tuple(getattr(width, name) for width in self.widths)) for name in names
        )
        kinds = dict.fromkeys(width.kind for width in self.widths)
        rows = []
        for kind in kinds:
            own = [width for width in self.widths if width.kind == kind]
            rows.append((kind, *(_text(part.width) for part in own)))
        columns = "column" if self.columns == 1 else "columns"
        facts = [
            ("Rows", f"{self.rows}"),
            ("Columns", f"{self.columns} {columns} of numbers, {len(self.levels)} of levels"),
            ("Delta", f"{self.delta:g}"),
            ("R-squared", f"{self.r_squared:g} (assumed)"),
        ]
        headings = ("", *(f"epsilon {epsilon:g}" for epsilon in self.epsilons))
        return Summary(
            f"Expected width of {100 * self.level:g} % intervals / least squares",
            "",
            tuple(facts),
            headings,
            tuple(rows),
            tuple(self._notes()),
            numbers,
        )

    def _notes(self) -> list[str]:
        notes = [
            "Widths are relative to least squares without privacy, for normal columns that are "
            "not related and normal errors. Skewed columns and errors need more."
        ]
        if any(width.kind != _NUMBER for width in self.widths):
            notes.append("A level is compared with the first level of its column.")
        if any(width.width is None for width in self.widths):
            notes.append(
                "-: nothing can be said. Fewer columns, fewer levels, more rows or a larger budget "
                "help."
            )
        if self.wanted is not None and self.smallest_epsilon is not None:
            notes.append(
                f"Smallest epsilon for a width of {self.wanted:g}: {self.smallest_epsilon:g}."
            )
        elif self.wanted is not None:
            notes.append(f"No epsilon up to {_MOST_EPSILON:g} gives a width of {self.wanted:g}.")
        return notes


_NUMBER = "number"


def _text(width: float | None) -> str:
    if width is None:
        return "-"
    return f"{width:.2f}" if width <= _WIDEST else f"> {_WIDEST:g}"


def plan(
    rows: int,
    columns: int = 0,
    levels: Sequence[int | Sequence[float]] = (),
    *,
    epsilon: float | Sequence[float] = (0.3, 1.0, 3.0),
    delta: float = 1e-6,
    r_squared: float = 0.5,
    bounds: bool = False,
    neighbors: Neighbors = "add_remove",
    max_rows: int | None = None,
    width: float | None = None,
    level: float = 0.95,
) -> Plan:
    """Return how wide the intervals of a linear model can be expected to be, for several budgets.

    Parameters
    ----------
    rows : int
        The number of rows that the table has, approximately.
    columns : int, default 0
        The number of columns of numbers.
    levels : sequence of int or of sequences of float
        One entry for each column of levels, a binary column included: the number of its levels,
        which then have equal shares of the rows, or their shares.
    epsilon : float or sequence of float
        Budgets to compare.
    delta : float, default 1e-6
        The delta of all of them.
    r_squared : float, default 0.5
        The share of the target's variance that the columns explain.
    bounds : bool, default False
        Whether columns of numbers and the target have public bounds in the schema.
    neighbors : {"add_remove", "replace"}, default "add_remove"
        As of the estimators.
    max_rows : int, optional
        The number of rows that one unit may have, as of the estimators.
    width : float, optional
        Look for the smallest epsilon with which all coefficients can be expected to have intervals
        at most so many times as wide as those of least squares.
    level : float, default 0.95
        The confidence level.

    Returns
    -------
    Plan
        Prints as a table; ``to_frame()`` returns its numbers.

    Examples
    --------
    >>> from dpfit import plan
    >>> found = plan(rows=20_000, columns=9, levels=[3, 5], epsilon=[1, 3])
    >>> [width.kind for width in found.widths[:3]]
    ['number', 'level, 33 % of rows', 'level, 20 % of rows']
    >>> found.widths[0].width > found.widths[3].width > 1.0
    True

    Privacy
    -------
    Uses no data, and costs nothing.
    """
    design = _Design(
        integer("rows", rows, 1, int(_MOST_ROWS)),
        integer("columns", columns, 0, _MOST_COLUMNS),
        tuple(_shares(item) for item in levels),
        real("r_squared", r_squared, 0.0, 0.999),
        bool(bounds),
        cast(Neighbors, one_of("neighbors", neighbors, ("add_remove", "replace"))),
        1 if max_rows is None else integer("max_rows", max_rows, 1, 1 << 20),
        checked_level(level),
    )
    if not design.columns and not design.levels:
        raise ParameterError("a plan needs columns or levels", subject="columns")
    given = [epsilon] if isinstance(epsilon, (int, float)) else list(epsilon)
    if not given:
        raise ParameterError("epsilon must not be empty", subject="epsilon")
    # The budget is checked as that of an estimator.
    mus = [budget(one, delta, None).mu for one in given]
    found = [
        part for one, mu in zip(given, mus, strict=True) for part in design.widths(float(one), mu)
    ]
    wanted = None if width is None else real("width", width, 1.0, 1e6)
    return Plan(
        design.rows,
        design.columns,
        design.levels,
        float(delta),
        design.r_squared,
        design.level,
        tuple(found),
        wanted,
        None if wanted is None else design.smallest_epsilon(wanted, float(delta)),
    )


def _shares(item: int | Sequence[float]) -> tuple[float, ...]:
    """Return the shares of levels."""
    if isinstance(item, (int, np.integer)):
        number = integer("levels", item, 2, _MOST_LEVELS)
        return (1.0 / number,) * number
    found = tuple(real("levels", share, 0.0, 1.0) for share in item)
    if not 2 <= len(found) <= _MOST_LEVELS or abs(sum(found) - 1.0) > 0.01:
        raise ParameterError(
            "levels must be numbers of levels, or shares of rows that add up to 1",
            subject="levels",
        )
    return tuple(share / sum(found) for share in found)


@dataclass(frozen=True)
class _Design:
    """What a table looks like."""

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
        """Return what every coefficient is of, but for the references of levels."""
        found: list[tuple[str, int | None, float | None]] = [(_NUMBER, None, None)] * self.columns
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

        if not is_enough(_MOST_EPSILON):
            return None
        low, high = math.log(_LEAST_EPSILON), math.log(_MOST_EPSILON)
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if is_enough(math.exp(middle)) else (middle, high)
        found = math.exp(high)
        unit = 10.0 ** (math.floor(math.log10(found)) - 1)
        return float(f"{math.ceil(found / unit - 1e-9) * unit:.2g}")
