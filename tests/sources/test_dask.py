"""Dask tables: the same bits as in memory, on a real cluster, whatever becomes of its workers."""

import os
import pickle
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster

from dpfit import (
    Categorical,
    InsecureSeedWarning,
    NotFiniteError,
    ParameterError,
    PrivateLinearRegression,
    Schema,
    SourceError,
)
from dpfit.sources.engines import worker
from dpfit.sources.engines.dask import DaskFrameSource, _DaskParts
from dpfit.sources.frames import FrameSource
from dpfit.sources.roles import Roles
from dpfit.statistics import Gradient, RowMap, Scale, SquaredResiduals

from .engine_tables import (
    CITIES,
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

every = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return a table in memory, and the same in eight partitions."""
    whole = table(200_000)
    files = parquet_files(tmp_path_factory.mktemp("large"), whole, 8)
    # Types of Arrow, because Dask would make text of objects that are dates.
    meta = pd.read_parquet(files[0], dtype_backend="pyarrow")[:0]
    frame = dd.from_map(pd.read_parquet, files, dtype_backend="pyarrow", meta=meta)
    assert frame.npartitions == 8
    return whole.to_pandas(), frame


@pytest.fixture(scope="module")
def client():
    """Return a client of two worker processes, one thread each."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as workers,
        Client(workers) as found,
    ):
        yield found


def in_parts(whole, parts=4):
    return dd.from_pandas(whole, npartitions=parts)


def tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def all_is_forgotten(client):
    """Return whether the scheduler knows no task any more; it is told soon after a release."""
    deadline = time.monotonic() + 10.0
    while tasks(client) and time.monotonic() < deadline:
        time.sleep(0.05)
    return tasks(client) == 0


@every
def test_a_cluster_gives_the_bits_of_a_frame_in_memory(client, large, cls):
    whole, frame = large
    local, far = fitted(cls, whole), fitted(cls, frame)
    assert state(far) == state(local)
    assert all_is_forgotten(client)
    rows = frame.drop(columns="price")
    predictions = far.predict(rows)
    assert isinstance(predictions, dd.Series)
    assert predictions.name == "prediction"
    found = predictions.compute()
    np.testing.assert_array_equal(found, local.predict(whole))


def test_a_cluster_evaluates_as_a_frame_in_memory(client, large):
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
    assert all_is_forgotten(client)


def test_a_ledger_is_charged_once_before_noise_is_drawn(client, tmp_path, monkeypatch):
    rows = in_parts(table(2000).to_pandas()[["area", "floor", "price"]])
    assert_charged_first(rows, tmp_path / "study.dpl", monkeypatch)
    assert all_is_forgotten(client)


def weighted(model, rows):
    with pytest.warns(InsecureSeedWarning):
        return model.fit(rows, "price", sample_weight="area")


def test_weights_are_as_in_memory(client, large):
    whole, frame = large
    model = CLASSES[0](max_weight=100.0, random_state=0, n_jobs=1, schema=SCHEMA)
    local = state(weighted(model, whole))
    assert state(weighted(model, frame)) == local
    assert all_is_forgotten(client)
    with pytest.raises(ParameterError, match="the name of one of its columns"):
        model.fit(frame, "price", sample_weight=np.ones(len(whole)))
    with pytest.raises(ParameterError, match="no column"):
        model.fit(da.ones((10, 2)), da.ones(10), sample_weight="w")


def test_rows_are_mapped_on_the_workers(client):
    whole = with_holes(table(20_000)).to_pandas()
    local = sums_of_mapped_rows(FrameSource.open(whole, Roles("price")))
    with dask.config.set({"dataframe.convert-string": False}):
        far = sums_of_mapped_rows(DaskFrameSource.open(in_parts(whole, 5), Roles("price")))
    assert far == local
    assert all_is_forgotten(client)


