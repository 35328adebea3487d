"""Schemas: what is known about a table without looking at it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias, cast

from dpfit._similar import similar_name
from dpfit.exceptions import Code, ParameterError
from dpfit.schema.kinds import KINDS, Kind, Numeric, about
from dpfit.schema.plain import from_plain, suggestion, to_plain

__all__ = ["Schema"]

_VERSION = 1

Key: TypeAlias = str | int


class Schema(Mapping[Key, Kind]):
    """What is known about columns without looking at the data.

    Parameters
    ----------
    columns : mapping of str or int to Numeric, Date, Binary or Categorical, optional
        Kinds by column name or position. The kind of a column that is not listed follows from its
        type: ``Binary()`` for booleans, ``Date()`` for dates, ``Categorical(...)`` for types that
        declare levels, and ``Numeric()`` for all others.
    target : Numeric, optional
        Bounds of the target.

    Privacy
    -------
    A schema is treated as public and costs little or no budget. Bounds must come from knowledge
    about the measurement, and levels from an existing list, never from the data. Wrong bounds make
    the model worse, not less private: values outside of them are clipped, and levels that are not
    listed have no effect.

    Examples
    --------
    >>> from dpfit import Binary, Numeric, Schema
    >>> schema = Schema({"age": Numeric(0, 120), "smoker": Binary()}, target=Numeric(0, 1e5))
    >>> schema["age"].bounds
    (0.0, 120.0)
    """

    def __init__(
        self, columns: Mapping[Any, Kind] | None = None, *, target: Numeric | None = None
    ) -> None:
        try:
            kinds = dict(columns or {})
        except (TypeError, ValueError):
            problem = 'columns must map names to kinds, as in {"age": Numeric(0, 120)}'
            raise ParameterError(problem, subject="columns") from None
        for key, kind in kinds.items():
            if not isinstance(key, str | int) or isinstance(key, bool):
                problem = f"a column must be a name or a position, got {key!r}"
                raise ParameterError(problem, subject="columns")
            if not isinstance(kind, Kind):
                known = ", ".join(cls.__name__ for cls in KINDS.values())
                problem = f"the kind of column {key!r} must be one of {known}"
                raise ParameterError(problem, subject=str(key))
        if target is not None and not isinstance(target, Numeric):
            raise ParameterError("target must be Numeric(low, high)", subject="target")
        if target is not None and target.missing is not None:
            problem = "missing is for features: rows without a target are an error or dropped"
            raise ParameterError(problem, subject="target")
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
        """Return the schema that the types of a frame declare.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, or any other that narwhals supports
            Booleans become ``Binary()``, a pandas ``Categorical`` or polars ``Enum`` becomes
            ``Categorical`` with the levels of its type, dates become ``Date()`` and numbers
            ``Numeric()``.
        columns : mapping, optional
            Kinds of columns that replace those of the types.
        target : str or Numeric, optional
            The name of the target column, or bounds of the target.

        Raises
        ------
        ParameterError
            For a column of strings without levels.

        Privacy
        -------
        Only types are read, no values. Types are public only if they were not made from the data:
        ``astype("category")`` takes the levels from the data.
        """
        # The only import from a layer above: sources know the types of all kinds of tables.
        from dpfit.sources import declared_kinds
        from dpfit.sources.problems import no_column, text_columns

        declared = declared_kinds(frame)
        if isinstance(target, str):
            if target not in declared:
                raise no_column(target, "to use as the target", declared)
            del declared[target]
        known = dict(columns or {})
        kinds: dict[Key, Kind] = {}
        strings = [name for name, kind in declared.items() if kind is None and name not in known]
        if strings:
            raise text_columns(*strings)
        for name, kind in declared.items():
            kinds[name] = known.pop(name) if name in known else cast(Kind, kind)
        for name in known:
            raise _not_in_table(name, declared)
        return cls(kinds, target=None if isinstance(target, str) else target)

    def to_json(self) -> str:
        """Return the schema as JSON, for :meth:`from_json`."""
        columns = [
            {"name" if isinstance(key, str) else "position": key, **to_plain(kind)}
            for key, kind in self._columns.items()
        ]
        plain = {"dpfit_schema": _VERSION, "columns": columns, "target": to_plain(self.target)}
        return json.dumps(plain, indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | os.PathLike[str]) -> Self:
        """Return the schema that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str or path
            The JSON, or a file that contains it.

        Raises
        ------
        ParameterError
            If it is not the JSON of a schema, or if levels still have to be listed.
        OSError
            If the file cannot be read.
        """
        plain = _loaded(text)
        if not isinstance(plain, dict) or "dpfit_schema" not in plain:
            raise _not_a_schema('a schema must be a JSON object with "dpfit_schema": 1')
        if plain["dpfit_schema"] != _VERSION:
            raise _not_a_schema("the schema was written by another version of dpfit")
        known = ("columns", "target")
        for word in sorted(plain.keys() - {"dpfit_schema", *known}):
            raise _not_a_schema(f"a schema has no {json.dumps(word)}", suggestion(word, known))
        columns = plain.get("columns", [])
        if not isinstance(columns, list) or not all(isinstance(entry, dict) for entry in columns):
            raise _not_a_schema('"columns" must be a list of objects')
        _check_levels(columns)
        kinds: dict[Key, Kind] = {}
        for number, entry in enumerate(columns, 1):
            fields = dict(entry)
            keys = [fields.pop(field) for field in ("name", "position") if field in fields]
            if len(keys) != 1 or not isinstance(keys[0], str if "name" in entry else int):
                raise _not_a_schema(f'column number {number} must have a "name" or a "position"')
            if keys[0] in kinds:
                raise _listed_twice(keys[0])
            kinds[keys[0]] = _kind_of(fields, f"column {keys[0]!r}", str(keys[0]))
        target = _kind_of(plain.get("target", {"kind": "numeric"}), "the target", "target")
        if not isinstance(target, Numeric):
            raise _not_a_schema('the target must be of kind "numeric"')
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
            The number of columns.
        declared : sequence of Kind or None, optional
            The kinds that their types declare.

        Raises
        ------
        ParameterError
            If the schema lists a column that is not in the table, or a column twice.
        """
        kinds: list[Kind] = [kind or Numeric() for kind in declared or [None] * count]
        seen = set()
        for key, kind in self._columns.items():
            if isinstance(key, str):
                if names is None or key not in names:
                    raise _not_in_table(key, names or ())
                place = list(names).index(key)
            else:
                place = key + count if key < 0 else key
                if not 0 <= place < count:
                    raise _not_in_table(key)
            if place in seen:
                raise _listed_twice(place)
            seen.add(place)
            kinds[place] = kinds[place].specified(kind)
        return kinds


