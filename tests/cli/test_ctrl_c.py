"""Ctrl-C at any moment of a command: exit code 130, one line, and no file left."""

import os
import random
import shlex
import signal
import subprocess
import sys
import time

import pytest

from .tool import ENVIRONMENT, files_in

PATIENCE = 120.0
# Writes a byte as soon as dpfit is imported; what is before is Python's own.
PROGRAM = (
    "import os, sys; from dpfit.cli import main; os.write(int(os.environ['STARTED']), b'.');"
    "sys.exit(main())"
)
SPENT = "dpfit: the model was written to m.json and its budget is spent\n"
# What a command may say, and whether it has written its file; None if it has or has not.
INTERRUPTED = {
    "dpfit: interrupted\n": None,
    "dpfit: interrupted; nothing was written\n": False,
    "dpfit: interrupted; the file is complete\n": True,
    f"{SPENT}dpfit: interrupted\n": True,
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def heed_ctrl_c():
    """Undo what a process inherits that was started in the background, or by nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start(place, line):
    """Start a command, and return when it has begun."""
    readable, writable = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *shlex.split(line)],
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "STARTED": str(writable)},
        pass_fds=[writable],
        preexec_fn=heed_ctrl_c,
    )
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        assert pipe.read(1) == b"."
    return process


def problems(place, line, moments, seed):
    """Interrupt a command at so many moments; return what went wrong, and how many were in time."""
    began = time.monotonic()
    _, error = start(place, line).communicate(timeout=PATIENCE)
    seconds = time.monotonic() - began
    complete, ordinary = files_in(place), error.decode()
    chance, found, in_time = random.Random(seed), [], 0
    for moment in range(moments):
        for name in files_in(place):
            (place / name).unlink()
        process = start(place, line)
        # The whole command from its first millisecond on, in as many parts.
        time.sleep(0.001 + seconds * (moment + chance.random()) / moments)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=PATIENCE)
        text, left = error.decode(), files_in(place)
        if process.returncode == 0:
            if (text, left) != (ordinary, complete):
                found.append((moment, "finished", text, left))
            continue
        in_time += 1
        if process.returncode != 130 or text not in INTERRUPTED:
            found.append((moment, process.returncode, text))
        elif (
            left
            not in {None: (set(), complete), False: (set(),), True: (complete,)}[INTERRUPTED[text]]
        ):
            found.append((moment, "files", left, text))
    return found, in_time


LINES = {
    "fit": "fit {0}/visits.csv -t cost -e 1 --without patient -o m.json",
    "predict": "predict {0}/model.json {0}/new.csv -o p.csv",
    "show": "show {0}/model.json",
    "budget": "budget add {0}/model1.json {0}/model2.json",
}


def test_ctrl_c_at_some_moments(folder, tmp_path):
    found, in_time = problems(tmp_path, LINES["fit"].format(folder), 5, seed=0)
    assert found == []
    assert in_time > 0


@pytest.mark.slow
@pytest.mark.parametrize("command", LINES)
def test_ctrl_c_at_many_moments(folder, tmp_path, command):
    found, in_time = problems(tmp_path, LINES[command].format(folder), 80, seed=1)
    assert found == []
    assert in_time > 0


@pytest.mark.parametrize("moment", ["an import", "a destructor", "after the command"])
def test_ctrl_c_where_an_exception_would_be_lost(folder, tmp_path, moment):
    """Python prints an exception of these, and goes on."""
    interrupt = "os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"
    places = {
        "an import": f"""
            class Finder:
                def find_spec(self, name, *_):
                    if name == "rich":
                        try:
                            {interrupt}
                        except BaseException:
                            pass
            sys.meta_path.insert(0, Finder())
        """,
        "a destructor": f"""
            class Ends:
                def __del__(self):
                    {interrupt}
            import dpfit.cli.standard_streams as streams
            true = streams.reopen_closed_streams
            streams.reopen_closed_streams = lambda: (Ends(), true())
        """,
        "after the command": """
            import atexit
            atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
        """,
    }
    lines = [line.removeprefix(" " * 12) for line in places[moment].splitlines()]
    code = "\n".join(
        ["import os, signal, sys, time", *lines, "from dpfit.cli import main", "sys.exit(main())"]
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "show", f"{folder}/model.json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=heed_ctrl_c,
        timeout=PATIENCE,
        check=False,
    )
    late = moment == "after the command"
    assert done.stderr.decode() == ("" if late else "dpfit: interrupted\n")
    assert done.returncode == (0 if late else 130)


def test_a_command_in_the_background_ignores_ctrl_c(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "dpfit.cli", "show", f"{folder}/model.json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    assert process.communicate(timeout=PATIENCE)[1] == b""
    assert process.returncode == 0
