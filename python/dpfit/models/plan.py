"""What a budget buys, before it is spent: expected widths of confidence intervals.

The engine itself answers, on made-up rows (:mod:`dpfit.models.trial_fits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from dpfit._parameters import budget, integer, one_of, real
from dpfit._typing import Neighbors
from dpfit.exceptions import ParameterError
from dpfit.models.estimates import checked_level
from dpfit.models.tables import Summary
from dpfit.models.trial_fits import MOST_EPSILON, NUMBER, Design, ExpectedWidth

__all__ = ["ExpectedWidth", "Plan", "plan"]

# Intervals that are wider than this say little, and so does their expected width.
_WIDEST = 5.0
# The largest number of rows that can be asked for, and of columns.
_MOST_ROWS = 1e12
_MOST_COLUMNS = 500
_MOST_LEVELS = 1_000


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
        facts = [
            ("Rows", f"{self.rows}"),
            ("Columns", f"{self.columns} numeric, {len(self.levels)} categorical"),
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
            "Widths are relative to least squares without privacy, for independent normal columns "
            "and normal errors. With skewed columns or errors, intervals are wider."
        ]
        if any(width.kind != NUMBER for width in self.widths):
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
            notes.append(f"No epsilon up to {MOST_EPSILON:g} gives a width of {self.wanted:g}.")
        return notes


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
    """Return the expected widths of the intervals of a linear model, for several budgets.

    Parameters
    ----------
    rows : int
        The number of rows that the table has, approximately.
    columns : int, default 0
        The number of numeric columns.
    levels : sequence of int or of sequences of float
        One entry for each categorical or binary column: the number of its levels, which then have
        equal shares of the rows, or these shares.
    epsilon : float or sequence of float
        Budgets to compare.
    delta : float, default 1e-6
        The delta of all of them.
    r_squared : float, default 0.5
        The share of the target's variance that the columns explain.
    bounds : bool, default False
        Whether numeric columns and the target have public bounds in the schema.
    neighbors : {"add_remove", "replace"}, default "add_remove"
        As in the estimators.
    max_rows : int, optional
        The largest number of rows per unit, as in the estimators.
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
    design = Design(
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
