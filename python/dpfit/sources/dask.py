"""Frames and arrays of Dask: their partitions stay on the workers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from dpfit.exceptions import ParameterError, SourceError
from dpfit.schema import Kind
from dpfit.sources.arrays import ArraySource
from dpfit.sources.blocks import (
    Block,
    Failure,
    Quantise,
    Statistic,
    encoded,
    frame_source,
    guarded,
)
from dpfit.sources.cluster import FAN_IN, ClusterSource, Parts, computed
from dpfit.sources.columns import encode_array
from dpfit.sources.frames import encode_series, unit_values
from dpfit.sources.source import Predictor, Source
from dpfit.table import Array, Batch
from dpfit.units import owners

__all__ = ["DaskArraySource", "DaskFrameSource", "dask_source"]


def dask_source(table: Any, target: Any, unit: Any, without: Sequence[str]) -> Source:
    """Return a Dask frame or array as a source of rows.

    Parameters
    ----------
    table : dask.dataframe.DataFrame or dask.array.Array
        The table.
    target : str, Dask series or Dask array, optional
        The name of a frame's column; or values in the same partitions as the table's.
    unit : str, optional
        The name of a frame's column.
    without : sequence of str
        Columns that are left out, if they are there.
    """
    import dask.array

    if unit is not None and not isinstance(unit, str):
        raise ParameterError("the unit of a Dask table is one of its columns: give its name")
    if isinstance(table, dask.array.Array):
        if isinstance(target, str) or unit is not None:
            name = target if isinstance(target, str) else unit
            raise ParameterError(f"a Dask array has no column {name!r}: its columns have no names")
        return DaskArraySource(table, target)
    import dask.dataframe

    if isinstance(table, dask.dataframe.DataFrame):
        left_out = [name for name in without if name in table.columns]
        return DaskFrameSource(table.drop(columns=left_out) if left_out else table, target, unit)
    raise ParameterError("a Dask table must be a dask.dataframe.DataFrame or a dask.array.Array")


class DaskFrameSource(ClusterSource):
    """Rows of a Dask frame.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
        The frame.
    target : str, Dask series or Dask array, optional
        The name of its column that is the target, or the target in the same partitions.
    unit : str, optional
        The name of its column that says whose row it is.
    """

    def __init__(self, table: Any, target: Any = None, unit: str | None = None) -> None:
        import pandas as pd

        if not table.columns.is_unique:
            raise SourceError("two columns of the table have the same name")
        if unit is not None and not isinstance(target, str):
            raise ParameterError("with a unit, the target is a column too: give its name")
        # Types are all that is looked at.
        empty = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in table.dtypes.items()})
        features = frame_source(empty, target if isinstance(target, str) else None, unit)
        self.names = features.names
        self.declared = features.declared
        for place, name in enumerate(self.names or ()):
            if empty[name].dtype == "category" and not table[name].cat.known:
                # The levels are those of the rows, and not of the type.
                self.declared[place] = None
        self._table, self._target, self._unit = table, target, unit

    def parts(self, kinds: Sequence[Kind], max_rows: int | None) -> Parts:
        """Let the workers make numbers of the partitions, and keep them."""
        import dask

        table, target, unit = self._table, self._target, self._unit
        if unit is not None:
            table = _by_unit(table, unit)
        encode = dask.delayed(_encode_frame)
        settings = dask.delayed((list(kinds), unit, max_rows), traverse=False)
        rows = _partitions(table)
        targets = [target] * len(rows)
        if target is not None and not isinstance(target, str):
            targets = _matching(target, rows)
        parts = [encode(*pair, settings) for pair in zip(rows, targets, strict=True)]
        return _DaskParts(parts)

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return a Dask series: predictions are made when it is computed."""
        return self._table.map_partitions(
            _predict_frame, list(kinds), predictor, meta=("prediction", np.float64)
        )


