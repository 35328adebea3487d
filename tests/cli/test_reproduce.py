"""``dpfit reproduce``, good and bad paths."""

import os
import signal
import subprocess
import sys

import pytest
from tests.experiments.folders import folder_of_tables, pieces, wait_until

from dpfit.experiments.methods import METHODS

from . import tool
from .tool import dpfit, error_of, files_in

# As quick as a run can be.
TINY = "--method linear --method adassp --trials 0 --seeds 1 --jobs 1 --figures none"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return folder_of_tables(tmp_path_factory.mktemp("tables"), rows=200)


def test_it_is_quiet_in_pipes_and_says_where_the_report_is(data, tmp_path):
    program = [sys.executable, "-W", "error", "-m", "dpfit.cli"]
    done = dpfit(tmp_path, f"reproduce --data {data} --out out {TINY}", program=program)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert done.stdout.decode().endswith("report: out/report.html\n")
    assert {"report.html", "results.csv", "results.json", "results.sqlite"} <= files_in(
        tmp_path / "out"
    )


def test_its_processes_start_from_the_command_line_too(data, tmp_path):
    line = f"reproduce --data {data} --out out {TINY} --jobs 2"
    done = dpfit(tmp_path, line)
    assert done.returncode == 0, done.stderr


def test_the_help_names_every_method(tmp_path, quick):
    text = dpfit(tmp_path, "reproduce --help", program=quick).stdout.decode()
    assert all(name in text for name in METHODS)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--data . --out out", 1, "no table of the paper"),
        ("--data {data} --out out --seeds 0", 2, "seeds"),
        ("--data {data} --out out --method magic", 2, "'magic'"),
        ("--data {data} --out out --jobs 0", 2, "jobs=0"),
        ("--data {data} --out out --epsilon x", 2, "--epsilon"),
        ("--data {data} --out out --adopt .", 1, "no file 'summary.json'"),
        ("--data {data} --out /dev/null/out", 1, "Not a directory"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(data, tmp_path, quick, options, code, said):
    done = dpfit(tmp_path, "reproduce " + options.format(data=data), program=quick)
    assert said in error_of(done, code)


def test_missing_packages_are_named_at_once(data, tmp_path):
    code = (
        "import sys, dpfit.experiments.reproduction as r; r._PACKAGES = ('optuna', 'no_such');"
        f"from dpfit.cli import main; sys.exit(main(['reproduce', '--data', {str(data)!r}]))"
    )
    said = error_of(dpfit(tmp_path, "", program=[sys.executable, "-c", code]), 1)
    assert "need no_such" in said
    assert 'pip install "dpfit[experiments]"' in said


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_after_ctrl_c_it_says_how_to_go_on(data, tmp_path):
    out = tmp_path / "out"
    line = ["reproduce", "--data", str(data), "--out", str(out), "--trials", "200", "--jobs", "1"]
    process = subprocess.Popen(
        [*tool.PROGRAM, *line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=tool.ENVIRONMENT,
        text=True,
    )
    wait_until(lambda: pieces(out / "results.sqlite") > 0 or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == "dpfit: interrupted\n"
    assert "run the same command to go on" in stdout
    assert files_in(out) == {"results.sqlite"}
