"""``python benches/reproduce.py``, good and bad paths."""

import os
import shlex
import signal
import subprocess
import sys

import pytest
from tests.experiments.folders import BENCHES, folder_of_tables, pieces, wait_until

from paper.methods import METHODS

PROGRAM = [sys.executable, "-W", "error", str(BENCHES / "reproduce.py")]
# As quick as a run can be.
TINY = "--method linear --method adassp --trials 0 --seeds 1 --jobs 1 --figures none"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return folder_of_tables(tmp_path_factory.mktemp("tables"), rows=200)


def run(folder, line, program=PROGRAM):
    """Run the command in a folder."""
    return subprocess.run(
        [*program, *shlex.split(line)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def names_in(folder):
    return {path.name for path in folder.iterdir()}


def test_it_is_quiet_in_pipes_and_says_where_the_report_is(data, tmp_path):
    done = run(tmp_path, f"--data {data} --out out {TINY}")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.endswith("report: out/report.html\n")
    assert names_in(tmp_path / "out") == {
        "report.html",
        "results.csv",
        "results.json",
        "results.md",
        "results.sqlite",
        "run.json",
        "summary.json",
        "tables.csv",
        "times.csv",
        "trials.csv.gz",
    }


def test_its_processes_start_from_the_command_line_too(data, tmp_path):
    done = run(tmp_path, f"--data {data} --out out {TINY} --jobs 2")
    assert done.returncode == 0, done.stderr


def test_the_help_names_every_method(tmp_path):
    words = run(tmp_path, "--help").stdout.replace(",", " ").split()
    assert set(METHODS) <= set(words)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--data . --out out", 1, "no table of the paper"),
        ("--data {data} --out out --seeds 0", 2, "`seeds` must be >= 1, got 0"),
        ("--data {data} --out out --epsilon x", 2, "--epsilon"),
        ("--data {data} --out out --adopt .", 1, "no file 'run.json'"),
        ("--data {data} --out /dev/null/out", 1, "Not a directory"),
    ],
)
def test_an_error_is_one_line(data, tmp_path, options, code, said):
    done = run(tmp_path, options.format(data=data))
    assert done.returncode == code
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_missing_packages_are_named_at_once(data, monkeypatch, capsys):
    import reproduce

    from paper import reproduction

    monkeypatch.setattr(reproduction, "_PACKAGES", ("optuna", "no_such"))
    assert reproduce.main(["--data", str(data)]) == 1
    assert "need no_such: pip install --group bench" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_after_ctrl_c_it_says_how_to_continue(data, tmp_path):
    out = tmp_path / "out"
    line = ["--data", str(data), "--out", str(out), "--trials", "200", "--jobs", "1"]
    process = subprocess.Popen(
        [*PROGRAM, *line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A process that was started in the background ignores Ctrl-C, and so do its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_until(lambda: pieces(out / "results.sqlite") > 0 or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == "reproduce: interrupted\n"
    assert "run the same command to continue" in stdout
    assert names_in(out) == {"results.sqlite"}
