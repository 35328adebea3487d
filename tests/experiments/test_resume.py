"""A run that is killed goes on, and its results are the same file."""

import os
import random
import signal
import subprocess
import sys

import pytest
from tests.experiments.folders import ENVIRONMENT, folder_of_tables, pieces, wait_until

from paper import Options, reproduce

OPTIONS = {
    "epsilons": [0.5, 5.0],
    "trials": 3,
    "seeds": 2,
    "methods": ["adassp", "tukey_em", "linear", "least_squares"],
    "figures": "none",
}
# For two tables and two levels: trials, final fits of everything, and one without privacy.
PIECES = 2 * 2 * (9 + 9) + 2 * 2 * 2 * (4 + 3 + 1) + 2
DETERMINISTIC = ("results.csv", "results.json", "trials.csv.gz", "tables.csv", "summary.json")
CODE = """
import pathlib, sys
from paper import Options, reproduce
if __name__ == "__main__":
    data, out = map(pathlib.Path, sys.argv[1:])
    reproduce(Options(data=data, out=out, jobs=2, **{options!r}))
"""


def group_is_gone(number):
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_killing_and_starting_again_gives_the_same_files(tmp_path):
    data = folder_of_tables(tmp_path / "data", rows=400)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    reproduce(Options(data=data, out=whole, jobs=1, **OPTIONS), say=str)
    script = tmp_path / "run.py"
    script.write_text(CODE.format(options=OPTIONS))
    command = [sys.executable, "-W", "error", str(script), str(data), str(broken)]
    store = broken / "results.sqlite"
    moment = random.SystemRandom().randint(1, PIECES * 3 // 4)
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT
    )
    wait_until(lambda: pieces(store) >= moment or process.poll() is not None)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    # The processes of a run that was killed end by themselves.
    wait_until(lambda: group_is_gone(process.pid))
    assert moment <= pieces(store) <= PIECES
    assert not (broken / "results.csv").exists()
    reproduce(Options(data=data, out=broken, jobs=1, **OPTIONS), say=str)
    assert pieces(store) == PIECES
    for name in DETERMINISTIC:
        assert (broken / name).read_bytes() == (whole / name).read_bytes(), name
