"""Frames and arrays of Dask: their partitions stay on the workers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from dpfit._typing import Array, Batch, Missing
from dpfit.exceptions import Code, ParameterError, SourceError
from dpfit.schema import Kind
from dpfit.sources.arrays import ArraySource
from dpfit.sources.columns import encode_array
from dpfit.sources.engines.cluster import FAN_IN, ClusterParts, ClusterSource, computed
from dpfit.sources.engines.versions import Installed, check_installed, describe
from dpfit.sources.engines.worker import (
    AsPart,
    Block,
    Failure,
    ToBlocks,
    encoded,
    guarded,
    merged_bytes,
    summed_bytes,
)
from dpfit.sources.frames import FrameSource, encode_series
from dpfit.sources.problems import lengths_differ, no_column, same_name_twice
from dpfit.sources.roles import Roles, library_of
from dpfit.sources.source import Change, Predictor, Reading
from dpfit.sources.units import series_units, unit_ids
from dpfit.statistics import Route, Statistic

__all__ = ["DaskArraySource", "DaskFrameSource"]

_PYTHON_HINT = "install the same versions there, or start the workers with a Python that has them"

# The hash of a unit if hashes cannot be computed.
_NO_HASH = 0


class DaskFrameSource(ClusterSource):
    """Rows of a Dask frame.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
        The frame.
    target : str, Dask series or Dask array, optional
        The name of the target column, or the target in the same partitions.
    unit : str, optional
        The name of the unit column.
    weight : str, optional
        The name of the column of weights.
    """

    engine = "Dask"

    def __init__(
        self,
        table: Any,
        target: Any = None,
        unit: str | None = None,
        weight: str | None = None,
    ) -> None:
        import pandas as pd

        if not table.columns.is_unique:
            raise same_name_twice()
        if unit is not None and not isinstance(target, str):
            problem = "if unit is given, the target must be the name of a column"
            raise ParameterError(problem, subject="target")
        # Only types are read.
        empty = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in table.dtypes.items()})
        named = target if isinstance(target, str) else None
        features = FrameSource.open(empty, Roles(named, unit, weight=weight))
        self.names = features.names
        self.declared = features.declared
        for place, name in enumerate(self.names or ()):
            if empty[name].dtype == "category" and not table[name].cat.known:
                # The type does not list the levels.
                self.declared[place] = None
        self._table, self._target, self._unit, self._weight = table, target, unit, weight

    @staticmethod
    def matches(table: Any) -> bool:
        """Return whether the table is a Dask frame, or something else of Dask."""
        return library_of(table) == "dask"

    @classmethod
    def open(cls, table: Any, roles: Roles) -> Self:
        """Return the frame as a source of rows."""
        import dask.dataframe

        roles.require_names("unit", "weight")
        if not isinstance(table, dask.dataframe.DataFrame):
            raise ParameterError(
                "a Dask table must be a dask.dataframe.DataFrame or dask.array.Array",
                code=Code.WRONG_TYPE,
                subject="X",
            )
        ignored = roles.ignored(list(table.columns))
        rows = table.drop(columns=ignored) if ignored else table
        return cls(rows, roles.target, roles.unit, roles.weight)

    def parts(self, kinds: Sequence[Kind], reading: Reading) -> ClusterParts:
        """Let the workers convert the partitions to numbers, and keep them."""
        import dask

        _check_workers()
        table, target, unit, hashes = self._table, self._target, self._unit, None
        if unit is not None:
            table, hashes = _by_unit(table, unit)
        encode = dask.delayed(_encode_frame)
        settings = dask.delayed(
            (list(kinds), unit, reading.max_rows, hashes, reading.change, self._weight),
            traverse=False,
        )
        rows = _partitions(table)
        targets = [target] * len(rows)
        if target is not None and not isinstance(target, str):
            targets = _matching(target, rows)
        parts = [encode(*pair, settings) for pair in zip(rows, targets, strict=True)]
        return _DaskParts(parts, reading.missing, max_weight=reading.max_weight)

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return a lazy Dask series of predictions."""
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
        The target, in the chunks of x or in chunks of known sizes.
    """

    engine = "Dask"

    def __init__(self, x: Any, y: Any = None) -> None:
        if x.ndim != 2:
            problem = "Expected 2D array, got an array of another number of dimensions"
            raise ParameterError(problem, subject="X")
        if np.isnan(x.shape[1]):
            raise ParameterError("the number of columns of X must be known", subject="X")
        if x.dtype.kind not in "iufbOU":
            problem = "X must be a table of numbers"
            raise ParameterError(problem, code=Code.WRONG_TYPE, subject="X")
        self.names = None
        # The kinds that an array in memory would have.
        like = ArraySource(np.zeros((0, x.shape[1]), dtype=x.dtype), None)
        self.declared = like.declared
        # Each chunk must have all columns.
        self._x = x.rechunk({1: -1}) if x.numblocks[1] > 1 else x
        self._y = y

    @staticmethod
    def matches(table: Any) -> bool:
        """Return whether the table is a Dask array."""
        return type(table).__module__.startswith("dask.array.")

    @classmethod
    def open(cls, table: Any, roles: Roles) -> Self:
        """Return the array as a source of rows."""
        for name in (roles.target, roles.unit, roles.weight):
            if isinstance(name, str):
                raise no_column(name, "because a Dask array has no column names")
        roles.require_names("unit", "weight")
        return cls(table, roles.target)

    def parts(self, kinds: Sequence[Kind], reading: Reading) -> ClusterParts:
        """Let the workers convert the partitions to numbers, and keep them."""
        import dask

        _check_workers()
        encode = dask.delayed(_encode_array)
        settings = dask.delayed((list(kinds), reading.change), traverse=False)
        rows, y = _partitions(self._x), self._y
        known = not any(np.isnan(self._x.chunks[0]))
        if hasattr(y, "rechunk") and y.ndim == 1 and known and y.chunks[0] != self._x.chunks[0]:
            if y.shape[0] != self._x.shape[0]:
                raise lengths_differ()
            y = y.rechunk((self._x.chunks[0],))
        pairs = zip(rows, _matching(y, rows), strict=True)
        parts = [encode(*pair, settings) for pair in pairs]
        return _DaskParts(parts, reading.missing)

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return a lazy Dask array of predictions."""
        return self._x.map_blocks(
            _predict_array, list(kinds), predictor, drop_axis=1, dtype=np.float64
        )


