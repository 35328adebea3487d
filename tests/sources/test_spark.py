"""Spark tables: the same bits as in memory, from a local Spark with two threads."""

import numpy as np
import pyarrow as pa
import pytest

from dpfit import (
    Binary,
    Categorical,
    Date,
    InsecureSeedWarning,
    NotFiniteError,
    Numeric,
    ParameterError,
    PrivateLinearRegression,
    Schema,
    SourceError,
)
from dpfit.sources.engines.cluster import FAN_IN
from dpfit.sources.engines.spark import SparkSource, _SparkParts
from dpfit.sources.engines.stages import Read
from dpfit.sources.engines.worker import as_blocks
from dpfit.sources.frames import FrameSource
from dpfit.sources.roles import Roles
from dpfit.sources.source import Reading, tell_nothing
from dpfit.statistics import Histograms, RowCount
from dpfit.statistics.statistic import merged

from .engine_tables import (
    CLASSES,
    MARKER,
    MARKER_TEXT,
    SCHEMA,
    assert_charged_first,
    assert_same_error,
    chain,
    example,
    fitted,
    parquet_files,
    state,
    sums_of_mapped_rows,
    table,
    with_holes,
    with_units,
)
from .local_spark import SPARK_MARKS, left_on_executors

pytestmark = SPARK_MARKS
READING = Reading("error", None, None, tell_nothing)


@pytest.fixture
def load(spark, tmp_path):
    """Return what makes a Spark frame of a table."""

    def frame(whole, parts=2):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        parquet_files(folder, whole, 1)
        return spark.read.parquet(str(folder)).repartition(parts)

    return frame


@pytest.fixture(scope="module")
def large(spark, tmp_path_factory):
    """Return a table in memory, and the same in eight partitions."""
    whole, folder = table(200_000), tmp_path_factory.mktemp("large")
    parquet_files(folder, whole, 8)
    return whole.to_pandas(), spark.read.parquet(str(folder)).repartition(8)


def kept(spark):
    return spark.sparkContext._jsc.getPersistentRDDs().size()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_spark_gives_the_bits_of_a_frame_in_memory(spark, large, cls):
    whole, frame = large
    local, far = fitted(cls, whole), fitted(cls, frame)
    assert state(far) == state(local)
    assert kept(spark) == 0
    some = frame.filter("area > 120").withColumn("prediction", far.predict(frame))
    found = sorted(some.select("area", "prediction").collect())
    rows = whole[whole.area > 120].sort_values("area")
    assert [row.area for row in found] == rows.area.tolist()
    assert [row.prediction for row in found] == local.predict(rows).tolist()


def test_spark_evaluates_as_a_frame_in_memory(spark, large):
    whole, frame = large
    weighted = CLASSES[0](max_weight=100.0, random_state=0, n_jobs=1, schema=SCHEMA)
    with pytest.warns(InsecureSeedWarning):
        weighted.fit(whole, "price", sample_weight="area")
    options = {"random_state": 1, "epsilon": 1.0}
    weights = {"sample_weight": "area", "max_weight": 100.0}
    for model, more in ((fitted(CLASSES[0], whole), {}), (weighted, weights)):
        with pytest.warns(InsecureSeedWarning):
            local = model.evaluate(whole, "price", **options, **more)
        with pytest.warns(InsecureSeedWarning):
            far = model.evaluate(frame, "price", **options, **more)
        assert far.to_dict() == local.to_dict()
    assert kept(spark) == 0


def test_weights_are_as_in_memory(spark, large):
    whole, frame = large
    model = CLASSES[0](max_weight=100.0, random_state=0, n_jobs=1, schema=SCHEMA)
    found = []
    for rows in (whole, frame):
        with pytest.warns(InsecureSeedWarning):
            found.append(state(model.fit(rows, "price", sample_weight="area")))
    assert found[0] == found[1]
    assert kept(spark) == 0


