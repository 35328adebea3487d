"""Read the schema file of a fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.inputs import check_columns

if TYPE_CHECKING:
    from dpfit.schema import Schema

__all__ = ["read_schema"]

# What looking for fields in any JSON value may raise.
_NOT_A_SCHEMA = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def read_schema(path: Path, columns: Iterable[str], ignored: Sequence[str] = ()) -> Schema:
    """Return the schema in a file.

    Parameters
    ----------
    path : Path
        The file.
    columns : iterable of str
        The columns of the table; the schema must not list others.
    ignored : sequence of str
        Columns that are not features and need no levels.
    """
    from dpfit.exceptions import ParameterError
    from dpfit.schema import Schema

    name = str(path)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise failure(f"there is no file {name!r}", "dpfit schema infer writes a draft") from None
    except UnicodeDecodeError:
        raise wrong_use(f"{name!r} is not a schema: it is not UTF-8") from None
    if not _is_json(text):
        raise wrong_use(f"{name!r} is not a schema: it is not JSON")
    text = _without_columns(text, ignored) if ignored else text
    # First, because a column that is not in the table cannot be left out either.
    check_columns([c["name"] for c in _columns(text)], columns, f"in {name!r}")
    if empty := [c["name"] for c in _columns(text) if _needs_levels(c)]:
        raise wrong_use(
            f"{name!r} lists no levels for {', '.join(map(repr, empty))}",
            'add them, as in "levels": ["no", "yes"]; use --unit for a person-ID column, '
            "--without for others that are not features",
        )
    try:
        return Schema.from_json(text)
    except ParameterError as error:
        problem = error
    raise wrong_use(f"{name!r}: {problem.message}", problem.hint or "")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _columns(text: str) -> list[dict[str, Any]]:
    """Return the columns that a schema lists by name; none if the text is not a schema."""
    try:
        return [c for c in json.loads(text)["columns"] if isinstance(c.get("name"), str)]
    except _NOT_A_SCHEMA:
        return []


def _needs_levels(column: dict[str, Any]) -> bool:
    return column.get("kind") == "categorical" and not column.get("levels", True)


def _without_columns(text: str, names: Sequence[str]) -> str:
    """Return a schema without some columns; text that is not a schema is returned unchanged."""
    try:
        schema = json.loads(text)
        schema["columns"] = [c for c in schema["columns"] if c.get("name") not in names]
    except _NOT_A_SCHEMA:
        return text
    return json.dumps(schema)
