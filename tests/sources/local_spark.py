"""What tests of Spark share."""

import os
import pathlib
import shutil

import pytest


def java():
    """Return a path of Java, None if there is none."""
    home = pathlib.Path(os.environ.get("JAVA_HOME", "/nowhere"), "bin", "java")
    return str(home) if home.exists() else shutil.which("java")


# Of tests of Spark.
SPARK_MARKS = [
    pytest.mark.skipif(java() is None, reason="Spark needs Java, and there is none"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # Of the sockets between Python and Java, which end with the session.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def left_on_executors(session):
    """Return the folders with rows that fits have left in a local session."""
    folder = pathlib.Path(session.sparkContext.getConf().get("spark.local.dir"))
    assert list(folder.glob("blockmgr-*"))
    return list(folder.glob("*/dpfit-*"))