class DaskArraySource(ClusterSource):
    """Rows of a Dask array.

    Parameters
    ----------
    x : dask.array.Array of shape (n, d)
        Numbers.
    y : Dask series or Dask array, optional
        The target, in chunks as those of x or of known sizes.
    """

    def __init__(self, x: Any, y: Any = None) -> None:
        if x.ndim != 2:
            raise ParameterError("Expected 2D array, got an array of another number of dimensions")
        if np.isnan(x.shape[1]):
            raise ParameterError("the number of columns of X must be known")
        if x.dtype.kind not in "iufbOU":
            raise ParameterError("X must be a table of numbers")
        self.names = None
        # As of an array in memory.
        like = ArraySource(np.zeros((0, x.shape[1]), dtype=x.dtype), None)
        self.declared = like.declared
        # A block has all columns.
        self._x = x.rechunk({1: -1}) if x.numblocks[1] > 1 else x
        self._y = y

    def parts(self, kinds: Sequence[Kind], max_rows: int | None) -> Parts:
        """Let the workers make numbers of the partitions, and keep them."""
        import dask

        encode = dask.delayed(_encode_array)
        settings = dask.delayed(list(kinds), traverse=False)
        rows, y = _partitions(self._x), self._y
        known = not any(np.isnan(self._x.chunks[0]))
        if hasattr(y, "rechunk") and y.ndim == 1 and known and y.chunks[0] != self._x.chunks[0]:
            if y.shape[0] != self._x.shape[0]:
                raise ParameterError("X and y must have the same number of rows")
            y = y.rechunk((self._x.chunks[0],))
        pairs = zip(rows, _matching(y, rows), strict=True)
        parts = [encode(*pair, settings) for pair in pairs]
        return _DaskParts(parts)

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return a Dask array: predictions are made when it is computed."""
        return self._x.map_blocks(
            _predict_array, list(kinds), predictor, drop_axis=1, dtype=np.float64
        )


class _DaskParts(Parts):
    """Parts that are kept: by the workers of a cluster, or by this process if there is none."""

    def __init__(self, parts: list[Any]) -> None:
        import dask

        self._parts: list[Any] = list(computed(lambda: dask.persist(*parts), "Dask"))

    def reduce(self, statistic: Statistic[Any]) -> list[bytes]:
        """Return one sum, from a tree of tasks."""
        import dask

        # One task that all others depend on: theta goes to every worker once.
        asked = dask.delayed(statistic, traverse=False)
        summed, merged = dask.delayed(_summed), dask.delayed(_merged)
        sums = [summed(part, asked) for part in self._parts]
        while len(sums) > 1:
            starts = range(0, len(sums), FAN_IN)
            sums = [merged(sums[start : start + FAN_IN], asked) for start in starts]
        (total,) = computed(lambda: dask.compute(*sums), "Dask")
        if isinstance(total, Failure):
            raise total.error()
        return [] if total is None else [total]

    def quantised(self, quantise: Quantise) -> Self:
        """Return blocks, which Dask makes anew if it loses them."""
        import dask

        asked = dask.delayed(quantise, traverse=False)
        act = dask.delayed(_quantised)
        return type(self)([act(part, asked) for part in self._parts])

    def release(self) -> None:
        """Let go of the parts, whoever else may hold a reference to their futures."""
        parts, self._parts = self._parts, []
        distributed = sys.modules.get("distributed")
        if distributed is not None:
            for future in distributed.futures_of(parts):
                future.release()


def _partitions(table: Any) -> list[Any]:
    parts = table.to_delayed()
    return list(parts) if isinstance(parts, list) else list(parts.ravel())


def _matching(target: Any, rows: list[Any]) -> list[Any]:
    """Return the partitions of a target, one for each of the table's."""
    if not hasattr(target, "to_delayed") or target.ndim != 1:
        raise ParameterError(
            "the target of a Dask table is one of its columns, or a Dask series or array of one "
            "dimension"
        )
    parts = _partitions(target)
    if len(parts) != len(rows):
        raise ParameterError("X and y must have the same partitions")
    return parts


