"""Pairs of neighbouring tables to audit with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpfit._typing import Array

__all__ = ["Neighbours"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two tables that differ in what one person contributes.

    Parameters
    ----------
    first, second : tuple or dict
        What `fit` is called with: positional arguments as a tuple, such as ``(X, y)``, or keyword
        arguments as a dictionary.
    name : str, default "given"
        How the pair is called in the result.

    Notes
    -----
    It is up to the caller that the tables are neighbours. If they are not, an audit finds faults
    that do not exist.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.ones((3, 1)), np.zeros(3)
    >>> pair = Neighbours.adding(X, y, [1.0], 1000.0)
    >>> len(pair.first[1]), len(pair.second[1])
    (3, 4)
    """

    first: Any
    second: Any
    name: str = "given"

    @classmethod
    def adding(cls, X: Any, y: Any, row: Any, target: float, name: str = "given") -> Self:
        """Return a table, and the same table with one more row."""
        X, y = _table(X, y)
        more = np.vstack([X, np.asarray(row, dtype=np.float64)[None, :]]), np.append(y, target)
        return cls((X, y), more, name)

    @classmethod
    def replacing(
        cls, X: Any, y: Any, place: int, row: Any, target: float, name: str = "given"
    ) -> Self:
        """Return a table, and the same table with one row replaced."""
        X, y = _table(X, y)
        other = X.copy(), y.copy()
        other[0][place], other[1][place] = row, target
        return cls((X, y), other, name)


def _table(X: Any, y: Any) -> tuple[Array, Array]:
    return np.array(X, dtype=np.float64), np.array(y, dtype=np.float64)
