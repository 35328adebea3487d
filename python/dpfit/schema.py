"""What is public about a table before anyone looks at it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dpfit.exceptions import ParameterError

__all__ = ["Binary", "Kind", "Numeric", "Schema"]


@dataclass(frozen=True)
class Numeric:
    """A column of numbers, with public bounds or without.

    Parameters
    ----------
    low, high : float, optional
        Bounds that hold for a reason other than the data: a law, a sensor, a form. Values beyond
        them are taken as the bound. Without bounds a range is found privately, which costs a part
        of the budget.
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        if (self.low is None) != (self.high is None):
            raise ParameterError("Numeric needs both bounds or none")
        if self.low is None or self.high is None:
            return
        try:
            low, high = float(self.low), float(self.high)
        except (TypeError, ValueError):
            raise ParameterError("the bounds of Numeric must be numbers") from None
        width = high - low
        if not (math.isfinite(width) and 1e-90 < width < 1e90 and max(-low, high) < 1e90):
            raise ParameterError(
                f"Numeric({low!r}, {high!r}) must have low < high, both below 1e90"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds, if there are any."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Binary:
    """A column of zeros and ones; other numbers are cut to the nearest between them."""


Kind: TypeAlias = Numeric | Binary
Key: TypeAlias = str | int


class Schema(Mapping[Key, Kind]):
    """What is known of columns without looking at the data.

    Parameters
    ----------
    columns : mapping of str or int to Numeric or Binary, optional
        Kinds by column name or by position. A column that is not listed is ``Numeric()``.
    target : Numeric, optional
        Bounds of the target.

    Privacy
    -------
    Everything in a schema is taken as public and costs nothing: bounds must come from knowledge
    about the measurement, never from a look at the data. Wrong bounds make the model worse, not
    less private: values beyond them are cut.

    Examples
    --------
    >>> schema = Schema({"age": Numeric(0, 120), "smoker": Binary()}, target=Numeric(0, 1e5))
    >>> schema["age"].bounds
    (0.0, 120.0)
    """

    def __init__(
        self, columns: Mapping[Any, Kind] | None = None, *, target: Numeric | None = None
    ) -> None:
        kinds = dict(columns or {})
        for key, kind in kinds.items():
            if not isinstance(key, str | int) or isinstance(key, bool):
                raise ParameterError(f"a column is a name or a position, got {key!r}")
            if not isinstance(kind, Numeric | Binary):
                raise ParameterError(f"column {key!r} must be Numeric(...) or Binary()")
        if target is not None and not isinstance(target, Numeric):
            raise ParameterError("target must be Numeric(low, high)")
        self._columns: dict[Key, Kind] = kinds
        self.target = target if target is not None else Numeric()

    def __getitem__(self, key: Key) -> Kind:
        return self._columns[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self._columns == other._columns and self.target == other.target

    def __hash__(self) -> int:
        return hash((frozenset(self._columns.items()), self.target))

    def __repr__(self) -> str:
        target = "" if self.target == Numeric() else f", target={self.target!r}"
        return f"Schema({self._columns!r}{target})"

    def resolve(self, names: Sequence[str] | None, count: int) -> list[Kind]:
        """Return the kind of every column.

        Parameters
        ----------
        names : sequence of str or None
            Names of the columns, if they have any.
        count : int
            How many there are.

        Raises
        ------
        ParameterError
            If the schema lists a column that is not there, or one of them twice.
        """
        kinds: list[Kind] = [Numeric()] * count
        seen = set()
        for key, kind in self._columns.items():
            if isinstance(key, str):
                if names is None or key not in names:
                    raise ParameterError(f"the schema's column {key!r} is not in the table")
                place = list(names).index(key)
            else:
                place = key + count if key < 0 else key
                if not 0 <= place < count:
                    raise ParameterError(f"the schema's column {key} is not in the table")
            if place in seen:
                raise ParameterError(f"the schema lists column {place} twice")
            seen.add(place)
            kinds[place] = kind
        return kinds