def _by_unit(table: Any, unit: str) -> Any:
    """Return the rows, all of a unit in one partition.

    Privacy
    -------
    At most `max_rows` rows of a unit count, because each partition sees to it. So a unit must not
    be in two of them. They are told apart by a hash of what the unit is as text: that of a number
    itself depends on its type, which partitions may not agree on.
    """
    name = "unit"
    while name in table.columns:
        name += "_"
    hashes = table[unit].map_partitions(_unit_hashes, meta=(name, np.uint64))
    # By tasks, so that of a worker that is lost only its own part is made anew.
    shuffled = table.assign(**{name: hashes}).shuffle(on=name, shuffle_method="tasks")
    return shuffled.drop(columns=name)


def _unit_hashes(units: Any) -> Any:
    import narwhals as nw
    import pandas as pd

    def act() -> Any:
        found = owners(unit_values(nw.from_native(units, series_only=True)), len(units))
        values, places = np.unique(found, return_inverse=True)
        texts = np.array([str(value) for value in values.tolist()], dtype=object)
        return pd.util.hash_array(texts, categorize=False)[places]

    hashes = guarded(act) if len(units) else np.zeros(0, dtype=np.uint64)
    # Units that cannot be told apart stay together, and are refused where they are counted.
    if isinstance(hashes, Failure):
        hashes = np.zeros(len(units), dtype=np.uint64)
    return pd.Series(hashes, index=units.index)


def _encode_frame(
    frame: Any, target: Any, settings: tuple[list[Kind], str | None, int | None]
) -> list[Batch] | Failure:
    def act() -> list[Batch]:
        kinds, unit, max_rows = settings
        y = target if isinstance(target, str) else _numbers(target)
        return encoded(frame_source(frame, y, unit), kinds, max_rows)

    return _safely(act)


def _encode_array(x: Array, y: Any, kinds: list[Kind]) -> list[Batch] | Failure:
    def act() -> list[Batch]:
        numbers = _numbers(y)
        if len(numbers) != len(x):
            raise ParameterError("X and y must have the same number of rows")
        return encoded(ArraySource(_readable(x), numbers), kinds, None)

    return _safely(act)


def _safely(act: Callable[[], list[Batch]]) -> list[Batch] | Failure:
    found: list[Batch] | Failure = guarded(act)
    return found


def _summed(part: list[Any] | Failure, statistic: Statistic[Any]) -> bytes | Failure | None:
    def act(part: list[Any]) -> bytes | None:
        total = statistic.of(part)
        return None if total is None else total.to_bytes()

    found: bytes | Failure | None = guarded(act, part)
    return found


def _merged(
    sums: list[bytes | Failure | None], statistic: Statistic[Any]
) -> bytes | Failure | None:
    def act(*sums: bytes | None) -> bytes | None:
        total = statistic.merge(packed for packed in sums if packed is not None)
        return None if total is None else total.to_bytes()

    found: bytes | Failure | None = guarded(act, *sums)
    return found


def _quantised(part: list[Batch] | Failure, quantise: Quantise) -> list[Block] | Failure:
    found: list[Block] | Failure = guarded(lambda part: list(quantise(part)), part)
    return found


def _predict_frame(frame: Any, kinds: list[Kind], predictor: Predictor) -> Any:
    return frame_source(frame).predict(kinds, predictor)


def _predict_array(x: Array, kinds: list[Kind], predictor: Predictor) -> Array:
    predictions: Array = ArraySource(_readable(x), None).predict(kinds, predictor)
    return predictions


def _readable(x: Array) -> Array:
    """Return an array of a type that the core reads."""
    if x.dtype.kind == "U":
        return x.astype(object)
    odd = x.dtype.kind == "f" and x.dtype.itemsize not in (4, 8)
    return x.astype(np.float64) if odd else x


def _numbers(target: Any) -> Array:
    """Return a target's partition as numbers."""
    import narwhals as nw

    if isinstance(target, np.ndarray):
        return encode_array(target, None, "y")
    return encode_series(nw.from_native(target, series_only=True), None, "y")
