"""Kinds of columns as JSON values, for schema files."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable
from typing import Any

from dpfit.exceptions import Code, ParameterError
from dpfit.schema.kinds import KINDS, Kind

__all__ = ["from_plain", "suggestion", "to_plain"]


def to_plain(kind: Kind) -> dict[str, Any]:
    """Return a kind as JSON values."""
    return {"kind": type(kind).__name__.lower(), **kind.plain()}


def from_plain(plain: dict[str, Any]) -> Kind:
    """Return the kind that :func:`to_plain` described."""
    fields = dict(plain)
    name = fields.pop("kind", None)
    if not isinstance(name, str):
        problem = f'"kind" must be {_either(KINDS)}'
        raise ParameterError(problem, code=Code.SCHEMA, subject="kind")
    if name not in KINDS:
        problem = f'unknown "kind" {json.dumps(name)}'
        raise ParameterError(
            problem, code=Code.SCHEMA, subject="kind", hint=suggestion(name, KINDS)
        )
    known = KINDS[name].field_names()
    for unknown in sorted(fields.keys() - set(known)):
        if not difflib.get_close_matches(unknown, known, 1):
            # Whoever means something else rarely means this.
            known = [own for own in known if own != "missing"]
        problem = f"a {name} column has no field {json.dumps(unknown)}"
        raise ParameterError(
            problem, code=Code.SCHEMA, subject=unknown, hint=suggestion(unknown, known)
        )
    return KINDS[name].from_fields(fields)


def suggestion(word: str, known: Collection[str]) -> str:
    """Return a hint for a word that is not one of those known."""
    similar = difflib.get_close_matches(word, list(known), 1)
    if similar:
        return f"did you mean {json.dumps(similar[0])}?"
    return f"use {_either(known)}" if known else "remove it"


def _either(words: Iterable[str]) -> str:
    return " or ".join(map(json.dumps, words))
