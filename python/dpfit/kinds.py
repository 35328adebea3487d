"""What a column may be, of which the public part is told in advance."""

from __future__ import annotations

import datetime
import difflib
import json
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dpfit.exceptions import ParameterError

__all__ = [
    "Binary",
    "Categorical",
    "Date",
    "Kind",
    "Level",
    "Numeric",
    "from_plain",
    "meant",
    "terms",
    "to_plain",
]

Level: TypeAlias = str | int
# Beyond, doubles do not tell whole numbers apart.
_LARGEST_LEVEL = 2**53 - 1
# The core's features end at 8192, the constant included.
_MOST_LEVELS = 4000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# What a kind may have beside its name, in a file.
_FIELDS = {
    "numeric": ("low", "high"),
    "date": ("low", "high"),
    "binary": (),
    "categorical": ("levels",),
}


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
            raise ParameterError(f"{type(self).__name__} needs both bounds or none")
        if self.low is None or self.high is None:
            return
        try:
            low, high = float(self.low), float(self.high)
        except (TypeError, ValueError, OverflowError):
            name, others = type(self).__name__, "dates" if isinstance(self, Date) else "numbers"
            raise ParameterError(f"the bounds of {name} must be {others}") from None
        width = high - low
        if not (math.isfinite(width) and 1e-90 < width < 1e90 and max(-low, high) < 1e90):
            raise ParameterError(
                f"{type(self).__name__}({low!r}, {high!r}) must have low < high, both below 1e90"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds, if there are any."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Date(Numeric):
    """A column of dates, or of dates with times, as days since 1970-01-01 00:00 UTC.

    Parameters
    ----------
    low, high : str, date, datetime or float, optional
        Public bounds, as in :class:`Numeric`: ``"2021-01-01"``, or days since 1970-01-01.

    Notes
    -----
    Columns whose type says so are dates by themselves, and numbers are refused in their place.

    Examples
    --------
    >>> Date("1970-01-01", "1970-02-01").bounds
    (0.0, 31.0)
    """

    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        for name in ("low", "high"):
            object.__setattr__(self, name, _days(getattr(self, name)))
        super().__post_init__()


@dataclass(frozen=True)
class Binary:
    """A column of zeros and ones; other numbers are cut to the nearest between them."""


@dataclass(frozen=True, init=False)
class Categorical:
    """A column that has one of a few levels, each with an effect of its own.

    Parameters
    ----------
    levels : sequence of str, or of int
        All levels that are known without a look at the data: from a form, a law, a code book. A
        value that is none of them counts as no level at all. Whole numbers match numbers of any
        type, and false and true as 0 and 1.
    """

    levels: tuple[Level, ...]

    # Written out, so that type checkers take lists, too, and know that they become tuples.
    def __init__(self, levels: Iterable[Level]) -> None:
        if isinstance(levels, str):
            raise ParameterError("levels must be a list, for example Categorical(['a', 'b'])")
        try:
            given = list(levels)
        except TypeError:
            raise ParameterError("levels must be a list of texts or of whole numbers") from None
        plain: list[Any] = [v.item() if isinstance(v, np.generic) else v for v in given]
        if not 1 <= len(plain) <= _MOST_LEVELS:
            raise ParameterError(f"Categorical needs from 1 to {_MOST_LEVELS} levels")
        if all(isinstance(level, int) for level in plain):
            plain = [int(level) for level in plain]
            if max(map(abs, plain)) > _LARGEST_LEVEL:
                raise ParameterError("levels that are numbers must be below 2**53 in size")
        elif not all(isinstance(level, str) for level in plain):
            raise ParameterError("levels must be all texts, or all whole numbers")
        if len(set(plain)) < len(plain):
            raise ParameterError("a level is listed twice")
        object.__setattr__(self, "levels", tuple(plain))

    @property
    def is_text(self) -> bool:
        """Whether the levels are texts."""
        return isinstance(self.levels[0], str)


Kind: TypeAlias = Numeric | Binary | Categorical


def terms(kinds: Sequence[Kind]) -> list[tuple[int, int | None]]:
    """Return what a linear model has coefficients for: columns, or instead their levels."""
    found: list[tuple[int, int | None]] = []
    for column, kind in enumerate(kinds):
        if isinstance(kind, Categorical):
            found += [(column, level) for level in range(len(kind.levels))]
        else:
            found.append((column, None))
    return found


def to_plain(kind: Kind) -> dict[str, Any]:
    """Return a kind as what JSON has words for."""
    match kind:
        case Binary():
            return {"kind": "binary"}
        case Categorical(levels):
            return {"kind": "categorical", "levels": list(levels)}
        case Date(low, high):
            if low is None:
                return {"kind": "date"}
            return {"kind": "date", "low": _written(low), "high": _written(high)}
        case Numeric(low, high):
            return (
                {"kind": "numeric"}
                if low is None
                else {"kind": "numeric", "low": low, "high": high}
            )


def from_plain(plain: Any, what: str) -> Kind:
    """Return a kind from its fields; `what` has it, in messages."""
    if not isinstance(plain, dict) or "kind" not in plain:
        raise ParameterError(f'{what} needs a "kind": {_either(_FIELDS)}')
    kind, given = plain["kind"], plain.keys() - {"kind"}
    if kind not in list(_FIELDS):
        raise ParameterError(f'{what} has "kind": {json.dumps(kind)}; {meant(kind, _FIELDS)}')
    for field in sorted(given - set(_FIELDS[kind])):
        raise ParameterError(
            f"{what} is {kind}, without {json.dumps(field)}; {meant(field, _FIELDS[kind])}"
        )
    try:
        if kind == "binary":
            return Binary()
        if kind in ("numeric", "date"):
            return (Date if kind == "date" else Numeric)(plain.get("low"), plain.get("high"))
        if not isinstance(plain.get("levels"), list):
            raise ParameterError('"levels" must be a list, for example ["no", "yes"]')
        return Categorical(tuple(plain["levels"]))
    except ParameterError as error:
        problem = str(error)
    raise ParameterError(f"{what}: {problem}")


def meant(word: Any, known: Collection[str]) -> str:
    """Return what may have been meant by a word."""
    similar = difflib.get_close_matches(str(word), list(known), 1)
    if similar:
        return f"did you mean {json.dumps(similar[0])}?"
    return f"it may be {_either(known)}" if known else "leave it out"


def _either(words: Iterable[str]) -> str:
    return " or ".join(map(json.dumps, words))


def _days(bound: Any) -> Any:
    """Return a bound of dates as days since 1970-01-01; numbers and None as they are."""
    if isinstance(bound, str):
        try:
            bound = datetime.datetime.fromisoformat(bound)
        except ValueError:
            raise ParameterError('the bounds of Date must be dates, as "2021-01-01"') from None
    if isinstance(bound, datetime.date) and not isinstance(bound, datetime.datetime):
        bound = datetime.datetime.combine(bound, datetime.time())
    if isinstance(bound, datetime.datetime):
        aware = bound if bound.tzinfo is not None else bound.replace(tzinfo=datetime.UTC)
        return (aware - _EPOCH) / datetime.timedelta(days=1)
    return bound


def _written(days: float) -> str | float:
    """Return days as a date if they are whole, so that the same bits are read again."""
    try:
        date = _EPOCH.date() + datetime.timedelta(days=int(days))
    except OverflowError:
        return days
    return date.isoformat() if days == int(days) else days
