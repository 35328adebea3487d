"""The examples run. `tests/site` runs the code of the README and the docs."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda s: s.name)
def test_an_example_runs(script):
    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "epsilon" in done.stdout