def test_units_and_missing_rows_are_as_in_memory(spark, load):
    whole = with_units(with_holes(table(5000)), 1000)
    names = pa.array([f"person {who}" for who in whole["who"].to_pylist()])
    whole = whole.set_column(whole.column_names.index("who"), "who", names)
    for missing in ("drop", "indicator"):
        options = {"unit": "who", "max_rows": 2, "missing": missing, "epsilon": 50.0}
        far = fitted(PrivateLinearRegression, load(whole), **options)
        assert state(far) == state(fitted(PrivateLinearRegression, whole.to_pandas(), **options))
    assert kept(spark) == 0
    frame = load(whole)
    found = frame.select(far.predict(frame).alias("prediction")).collect()
    found = np.sort([row.prediction for row in found])
    np.testing.assert_array_equal(found, np.sort(far.predict(whole)))
    assert np.isfinite(found).all()


def test_rows_are_mapped_by_the_executors(spark, load):
    whole = with_holes(table(20_000))
    local = sums_of_mapped_rows(FrameSource.open(whole, Roles("price")))
    assert sums_of_mapped_rows(SparkSource(load(whole, 3), "price")) == local
    assert kept(spark) == 0


def test_many_parts_are_merged_by_workers(load, monkeypatch):
    monkeypatch.setattr("dpfit.sources.engines.spark.checked_cores", lambda session: 10)
    whole = table(3000)
    frame = load(whole, 10)
    kinds = SCHEMA.resolve(whole.column_names[:-1], 7, SparkSource(frame, "price").declared)
    # Most partitions are empty.
    for some, rows in ((frame, 3000), (frame.limit(5).repartition(10), 5)):
        read = SparkSource(some, "price").table(kinds, READING)
        try:
            assert len(read._parts._executors._parts) == 10
            sums = read._parts.reduce(RowCount())
            assert 1 <= len(sums) <= FAN_IN
            assert merged(map(RowCount().read, sums)).rows == rows
        finally:
            read.free()


def test_there_is_one_part_for_each_core(load):
    frame = load(table(3000), 64)
    kinds = SCHEMA.resolve(frame.columns[:-1], 7, SparkSource(frame, "price").declared)
    read = SparkSource(frame, "price").table(kinds, READING)
    assert read._parts._executors._parts == [0, 1]
    assert read.sum(RowCount()).rows == 3000
    read.free()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_spark_forgets_the_rows_of_a_fit_that_ends_early(spark, load, monkeypatch, error):
    def fail(self, statistic):
        if isinstance(statistic, Histograms):
            assert kept(spark) == 1
            assert len(left_on_executors(spark)) == 1
            raise error
        return sums(self, statistic)

    sums = _SparkParts.reduce
    monkeypatch.setattr(_SparkParts, "reduce", fail)
    with pytest.raises(error):
        fitted(PrivateLinearRegression, load(table(100)))
    assert kept(spark) == 0
    assert not left_on_executors(spark)


def test_errors_of_workers_are_those_of_a_frame_in_memory(spark, load):
    whole = table(400).to_pandas()
    whole.loc[17, "area"] = MARKER
    whole.loc[17, "city"] = MARKER_TEXT
    whole["who"] = 1.5
    frame = load(pa.Table.from_pandas(whole, preserve_index=False))
    assert_same_error(whole, frame, ParameterError, schema=Schema({"rooms": Categorical([1, 2])}))
    levels = Schema({**SCHEMA, "city": Categorical([1, 2])})
    assert_same_error(whole, frame, ParameterError, schema=levels)
    assert_same_error(whole, frame, ParameterError, y="cost")
    assert_same_error(whole, frame, ParameterError, y=None)
    assert_same_error(whole, frame, ParameterError, unit="price", max_rows=2)
    assert_same_error(whole, frame, ParameterError, unit="who", max_rows=2)
    assert_same_error(whole[:0], frame.limit(0), ParameterError)
    assert_same_error(whole[["price"]], frame.select("price"), ParameterError)
    whole.loc[18, "price"] = np.inf
    frame = load(pa.Table.from_pandas(whole, preserve_index=False))
    assert_same_error(whole, frame, NotFiniteError)
    assert kept(spark) == 0


