"""Workers whose Python lacks something: errors that say what, where, and how to change it."""

import contextlib
import dataclasses
import shlex
import socket
import subprocess
import sys
import textwrap

import dask.dataframe as dd
import pytest
from dask.distributed import Client, LocalCluster

from dpfit import Categorical, PrivateLinearRegression, Schema, SourceError
from dpfit.exceptions import Code
from dpfit.sources.engines.cluster import computed
from dpfit.sources.engines.executors import checked_cores
from dpfit.sources.engines.versions import Installed, check_installed, describe

from .engine_tables import CITIES, MARKER, chain, parquet_files, table
from .local_spark import SPARK_MARKS, left_on_executors

HERE = Installed(*describe()())
CITY = Categorical(CITIES)


def python_with(folder, *, hidden=None, versions=None):
    """Return a Python that lacks a module, or that seems to have other versions of some."""
    site = folder / "site"
    site.mkdir()
    for name, version in (versions or {}).items():
        info = site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if hidden is not None:
        # Imported when Python starts.
        code = f"""
            import importlib.abc, sys
            class Hides(importlib.abc.MetaPathFinder):
                def find_spec(self, name, path=None, target=None):
                    if name.partition(".")[0] == {hidden!r}:
                        raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
            sys.meta_path.insert(0, Hides())
        """
        (site / "sitecustomize.py").write_text(textwrap.dedent(code))
    script = folder / "python"
    path = f"{shlex.quote(str(site))}:$PYTHONPATH"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {shlex.quote(sys.executable)} "$@"\n')
    script.chmod(0o700)
    return str(script)


def empty_python(folder):
    """Return the Python of a new environment, in which nothing is installed."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder / "empty")]
    subprocess.run(command, check=True)
    return str(folder / "empty" / "bin" / "python")


@pytest.fixture
def frame(spark, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    parquet_files(folder, table(100), 2)
    return spark.read.parquet(str(folder))


def failed(frame, *words):
    """Check the error of a fit: its code and its words."""
    with pytest.raises(SourceError) as caught:
        PrivateLinearRegression(schema=Schema({"city": CITY})).fit(frame, "price")
    assert caught.value.code == Code.WORKERS
    for word in words:
        assert word in str(caught.value)
    chain(caught.value)


class TestSpark:
    pytestmark = SPARK_MARKS

    def use(self, spark, monkeypatch, python):
        # What PYSPARK_PYTHON is read into when a session starts.
        monkeypatch.setattr(spark.sparkContext, "pythonExec", python)

    def test_nothing_is_installed(self, spark, frame, tmp_path, monkeypatch):
        self.use(spark, monkeypatch, empty_python(tmp_path))
        # A source tree on PYTHONPATH is found even so, but not what it imports.
        failed(frame, "is not installed in the Python of Spark's workers", "PYSPARK_PYTHON")
        failed(frame, str(tmp_path / "empty"), socket.gethostname())
        assert not left_on_executors(spark)

    @pytest.mark.parametrize("hidden", ["dpfit", "numpy", "pyarrow"])
    def test_a_module_is_missing(self, spark, frame, tmp_path, monkeypatch, hidden):
        self.use(spark, monkeypatch, python_with(tmp_path, hidden=hidden))
        failed(frame, f"{hidden} is not installed", "PYSPARK_PYTHON")

    def test_a_version_is_another_one(self, spark, frame, tmp_path, monkeypatch):
        python = python_with(tmp_path, versions={"dpfit": "0.0.1"})
        self.use(spark, monkeypatch, python)
        failed(frame, "Spark's workers have dpfit 0.0.1", f"this process has {HERE.dpfit}")
        failed(frame, "PYSPARK_PYTHON", socket.gethostname())

    def test_numpy_is_of_another_generation(self, spark, frame, tmp_path, monkeypatch):
        self.use(spark, monkeypatch, python_with(tmp_path, versions={"numpy": "1.26.4"}))
        failed(frame, "have NumPy 1.26.4", f"this process has {HERE.numpy}")

    def test_python_is_another_version(self, spark, frame, monkeypatch):
        monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.1")
        failed(frame, "another version of Python", "PYSPARK_PYTHON")

    def test_cores_are_counted(self, spark):
        assert checked_cores(spark) == 2


class TestDask:
    @pytest.fixture
    def cluster(self):
        """Return what starts a cluster of one ordinary worker and one with another Python."""
        with contextlib.ExitStack() as stack:

            def start(python):
                options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
                found = stack.enter_context(LocalCluster(**options))
                client = stack.enter_context(Client(found))
                module = ["-m", "dask", "worker", found.scheduler_address]
                command = [python, *module, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
                other = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
                stack.callback(other.terminate)
                client.wait_for_workers(2, timeout=60)

            yield start

    def test_dpfit_is_missing(self, cluster, tmp_path):
        cluster(python_with(tmp_path, hidden="dpfit"))
        rows = dd.from_pandas(table(100).to_pandas()[["area", "city", "price"]], npartitions=2)
        failed(rows, "dpfit is not installed in the Python of Dask's workers")

    def test_a_version_is_another_one(self, cluster, tmp_path):
        cluster(python_with(tmp_path, versions={"dpfit": "0.0.1"}))
        rows = dd.from_pandas(table(100).to_pandas()[["area", "city", "price"]], npartitions=2)
        failed(rows, "Dask's workers have dpfit 0.0.1", socket.gethostname())


def test_other_versions_of_numpy_that_can_read_its_arrays_are_fine():
    major = HERE.numpy.partition(".")[0]
    other = dataclasses.replace(HERE, numpy=f"{major}.999")
    check_installed([HERE, other], "Spark", "hint")


def test_an_error_of_an_engine_shows_names_of_modules_only():
    for words, told in (
        (f"No module named 'secret-{MARKER}' in row 17", "could not compute"),
        ("ModuleNotFoundError: No module named 'pyarrow'; row 17", "pyarrow is not installed"),
    ):

        def fail(words=words):
            raise RuntimeError(words)

        with pytest.raises(SourceError, match=told) as caught:
            computed(fail, "Spark", "hint")
        assert "17" not in chain(caught.value)
        assert str(MARKER) not in chain(caught.value)