class _DaskParts(ClusterParts):
    """Parts that the workers of a cluster keep, or this process if there is no cluster."""

    def __init__(
        self,
        parts: list[Any],
        missing: Missing,
        route: Route | None = None,
        max_weight: float | None = None,
    ) -> None:
        import dask

        super().__init__(missing, route, max_weight)
        self._parts: list[Any] = list(computed(lambda: dask.persist(*parts), "Dask", _PYTHON_HINT))

    def reduce(self, statistic: Statistic[Any, Any]) -> list[bytes]:
        """Return one sum, from a tree of tasks."""
        import dask

        # One task that all others depend on: theta goes to every worker once.
        asked = dask.delayed((statistic, self.as_part), traverse=False)
        summed, merged = dask.delayed(_summed), dask.delayed(_merged)
        sums = [summed(part, asked) for part in self._parts]
        while len(sums) > 1:
            starts = range(0, len(sums), FAN_IN)
            sums = [merged(sums[start : start + FAN_IN], asked) for start in starts]
        (total,) = computed(lambda: dask.compute(*sums), "Dask", _PYTHON_HINT)
        if isinstance(total, Failure):
            raise total.error()
        return [] if total is None else [total]

    def blocks(self, work: ToBlocks, route: Route) -> Self:
        """Return blocks, which Dask computes again if it loses them."""
        import dask

        asked = dask.delayed(work, traverse=False)
        act = dask.delayed(_blocks)
        return type(self)([act(part, asked) for part in self._parts], self.missing, route)

    def free(self) -> None:
        """Free the parts, even if something else holds a reference to their futures."""
        parts, self._parts = self._parts, []
        distributed = sys.modules.get("distributed")
        if distributed is not None:
            for future in distributed.futures_of(parts):
                future.release()


def _check_workers() -> None:
    """Raise an error if a worker of the cluster cannot run dpfit."""
    from dask.base import get_scheduler

    # The client's method, if there is a client that will compute the table.
    client: Any = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "run") or client.asynchronous:
        return
    found = computed(lambda: client.run(describe()), "Dask", _PYTHON_HINT)
    workers = (Installed(*fields) for fields in found.values())
    check_installed(workers, "Dask", _PYTHON_HINT)


def _partitions(table: Any) -> list[Any]:
    parts = table.to_delayed()
    return list(parts) if isinstance(parts, list) else list(parts.ravel())


def _matching(target: Any, rows: list[Any]) -> list[Any]:
    """Return the partitions of a target, one for each partition of the table."""
    if not hasattr(target, "to_delayed") or target.ndim != 1:
        raise ParameterError(
            "the target of a Dask table must be the name of a column, or a Dask series or array "
            "of one dimension",
            code=Code.WRONG_TYPE,
            subject="y",
        )
    parts = _partitions(target)
    if len(parts) != len(rows):
        raise lengths_differ("partitions")
    return parts