def test_other_tables_of_spark_are_refused(load):
    frame = load(table(10))
    with pytest.raises(ParameterError, match="must be the name of one of its columns"):
        fitted(PrivateLinearRegression, frame, np.zeros(10))
    with pytest.raises(ParameterError, match="must be the name of one of its columns"):
        fitted(PrivateLinearRegression, frame, unit=np.zeros(10), max_rows=1)
    with pytest.raises(SourceError, match="the same name"):
        fitted(PrivateLinearRegression, frame.select("area", "area", "price"))


def test_a_ledger_is_charged_once_before_noise_is_drawn(load, tmp_path, monkeypatch):
    frame = load(table(2000))
    assert_charged_first(frame, tmp_path / "study.dpl", monkeypatch)


def test_types_of_spark_declare_kinds(load):
    frame = load(table(10))
    source = SparkSource(frame, "price")
    kinds = dict(zip(source.names, source.declared, strict=True))
    assert kinds.pop("lift") == Binary()
    assert kinds.pop("city") is None
    assert {kinds.pop("built"), kinds.pop("sold")} == {Date()}
    assert set(kinds.values()) == {Numeric()}


def test_numbers_are_not_taken_for_dates(load):
    source = SparkSource(load(table(10)), "price")
    for act in (
        lambda: source.predict([Date()] * source.columns, None),
        lambda: source.parts([Date()] * source.columns, READING),
    ):
        with pytest.raises(ParameterError, match="column 'area' must contain dates"):
            act()


def test_dates_are_days_whatever_the_zone_of_the_session(spark):
    query = """
        select date'1969-12-31' as day, timestamp_ntz'1970-01-02 06:00:00' as clock,
            timestamp'1960-11-06 01:30:00.123456 UTC' as `an.instant`,
            interval '36' hour as span, cast(2.25 as decimal(9, 4)) as amount
    """
    frame = spark.sql(query)
    source = SparkSource(frame)
    micros = np.datetime64("1960-11-06T01:30:00.123456").astype(np.int64).item()
    instant = micros // 86_400_000_000 + micros % 86_400_000_000 / 86_400_000_000
    expected = [-1.0, 1.25, instant, 1.5, 2.25]
    with_target = SparkSource(frame.selectExpr("*", "0.0 as y"), "y")
    names = [*with_target.names, "y"]
    sent = frame.selectExpr("*", "0.0 as y").select(*with_target._columns(names)).toArrow()
    kinds = with_target._sent(with_target.declared)
    read = Read("", names, kinds, Roles("y"), None, 10, None, (), as_blocks)
    ((columns, _),) = read._batches(iter(sent.to_batches()))
    assert [column.item() for column in columns] == expected
    # Predictors that give a column as it is.
    found = [
        source.predict(source.declared, lambda columns, place=place: columns[place] * 1.0)
        for place in range(len(expected))
    ]
    assert list(frame.select(*found).collect()[0]) == expected


@pytest.mark.usefixtures("spark")
def test_the_example_in_the_documentation_runs(capsys):
    exec(example("spark"), {})
    out = capsys.readouterr().out
    assert "epsilon 1" in out
    assert "prediction" in out


# The last, because the workers that raise end with it, and new ones take time.
def test_what_a_partition_raises_is_not_shown(spark, load):
    def fail(batches):
        raise ValueError(f"row 17 holds {MARKER}, {MARKER_TEXT}")

    frame = load(table(100))
    with pytest.raises(SourceError, match="Spark could not compute the table") as caught:
        fitted(PrivateLinearRegression, frame.mapInArrow(fail, frame.schema))
    assert "17" not in chain(caught.value)
    assert kept(spark) == 0
    assert not left_on_executors(spark)
