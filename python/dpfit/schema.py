"""What is public about a table before anyone looks at it."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, cast

import numpy as np

from dpfit.exceptions import ParameterError

__all__ = ["Binary", "Categorical", "Kind", "Level", "Numeric", "Schema", "terms"]

Level: TypeAlias = str | int
# Beyond, doubles do not tell whole numbers apart.
_LARGEST_LEVEL = 2**53 - 1
# The core's features end at 8192, the constant included.
_MOST_LEVELS = 4000
_VERSION = 1
# What a kind may have beside its name, in a file.
_FIELDS = {"numeric": ("low", "high"), "binary": (), "categorical": ("levels",)}


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
        except (TypeError, ValueError, OverflowError):
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


@dataclass(frozen=True)
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

    def __post_init__(self) -> None:
        """Check the levels."""
        if isinstance(self.levels, str):
            raise ParameterError("levels must be a list, for example Categorical(['a', 'b'])")
        try:
            given = list(self.levels)
        except TypeError:
            raise ParameterError("levels must be a list of texts or of whole numbers") from None
        levels: list[Any] = [v.item() if isinstance(v, np.generic) else v for v in given]
        if not 1 <= len(levels) <= _MOST_LEVELS:
            raise ParameterError(f"Categorical needs from 1 to {_MOST_LEVELS} levels")
        if all(isinstance(level, int) for level in levels):
            levels = [int(level) for level in levels]
            if max(map(abs, levels)) > _LARGEST_LEVEL:
                raise ParameterError("levels that are numbers must be below 2**53 in size")
        elif not all(isinstance(level, str) for level in levels):
            raise ParameterError("levels must be all texts, or all whole numbers")
        if len(set(levels)) < len(levels):
            raise ParameterError("a level is listed twice")
        object.__setattr__(self, "levels", tuple(levels))

    @property
    def is_text(self) -> bool:
        """Whether the levels are texts."""
        return isinstance(self.levels[0], str)


Kind: TypeAlias = Numeric | Binary | Categorical
Key: TypeAlias = str | int


class Schema(Mapping[Key, Kind]):
    """What is known of columns without looking at the data.

    Parameters
    ----------
    columns : mapping of str or int to Numeric, Binary or Categorical, optional
        Kinds by column name or by position. A column that is not listed is what its type says:
        ``Binary()`` for booleans, ``Categorical(...)`` for a type that declares levels, and
        ``Numeric()`` for all others.
    target : Numeric, optional
        Bounds of the target.

    Privacy
    -------
    Everything in a schema is taken as public and costs little or nothing. Bounds must come from
    knowledge about the measurement, levels from a list that was there before, never a look at the
    data. Wrong bounds make the model worse, not less private: values beyond them are cut, levels
    that are not listed count as none.

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
            if not isinstance(kind, Kind):
                raise ParameterError(
                    f"column {key!r} must be Numeric(...), Binary() or Categorical([...])"
                )
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

    @classmethod
    def from_frame(
        cls, frame: Any, columns: Mapping[Any, Kind] | None = None, *, target: Any = None
    ) -> Self:
        """Return the schema that a frame's types declare.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, or any other that narwhals understands
            Booleans become ``Binary()``, a pandas ``Categorical`` or polars ``Enum`` the levels of
            its type, numbers and dates ``Numeric()``.
        columns : mapping, optional
            What is known of columns beyond that; goes before the types.
        target : str or Numeric, optional
            The column that is no feature, or bounds of the target.

        Raises
        ------
        ParameterError
            For a text column whose levels are not given.

        Privacy
        -------
        Types are looked at, values are not. They are public only if they were not made from the
        data: ``astype("category")`` finds the levels there.
        """
        from dpfit.sources import declared_kinds, text_problem

        declared = declared_kinds(frame)
        if isinstance(target, str):
            if target not in declared:
                raise ParameterError(f"the table has no column {target!r} to be the target")
            del declared[target]
        known = dict(columns or {})
        kinds: dict[Key, Kind] = {}
        texts = [name for name, kind in declared.items() if kind is None and name not in known]
        if texts:
            raise ParameterError(text_problem(*texts))
        for name, kind in declared.items():
            kinds[name] = known.pop(name) if name in known else cast(Kind, kind)
        for name in known:
            raise ParameterError(f"the schema's column {name!r} is not in the table")
        return cls(kinds, target=None if isinstance(target, str) else target)

    def to_json(self) -> str:
        """Return the schema as JSON text, for :meth:`from_json`."""
        columns = [
            {"name" if isinstance(key, str) else "position": key, **_to_plain(kind)}
            for key, kind in self._columns.items()
        ]
        plain = {"dpfit_schema": _VERSION, "columns": columns, "target": _to_plain(self.target)}
        return json.dumps(plain, indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ParameterError
            If the text is not such JSON.
        """
        try:
            plain = json.loads(text)
        except json.JSONDecodeError as error:
            raise ParameterError(
                f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
            ) from None
        except (TypeError, ValueError, RecursionError):
            raise ParameterError(
                "from_json takes the text of a schema, for example Path(...).read_text()"
            ) from None
        if not isinstance(plain, dict) or "dpfit_schema" not in plain:
            raise ParameterError('a schema is a JSON object with "dpfit_schema": 1')
        if plain["dpfit_schema"] != _VERSION:
            raise ParameterError("the schema was written by another version of dpfit")
        if unknown := plain.keys() - {"dpfit_schema", "columns", "target"}:
            word = min(unknown)
            known = ("columns", "target")
            raise ParameterError(f"a schema has no {json.dumps(word)}; {_meant(word, known)}")
        kinds: dict[Key, Kind] = {}
        columns = plain.get("columns", [])
        if not isinstance(columns, list) or not all(isinstance(entry, dict) for entry in columns):
            raise ParameterError('"columns" must be a list of objects')
        for entry in columns:
            fields = dict(entry)
            keys = [fields.pop(field) for field in ("name", "position") if field in fields]
            if len(keys) != 1 or not isinstance(keys[0], str if "name" in entry else int):
                raise ParameterError(
                    'every column needs a "name" or a "position": '
                    f"number {len(kinds) + 1} has {'both' if len(keys) > 1 else 'none'}"
                )
            if keys[0] in kinds:
                raise ParameterError(f"the schema lists column {keys[0]!r} twice")
            kinds[keys[0]] = _from_plain(fields, f"column {keys[0]!r}")
        target = _from_plain(plain.get("target", {"kind": "numeric"}), "the target")
        if not isinstance(target, Numeric):
            raise ParameterError('the target must be of kind "numeric"')
        return cls(kinds, target=target)

    def resolve(
        self, names: Sequence[str] | None, count: int, declared: Sequence[Kind | None] | None = None
    ) -> list[Kind]:
        """Return the kind of every column.

        Parameters
        ----------
        names : sequence of str or None
            Names of the columns, if they have any.
        count : int
            How many there are.
        declared : sequence of Kind or None, optional
            What their types say, where they say something.

        Raises
        ------
        ParameterError
            If the schema lists a column that is not there, or one of them twice.
        """
        kinds: list[Kind] = [kind or Numeric() for kind in declared or [None] * count]
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


def terms(kinds: Sequence[Kind]) -> list[tuple[int, int | None]]:
    """Return what a linear model has coefficients for: columns, or instead their levels."""
    found: list[tuple[int, int | None]] = []
    for column, kind in enumerate(kinds):
        if isinstance(kind, Categorical):
            found += [(column, level) for level in range(len(kind.levels))]
        else:
            found.append((column, None))
    return found


def _to_plain(kind: Kind) -> dict[str, Any]:
    match kind:
        case Binary():
            return {"kind": "binary"}
        case Categorical(levels):
            return {"kind": "categorical", "levels": list(levels)}
        case Numeric(low, high):
            return (
                {"kind": "numeric"}
                if low is None
                else {"kind": "numeric", "low": low, "high": high}
            )


def _from_plain(plain: Any, what: str) -> Kind:
    """Return a kind from its fields; `what` has it, in messages."""
    if not isinstance(plain, dict) or "kind" not in plain:
        raise ParameterError(f'{what} needs a "kind": {_either(_FIELDS)}')
    kind, given = plain["kind"], plain.keys() - {"kind"}
    if kind not in list(_FIELDS):
        raise ParameterError(f'{what} has "kind": {json.dumps(kind)}; {_meant(kind, _FIELDS)}')
    for field in sorted(given - set(_FIELDS[kind])):
        raise ParameterError(
            f"{what} is {kind}, without {json.dumps(field)}; {_meant(field, _FIELDS[kind])}"
        )
    try:
        if kind == "binary":
            return Binary()
        if kind == "numeric":
            return Numeric(plain.get("low"), plain.get("high"))
        if not isinstance(plain.get("levels"), list):
            raise ParameterError('"levels" must be a list, for example ["no", "yes"]')
        return Categorical(tuple(plain["levels"]))
    except ParameterError as error:
        problem = str(error)
    raise ParameterError(f"{what}: {problem}")


def _meant(word: Any, known: Collection[str]) -> str:
    """Return what may have been meant by a word."""
    similar = difflib.get_close_matches(str(word), list(known), 1)
    if similar:
        return f"did you mean {json.dumps(similar[0])}?"
    return f"it may be {_either(known)}" if known else "leave it out"


def _either(words: Iterable[str]) -> str:
    return " or ".join(map(json.dumps, words))
