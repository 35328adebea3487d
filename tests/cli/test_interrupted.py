"""Ctrl-C, SIGTERM and closed pipes end a command without leaving partial files."""

import random
import shlex
import signal
import subprocess
import sys
import time

import pytest

from .tool import ENVIRONMENT, PROGRAM, files_in

PATIENCE = 240.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def heed_signals():
    """Undo what a process inherits that was started in the background, or by nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def start(folder, line, program=PROGRAM, **options):
    return subprocess.Popen(
        [*program, *shlex.split(line)],
        cwd=folder,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=heed_signals,
        **options,
    )


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# A fit that stops at its third release, and says so with a file, until a signal ends it. It sleeps
# in short pieces: Python notices a signal that comes just before a sleep only after it.
WAITING = (
    "import itertools, pathlib, sys, time; from dpfit.cli import main; from dpfit import release;"
    "true, calls = release.Releaser.release, itertools.count(1);"
    "stop = lambda: (pathlib.Path('waiting').touch(), [time.sleep(0.05) for _ in range(12_000)]);"
    "release.Releaser.release = lambda *a: (next(calls) == 3 and stop(), true(*a))[1];"
    "sys.exit(main(sys.argv[1:]))"
)


def start_fit(folder, place, moment):
    """Start a fit that writes m.json, and wait until it is at a moment that lasts."""
    if moment == "reading":
        process = start(
            place, "fit - -t y -e 1 -o m.json", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        # The rest of the rows never comes. The output is opened before anything is read.
        process.stdin.write(b"x,y\n1,2\n")
        process.stdin.flush()
        wait_for(lambda: any(name.startswith(".") for name in files_in(place)))
        return process
    process = start(
        place,
        f"fit {folder}/visits.csv -t cost -e 1 --without patient -o m.json",
        [sys.executable, "-c", WAITING],
        stdout=subprocess.DEVNULL,
    )
    wait_for((place / "waiting").exists)
    return process


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "terminated"),
        (signal.SIGQUIT, 131, "terminated"),
    ],
)
@pytest.mark.parametrize("moment", ["reading", "releasing"])
def test_a_fit_that_is_stopped_leaves_nothing(folder, tmp_path, number, code, words, moment):
    process = start_fit(folder, tmp_path, moment)
    process.send_signal(number)
    if process.stdin is not None:
        process.stdin.close()
        process.stdin = None
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert error.decode() == f"dpfit: {words}; nothing was written\n"
    assert files_in(tmp_path) <= {"waiting"}


@pytest.mark.parametrize("moment", ["fsync", "link", "replace"])
def test_a_signal_at_the_end_reports_whether_the_file_is_complete(folder, tmp_path, moment):
    """The file gets its name when all bytes are on the disk, which may take long.

    A new file is linked, and has two names for a moment.
    """
    if moment == "replace":
        (tmp_path / "p.csv").write_text("old")
    code = (
        "import os, signal, sys, time; from dpfit.cli import main;"
        f"true = os.{moment};"
        f"os.{moment} = lambda *a: (true(*a), os.kill(os.getpid(), signal.SIGTERM), time.sleep(9));"
        "sys.exit(main(sys.argv[1:]))"
    )
    line = f"predict {folder}/model.json {folder}/new.csv -o p.csv"
    process = start(tmp_path, line, [sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    written = moment != "fsync"
    words = "the file is complete" if written else "nothing was written"
    assert error.decode() == f"dpfit: terminated; {words}\n"
    assert files_in(tmp_path) == ({"p.csv"} if written else set())


def test_a_full_disk_is_named(folder, tmp_path):
    code = (
        "import errno, os, sys; from dpfit.cli import main;"
        "full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC));"
        "os.fsync = lambda _: (_ for _ in ()).throw(full); sys.exit(main(sys.argv[1:]))"
    )
    line = f"predict {folder}/model.json {folder}/new.csv -o p.csv"
    process = start(tmp_path, line, [sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    _, error = process.communicate(timeout=PATIENCE)
    assert error.decode() == "dpfit: 'p.csv': No space left on device\n"
    assert process.returncode == 1
    assert files_in(tmp_path) == set()


def test_a_full_device_is_named(folder, quick):
    with open("/dev/full", "wb") as full:
        process = start(folder, "predict model.json new.csv -o -", quick, stdout=full)
    assert process.stderr.read() == b"dpfit: 'standard output': No space left on device\n"
    assert process.wait(PATIENCE) == 1
    process.stderr.close()


def test_an_older_file_stays_if_its_replacement_fails(folder, tmp_path):
    (tmp_path / "m.json").write_text("precious")
    process = start_fit(folder, tmp_path, "releasing")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert (tmp_path / "m.json").read_text() == "precious"
    assert files_in(tmp_path) == {"m.json", "waiting"}


def test_reading_standard_input_can_be_stopped(folder):
    line = "fit - -t price -e 1 -o -"
    process = start(folder, line, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    process.stdin.write(b"carat,price\n" * 10_000)
    process.stdin.flush()
    # The first rows are taken when the pipe, which holds less, is empty.
    process.send_signal(signal.SIGINT)
    process.stdin.close()
    assert process.stderr.read() == b"dpfit: interrupted\n"
    assert process.wait(PATIENCE) == 130
    process.stderr.close()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_closed_pipe_is_not_reported(folder, quick, format):
    line = f"predict model.json - -o - --output-format {format}"
    rows = (folder / "new.csv").read_bytes()
    header, rest = rows.split(b"\n", 1)
    # More than a pipe holds.
    process = start(folder, line, quick, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.close()
    process.stdin.write(header + b"\n" + rest * 300)
    process.stdin.close()
    error = process.stderr.read()
    assert process.wait(PATIENCE) == 141
    assert error == b""
    process.stderr.close()


def test_a_pipe_closed_before_any_output(folder):
    process = start(folder, "show model.json", stdout=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(PATIENCE) == 141
    process.stderr.close()


@pytest.mark.parametrize("output", ["m.json", "-"])
@pytest.mark.parametrize("stdout", ["a closed pipe", "/dev/full"])
def test_a_model_written_before_printing_fails_is_reported(folder, tmp_path, output, stdout):
    """The exit code is that of a failure, but the budget is spent."""
    line = f"fit {folder}/visits.csv -t cost -e 1 --without patient -o {output}"
    if stdout == "a closed pipe":
        process = start(tmp_path, line, stdout=subprocess.PIPE)
        process.stdout.close()
    else:
        with open(stdout, "wb") as full:
            process = start(tmp_path, line, stdout=full)
    text = process.stderr.read().decode()
    assert process.wait(PATIENCE) == (141 if stdout == "a closed pipe" else 1)
    process.stderr.close()
    where = "m.json" if output == "m.json" else "standard output, at least in part,"
    assert text.startswith(f"dpfit: the model was written to {where} and its budget is spent\n")
    assert files_in(tmp_path) == ({"m.json"} if output == "m.json" else set())


def kill_and_repeat(folder, place, seconds):
    """Kill a fit after so many seconds; return what is left, and what is left after the next."""
    temporary = place / "temporary"
    temporary.mkdir(exist_ok=True)
    # The first fit may have written its model before it is killed.
    line = f"fit {folder}/visits.csv -t cost -e 1 --without patient --memory-limit 1MB --force"
    line += " -o m.json"
    process = subprocess.Popen(
        [*PROGRAM, *shlex.split(line)],
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**ENVIRONMENT, "TMPDIR": str(temporary)},
    )
    time.sleep(seconds)
    process.kill()
    process.wait(PATIENCE)
    left = files_in(place), files_in(temporary)
    done = subprocess.run(
        [*PROGRAM, *shlex.split(line)],
        cwd=place,
        capture_output=True,
        env={**ENVIRONMENT, "TMPDIR": str(temporary)},
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return left, (files_in(place), files_in(temporary))


def test_what_a_killed_fit_leaves_is_removed_by_the_next(folder, tmp_path):
    process = start_fit(folder, tmp_path, "releasing")
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert len(files_in(tmp_path) - {"waiting"}) == 1
    _, after = kill_and_repeat(folder, tmp_path, 0.0)
    assert after == ({"m.json", "temporary", "waiting"}, set())


@pytest.mark.slow
def test_fits_killed_at_20_moments_leave_nothing_after_the_next(folder, tmp_path):
    """The moments are random; what must hold does not depend on them."""
    begun = time.monotonic()
    kill_and_repeat(folder, tmp_path, 0.0)
    # About as long as a whole fit takes on this machine.
    seconds = time.monotonic() - begun
    (tmp_path / "m.json").unlink()
    for _ in range(20):
        left, after = kill_and_repeat(folder, tmp_path, random.uniform(0.0, seconds))
        # Rows are in files without a name.
        assert left[1] == set()
        assert after == ({"m.json", "temporary"}, set())
        (tmp_path / "m.json").unlink()