def test_a_worker_that_is_killed_in_a_round_changes_no_bit(client, large, monkeypatch):
    whole, frame = large
    sums, rounds = _DaskParts.reduce, []
    process = min(client.run(os.getpid).values())

    def reduce(self, statistic):
        if isinstance(statistic, Gradient):
            rounds.append(statistic)
            if len(rounds) == 4:
                assert tasks(client) >= 8
                threading.Timer(0.02, os.kill, (process, signal.SIGKILL)).start()
        return sums(self, statistic)

    monkeypatch.setattr(_DaskParts, "reduce", reduce)
    far = fitted(PrivateLinearRegression, frame)
    assert process not in client.run(os.getpid).values()
    assert len(rounds) > 4
    assert state(far) == state(fitted(PrivateLinearRegression, whole))
    assert all_is_forgotten(client)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_workers_forget_the_rows_of_a_fit_that_ends_early(client, large, monkeypatch, error):
    def fail(self, statistic):
        if isinstance(statistic, Gradient):
            assert tasks(client) >= 8
            raise error
        return sums(self, statistic)

    sums = _DaskParts.reduce
    monkeypatch.setattr(_DaskParts, "reduce", fail)
    with pytest.raises(error):
        fitted(PrivateLinearRegression, large[1])
    assert all_is_forgotten(client)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("parts", [1, 3, 20])
def test_the_number_of_partitions_changes_no_bit(parts):
    whole = table(3000).to_pandas()
    frame = in_parts(whole, parts)
    # Of some of them nothing is left.
    frame = dd.concat([frame, in_parts(whole, 2).map_partitions(lambda f: f[f.area < 0])])
    assert state(fitted(PrivateLinearRegression, frame, epsilon=20.0)) == state(
        fitted(PrivateLinearRegression, whole, epsilon=20.0)
    )


@pytest.mark.usefixtures("threads")
def test_missing_rows_are_dropped_or_refused_as_in_memory():
    whole = with_holes(table(4000)).to_pandas()
    options = {"missing": "drop", "epsilon": 20.0}
    local, far = (fitted(PrivateLinearRegression, X, **options) for X in (whole, in_parts(whole)))
    assert state(far) == state(local)
    np.testing.assert_array_equal(far.predict(in_parts(whole)), local.predict(whole))
    assert_same_error(whole, in_parts(whole), NotFiniteError)


@pytest.mark.usefixtures("threads")
def test_missing_values_have_indicators_as_in_memory():
    whole = with_units(with_holes(table(4000)), 1000).to_pandas()
    whole["area"] = whole["area"].fillna(0.0)
    options = {"missing": "indicator", "epsilon": 20.0, "max_weight": 100.0, "max_rows": 2}
    found = []
    for X in (whole, in_parts(whole)):
        model = PrivateLinearRegression(random_state=0, n_jobs=1, schema=SCHEMA, **options)
        with pytest.warns(InsecureSeedWarning):
            model.fit(X, "price", unit="who", sample_weight="area")
        found.append((state(model), np.asarray(model.predict(X))))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert np.isfinite(found[0][1]).all()
    assert "sold (missing)" in model.model_.column_names
    numbers = whole[["floor"]].to_numpy(np.float64).copy()
    numbers[::5] = np.nan
    target = whole["area"].to_numpy()
    local = fitted(PrivateLinearRegression, numbers, target, missing="indicator", schema=None)
    parts = da.from_array(numbers, chunks=(700, 1)), da.from_array(target, chunks=700)
    far = fitted(PrivateLinearRegression, *parts, missing="indicator", schema=None)
    assert state(far) == state(local)


def test_what_a_partition_raises_is_not_shown(client, large):
    def fail(frame):
        raise ValueError(f"row 17 holds {MARKER}, {MARKER_TEXT}")

    broken = large[1].map_partitions(fail, meta=large[0][:0])
    for scheduler in ("threads", "dask.distributed"):
        with dask.config.set(scheduler=scheduler), pytest.raises(SourceError) as caught:
            fitted(PrivateLinearRegression, broken)
        assert "ValueError" in str(caught.value)
        assert "17" not in chain(caught.value)
    assert all_is_forgotten(client)


