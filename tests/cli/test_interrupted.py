"""Ctrl-C, SIGTERM and closed pipes end a command without leaving partial files."""

import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .tool import ENVIRONMENT, PROGRAM, files_in

PATIENCE = 60.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def start(folder, line, program=PROGRAM, **options):
    # A process that was started in the background may have been told to ignore Ctrl-C.
    return subprocess.Popen(
        [*program, *shlex.split(line)],
        cwd=folder,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **options,
    )


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A small file with so many rows that a fit takes seconds."""
    place = tmp_path_factory.mktemp("large")
    column = pa.array(np.arange(1 << 16) % 97.0)
    table = pa.table({f"x{i}": column for i in range(8)} | {"y": column})
    with pq.ParquetWriter(place / "large.parquet", table.schema) as writer:
        for _ in range(150):
            writer.write_table(table)
    return place


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "terminated"),
        (signal.SIGQUIT, 131, "terminated"),
    ],
)
@pytest.mark.parametrize("delay", [0.1, 2.0])
def test_a_fit_that_is_stopped_leaves_nothing(large, number, code, words, delay):
    process = start(
        large, "fit large.parquet -t y -e 1 --jobs 1 -o m.json", stdout=subprocess.DEVNULL
    )
    # The output is opened before anything is read, or imported.
    wait_for(lambda: len(files_in(large)) > 1)
    time.sleep(delay)
    process.send_signal(number)
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert error.decode() == f"dpfit: {words}; nothing was written\n"
    assert files_in(large) == {"large.parquet"}


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_signal_at_the_end_reports_whether_the_file_is_complete(folder, tmp_path, moment):
    """The file gets its name when all bytes are on the disk, which may take long."""
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
    written = moment == "replace"
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


def test_an_older_file_stays_if_its_replacement_fails(large):
    (large / "m.json").write_text("precious")
    process = start(
        large, "fit large.parquet -t y -e 1 --jobs 1 -o m.json", stdout=subprocess.DEVNULL
    )
    wait_for(lambda: len(files_in(large)) > 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert (large / "m.json").read_text() == "precious"
    (large / "m.json").unlink()
    assert files_in(large) == {"large.parquet"}


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
