"""Files that are there as a whole or not at all, and who may read them."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from dpfit import _atomic_file
from dpfit._atomic_file import whole_file
from dpfit.cli.outputs import _PartialFile

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions of Unix")


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize(("mask", "usual"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_nobody_else_reads_what_is_not_whole_yet(tmp_path, mask, usual):
    """A copy of personal data was open to all while it was written."""
    before = os.umask(mask)
    try:
        with whole_file(tmp_path / "new") as file:
            assert mode_of(file.name) == 0o600
            file.write(b"rows")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "new") == usual


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o400])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "old"
    path.write_bytes(b"old")
    path.chmod(mode)
    with whole_file(path) as file:
        assert mode_of(file.name) == 0o600
        file.write(b"new")
    assert mode_of(path) == mode
    assert path.read_bytes() == b"new"


def names_in(folder):
    return sorted(os.listdir(folder))


# Begins to write, says so, and waits.
WRITER = """
import sys
from dpfit._atomic_file import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"rows")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def writer(path):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "writing\n"
    return process


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    with writer(tmp_path / "model.json") as first, writer(tmp_path / "other.json") as second:
        first.kill()
        second.kill()
    assert len(names_in(tmp_path)) == 2
    (tmp_path / ".kept.0123abcd.part").write_text("of another program")
    with whole_file(tmp_path / "model.json") as file:
        file.write(b"new")
    assert names_in(tmp_path) == [".kept.0123abcd.part", "model.json"]
    assert (tmp_path / "model.json").read_bytes() == b"new"


def test_what_is_being_written_is_not_removed(tmp_path):
    """Also by processes that write the same name at the same time."""
    with writer(tmp_path / "model.json") as first, writer(tmp_path / "model.json") as second:
        with whole_file(tmp_path / "model.json") as file:
            file.write(b"third")
        assert len(names_in(tmp_path)) == 3
        for process in (first, second):
            assert process.communicate(timeout=60)[0] == ""
            assert process.returncode == 0
    assert names_in(tmp_path) == ["model.json"]
    assert (tmp_path / "model.json").read_bytes() == b"rows"


def test_a_name_that_leads_elsewhere_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("rows")
    (tmp_path / ".m.01234567.dpfit-part").symlink_to(precious)
    with whole_file(tmp_path / "m"):
        pass
    assert precious.read_text() == "rows"


def test_a_file_taken_for_abandoned_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    taken = []

    def locked(handle):
        if not taken:
            # Another process removes it in between.
            taken.extend(path for path in tmp_path.iterdir())
            taken[0].unlink()
        return True

    monkeypatch.setattr("dpfit._atomic_file._locked", locked)
    with whole_file(tmp_path / "model.json") as file:
        file.write(b"new")
    assert len(taken) == 1
    assert names_in(tmp_path) == ["model.json"]


@pytest.mark.parametrize("answer", [None, True])
def test_without_locks_nothing_is_taken_for_abandoned(tmp_path, monkeypatch, answer):
    (tmp_path / ".m.01234567.dpfit-part").write_text("")
    monkeypatch.setattr("dpfit._atomic_file._locked", lambda _: answer)
    with whole_file(tmp_path / "m"):
        pass
    assert len(names_in(tmp_path)) == (2 if answer is None else 1)


def test_a_file_is_not_taken_for_abandoned_before_it_has_its_name(tmp_path, monkeypatch):
    change = os.chmod

    def interfered(path, mode):
        change(path, mode)
        # What every other process that writes to this folder does first.
        _atomic_file._remove_abandoned(str(tmp_path))

    monkeypatch.setattr(os, "chmod", interfered)
    with whole_file(tmp_path / "model.json") as file:
        file.write(b"new")
    assert names_in(tmp_path) == ["model.json"]


def test_a_file_system_without_hard_links(tmp_path, monkeypatch):
    def refused(*names):
        raise PermissionError(errno.EPERM, "no links")

    monkeypatch.setattr(os, "link", refused)
    with whole_file(tmp_path / "model.json") as file:
        file.write(b"new")
    assert names_in(tmp_path) == ["model.json"]


def test_a_folder_that_another_program_has_locked_does_not_stop_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_atomic_file, "_PATIENCE", 0.05)
    with _atomic_file.in_turns(str(tmp_path)), whole_file(tmp_path / "model.json") as file:
        file.write(b"new")
    assert names_in(tmp_path) == ["model.json"]


def test_turns_end_although_a_process_was_forked_in_between(tmp_path):
    with _atomic_file.in_turns(str(tmp_path)):
        # It has a copy of every open file, and waits.
        readable, writable = os.pipe()
        if (child := os.fork()) == 0:
            os.close(writable)
            os.read(readable, 1)
            os._exit(0)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert _atomic_file._locked(folder)
    finally:
        os.close(folder)
        os.close(writable)
        os.close(readable)
        os.waitpid(child, 0)


def test_a_signal_knows_whether_the_file_has_its_name(tmp_path):
    """For a moment it has two."""
    part = _PartialFile()
    part.expect(str(tmp_path / ".m.01234567.dpfit-part"))
    assert part.remove()
    part.exists = True
    (tmp_path / ".m.01234567.dpfit-part").write_text("rows")
    assert part.remove()
    (tmp_path / ".m.01234567.dpfit-part").write_text("rows")
    os.link(tmp_path / ".m.01234567.dpfit-part", tmp_path / "m")
    assert not part.remove()
    assert names_in(tmp_path) == ["m"]
    assert not part.remove()


# A disk with room for two megabytes.
FULL_DISK = """
import os, resource, sys
import numpy as np, pyarrow as pa
from dpfit import PrivateLinearRegression, scan_batches
from dpfit.release import Releaser
rows = {rows}
batch = pa.table({{"a": np.arange(50_000.0), "y": np.arange(50_000.0)}})
scan = scan_batches(lambda: [batch] * rows, target="y", memory_limit="1MB")
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
model = PrivateLinearRegression(epsilon=1.0)
before = dict(vars(model))
try:
    model.fit(scan)
except Exception as error:
    print(type(error).__name__, any(d in str(error) for d in ("50000", "49999")))
print(vars(model) == before, os.listdir(sys.argv[1]))
"""


@pytest.mark.parametrize("batches", [4, 40])
def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path, batches):
    """Of the rows that do not fit into memory, before and after they are quantised."""
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK.format(rows=batches), tmp_path],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    first, last = done.stdout.splitlines()
    assert first.split()[1] == "False"
    assert last == "True []"
    assert names_in(tmp_path) == []