def _by_unit(table: Any, unit: str) -> tuple[Any, str]:
    """Return the table with all rows of a unit in one partition, and the name of a new column.

    The column contains hashes of the units. A fit is refused if one of them is `_NO_HASH`.

    Privacy
    -------
    Each partition keeps at most `max_rows` rows of a unit, so a unit must not be in two partitions.
    Rows are assigned by a hash of the unit as a string: the hash of a number would depend on its
    type, which can differ between partitions.
    """
    name = "unit"
    while name in table.columns:
        name += "_"
    hashes = table[unit].map_partitions(_unit_hashes, meta=(name, np.uint64))
    # By tasks, so that only the part of a lost worker has to be computed again.
    return table.assign(**{name: hashes}).shuffle(on=name, shuffle_method="tasks"), name


def _unit_hashes(units: Any) -> Any:
    import narwhals as nw
    import pandas as pd

    def act() -> Any:
        found = unit_ids(series_units(nw.from_native(units, series_only=True)), len(units))
        values, places = np.unique(found, return_inverse=True)
        # Every string has bytes, even one that is not valid Unicode.
        strings = [str(value).encode("utf-8", "surrogatepass") for value in values.tolist()]
        hashes = pd.util.hash_array(np.array(strings, dtype=object), categorize=False)
        return np.maximum(hashes, np.uint64(_NO_HASH + 1))[places]

    hashes = guarded(act) if len(units) else np.zeros(0, dtype=np.uint64)
    # An error here would be in the logs of workers, with values. It is raised later, where rows
    # are chosen.
    if isinstance(hashes, Failure):
        hashes = np.full(len(units), _NO_HASH, dtype=np.uint64)
    return pd.Series(hashes, index=units.index)


def _encode_frame(
    frame: Any,
    target: Any,
    settings: tuple[list[Kind], str | None, int | None, str | None, Change | None, str | None],
) -> list[Batch] | Failure:
    def act() -> list[Batch]:
        kinds, unit, max_rows, hashes, change, weight = settings
        y = target if isinstance(target, str) else _numbers(target)
        rows = frame if hashes is None else frame.drop(columns=hashes)
        # Units that are invalid are refused here.
        found = encoded(
            FrameSource.open(rows, Roles(y, unit, weight=weight)), kinds, max_rows, change
        )
        if hashes is not None and (frame[hashes] == _NO_HASH).any():
            # Others may be in two partitions, each of which would keep `max_rows` rows of them.
            problem = "a worker could not compute the hashes of its units"
            raise SourceError(problem, code=Code.FAILED, subject=unit)
        return found

    return _safely(act)


def _encode_array(
    x: Array, y: Any, settings: tuple[list[Kind], Change | None]
) -> list[Batch] | Failure:
    def act() -> list[Batch]:
        kinds, change = settings
        numbers = _numbers(y)
        if len(numbers) != len(x):
            raise lengths_differ()
        return encoded(ArraySource(_readable(x), numbers), kinds, None, change)

    return _safely(act)


def _safely(act: Callable[[], list[Batch]]) -> list[Batch] | Failure:
    found: list[Batch] | Failure = guarded(act)
    return found


def _summed(
    part: list[Any] | Failure, asked: tuple[Statistic[Any, Any], AsPart]
) -> bytes | Failure | None:
    statistic, as_part = asked
    found: bytes | Failure | None = guarded(
        lambda part: summed_bytes(statistic, as_part(part)), part
    )
    return found


def _merged(
    sums: list[bytes | Failure | None], asked: tuple[Statistic[Any, Any], AsPart]
) -> bytes | Failure | None:
    def act(*sums: bytes | None) -> bytes | None:
        return merged_bytes(asked[0], (packed for packed in sums if packed is not None))

    found: bytes | Failure | None = guarded(act, *sums)
    return found


def _blocks(part: list[Any] | Failure, work: ToBlocks) -> list[Block] | Failure:
    found: list[Block] | Failure = guarded(lambda part: list(work(part)), part)
    return found


def _predict_frame(frame: Any, kinds: list[Kind], predictor: Predictor) -> Any:
    import pandas as pd

    found = FrameSource.open(frame, Roles()).predict(kinds, predictor)
    return pd.Series(found, index=frame.index, name="prediction")


def _predict_array(x: Array, kinds: list[Kind], predictor: Predictor) -> Array:
    predictions: Array = ArraySource(_readable(x), None).predict(kinds, predictor)
    return predictions


def _readable(x: Array) -> Array:
    """Return the array with a type that the core reads."""
    if x.dtype.kind == "U":
        return x.astype(object)
    if x.dtype.kind == "f" and x.dtype.itemsize not in (4, 8):
        return x.astype(np.float64)
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def _numbers(target: Any) -> Array:
    """Return a partition of the target as numbers."""
    import narwhals as nw

    if isinstance(target, np.ndarray):
        return encode_array(target, None, "y")
    return encode_series(nw.from_native(target, series_only=True), None, "y")
