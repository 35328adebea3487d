"""Frames of Spark: blocks of rows stay with its executors.

Only the DataFrame API is used, so that it works with Spark Connect as well.
"""

from __future__ import annotations

import functools
import gc
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from dpfit.exceptions import ParameterError
from dpfit.schema import Binary, Date, Kind, Numeric
from dpfit.sources.blocks import (
    Block,
    Failure,
    Quantise,
    Statistic,
    encoded,
    frame_source,
    pack,
    unpack,
)
from dpfit.sources.cluster import FAN_IN, ClusterSource, Parts, computed
from dpfit.sources.frames import feature_places
from dpfit.sources.objects import no_dates_problem
from dpfit.sources.source import Predictor, rows_in_batch
from dpfit.table import Batch

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SparkSource"]

# What goes from stage to stage: a batch, a block or a sum as bytes; or what went wrong.
_SCHEMA = "failure string, text string, packed binary"
# Spark hands a worker many rows at once, as one buffer of at most 2 GiB.
_MOST_BYTES, _GOOD_BYTES = 1 << 29, 1 << 27
# Types of dates, by their names.
_DATES = ("date", "timestamp", "timestamp_ntz")
_MICROSECONDS = 86_400_000_000

Work: TypeAlias = Callable[[Iterator["pa.RecordBatch"]], Iterable[bytes]]