@pytest.mark.usefixtures("threads")
@every
def test_arrays_give_the_same_bits(cls):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3000, 4))
    y = x @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=3000)
    options = {"schema": None, "epsilon": 20.0}
    local = fitted(cls, x, y, **options)
    far = da.from_array(x, chunks=(700, 2))
    for target in (da.from_array(y, chunks=700), da.from_array(y, chunks=451)):
        assert state(fitted(cls, far, target, **options)) == state(local)
    unknown = dd.from_dask_array(far.rechunk((700, 4))).to_dask_array()
    series = dd.from_dask_array(da.from_array(y, chunks=700))
    assert state(fitted(cls, unknown, series, **options)) == state(local)
    predictions = local.predict(far)
    assert isinstance(predictions, da.Array)
    assert predictions.shape == (3000,)
    np.testing.assert_array_equal(predictions.compute(), local.predict(x))


@pytest.mark.usefixtures("threads")
def test_a_target_beside_the_frame():
    whole = table(3000).to_pandas()
    X, y = whole.drop(columns="price"), whole.price
    local = fitted(PrivateLinearRegression, X, y, epsilon=20.0)
    frame = in_parts(whole)
    for target in (frame.price, frame.price.to_dask_array()):
        far = fitted(PrivateLinearRegression, frame.drop(columns="price"), target, epsilon=20.0)
        assert state(far) == state(local)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (da.ones((10, 2)), da.ones((10, 1)), "of one dimension"),
        (da.ones((10, 2)), np.ones(10), "Dask series or array"),
        (da.ones((10, 2), chunks=5), da.ones(11), "the same number of rows"),
        (da.ones((10, 2)), "price", "has no column 'price'"),
        (da.ones(10), da.ones(10), "Expected 2D array"),
        (da.ones((10, 2), dtype=complex), da.ones(10), "must be a table of numbers"),
        (da.ones((10, 2))[da.ones(10) > 0], da.ones(9), "the same number of rows"),
        (dask.delayed(1), da.ones(10), "a Dask table must be"),
    ],
)
def test_what_is_no_table_is_refused(X, y, message):
    with pytest.raises(ParameterError, match=message):
        fitted(PrivateLinearRegression, X, y, schema=None)


@pytest.mark.usefixtures("threads")
def test_partitions_that_do_not_match_are_refused():
    frame = in_parts(table(40).to_pandas())
    X = frame.drop(columns="price")
    with pytest.raises(ParameterError, match="the same partitions"):
        fitted(PrivateLinearRegression, X, frame.price.repartition(npartitions=2))
    shorter = frame.price.map_partitions(lambda part: part[:-1])
    with pytest.raises(ParameterError, match="the same number of rows"):
        fitted(PrivateLinearRegression, X, shorter)


@pytest.mark.usefixtures("threads")
def test_types_declare_levels_unless_they_are_those_of_the_rows():
    # Of objects, as dates are in pandas, a type says nothing.
    whole = table(40).to_pandas().drop(columns="built")
    whole["city"] = pd.Categorical.from_codes(whole.rooms % 4, CITIES)
    frame = in_parts(whole)
    kinds = Schema.from_frame(frame, target="price")
    assert kinds["city"] == Categorical(CITIES)
    assert kinds == Schema.from_frame(whole, target="price")
    source = DaskFrameSource(frame.assign(city=frame.city.cat.as_unknown()), "price")
    assert source.declared[source.names.index("city")] is None


@pytest.mark.usefixtures("threads")
def test_the_example_in_the_documentation_runs(capsys):
    exec(example("dask"), {})
    assert "epsilon 1" in capsys.readouterr().out


def test_a_block_travels():
    scale = Scale(2.0**-18)
    row_map = RowMap([(0.0, 1.0, [(-1.0, 1.0, 0.5)])], (0.0, 1.0), scale, 0.5)
    part = [([np.linspace(-1, 1, 100)], np.linspace(0, 1, 100))]
    (block,) = worker.Quantise(row_map, "error")(part)
    other = pickle.loads(pickle.dumps(block))
    theta = np.array([0.25, 0.5])
    for statistic in (Gradient(theta, 1000, scale), SquaredResiduals(theta, 1000, scale)):
        one, two = (statistic.sum(worker.as_blocks([part])) for part in (block, other))
        assert one.to_bytes() == two.to_bytes()
    assert block.__sizeof__() >= 100 * 8
    (mapped,) = worker.MapRows(np.ones((2, 6)))([block])
    assert pickle.loads(pickle.dumps(mapped)).to_bytes() == mapped.to_bytes()
    assert mapped.__sizeof__() == 2 * block.__sizeof__()
