"""Frames of Spark: blocks of rows stay on its executors.

Only the DataFrame API is used, so Spark Connect works as well.
"""

from __future__ import annotations

import functools
import gc
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from dpfit._typing import Missing
from dpfit.exceptions import Code, ParameterError
from dpfit.schema import Binary, Date, Kind, Numeric
from dpfit.schema.dates import TICKS_PER_DAY
from dpfit.sources.engines.cluster import FAN_IN, ClusterParts, ClusterSource, computed
from dpfit.sources.engines.worker import (
    AsPart,
    Block,
    Failure,
    ToBlocks,
    encoded,
    merged_bytes,
    pack,
    summed_bytes,
    unpack,
)
from dpfit.sources.frames import FrameSource
from dpfit.sources.problems import not_dates
from dpfit.sources.roles import Roles, feature_places, library_of
from dpfit.sources.source import Change, Predictor, Reading, rows_in_batch
from dpfit.statistics import Route, Statistic

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SparkSource"]

# What a stage returns: a batch, a block or a sum as bytes; or a failure.
_SCHEMA = "failure string, packed binary"
# Spark gives a worker many rows at once, as one buffer of at most 2 GiB.
_MOST_BYTES, _GOOD_BYTES = 1 << 29, 1 << 27
# Names of the types of dates.
_DATES = ("date", "timestamp", "timestamp_ntz")
_MICROSECONDS = TICKS_PER_DAY["us"]

Work: TypeAlias = Callable[[Iterator["pa.RecordBatch"]], Iterable[bytes]]


