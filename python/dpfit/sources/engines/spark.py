"""Frames of Spark: blocks of rows stay on its executors.

Only the DataFrame API is used, so Spark Connect works as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from dpfit._typing import Missing
from dpfit.exceptions import Code, ParameterError
from dpfit.schema import Binary, Date, Kind, Numeric
from dpfit.schema.dates import TICKS_PER_DAY
from dpfit.sources.engines.cluster import ClusterParts, ClusterSource
from dpfit.sources.engines.executors import Executors, checked_cores
from dpfit.sources.engines.kept import ROWS, Step
from dpfit.sources.engines.stages import Read
from dpfit.sources.engines.worker import ToBlocks
from dpfit.sources.frames import FrameSource
from dpfit.sources.problems import not_dates
from dpfit.sources.roles import Roles, feature_places, library_of
from dpfit.sources.source import Predictor, Reading, rows_in_batch
from dpfit.statistics import Route, Statistic

__all__ = ["SparkSource"]

# Names of the types of dates.
_DATES = ("date", "timestamp", "timestamp_ntz")
_MICROSECONDS = TICKS_PER_DAY["us"]


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
        as_part = ClusterParts.as_batches(reading.missing, reading.max_weight)
        session = self._table.sparkSession
        cores = checked_cores(session)

        def frame() -> Any:
            rows = self._table.select(*self._columns(names))
            # More tasks than cores take longer: a task with few rows takes much of its time to
            # start.
            if self._unit is not None:
                # Each partition keeps few rows of a unit, so a unit must not be in two of them.
                return rows.repartition(cores, f"c{len(names) - 1}")
            return rows.coalesce(cores)

        def read(fit: str) -> Read:
            return Read(
                fit,
                names,
                self._sent(kinds),
                roles,
                reading.max_rows,
                rows_in_batch(self.columns),
                reading.change,
                reading.first,
                as_part,
            )

        executors = Executors(session, frame, read, cores)
        return _SparkParts(executors, reading.missing, max_weight=reading.max_weight)

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
    """Parts that executors keep: batches, or blocks, which they make when a sum needs them.

    Parameters
    ----------
    executors : Executors
        What keeps them.
    missing : {"error", "drop", "indicator"}
        What to do with a row that contains NaN or an infinity.
    steps : tuple of Step
        How blocks are made of batches; empty for batches.
    """

    def __init__(
        self,
        executors: Executors,
        missing: Missing,
        steps: tuple[Step, ...] = (),
        max_weight: float | None = None,
    ) -> None:
        super().__init__(missing, steps[-1].route if steps else None, max_weight)
        self._executors, self._steps = executors, steps
        self._name = steps[-1].name if steps else ROWS
        executors.hold(self._name)

    def reduce(self, statistic: Statistic[Any, Any]) -> list[bytes]:
        """Return a few sums, from a tree of stages."""
        known = None if self._steps else self._executors.ahead(statistic)
        if known is not None:
            return known
        return self._executors.sums(statistic, self._steps, self.as_part)

    def blocks(self, work: ToBlocks, route: Route) -> Self:
        """Return blocks, which do not exist before their first sum."""
        step = Step(self._executors.new_name(), work, route)
        return type(self)(self._executors, self.missing, (*self._steps, step))

    def free(self) -> None:
        """Free the parts."""
        self._executors.free(self._name)


def _declared(kind: str) -> Kind | None:
    """Return the kind of a column, given the name of its Spark type; None for strings."""
    if kind == "boolean":
        return Binary()
    if kind in _DATES:
        return Date()
    return None if kind.partition("(")[0] in ("string", "varchar", "char") else Numeric()
