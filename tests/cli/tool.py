"""Run the command line as a user does: as processes, in a folder with files."""

import contextlib
import os
import pathlib
import shlex
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from dpfit.demo import SCHEMA, diamonds

# Values of the data, which no message may contain.
SECRET_NUMBER, SECRET_TEXT = 7654321.25, "Zorbleflux"
SERVER = pathlib.Path(__file__).with_name("command_server.py")
PROGRAM = [sys.executable, "-m", "dpfit.cli"]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    "COLUMNS": "80",
    "MPLBACKEND": "Agg",
}


def dpfit(folder, line, input=None, program=PROGRAM, stdin=None, environment=None):
    """Run a command in a folder; input and output are bytes."""
    given = {"stdin": stdin} if stdin is not None else {"input": input or b""}
    return subprocess.run(
        [*program, *shlex.split(line)],
        cwd=folder,
        capture_output=True,
        timeout=120,
        env={**ENVIRONMENT, **(environment or {})},
        check=False,
        **given,
    )


def error_of(done, code):
    """Return the message of a failed command, and check that it is one line without data."""
    text = done.stderr.decode()
    assert done.returncode == code, text
    assert text.startswith("dpfit: "), text
    assert text.count("\n") == 1, text
    assert text.endswith("\n")
    assert "Traceback" not in text
    assert str(SECRET_NUMBER) not in text
    assert SECRET_TEXT not in text
    assert done.stdout == b""
    return text.strip()


def files_in(folder):
    """Return all names in a folder, including hidden files."""
    return {entry.name for entry in pathlib.Path(folder).iterdir()}


def table(rows=4000):
    """Return a table of strings and numbers, with a secret value of each type."""
    found = diamonds().slice(0, rows)
    cut, carat = found.column("cut").to_pylist(), found.column("carat").to_numpy().copy()
    cut[7], carat[8] = SECRET_TEXT, SECRET_NUMBER
    return found.set_column(0, "carat", pa.array(carat)).set_column(1, "cut", pa.array(cut))


def fill(folder):
    """Write the files that examples and tests need."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    whole = table()
    numbers = whole.drop_columns(["cut", "color", "clarity"])
    pc.write_csv(whole.drop_columns(["color", "clarity"]), folder / "data.csv")
    pq.write_table(numbers, folder / "data.parquet")
    pc.write_csv(whole.slice(100, 100).drop_columns(["price"]), folder / "new.csv")
    pq.write_table(whole.slice(100, 100), folder / "new.parquet")
    rng = np.random.default_rng(0)
    visits = {
        "patient": rng.integers(0, 1000, 4000),
        "age": rng.uniform(18, 90, 4000),
        "cost": rng.normal(300, 50, 4000),
    }
    pc.write_csv(pa.table(visits), folder / "visits.csv")
    (folder / "s.json").write_text(SCHEMA.to_json())
    with contextlib.suppress(FileExistsError):
        (folder / "folder").mkdir()
    return folder


def script(folder, socket):
    """Write a program `dpfit` that asks a server, and return an environment that finds it."""
    program = pathlib.Path(folder) / "dpfit"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{SERVER}" run "{socket}" "$@"\n')
    program.chmod(0o755)
    return {**ENVIRONMENT, "PATH": f"{folder}{os.pathsep}{ENVIRONMENT['PATH']}"}
