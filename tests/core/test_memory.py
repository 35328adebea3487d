"""Rows are read where they lie: no copy of the whole array."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benches" / "python" / "memory.py"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("layout", ["C", "F", "float32"])
def test_memory_stays_below_its_limit(layout):
    # Large enough for one copy of the array to be above the limit.
    command = [sys.executable, str(SCRIPT), "--rows", "400000", "--layout", layout]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400000 x 31" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_copy_of_the_array_would_be_noticed():
    command = [sys.executable, str(SCRIPT), "--rows", "400000", "--copy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "above" in done.stdout