class SparkSource(ClusterSource):
    """Rows of a Spark frame.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
        The frame.
    target, unit, weight : str, optional
        Names of the columns of the target, the unit and the weight.
    """

    engine = "Spark"

    def __init__(
        self,
        table: Any,
        target: str | None = None,
        unit: str | None = None,
        weight: str | None = None,
    ) -> None:
        if not hasattr(table, "mapInArrow"):
            problem = "a Spark table must be a pyspark.sql.DataFrame"
            raise ParameterError(problem, code=Code.WRONG_TYPE, subject="X")
        fields = table.schema.fields
        names = [field.name for field in fields]
        features = [fields[place] for place in feature_places(names, target, unit, weight)]
        self._features = [field.name for field in features]
        self.names = self._features
        self.declared = [_declared(field.dataType.typeName()) for field in features]
        self._table, self._target, self._unit, self._weight = table, target, unit, weight
        self._types = {field.name: field.dataType.typeName() for field in fields}

    @staticmethod
    def matches(table: Any) -> bool:
        """Return whether the table is a Spark frame, or something else of Spark."""
        return library_of(table) == "pyspark"

    @classmethod
    def open(cls, table: Any, roles: Roles) -> Self:
        """Return the frame as a source of rows."""
        roles.require_names("target", "unit", "weight")
        ignored = roles.ignored(list(getattr(table, "columns", ())))
        rows = table.drop(*ignored) if ignored else table
        return cls(rows, roles.target, roles.unit, roles.weight)

    def parts(self, kinds: Sequence[Kind], reading: Reading) -> ClusterParts:
        """Let the executors convert the rows to numbers, and keep them."""
        roles = Roles(self._target, self._unit, weight=self._weight)
        # The unit is the last: rows are partitioned by it.
        others = (self._weight, self._target, self._unit)
        names = [*self._features, *(name for name in others if name)]
        step = rows_in_batch(self.columns)
        sent, most = self._sent(kinds), reading.max_rows
        encode = _Encode(names, sent, roles, most, step, reading.change)

        def frame() -> Any:
            rows = self._table.select(*self._columns(names))
            if self._unit is not None:
                # Each partition keeps few rows of a unit, so a unit must not be in two of them.
                rows = rows.repartition(f"c{len(names) - 1}")
            return rows.mapInArrow(_stage(encode), _SCHEMA)

        return _SparkParts(frame, reading.missing, max_weight=reading.max_weight)

    def _columns(self, names: Sequence[str]) -> list[Any]:
        """Return columns with names that Spark does not parse as paths: c0, c1, ..."""
        return [self._column(name).alias(f"c{place}") for place, name in enumerate(names)]

    def _column(self, name: str) -> Any:
        """Return a column; a timestamp becomes a number of days.

        Spark would give workers a timestamp as local time in the zone of the session.
        """
        from pyspark.sql import functions

        quoted = "`" + name.replace("`", "``") + "`"
        if self._types[name] != "timestamp":
            return functions.col(quoted)
        ticks = f"unix_micros({quoted})"
        rest = f"pmod({ticks}, {_MICROSECONDS})"
        # Whole days and the rest, as for all other tables.
        days = f"({ticks} - {rest}) div {_MICROSECONDS} + cast({rest} as double) / {_MICROSECONDS}"
        return functions.expr(days)

    def _sent(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Return the kinds of columns as workers get them: timestamps are numbers."""
        found: list[Kind] = []
        for name, kind in zip(self._features, kinds, strict=True):
            if kind.is_date and self._types[name] not in (*_DATES, "void"):
                raise not_dates(name)
            if kind.is_date and self._types[name] == "timestamp":
                kind = Numeric(*(kind.bounds or ()))
            found.append(kind)
        return found

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return a lazy column of predictions, for ``withColumn``."""
        import pandas as pd
        from pyspark.sql import functions

        plain, names = self._sent(kinds), self._features

        def predictions(frame):  # type: ignore[no-untyped-def]
            source = FrameSource.open(frame.set_axis(names, axis=1), Roles())
            return pd.Series(source.predict(plain, predictor))

        # Spark inspects the annotations and needs types, not strings.
        predictions.__annotations__ = {"frame": pd.DataFrame, "return": pd.Series}
        columns = functions.struct(*self._columns(names))
        return functions.pandas_udf(predictions, "double")(columns).alias("prediction")


class _SparkParts(ClusterParts):
    """A frame of bytes that Spark keeps in memory, and on disk what does not fit.

    Parameters
    ----------
    frame : callable
        Returns it.
    missing : {"error", "drop", "indicator"}
        What to do with a row that contains NaN or an infinity.
    route : Route, optional
        The maps that the rows went through, if the bytes are those of blocks and not of batches.
    """

    def __init__(
        self,
        frame: Callable[[], Any],
        missing: Missing,
        route: Route | None = None,
        max_weight: float | None = None,
    ) -> None:
        super().__init__(missing, route, max_weight)
        self._unpack: Callable[[bytes], Any] = unpack
        if route is not None:
            self._unpack = functools.partial(Block.read, route)
        self._frame: Any = None
        self._count = 0
        try:
            self._keep(computed(frame, "Spark"))
        except BaseException:
            self.free()
            raise

    def _keep(self, frame: Any) -> None:
        """Compute the frame and keep it, in partitions that are not too large."""
        # Spark may already compute something here, and its errors contain values.
        self._frame = computed(frame.persist, "Spark")
        sizes = self._sizes()
        if max(sizes, default=0) > _MOST_BYTES:
            larger = frame.repartition(math.ceil(sum(sizes) / _GOOD_BYTES))
            self._frame = computed(larger.persist, "Spark")
            try:
                sizes = self._sizes()
            finally:
                frame.unpersist()
        self._count = len(sizes)

    def _sizes(self) -> list[int]:
        """Return the size in bytes of each partition that is not empty."""
        from pyspark.sql import functions

        found = self._frame.groupBy(functions.spark_partition_id()).agg(
            functions.sum(functions.length("packed")).alias("size"),
            functions.max("failure").alias("failure"),
        )
        rows = computed(found.collect, "Spark")
        _check(row["failure"] for row in rows)
        return [row["size"] for row in rows]

    def reduce(self, statistic: Statistic[Any, Any]) -> list[bytes]:
        """Return a few sums, from a tree of stages."""

        def collected() -> list[Any]:
            act = _stage(_Summed(statistic, self._unpack, self.as_part))
            frame, count = self._frame.mapInArrow(act, _SCHEMA), self._count
            while count > FAN_IN:
                count = math.ceil(count / FAN_IN)
                frame = frame.repartition(count).mapInArrow(_stage(_Merged(statistic)), _SCHEMA)
            rows: list[Any] = frame.collect()
            return rows

        rows = computed(collected, "Spark")
        _check(row["failure"] for row in rows)
        return [bytes(row["packed"]) for row in rows]

    def blocks(self, work: ToBlocks, route: Route) -> Self:
        """Return blocks, which Spark computes again if it loses them."""
        act = _stage(_Blocks(work, self._unpack))
        return type(self)(lambda: self._frame.mapInArrow(act, _SCHEMA), self.missing, route)

    def free(self) -> None:
        """Free the frame."""
        if self._frame is not None:
            self._frame.unpersist()


def _check(failures: Iterable[str | None]) -> None:
    for failure in failures:
        if failure is not None:
            raise Failure(*json.loads(failure)).error()


def _declared(kind: str) -> Kind | None:
    """Return the kind of a column, given the name of its Spark type; None for strings."""
    if kind == "boolean":
        return Binary()
    if kind in _DATES:
        return Date()
    return None if kind.partition("(")[0] in ("string", "varchar", "char") else Numeric()


def _stage(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for Spark that maps a partition to bytes, or to a failure."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _set_up()
        failure = None
        try:
            for packed in work(batches):
                yield _row(packed=packed)
        except Exception as error:
            failure = Failure.of(error)
        if failure is not None:
            yield _row(failure=failure)

    return run


@functools.cache
def _set_up() -> None:
    """Exclude imported modules from garbage collection.

    Spark's workers collect garbage after every task, which would take longer than a pass over a
    block.
    """
    gc.collect()
    gc.freeze()


def _row(packed: bytes | None = None, failure: Failure | None = None) -> pa.RecordBatch:
    import pyarrow as pa

    words = None if failure is None else json.dumps(failure)
    return pa.RecordBatch.from_arrays(
        [pa.array([words], pa.string()), pa.array([packed], "binary")],
        names=["failure", "packed"],
    )


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Yield the bytes that an earlier stage returned."""
    for batch in batches:
        for failure, packed in zip(*batch.columns, strict=True):
            _check([failure.as_py()])
            yield packed.as_py()


@dataclass(frozen=True)
class _Encode:
    """Converts the rows of a partition to batches of numbers."""

    names: list[str]
    kinds: list[Kind]
    roles: Roles
    max_rows: int | None
    rows: int
    change: Change | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        for table in self._tables(batches):
            source = FrameSource.open(table.rename_columns(self.names), self.roles)
            for batch in encoded(source, self.kinds, self.max_rows, self.change):
                yield pack(batch)

    def _tables(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Join small batches to larger ones; join all if rows have units."""
        import pyarrow as pa

        enough = math.inf if self.roles.unit is not None else self.rows
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(map(len, waiting)) >= enough:
                yield pa.Table.from_batches(waiting)
                waiting = []
        if waiting:
            yield pa.Table.from_batches(waiting)


@dataclass(frozen=True)
class _Blocks:
    """Converts batches, or other blocks, to blocks."""

    work: ToBlocks
    unpack: Callable[[bytes], Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        for block in self.work(map(self.unpack, _packed(batches))):
            yield block.to_bytes()


@dataclass(frozen=True)
class _Summed:
    """Sums over a partition."""

    statistic: Statistic[Any, Any]
    unpack: Callable[[bytes], Any]
    as_part: AsPart

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        part = self.as_part(map(self.unpack, _packed(batches)))
        # A partition without rows sends nothing.
        if (total := summed_bytes(self.statistic, part)) is not None:
            yield total


@dataclass(frozen=True)
class _Merged:
    """Merges sums."""

    statistic: Statistic[Any, Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        if (total := merged_bytes(self.statistic, _packed(batches))) is not None:
            yield total
