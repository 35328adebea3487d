"""The driver's side of Dask and Spark: requests to workers, and their results."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypeVar

from dpfit import _native
from dpfit._typing import Floats, Missing
from dpfit.exceptions import Code, SourceError
from dpfit.schema import Kind
from dpfit.sources.engines.versions import missing_module, no_module
from dpfit.sources.engines.worker import AsPart, MapRows, Quantise, ToBlocks, as_blocks
from dpfit.sources.shield import shielded
from dpfit.sources.source import Reading, Source
from dpfit.statistics import Gram, Route, RowMap, Statistic, Table
from dpfit.statistics.statistic import Batches, Sum, merged
from dpfit.statistics.table import BatchParts, BlockParts

__all__ = ["FAN_IN", "ClusterParts", "ClusterSource", "computed"]

T = TypeVar("T")
S = TypeVar("S", bound=Sum)

# Sums that a worker merges at a time.
FAN_IN = 8


def computed(act: Callable[[], T], engine: str, python_hint: str | None = None) -> T:
    """Return what `act` returns; an error of the engine becomes one of dpfit.

    With `python_hint`, which says how to choose the Python of workers, the error says so if a
    module is missing there.

    Privacy
    -------
    Engines put values, and whole lines of the table, into their messages. Only the class of an
    error is kept.
    """

    def problem(error: Exception) -> SourceError:
        module = missing_module(error)
        if python_hint is not None and module is not None:
            return no_module(module, engine, python_hint)
        if python_hint is not None and "PYTHON_VERSION_MISMATCH" in str(error):
            return SourceError(
                f"{engine}'s workers have another version of Python than this process",
                code=Code.WORKERS,
                subject="python",
                hint=python_hint,
            )
        return SourceError(
            f"{engine} could not compute the table ({type(error).__name__})",
            code=Code.FAILED,
            hint="compute the table without dpfit to see why",
        )

    return shielded(act, problem)


class ClusterParts(BatchParts, BlockParts):
    """Parts of a table that are kept on workers: batches of numbers, or blocks of integers.

    Parameters
    ----------
    missing : {"error", "drop", "indicator"}
        What to do with a row that contains NaN or an infinity.
    route : Route, optional
        The maps to the rows in blocks; None if the parts are batches.
    max_weight : float or None
        The largest weight of a row, if the last column of batches contains weights.

    Privacy
    -------
    Workers send exact sums and never see noise. Noise is drawn on the driver, from these sums.
    """

    def __init__(
        self, missing: Missing, route: Route | None = None, max_weight: float | None = None
    ) -> None:
        self.missing, self.route, self.max_weight = missing, route, max_weight
        self.as_part: AsPart = as_blocks
        if route is None:
            self.as_part = self.as_batches(missing, max_weight)

    @staticmethod
    def as_batches(missing: Missing, max_weight: float | None) -> AsPart:
        """Return what makes a part of batches, which one thread sums."""
        return functools.partial(Batches, missing=missing, n_jobs=1, max_weight=max_weight)

    @abc.abstractmethod
    def reduce(self, statistic: Statistic[Any, Any]) -> list[bytes]:
        """Return the sum over all parts, merged on the workers to a few sums or one."""

    @abc.abstractmethod
    def blocks(self, work: ToBlocks, route: Route) -> Self:
        """Convert all parts to blocks, which are kept on the workers."""

    def sum(self, statistic: Statistic[S, Any]) -> S | None:
        """Return the sum over all parts."""
        return merged(statistic.read(packed) for packed in self.reduce(statistic))

    def store(self, row_map: RowMap, *, gram: bool) -> tuple[BlockParts, _native.Gram | None]:
        """Return the rows as blocks, which stay on the workers, and X'X if `gram`."""
        sums = self.sum(Gram(row_map)) if gram else None
        row_map = row_map.weighted(self.max_weight)
        return self.blocks(Quantise(row_map, self.missing), Route(row_map)), sums

    def mapped(self, matrix: Floats) -> BlockParts:
        """Return the mapped rows as blocks, which stay on the workers."""
        assert self.route is not None
        return self.blocks(MapRows(matrix), self.route.then(matrix))


class ClusterSource(Source):
    """A table whose rows are read by workers of an engine, which has a name for messages."""

    engine: ClassVar[str]
    _table_of_fit: Table | None = None

    def table(self, kinds: Sequence[Kind], reading: Reading) -> Table:
        """Return the rows for a fit, which stay on the workers.

        Privacy
        -------
        Some lazy tables compute a part of their rows, such as quantiles to sort by, before there
        are parts.
        """
        parts = computed(lambda: self.parts(kinds, reading), self.engine)
        self._table_of_fit = Table(parts)
        return self._table_of_fit

    @abc.abstractmethod
    def parts(self, kinds: Sequence[Kind], reading: Reading) -> ClusterParts:
        """Let the workers convert the rows to numbers and keep them."""

    def close(self) -> None:
        """Free the rows on the workers."""
        table, self._table_of_fit = self._table_of_fit, None
        if table is not None:
            table.free()
