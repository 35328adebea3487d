"""Standard streams that are closed, have another encoding, are named pipes or a terminal."""

import json
import os
import pty
import shlex
import subprocess
import sys

import pytest

from dpfit import PrivateLinearRegression

from .tool import ENVIRONMENT, PROGRAM, dpfit, files_in, table

DPFIT = shlex.join(PROGRAM)
PREDICT = "predict model.json new.csv -o"
LETTERS = "größe"
# A locale that Python reads as ASCII.
PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells of Unix")


def shell(folder, line, **environment):
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("dpfit", DPFIT, 1)],
        cwd=folder,
        env={**ENVIRONMENT, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def rows(folder, quick):
    return dpfit(folder, f"{PREDICT} -", program=quick).stdout


def test_a_closed_error_stream_does_not_matter(folder, rows):
    done = shell(folder, f"dpfit {PREDICT} - 2>&-")
    assert (done.returncode, done.stdout) == (0, rows)


def test_messages_to_a_closed_stream_go_to_no_file(folder, tmp_path):
    line = f"dpfit fit visits.csv -t cost -e 1 --without patient -o {tmp_path}/m.json >&- 2>&-"
    assert shell(folder, line).returncode == 0
    assert json.loads((tmp_path / "m.json").read_text())["dpfit_model"]


@pytest.mark.parametrize("line", ["show model.json", "budget -e 1", "--version"])
def test_a_closed_output_is_ignored(folder, line):
    done = shell(folder, f"dpfit {line} >&-")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("show - <&-", "standard input is closed"),
        ("predict model.json - -o - <&-", "standard input is closed"),
        (f"{PREDICT} - >&-", "standard output is closed"),
    ],
)
def test_a_needed_stream_that_is_closed_is_reported(folder, line, words):
    done = shell(folder, f"dpfit {line}")
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"dpfit: {words}")


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    place = tmp_path_factory.mktemp("letters")
    frame = table().select(["carat", "price"]).rename_columns([LETTERS, "price"])
    PrivateLinearRegression(epsilon=1.0).fit(frame, "price").save(place / "üm.json")
    return place


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, PLAIN])
@pytest.mark.parametrize("option", ["--json", "--sql t"])
def test_output_for_programs_is_utf_8(letters, option, environment):
    right = shell(letters, f"dpfit show üm.json {option}")
    assert LETTERS in right.stdout.decode()
    done = shell(letters, f"dpfit show - {option} < üm.json", **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == right.stdout


def test_bytes_are_not_a_model(folder, quick):
    done = dpfit(folder, "show -", input=b"\xff\xfe\x00", program=quick)
    assert done.returncode == 1
    assert b"not a dpfit model file" in done.stderr


def test_names_that_the_locale_cannot_encode_are_reported(folder, tmp_path):
    (tmp_path / "neü.csv").write_bytes((folder / "new.csv").read_bytes())
    done = shell(tmp_path, f"dpfit predict {folder}/model.json neü.csv -o p.csv", **PLAIN)
    assert done.returncode == 1
    assert b"LC_ALL=C.UTF-8" in done.stderr
    assert files_in(tmp_path) == {"neü.csv"}


@pytest.mark.parametrize(
    "line",
    [
        f"{PREDICT} /dev/stdout | cat",
        f"{PREDICT} /dev/fd/1 | cat",
        "predict model.json <(cat new.csv) --format csv -o -",
        "predict model.json <(cat new.csv) -o -",
        "predict <(cat model.json) new.csv -o -",
    ],
)
def test_named_pipes_are_read_like_pipes(folder, rows, line):
    done = shell(folder, f"dpfit {line}")
    assert (done.returncode, done.stdout) == (0, rows), done.stderr


def test_standard_input_has_a_name(folder, quick, rows):
    line = "predict model.json /dev/stdin -o -"
    done = dpfit(folder, line, input=(folder / "new.csv").read_bytes(), program=quick)
    assert done.stdout == rows


def on_a_terminal(folder, line):
    """Return what is shown, and the exit code."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *shlex.split(line)],
        cwd=folder,
        env={**ENVIRONMENT, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    seen = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(master)
    return seen.replace(b"\r\n", b"\n"), process.wait(60.0)


def test_rows_on_a_terminal_are_not_mixed_with_progress(folder, rows):
    # There may be a note at the end.
    seen, code = on_a_terminal(folder, f"{PREDICT} -")
    assert code == 0
    assert seen.startswith(rows)


def test_a_plot_does_not_go_to_a_terminal(folder):
    seen, code = on_a_terminal(folder, "show model.json --plot -")
    assert code == 2
    assert seen.startswith(b"dpfit: a plot cannot be shown in a terminal")
