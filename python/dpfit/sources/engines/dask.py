"""Frames and arrays of Dask: their partitions stay on the workers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dpfit._typing import Missing
from dpfit.exceptions import Code, ParameterError
from dpfit.schema import Kind
from dpfit.sources.arrays import ArraySource
from dpfit.sources.engines import dask_tasks
from dpfit.sources.engines.cluster import FAN_IN, ClusterParts, ClusterSource, computed
from dpfit.sources.engines.versions import Installed, check_installed, describe
from dpfit.sources.engines.worker import Failure, ToBlocks
from dpfit.sources.frames import FrameSource
from dpfit.sources.problems import lengths_differ, no_column, same_name_twice
from dpfit.sources.roles import Roles, library_of
from dpfit.sources.source import Predictor, Reading
from dpfit.statistics import Route, Statistic

__all__ = ["DaskArraySource", "DaskFrameSource"]

_PYTHON_HINT = "install the same versions there, or start the workers with a Python that has them"


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
        encode = dask.delayed(dask_tasks.encode_frame)
        how = dask.delayed(
            dask_tasks.FrameReading(
                list(kinds), unit, self._weight, hashes, reading.max_rows, reading.change
            ),
            traverse=False,
        )
        rows = _partitions(table)
        targets = [target] * len(rows)
        if target is not None and not isinstance(target, str):
            targets = _matching(target, rows)
        parts = [encode(*pair, how) for pair in zip(rows, targets, strict=True)]
        return _DaskParts(parts, reading.missing, max_weight=reading.max_weight)

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return a lazy Dask series of predictions."""
        return self._table.map_partitions(
            dask_tasks.predict_frame, list(kinds), predictor, meta=("prediction", np.float64)
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
        encode = dask.delayed(dask_tasks.encode_array_part)
        how = [
            dask.delayed(list(kinds), traverse=False),
            dask.delayed(reading.change, traverse=False),
        ]
        rows, y = _partitions(self._x), self._y
        known = not any(np.isnan(self._x.chunks[0]))
        if hasattr(y, "rechunk") and y.ndim == 1 and known and y.chunks[0] != self._x.chunks[0]:
            if y.shape[0] != self._x.shape[0]:
                raise lengths_differ()
            y = y.rechunk((self._x.chunks[0],))
        pairs = zip(rows, _matching(y, rows), strict=True)
        parts = [encode(*pair, *how) for pair in pairs]
        return _DaskParts(parts, reading.missing)

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return a lazy Dask array of predictions."""
        return self._x.map_blocks(
            dask_tasks.predict_array, list(kinds), predictor, drop_axis=1, dtype=np.float64
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
        summed, merged = dask.delayed(dask_tasks.summed), dask.delayed(dask_tasks.merged)
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
        act = dask.delayed(dask_tasks.blocks)
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

    The column contains the hashes of :func:`~dpfit.sources.engines.dask_tasks.unit_hashes`.
    """
    name = "unit"
    while name in table.columns:
        name += "_"
    hashes = table[unit].map_partitions(dask_tasks.unit_hashes, meta=(name, np.uint64))
    # By tasks, so that only the part of a lost worker has to be computed again.
    return table.assign(**{name: hashes}).shuffle(on=name, shuffle_method="tasks"), name
