"""The kinds of columns. To add one, write a subclass of `Kind` and list it in `KINDS`."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np

from dpfit.exceptions import ParameterError
from dpfit.schema.dates import bound_as_date, bound_in_days

__all__ = [
    "KINDS",
    "MOST_TERMS",
    "Binary",
    "Categorical",
    "Date",
    "Kind",
    "Level",
    "Numeric",
    "about",
    "checked_levels",
    "terms",
]

Level: TypeAlias = str | int
# Doubles represent larger integers inexactly.
_LARGEST_LEVEL = 2**53 - 1
# Most columns of a model, where each level counts as one. The core has room for twice as many
# features (`_native.MOST_FEATURES`).
MOST_TERMS = 4000


class Kind:
    """What a column contains.

    Subclasses are frozen dataclasses. In a file, a kind is the name of its class in lower case,
    with the same fields. Other modules ask for these attributes, never for the class.

    Attributes
    ----------
    levels : tuple of str or int
        The values that each have an effect; empty if the column has one line or curve.
    listed : tuple of str or int
        The values that are encoded as their positions in this list, and all others as -1; empty if
        values are numbers or dates. The same as `levels`, unless positions are to have a line.
    is_binary : bool
        Whether the numbers are 0 and 1.
    is_date : bool
        Whether the values are dates, which are encoded as days.
    is_encoded : bool
        Whether numbers are encoded or refused, instead of used as they are.
    accepts_strings : bool
        Whether the listed values are strings.
    bounds : tuple of float or None
        Public bounds of the numbers.
    needs_range : bool
        Whether the range of the column has to be found privately.
    reference_place : int
        The position of the level that coefficients of other levels are relative to.
    missing : bool or None
        Whether values may be missing, for ``missing="indicator"``. None is False if another column
        of the table has True, and else True.
    """

    levels: tuple[Level, ...] = ()
    missing: bool | None = None
    is_binary: ClassVar[bool] = False
    is_date: ClassVar[bool] = False

    @property
    def listed(self) -> tuple[Level, ...]:
        """The values that are encoded as their positions in this list."""
        return self.levels

    @property
    def is_encoded(self) -> bool:
        """Whether numbers are encoded or refused, instead of used as they are."""
        return self.is_date or bool(self.listed)

    @property
    def accepts_strings(self) -> bool:
        """Whether the listed values are strings."""
        return bool(self.listed) and isinstance(self.listed[0], str)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Public bounds of the numbers."""
        return None

    @property
    def needs_range(self) -> bool:
        """Whether the range of the column has to be found privately."""
        return False

    @property
    def reference_place(self) -> int:
        """The position of the level that coefficients of other levels are relative to."""
        return 0

    def specified(self, kind: Kind) -> Kind:
        """Return the kind of a column of this declared kind that the schema lists as `kind`."""
        return kind

    def plain(self) -> dict[str, Any]:
        """Return the fields that are set, as JSON values."""
        fields = {name: getattr(self, name) for name in self.field_names()}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in fields.items()
            if value is not None
        }

    @classmethod
    def field_names(cls) -> list[str]:
        """Return the names of the fields."""
        return [part.name for part in dataclasses.fields(cast(Any, cls))]

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Return a kind from the fields that :meth:`plain` returned."""
        return cls(**fields)


@dataclass(frozen=True)
class Numeric(Kind):
    """A column of numbers, with or without public bounds.

    Parameters
    ----------
    low, high : float, optional
        Bounds that are known without looking at the data: from a law, a sensor or a form. Values
        outside of them are clipped. Without bounds, a range is found privately, which costs a part
        of the budget.
    missing : bool, optional
        Whether values may be missing, which must be known without looking at the data. It matters
        with ``missing="indicator"``: columns with False, or without True if others have it, have
        no flag, and rows in which their value is missing are dropped.
    """

    low: float | None = None
    high: float | None = None
    missing: bool | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the bounds."""
        name = type(self).__name__
        _check_missing(self.missing)
        if (self.low is None) != (self.high is None):
            raise ParameterError(f"{name} needs both low and high, or neither", subject="low")
        if self.low is None or self.high is None:
            return
        try:
            low, high = float(self.low), float(self.high)
        except (TypeError, ValueError, OverflowError):
            values = "dates" if self.is_date else "numbers"
            problem = f"the bounds of {name} must be {values}"
            raise ParameterError(problem, subject="low") from None
        width = high - low
        if not (math.isfinite(width) and 1e-90 < width < 1e90 and max(-low, high) < 1e90):
            problem = f"{name}({low!r}, {high!r}) must have low < high, both within +-1e90"
            raise ParameterError(problem, subject="low")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Public bounds of the numbers."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def needs_range(self) -> bool:
        """Whether the range of the column has to be found privately."""
        return self.bounds is None