def _not_in_table(key: Key, names: Iterable[str] = ()) -> ParameterError:
    similar = similar_name(key, names) if isinstance(key, str) else None
    return ParameterError(
        f"the schema's column {key!r} is not in the table",
        code=Code.NO_COLUMN,
        subject=str(key),
        hint=None if similar is None else f"did you mean {similar!r}?",
    )


def _listed_twice(key: Key) -> ParameterError:
    problem = f"the schema lists column {key!r} twice"
    return ParameterError(problem, code=Code.DUPLICATE_COLUMN, subject=str(key))


def _not_a_schema(problem: str, hint: str | None = None) -> ParameterError:
    return ParameterError(problem, code=Code.SCHEMA, hint=hint)


def _kind_of(plain: Any, what: str, subject: str) -> Kind:
    try:
        return from_plain(plain if isinstance(plain, dict) else {})
    except ParameterError as error:
        problem = about(error, what, subject)
    raise problem


def _check_levels(columns: list[dict[str, Any]]) -> None:
    """Raise an error if levels still have to be listed."""
    empty = [c for c in columns if c.get("kind") == "categorical" and c.get("levels") == []]
    if empty:
        names = ", ".join(repr(c.get("name", c.get("position"))) for c in empty)
        raise ParameterError(
            f"the schema has no levels yet for {names}",
            code=Code.NO_LEVELS,
            subject=names,
            hint='list them, as in "levels": ["no", "yes"], or delete the columns',
        )


def _loaded(text: str | os.PathLike[str]) -> Any:
    """Return the JSON of a schema."""
    try:
        return json.loads(_text_of(text))
    except json.JSONDecodeError as error:
        problem = f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
    except (TypeError, ValueError, RecursionError):
        problem = "from_json needs the JSON of a schema, or the name of a file that contains it"
    raise _not_a_schema(problem)


def _text_of(text: str | os.PathLike[str]) -> str:
    """Return the JSON of a schema, which may be in a file."""
    # A schema is a JSON object: a string that begins otherwise may be the name of a file.
    named = isinstance(text, str) and not text.lstrip().startswith("{") and os.path.isfile(text)
    if not named and not isinstance(text, os.PathLike):
        return text
    with open(text, encoding="utf-8") as file:
        return file.read()
