"""Rows that Spark's executors keep: private, found again, and computed again if they are lost."""

import os
import pathlib
import shutil
import signal
import stat
import sys

import numpy as np
import pytest

from dpfit import PrivateLinearRegression, SourceError
from dpfit.sources.engines import executors, worker
from dpfit.sources.engines.executors import Executors
from dpfit.sources.engines.stages import AddUp, Read
from dpfit.statistics import RowMap, Scale

from .engine_tables import CLASSES, fitted, parquet_files, state, table
from .local_spark import SPARK_MARKS, left_on_executors

pytestmark = SPARK_MARKS


@pytest.fixture(scope="module")
def whole():
    return table(3000)


@pytest.fixture(scope="module")
def frame(spark, whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    parquet_files(folder, whole, 4)
    return spark.read.parquet(str(folder))


@pytest.fixture(scope="module")
def expected(whole):
    """Return what a fit in memory gives."""
    return state(fitted(PrivateLinearRegression, whole.to_pandas()))


def test_a_batch_and_its_blocks_are_read_from_files(tmp_path):
    scale = Scale(2.0**-18)
    row_map = RowMap([(0.0, 1.0, [(-1.0, 1.0, 0.5)])], (0.0, 1.0), scale, 0.5)
    part = [([np.linspace(-1, 1, 1000)], np.linspace(0, 1, 1000))]
    worker.pack_file(str(tmp_path / "batch"), part[0])
    columns, target = worker.unpack_file(str(tmp_path / "batch"))
    np.testing.assert_array_equal(columns, part[0][0])
    np.testing.assert_array_equal(target, part[0][1])
    (block,) = worker.Quantise(row_map, "error")(part)
    (mapped,) = worker.MapRows(np.ones((2, 6)))([block])
    for number, written in enumerate((block, mapped)):
        path = str(tmp_path / str(number))
        written.rows.save(path)
        read = worker.Block.open(written.route, row_map.native(), path)
        assert read.to_bytes() == written.to_bytes()
        with pytest.raises(OSError, match="already exists"):
            written.rows.save(path)
        data = pathlib.Path(path).read_bytes()
        for damaged in (data[:-1], data[:100], b"", data[:10] + b"x" + data[11:], data + b"x"):
            pathlib.Path(path).write_bytes(damaged)
            with pytest.raises(ValueError, match="file of rows"):
                worker.Block.open(written.route, row_map.native(), path)
        pathlib.Path(path).write_bytes(data)
    with pytest.raises(ValueError, match=r"file of rows|row maps"):
        worker.Block.open(block.route, row_map.native(), str(tmp_path / "1"))


def before_sum(monkeypatch, number, act):
    """Let something happen before a sum of a fit, on the driver."""
    sums, done = Executors.sums, []

    def patched(self, *arguments):
        done.append(None)
        if len(done) == number:
            act(self)
        return sums(self, *arguments)

    monkeypatch.setattr(Executors, "sums", patched)
    return done


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_files_are_private_and_do_not_stay(spark, frame, monkeypatch, cls):
    found = []

    def look(_):
        (folder,) = left_on_executors(spark)
        for place, folders, files in os.walk(folder):
            found.extend(os.stat(os.path.join(place, name)).st_mode for name in folders)
            found.extend(os.stat(os.path.join(place, name)).st_mode for name in files)
        found.append(folder.stat().st_mode)

    # Ranges are known then, so that there are files of numbers and of integers.
    done = before_sum(monkeypatch, 9, look)
    fitted(cls, frame)
    assert len(done) > 9
    modes = {(stat.S_IFMT(mode), stat.S_IMODE(mode)) for mode in found}
    assert modes == {(stat.S_IFDIR, 0o700), (stat.S_IFREG, 0o600)}
    assert not left_on_executors(spark)


def remove_all(spark):
    for folder in left_on_executors(spark):
        shutil.rmtree(folder)


def remove_numbers(spark):
    """Remove the batches only, of which blocks are made."""
    (folder,) = left_on_executors(spark)
    removed = [shutil.rmtree(part / "rows") for part in folder.iterdir()]
    assert removed


# The first sum is over batches, and the second is the first over blocks.
@pytest.mark.parametrize("number", [1, 2, 9])
def test_lost_files_are_computed_again(spark, frame, expected, monkeypatch, number):
    before_sum(monkeypatch, number, lambda _: remove_all(spark))
    reads = []
    read_again = Executors._open
    monkeypatch.setattr(Executors, "_open", lambda self: reads.append(None) or read_again(self))
    assert state(fitted(PrivateLinearRegression, frame)) == expected
    assert len(reads) == 2
    assert not left_on_executors(spark)


def test_lost_batches_do_not_matter_once_there_are_blocks(spark, frame, expected, monkeypatch):
    before_sum(monkeypatch, 4, lambda _: remove_numbers(spark))
    assert state(fitted(PrivateLinearRegression, frame)) == expected
    assert not left_on_executors(spark)


def test_a_table_that_is_lost_again_and_again_is_an_error(spark, frame, monkeypatch):
    sums = Executors._sums

    def without_files(self, work):
        remove_all(spark)
        return sums(self, work)

    monkeypatch.setattr(Executors, "_sums", without_files)
    with pytest.raises(SourceError, match="have lost rows of the table more than once"):
        fitted(PrivateLinearRegression, frame)
    assert not left_on_executors(spark)


def patched_from(monkeypatch, number, cls):
    """Use another class to add up, from a sum on. It is local, so that workers get its code."""
    before_sum(monkeypatch, number, lambda _: monkeypatch.setattr(executors, "AddUp", cls))


def test_a_worker_that_is_killed_changes_no_bit(spark, frame, expected, tmp_path, monkeypatch):
    marker = tmp_path / "killed"

    class Dies(AddUp):
        def __call__(self, batches):
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(batches)

    patched_from(monkeypatch, 7, Dies)
    assert state(fitted(PrivateLinearRegression, frame)) == expected
    assert marker.exists()
    assert not left_on_executors(spark)


def test_a_worker_that_is_killed_while_it_reads_changes_no_bit(
    spark, frame, expected, tmp_path, monkeypatch
):
    marker = tmp_path / "killed"

    class Dies(Read):
        def _batches(self, batches):
            for batch in super()._batches(batches):
                yield batch
                if not marker.exists():
                    marker.touch()
                    os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("dpfit.sources.engines.spark.Read", Dies)
    assert state(fitted(PrivateLinearRegression, frame)) == expected
    assert marker.exists()
    assert not left_on_executors(spark)


def test_tasks_on_the_wrong_executor_are_repeated(frame, expected, tmp_path, monkeypatch):
    class Misplaced(AddUp):
        def __call__(self, batches):
            for row in super().__call__(batches):
                marker = tmp_path / str(row.parts[0])
                found = row if marker.exists() else row._replace(kind="elsewhere", packed=None)
                marker.touch()
                yield found

    monkeypatch.setattr(executors, "_WAITS", (0.0, 0.0))
    patched_from(monkeypatch, 5, Misplaced)
    reads = []
    read_again = Executors._open
    monkeypatch.setattr(Executors, "_open", lambda self: reads.append(None) or read_again(self))
    assert state(fitted(PrivateLinearRegression, frame)) == expected
    assert len(list(tmp_path.iterdir())) > 1
    assert len(reads) == 1


def test_no_part_is_counted_twice(spark, frame, monkeypatch):
    class Twice(AddUp):
        def __call__(self, batches):
            for row in super().__call__(batches):
                yield row
                yield row

    patched_from(monkeypatch, 3, Twice)
    with pytest.raises(SourceError, match="have lost rows"):
        fitted(PrivateLinearRegression, frame)
    assert not left_on_executors(spark)


@pytest.mark.slow
def test_an_executor_that_is_killed_changes_no_bit(whole, expected, tmp_path, monkeypatch):
    """On two executors, which are processes of their own."""
    psutil = pytest.importorskip("psutil")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    places = []

    def kill(self):
        places.extend(self._executors)
        children = psutil.Process().children(recursive=True)
        alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
        name = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
        victims = [child for child in alive if name in child.cmdline()]
        assert len(victims) == 2
        victims[0].kill()

    try:
        parquet_files(tmp_path, whole, 4)
        before_sum(monkeypatch, 6, kill)
        far = fitted(PrivateLinearRegression, session.read.parquet(str(tmp_path)))
        assert state(far) == expected
        assert len(places) == 2
        for place in places:
            _, folder = executors.json.loads(place)
            assert not pathlib.Path(folder).exists()
    finally:
        session.stop()