@dataclass(frozen=True)
class Date(Numeric):
    """A column of dates or timestamps, as days since 1970-01-01 00:00 UTC.

    Parameters
    ----------
    low, high : str, date, datetime or float, optional
        Public bounds, as in :class:`Numeric`: ``"2021-01-01"``, or days since 1970-01-01.
    missing : bool, optional
        Whether values may be missing, as in :class:`Numeric`.

    Notes
    -----
    Columns with a date or timestamp type need not be listed. Numbers in a column of dates are an
    error.

    Examples
    --------
    >>> Date("1970-01-01", "1970-02-01").bounds
    (0.0, 31.0)
    """

    low: Any = None
    high: Any = None
    is_date: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the bounds."""
        for name in ("low", "high"):
            object.__setattr__(self, name, bound_in_days(getattr(self, name)))
        super().__post_init__()

    def specified(self, kind: Kind) -> Kind:
        """Return dates with the bounds of `kind`, if these are numbers (of days)."""
        if type(kind) is not Numeric:
            return kind
        return type(self)(kind.low, kind.high, missing=kind.missing)

    def plain(self) -> dict[str, Any]:
        """Return the bounds as dates."""
        return {
            name: value if name == "missing" else bound_as_date(value)
            for name, value in super().plain().items()
        }


@dataclass(frozen=True)
class Binary(Kind):
    """A column of zeros and ones; other numbers are clipped to this range.

    Parameters
    ----------
    missing : bool, optional
        Whether values may be missing, as in :class:`Numeric`.
    """

    missing: bool | None = field(default=None, kw_only=True)
    is_binary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the field."""
        _check_missing(self.missing)


@dataclass(frozen=True, init=False)
class Categorical(Kind):
    """A column whose values are levels, each with its own effect.

    Parameters
    ----------
    levels : sequence of str or int
        The levels, known without looking at the data: from a form, a law or a code book. Other
        values are treated alike. Integers match numbers of any type, and false and true match 0
        and 1.
    reference : str or int, optional
        The level that coefficients of the other levels are relative to; the first one by default.
        It affects what is printed, but not the fit and its predictions.
    missing : bool, optional
        Whether values may be missing, as in :class:`Numeric`; ``missing="indicator"`` adds a level
        for them.
    """

    levels: tuple[Level, ...]
    reference: Level | None
    missing: bool | None

    # Written by hand, so that type checkers accept lists.
    def __init__(
        self,
        levels: Iterable[Level],
        reference: Level | None = None,
        *,
        missing: bool | None = None,
    ) -> None:
        found = checked_levels(levels, type(self).__name__)
        object.__setattr__(self, "levels", found)
        object.__setattr__(self, "reference", _checked_reference(reference, found))
        _check_missing(missing)
        object.__setattr__(self, "missing", missing)

    @property
    def reference_place(self) -> int:
        """The position of the level that coefficients of other levels are relative to."""
        return 0 if self.reference is None else self.levels.index(self.reference)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Return the kind with these levels."""
        if not isinstance(fields.get("levels"), list):
            raise _wrong_levels('"levels" must be a list, for example ["no", "yes"]')
        return cls(fields["levels"], fields.get("reference"), missing=fields.get("missing"))


def checked_levels(levels: Iterable[Level], name: str) -> tuple[Level, ...]:
    """Return levels as strings or integers; `name` is the kind, for messages."""
    given = None
    with contextlib.suppress(TypeError):
        given = None if isinstance(levels, str) else list(levels)
    if given is None:
        raise _wrong_levels(f"levels must be a list, for example {name}(['a', 'b'])")
    plain: list[Any] = [v.item() if isinstance(v, np.generic) else v for v in given]
    # The message does not contain their number, because a type may take them from the data.
    if not 1 <= len(plain) <= MOST_TERMS:
        raise _wrong_levels(f"{name} needs from 1 to {MOST_TERMS} levels")
    if all(isinstance(level, int) for level in plain):
        plain = [int(level) for level in plain]
        if max(map(abs, plain)) > _LARGEST_LEVEL:
            raise _wrong_levels("levels that are integers must be between -2**53 and 2**53")
    elif not all(isinstance(level, str) for level in plain):
        raise _wrong_levels("levels must be all strings or all integers")
    if len(set(plain)) < len(plain):
        raise _wrong_levels("a level is listed twice")
    return tuple(plain)


def _checked_reference(reference: Any, levels: tuple[Level, ...]) -> Level | None:
    """Return a reference as one of the levels."""
    if isinstance(reference, np.generic):
        reference = reference.item()
    if reference is None:
        return None
    # True equals 1, and lists cannot be compared by `in` without surprises.
    if isinstance(reference, str | int) and reference in levels:
        return levels[levels.index(reference)]
    raise ParameterError("reference must be one of the levels", subject="reference")


def _check_missing(missing: Any) -> None:
    if missing is not None and not isinstance(missing, bool):
        raise ParameterError("missing must be True, False or None", subject="missing")


def _wrong_levels(problem: str) -> ParameterError:
    return ParameterError(problem, subject="levels")


# By their names in files.
KINDS: dict[str, type[Kind]] = {
    kind.__name__.lower(): kind for kind in (Numeric, Date, Binary, Categorical)
}


def terms(kinds: Sequence[Kind]) -> list[tuple[int, int | None]]:
    """Return the terms of a linear model: (column, None), or (column, level) for each level."""
    return [
        (column, level)
        for column, kind in enumerate(kinds)
        for level in (range(len(kind.levels)) if kind.levels else [None])
    ]


def about(error: ParameterError, what: str, subject: str) -> ParameterError:
    """Return an error that begins with what it is about, such as "column 'age'"."""
    problem = f"{what}: {error.message}"
    return ParameterError(problem, code=error.code, subject=subject, hint=error.hint)