class SparkSource(ClusterSource):
    """Rows of a Spark frame.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
        The frame.
    target, unit : str, optional
        Names of columns that are no features.
    """

    def __init__(self, table: Any, target: str | None = None, unit: str | None = None) -> None:
        if not hasattr(table, "mapInArrow"):
            raise ParameterError("a Spark table must be a pyspark.sql.DataFrame")
        fields = table.schema.fields
        names = [field.name for field in fields]
        features = [fields[place] for place in feature_places(names, target, unit)]
        self._features = [field.name for field in features]
        self.names = self._features
        self.declared = [_declared(field.dataType.typeName()) for field in features]
        self._table, self._target, self._unit = table, target, unit
        self._types = {field.name: field.dataType.typeName() for field in fields}

    def parts(self, kinds: Sequence[Kind], max_rows: int | None) -> Parts:
        """Let the executors make numbers of the rows, and keep them."""
        names = [*self._features, *(name for name in (self._target, self._unit) if name)]
        step = rows_in_batch(self.columns)
        encode = _Encode(names, self._sent(kinds), self._target, self._unit, max_rows, step)

        def frame() -> Any:
            rows = self._table.select(*self._columns(names))
            if self._unit is not None:
                # Each partition sees to it that few rows of a unit count: none may be in two.
                rows = rows.repartition(f"c{len(names) - 1}")
            return rows.mapInArrow(_stage(encode), _SCHEMA)

        return _SparkParts(frame, unpack)

    def _columns(self, names: Sequence[str]) -> list[Any]:
        """Return columns under names that Spark takes for no path: c0, c1, ..."""
        return [self._column(name).alias(f"c{place}") for place, name in enumerate(names)]

    def _column(self, name: str) -> Any:
        """Return a column, an instant as days.

        Spark's workers would get an instant as the time of day in the session's zone.
        """
        from pyspark.sql import functions

        quoted = "`" + name.replace("`", "``") + "`"
        if self._types[name] != "timestamp":
            return functions.col(quoted)
        ticks = f"unix_micros({quoted})"
        rest = f"pmod({ticks}, {_MICROSECONDS})"
        # Whole days and the rest, as all other tables have it.
        days = f"({ticks} - {rest}) div {_MICROSECONDS} + cast({rest} as double) / {_MICROSECONDS}"
        return functions.expr(days)

    def _sent(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Return what the columns are when workers get them: instants are numbers by then."""
        found: list[Kind] = []
        for name, kind in zip(self._features, kinds, strict=True):
            if isinstance(kind, Date) and self._types[name] not in (*_DATES, "void"):
                raise ParameterError(no_dates_problem(name))
            if isinstance(kind, Date) and self._types[name] == "timestamp":
                kind = Numeric(*(kind.bounds or ()))
            found.append(kind)
        return found

    def predict(self, kinds: Sequence[Kind], predictor: Predictor) -> Any:
        """Return a column for ``withColumn``: predictions are made when it is computed."""
        import pandas as pd
        from pyspark.sql import functions

        plain, names = self._sent(kinds), self._features

        def predictions(frame):  # type: ignore[no-untyped-def]
            return frame_source(frame.set_axis(names, axis=1)).predict(plain, predictor)

        # Spark looks at the types, as objects, to know what it is given.
        predictions.__annotations__ = {"frame": pd.DataFrame, "return": pd.Series}
        columns = functions.struct(*self._columns(names))
        return functions.pandas_udf(predictions, "double")(columns).alias("prediction")


class _SparkParts(Parts):
    """A frame of bytes that Spark keeps in memory, and on disk what does not fit.

    Parameters
    ----------
    frame : callable
        Returns it.
    unpack : callable
        Makes a batch or a block of the bytes in a row.
    """

    def __init__(self, frame: Callable[[], Any], unpack: Callable[[bytes], Any]) -> None:
        self._unpack = unpack
        self._frame: Any = None
        self._count = 0
        try:
            self._keep(computed(frame, "Spark"))
        except BaseException:
            self.release()
            raise

    def _keep(self, frame: Any) -> None:
        """Compute the frame and keep it, in partitions that are not too large."""
        # Spark may compute something already here, and say values when it fails.
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
        """Return the bytes in each partition that holds any."""
        from pyspark.sql import functions

        found = self._frame.groupBy(functions.spark_partition_id()).agg(
            functions.sum(functions.length("packed")).alias("size"),
            functions.max(functions.struct("failure", "text")).alias("worst"),
        )
        rows = computed(found.collect, "Spark")
        _check((row["worst"]["failure"], row["worst"]["text"]) for row in rows)
        return [row["size"] for row in rows]

    def reduce(self, statistic: Statistic[Any]) -> list[bytes]:
        """Return a few sums, from a tree of stages."""

        def collected() -> list[Any]:
            act = _stage(_Summed(statistic, self._unpack))
            frame, count = self._frame.mapInArrow(act, _SCHEMA), self._count
            while count > FAN_IN:
                count = math.ceil(count / FAN_IN)
                frame = frame.repartition(count).mapInArrow(_stage(_Merged(statistic)), _SCHEMA)
            rows: list[Any] = frame.collect()
            return rows

        rows = computed(collected, "Spark")
        _check((row["failure"], row["text"]) for row in rows)
        return [bytes(row["packed"]) for row in rows]

    def quantised(self, quantise: Quantise) -> Self:
        """Return blocks, which Spark makes anew if it loses them."""
        act = _stage(_Quantised(quantise, self._unpack))
        return type(self)(
            lambda: self._frame.mapInArrow(act, _SCHEMA),
            functools.partial(Block.read, quantise.row_map),
        )

    def release(self) -> None:
        """Let Spark forget the frame."""
        if self._frame is not None:
            self._frame.unpersist()


def _check(failures: Iterable[tuple[str | None, str | None]]) -> None:
    for kind, text in failures:
        if kind is not None and text is not None:
            raise Failure(kind, text).error()


def _declared(kind: str) -> Kind | None:
    """Return what a type of Spark, by its name, says of a column; None for text."""
    if kind == "boolean":
        return Binary()
    if kind in _DATES:
        return Date()
    return None if kind.partition("(")[0] in ("string", "varchar", "char") else Numeric()


def _stage(work: Work) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what Spark calls with a partition: it gives bytes, or what went wrong."""

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
    """Look at what is imported no more when garbage is collected.

    Spark's workers do that after every task, and it would take longer than a pass over a block.
    """
    gc.collect()
    gc.freeze()


def _row(packed: bytes | None = None, failure: Failure | None = None) -> pa.RecordBatch:
    import pyarrow as pa

    kind, text = (None, None) if failure is None else failure
    return pa.RecordBatch.from_arrays(
        [
            pa.array([kind], pa.string()),
            pa.array([text], pa.string()),
            pa.array([packed], "binary"),
        ],
        names=["failure", "text", "packed"],
    )


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Give the bytes that an earlier stage has made."""
    for batch in batches:
        for kind, text, packed in zip(*batch.columns, strict=True):
            _check([(kind.as_py(), text.as_py())])
            yield packed.as_py()


@dataclass(frozen=True)
class _Encode:
    """Makes batches of numbers of a partition's rows."""

    names: list[str]
    kinds: list[Kind]
    target: str | None
    unit: str | None
    max_rows: int | None
    rows: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        for table in self._tables(batches):
            source = frame_source(table.rename_columns(self.names), self.target, self.unit)
            for batch in encoded(source, self.kinds, self.max_rows):
                yield pack(batch)

    def _tables(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Join batches, which are small: to those of other tables, or all where units count."""
        import pyarrow as pa

        enough = math.inf if self.unit is not None else self.rows
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(map(len, waiting)) >= enough:
                yield pa.Table.from_batches(waiting)
                waiting = []
        if waiting:
            yield pa.Table.from_batches(waiting)


@dataclass(frozen=True)
class _Quantised:
    """Makes blocks of batches."""

    quantise: Quantise
    unpack: Callable[[bytes], Batch]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        for block in self.quantise(map(self.unpack, _packed(batches))):
            yield block.to_bytes()


@dataclass(frozen=True)
class _Summed:
    """Sums over a partition."""

    statistic: Statistic[Any]
    unpack: Callable[[bytes], Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        packed = _packed(batches)
        for first in packed:
            # Of a partition without rows there is nothing to send.
            total = self.statistic.of(map(self.unpack, itertools.chain([first], packed)))
            if total is not None:
                yield total.to_bytes()


@dataclass(frozen=True)
class _Merged:
    """Merges sums."""

    statistic: Statistic[Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        total = self.statistic.merge(_packed(batches))
        if total is not None:
            yield total.to_bytes()
