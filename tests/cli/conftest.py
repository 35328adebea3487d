import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

from dpfit import Categorical, PrivateAdditiveRegression, PrivateLinearRegression, Schema
from dpfit.demo import SCHEMA

from . import tool


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with tables, a schema and models, which tests must not change."""
    place = tool.fill(tmp_path_factory.mktemp("files"))
    cut = Schema({"cut": SCHEMA["cut"]})
    (place / "s.json").write_text(cut.to_json())
    frame = tool.table().drop_columns(["color", "clarity"])
    assert isinstance(cut["cut"], Categorical)
    for name, kind in (
        ("model.json", PrivateLinearRegression),
        ("model1.json", PrivateLinearRegression),
        ("model2.json", PrivateAdditiveRegression),
    ):
        kind(epsilon=1.0, schema=cut).fit(frame, "price").save(place / name)
    return place


@pytest.fixture(scope="session")
def server():
    """A server of commands. Its socket is in a folder with a short name, because it must be."""
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "socket"
        process = subprocess.Popen(
            [sys.executable, tool.SERVER, "serve", path],
            env=tool.ENVIRONMENT,
            stdin=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + 60.0
            while not path.exists():
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield path
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def quick(server):
    """The program, without the time to start it."""
    return [sys.executable, "-I", "-S", str(tool.SERVER), "run", str(server)]


@pytest.fixture
def in_a_shell(server, folder, tmp_path):
    """Run lines in a shell that finds dpfit, in a folder with copies of all files."""
    for file in folder.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    environment = tool.script(programs, server)

    def run(line):
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
