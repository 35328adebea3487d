"""What is public about a table before anyone looks at it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias, cast

from dpfit.exceptions import ParameterError
from dpfit.kinds import (
    Binary,
    Categorical,
    Date,
    Kind,
    Level,
    Numeric,
    from_plain,
    meant,
    terms,
    to_plain,
)

__all__ = ["Binary", "Categorical", "Date", "Kind", "Level", "Numeric", "Schema", "terms"]

_VERSION = 1

Key: TypeAlias = str | int


class Schema(Mapping[Key, Kind]):
    """What is known of columns without looking at the data.

    Parameters
    ----------
    columns : mapping of str or int to Numeric, Date, Binary or Categorical, optional
        Kinds by column name or by position. A column that is not listed is what its type says:
        ``Binary()`` for booleans, ``Date()`` for dates, ``Categorical(...)`` for a type that
        declares levels, and ``Numeric()`` for all others.
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
        try:
            kinds = dict(columns or {})
        except (TypeError, ValueError):
            raise ParameterError(
                'columns must be a mapping of names to kinds, as {"age": Numeric(0, 120)}'
            ) from None
        for key, kind in kinds.items():
            if not isinstance(key, str | int) or isinstance(key, bool):
                raise ParameterError(f"a column is a name or a position, got {key!r}")
            if not isinstance(kind, Kind):
                raise ParameterError(
                    f"column {key!r} must be Numeric(...), Date(...), Binary() or "
                    "Categorical([...])"
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
            its type, dates ``Date()`` and numbers ``Numeric()``.
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
            {"name" if isinstance(key, str) else "position": key, **to_plain(kind)}
            for key, kind in self._columns.items()
        ]
        plain = {"dpfit_schema": _VERSION, "columns": columns, "target": to_plain(self.target)}
        return json.dumps(plain, indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | os.PathLike[str]) -> Self:
        """Read what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str or path
            The text, or the file that holds it.

        Raises
        ------
        ParameterError
            If the text is not such JSON, or levels are not written yet.
        OSError
            If there is no such file.
        """
        try:
            plain = json.loads(_text_of(text))
        except json.JSONDecodeError as error:
            raise ParameterError(
                f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
            ) from None
        except (TypeError, ValueError, RecursionError):
            raise ParameterError(
                "from_json takes the text of a schema, or the name of a file that holds it"
            ) from None
        if not isinstance(plain, dict) or "dpfit_schema" not in plain:
            raise ParameterError('a schema is a JSON object with "dpfit_schema": 1')
        if plain["dpfit_schema"] != _VERSION:
            raise ParameterError("the schema was written by another version of dpfit")
        if unknown := plain.keys() - {"dpfit_schema", "columns", "target"}:
            word = min(unknown)
            known = ("columns", "target")
            raise ParameterError(f"a schema has no {json.dumps(word)}; {meant(word, known)}")
        kinds: dict[Key, Kind] = {}
        columns = plain.get("columns", [])
        if not isinstance(columns, list) or not all(isinstance(entry, dict) for entry in columns):
            raise ParameterError('"columns" must be a list of objects')
        if empty := [
            c for c in columns if c.get("kind") == "categorical" and c.get("levels") == []
        ]:
            names = ", ".join(repr(c.get("name", c.get("position"))) for c in empty)
            raise ParameterError(
                f'the schema has no levels yet for {names}: write them, as in "levels": ["no", '
                '"yes"], or delete what is no feature'
            )
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
            kinds[keys[0]] = from_plain(fields, f"column {keys[0]!r}")
        target = from_plain(plain.get("target", {"kind": "numeric"}), "the target")
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
            if isinstance(kinds[place], Date) and type(kind) is Numeric:
                # Bounds in days; the type says the rest.
                kind = Date(kind.low, kind.high)
            kinds[place] = kind
        return kinds


def _text_of(text: str | os.PathLike[str]) -> str:
    """Return the text of a schema, which may be in a file."""
    # JSON of a schema is an object: a text that begins otherwise may be a name.
    named = isinstance(text, str) and not text.lstrip().startswith("{") and os.path.isfile(text)
    if not named and not isinstance(text, os.PathLike):
        return text
    with open(text, encoding="utf-8") as file:
        return file.read()
