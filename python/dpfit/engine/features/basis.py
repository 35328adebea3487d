"""All features of a model: what is stored of a row, and the functions that are linear in it."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from dpfit._typing import Array, Floats
from dpfit.engine.features.functions import Knots
from dpfit.engine.shrinkage import EXPLAINED, Prior
from dpfit.schema import Kind
from dpfit.statistics import LevelColumn, RampColumn

__all__ = ["Basis", "Column", "Function"]

# Maps of fewer entries are not worth leaving out their zeros.
_SMALL = 1 << 13
# The share of rows that a level or a flag is expected to have, until X'X shows it.
_FREQUENCY = 0.15


@dataclass(frozen=True, eq=False)
class Function:
    """A function of one column that the model is linear in.

    Parameters
    ----------
    column : int
        The column of X; -1 for the constant.
    heights : array or None
        Heights at the column's knots; None for a level or a flag, which is one or zero.
    level : int
        The level, for a categorical column.
    is_bend : bool
        Whether it is a bend of a curve and not its line.
    """

    column: int
    heights: Floats | None = None
    level: int = 0
    is_bend: bool = False

    @property
    def variance(self) -> float:
        """The expected mean square."""
        return 1.0 if self.heights is not None or self.column < 0 else _FREQUENCY


@dataclass(frozen=True, eq=False)
class Column:
    """What is stored of a column: ramps between knots, a flag, or levels.

    Parameters
    ----------
    kind : Kind
        What the column is.
    knots : Knots or None
        The knots of a column of numbers; None if it seems to be constant.
    """

    kind: Kind
    knots: Knots | None = None

    @property
    def size(self) -> int:
        """The number of stored features."""
        if self.kind.levels:
            return len(self.kind.levels)
        if self.kind.is_binary:
            return 1
        return 0 if self.knots is None else len(self.knots.places) - 1

    @property
    def middle(self) -> int:
        """The knot at which all ramps are zero: half of the ramps rise on either side of it."""
        return self.size // 2

    @property
    def largest(self) -> float:
        """The largest squared norm of the stored features, before the gain."""
        if self.knots is None:
            return float(self.size > 0)
        return float(max(self.middle, self.size - self.middle))

    def native(self, gain: float) -> RampColumn | LevelColumn:
        """Return the column of the core's row map."""
        if self.kind.levels:
            return len(self.kind.levels), gain
        if self.kind.is_binary:
            return 0.0, 1.0, [(0.0, 1.0, gain)]
        if self.knots is None:
            return 0.0, 1.0, []
        places = self.knots.places
        centre, scale = float(places[self.middle]), float(places[-1] - places[0])
        steps = (places - centre) / scale
        parts = [
            (float(low), float(high), gain / float(high - low))
            for low, high in itertools.pairwise(steps)
        ]
        return centre, scale, parts


@dataclass(frozen=True, eq=False)
class Basis:
    """Stored features, and functions as linear combinations of them; the constant is first.

    Parameters
    ----------
    columns : tuple of Column
        The columns of X.
    functions : tuple of Function
        The functions of the model; the first is the constant.
    """

    columns: tuple[Column, ...]
    functions: tuple[Function, ...]

    @classmethod
    def curves(cls, columns: Sequence[Column]) -> Basis:
        """Return a line and all bends for every column, and an effect for every level."""
        functions = [Function(-1)]
        for place, column in enumerate(columns):
            if column.knots is None:
                functions += [Function(place, level=level) for level in range(column.size)]
                continue
            for i, heights in enumerate(column.knots.functions().T):
                functions.append(Function(place, heights, is_bend=i > 0))
        return cls(tuple(columns), tuple(functions))

    @functools.cached_property
    def gain(self) -> float:
        """The factor of stored features, with which no row is longer than one."""
        # The core leaves room for features, even if there are none.
        return 1.0 / math.sqrt(1.0 + max(sum(column.largest for column in self.columns), 1e-3))

    @property
    def constant_share(self) -> float:
        """The share of the squared norm that the stored constant has."""
        return self.gain**2

    def kept(self, places: Array) -> Basis:
        """Return the basis with some of the functions, in their order."""
        return replace(self, functions=tuple(self.functions[int(i)] for i in places))

    def row_map_columns(self) -> list[RampColumn | LevelColumn]:
        """Return the columns of the core's row map."""
        return [column.native(self.gain) for column in self.columns]

    def stores_as(self, other: Basis) -> bool:
        """Return whether the stored features are those of another basis."""
        return self.row_map_columns() == other.row_map_columns()

    def place(self, column: int) -> int:
        """Return the place of a column's first stored feature."""
        return sum(part.size for part in self.columns[:column])

    @functools.cached_property
    def _map(self) -> Floats | scipy.sparse.csr_array:
        """The values of functions as a linear map of stored features, the constant last."""
        starts = np.cumsum([0, *(column.size for column in self.columns)]).tolist()
        last, rows, places, values = starts[-1], [], [], []
        for place, function in enumerate(self.functions):
            first, heights = starts[function.column], function.heights
            if function.column < 0:
                rows.append([last])
                values.append([1.0])
            elif heights is None:
                rows.append([first + function.level])
                values.append([1.0])
            else:
                # How far a curve rises on each ramp, and its height where all ramps are zero.
                rows.append([*range(first, first + len(heights) - 1), last])
                values.append([*np.diff(heights), heights[self.columns[function.column].middle]])
            places.append([place] * len(rows[-1]))
        entries = (list(itertools.chain(*rows)), list(itertools.chain(*places)))
        numbers, shape = (
            np.array(list(itertools.chain(*values))) / self.gain,
            (last + 1, len(self.functions)),
        )
        if shape[0] * shape[1] > _SMALL:
            return scipy.sparse.csr_array((numbers, entries), shape=shape)
        found = np.zeros(shape)
        found[entries] = numbers
        return found

    def mapped(self, coefficients: Floats) -> Floats:
        """Return what linear combinations of functions are of stored features, the constant last.

        Parameters
        ----------
        coefficients : array of shape (p,) or (p, k)
            The coefficients of one combination, or of each as a column.
        """
        result: Floats = self._map @ coefficients
        return result

    def matrix(self) -> Floats:
        """Return the values of functions as a linear map of stored features, the constant last."""
        result: Floats = self._map if isinstance(self._map, np.ndarray) else self._map.toarray()
        return result

    def prior(self, variance: float) -> Prior:
        """Return what is expected of the functions' coefficients, for a target of this variance.

        Flags share as much as the root of their number of columns would: most flags stand for the
        levels of a few columns.
        """
        flags = sum(function.heights is None for function in self.functions[1:])
        lines = sum(f.heights is not None and not f.is_bend for f in self.functions)
        line = EXPLAINED * variance / max(lines + math.sqrt(flags), 1.0)
        variances = [variance]
        blocks: list[list[int]] = []
        bends = (line * Prior.of_bends(len(self.functions))).tolist()
        for place, function in enumerate(self.functions[1:], start=1):
            if function.heights is None:
                # A flag varies less than a column of variance one.
                variances.append(line / _FREQUENCY / math.sqrt(flags))
            elif function.is_bend:
                if self.functions[place - 1].is_bend:
                    blocks[-1].append(place)
                else:
                    blocks.append([place])
                variances.append(bends[len(blocks[-1]) - 1])
            else:
                variances.append(line)
        return Prior(np.array(variances), tuple(np.array(block) for block in blocks))
