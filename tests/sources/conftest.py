"""What tests of several sources share."""

import os
import sys

import pytest


@pytest.fixture
def threads():
    """Let Dask use the threads of this process, and leave dates what they are."""
    import dask

    with dask.config.set({"scheduler": "threads", "dataframe.convert-string": False}):
        yield


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """Return a session; its time zone is not that of instants, and goes back and forth."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # A short session is over before better code is worth its making.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.shuffle.partitions": "3",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
