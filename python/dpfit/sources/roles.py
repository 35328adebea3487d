"""What the columns of a table are for: target, unit, features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dpfit.exceptions import ParameterError
from dpfit.sources.problems import no_column, no_features, same_name_twice

__all__ = ["Roles", "feature_places", "library_of"]


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for.

    Parameters
    ----------
    target, unit : str or array-like, optional
        The target, and the person that each row belongs to: the name of a column, or one value for
        each row.
    names : sequence of str, optional
        The features, if they are known. By default all columns that have no other role.
    without : sequence of str
        Columns to ignore, if the table has them.
    weight : str or array-like, optional
        The weight of each row, given as the target is.
    """

    target: Any = None
    unit: Any = None
    names: Sequence[str] | None = None
    without: Sequence[str] = ()
    weight: Any = None

    def require_names(self, *roles: Literal["target", "unit", "weight"]) -> None:
        """Check that these roles are given as names of columns."""
        for role in roles:
            if not isinstance(getattr(self, role), str | None):
                raise ParameterError(
                    f"the {role} of this table must be the name of one of its columns", subject=role
                )

    def ignored(self, columns: Sequence[Any]) -> list[Any]:
        """Return the columns without a role; missing features are reported elsewhere."""
        used = {role for role in (self.target, self.unit, self.weight) if isinstance(role, str)}
        others = [name for name in columns if name not in used]
        if self.names is None or not set(self.names) <= set(columns):
            return [name for name in others if name in self.without]
        return [name for name in others if name not in self.names]


def feature_places(columns: Sequence[Any], target: Any, unit: Any, weight: Any = None) -> list[int]:
    """Return the positions of the columns that are neither target nor unit nor weight."""
    if len(set(columns)) < len(columns):
        raise same_name_twice()
    roles = (("target", target), ("unit", unit), ("weight", weight))
    named = {role: name for role, name in roles if isinstance(name, str)}
    for role, name in named.items():
        if name not in columns:
            raise no_column(name, f"to use as the {role}", columns)
    if len(set(named.values())) < len(named):
        given = " and ".join(named)
        raise ParameterError(f"{given} must be different columns", subject=given.split()[-1])
    places = [place for place, name in enumerate(columns) if name not in named.values()]
    if not places:
        raise no_features()
    return places


def library_of(table: Any) -> str:
    """Return the library that an object belongs to, without importing it."""
    return type(table).__module__.partition(".")[0]
