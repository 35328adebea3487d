"""The jobs of a fit on Spark's executors, which keep the rows in files between them.

The first job reads the table. Spark caches what it returns: a row for each part, with the key of
its files. All later jobs read these rows, so Spark runs each task where the files are. If an
executor is lost, so are its cached rows, and Spark computes them, and thereby the files, again.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from dpfit.exceptions import Code, SourceError
from dpfit.sources.engines.cluster import FAN_IN, computed
from dpfit.sources.engines.kept import Kept, Step
from dpfit.sources.engines.stages import (
    SCHEMA,
    AddUp,
    MergeSums,
    Read,
    Remove,
    Work,
    staged,
)
from dpfit.sources.engines.versions import Installed, check_installed, describe
from dpfit.sources.engines.worker import AsPart, Failure
from dpfit.statistics import Statistic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Executors", "checked_cores"]

T = TypeVar("T")

_ENGINE = "Spark"
PYTHON_HINT = (
    "install the same versions there, or choose another Python: set the environment variable "
    "PYSPARK_PYTHON (in a local session to sys.executable), or spark.pyspark.python, before the "
    "session starts"
)
# Rows of a small table that has one partition for each core.
_MANY = 1 << 14
# Seconds to wait before tasks are repeated that Spark ran on executors without their files. It
# does that if the right ones are busy for longer than `spark.locality.wait`.
_WAITS = (0.0, 0.5, 2.0, 8.0)
# How often a table is read again if files are lost.
_READS = 3


def checked_cores(session: SparkSession) -> int:
    """Return the number of cores; raise an error if workers cannot run dpfit."""
    from pyspark.sql import functions

    installed = describe()

    def told(part: int) -> str | None:
        import json

        # Spark pickles this function for each task.
        if part in seen:
            return None
        seen.add(part)
        return json.dumps([part, *installed()])

    seen: set[int] = set()
    asked = functions.udf(told, "string", useArrow=False).asNondeterministic()
    # The function sees the number of the partition, which `range` chooses by the cores.
    frame = session.range(_MANY).select(asked(functions.spark_partition_id()).alias("told"))
    rows = run(lambda: frame.where("told is not null").collect())
    found = [json.loads(row["told"]) for row in rows]
    check_installed((Installed(*fields[1:]) for fields in found), _ENGINE, PYTHON_HINT)
    return len({fields[0] for fields in found})


def run(act: Callable[[], T]) -> T:
    """Run a job, a second time if a Python worker died; errors become errors of dpfit.

    Spark repeats tasks itself, except in local sessions.
    """

    def twice() -> T:
        try:
            return act()
        except Exception as error:
            if "Python worker exited unexpectedly" not in str(error):
                raise
        return act()

    return computed(twice, _ENGINE, PYTHON_HINT)


class Executors:
    """The parts of a table on Spark's executors.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The session.
    rows : callable
        Returns the frame to read.
    read : callable
        Returns what reads a partition of it, given the random name of this fit.
    cores : int
        The number of cores.
    """

    def __init__(
        self,
        session: SparkSession,
        rows: Callable[[], DataFrame],
        read: Callable[[str], Read],
        cores: int,
    ) -> None:
        self._session, self._rows, self._cores = session, rows, cores
        # Nobody can guess it, and no other fit has it.
        self._fit = secrets.token_hex(16)
        self._read = read(self._fit)
        self._frame: Any = None
        self._parts: list[int] = []
        self._executors: set[str] = set()
        self._names = 0
        self._live: set[str] = set()
        self._forgotten: tuple[str, ...] = ()
        self._ahead: dict[int, list[bytes]] = {}
        self._reads = 0
        try:
            self._open()
        except BaseException:
            self._remove()
            raise

    def new_name(self) -> str:
        """Return a new name for the folders of parts."""
        self._names += 1
        return str(self._names)

    def hold(self, name: str) -> None:
        """Keep the parts of this name until :meth:`free`."""
        self._live.add(name)

    def free(self, name: str) -> None:
        """Free parts: their files are deleted by the next job, or all files if nothing is left."""
        if name in self._live:
            self._live.remove(name)
            self._forgotten += (name,)
            if not self._live:
                self._remove()

    def ahead(self, statistic: Statistic[Any, Any]) -> list[bytes] | None:
        """Return the sums of a statistic, if they were computed when the table was read."""
        for place, known in enumerate(self._read.first):
            if known == statistic:
                return self._ahead.get(place)
        return None

    def sums(
        self, statistic: Statistic[Any, Any], steps: tuple[Step, ...], as_part: AsPart
    ) -> list[bytes]:
        """Return a few sums, which together are that over all parts.

        Privacy
        -------
        A sum has to contain each part once. Tasks return the numbers of the parts that they have
        summed, and these are compared with those of the table.
        """
        while True:
            with contextlib.suppress(_TablesLost):
                return self._sums(AddUp(self._fit, statistic, steps, as_part, self._forgotten))
            self._open()

    def _sums(self, work: AddUp) -> list[bytes]:
        found: list[bytes] = []
        missing = set(self._parts)
        for wait in _WAITS:
            time.sleep(wait)
            frame = self._frame
            if len(missing) < len(self._parts):
                frame = frame.where(frame["parts"].isin([json.dumps([part]) for part in missing]))
            for row in self._collected(frame, work, len(missing), MergeSums(work.statistic)):
                if row["kind"] == "lost":
                    raise _TablesLost
                if row["kind"] != "sum":
                    continue
                parts = json.loads(row["parts"])
                if len(set(parts)) < len(parts) or not missing.issuperset(parts):
                    raise _incomplete()
                missing.difference_update(parts)
                if row["packed"] is not None:
                    found.append(bytes(row["packed"]))
            if not missing:
                return found
        raise _TablesLost

    def _open(self) -> None:
        """Read the table, and let Spark keep the keys of the files."""
        if self._reads == _READS:
            raise _incomplete()
        self._reads += 1
        self._unpersist()
        # Spark may already compute something here, and its errors contain values.
        self._frame = computed(
            lambda: self._rows().mapInArrow(staged(self._read), SCHEMA).persist(), _ENGINE
        )
        rows = run(self._frame.collect)
        _check(rows)
        kept = [row for row in rows if row["kind"] == "kept"]
        self._executors |= {Kept.from_json(row["text"]).executor for row in kept}
        self._parts = [part for row in kept for part in json.loads(row["parts"])]
        ahead: dict[int, list[bytes]] = {place: [] for place in range(len(self._read.first))}
        for row in rows:
            if row["kind"] == "ahead" and row["packed"] is not None:
                ahead[int(row["text"])].append(bytes(row["packed"]))
        failed = {int(row["text"]) for row in rows if row["kind"] == "not ahead"}
        self._ahead = {place: sums for place, sums in ahead.items() if place not in failed}

    def _collected(self, frame: Any, work: Work, count: int, merge: Work) -> Sequence[Any]:
        """Run a job over all parts; merge what it returns to a few rows."""

        def act() -> list[Any]:
            found, left = frame.mapInArrow(staged(work), SCHEMA), count
            while left > FAN_IN:
                left = -(-left // FAN_IN)
                found = found.repartition(left).mapInArrow(staged(merge), SCHEMA)
            rows: list[Any] = found.collect()
            return rows

        rows = run(act)
        _check(rows)
        return rows

    def _remove(self) -> None:
        """Delete the files of all executors, and what Spark keeps."""
        left, cores = set(self._executors), max(self._cores, 1)
        remove = Remove(self._fit, tuple(left))
        try:
            # Spread over all executors, also those whose tasks have failed.
            spread = self._session.range(0, cores, 1, cores)
            frames = [spread, spread]
            if self._frame is not None and self._parts:
                frames.insert(1, self._frame)
            for frame in frames:
                rows = run(frame.mapInArrow(staged(remove), SCHEMA).collect)
                left -= {row["text"] for row in rows}
                if not left:
                    break
        finally:
            self._unpersist()
            self._parts, self._ahead = [], {}

    def _unpersist(self) -> None:
        if self._frame is not None:
            self._frame.unpersist()
            self._frame = None


class _TablesLost(Exception):  # noqa: N818 - the table is then read again
    """Files are lost."""


def _incomplete() -> SourceError:
    return SourceError(
        "Spark's executors have lost rows of the table more than once",
        code=Code.FAILED,
        hint="executors may be replaced or busy; a larger spark.locality.wait may help",
    )


def _check(rows: Iterable[Any]) -> None:
    for row in rows:
        if row["kind"] == "failure":
            raise Failure(*json.loads(row["text"])).error()
