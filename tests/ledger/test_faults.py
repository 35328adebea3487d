"""Damaged, read-only, full, copied, from the future: an error, and nothing is released or lost."""

import os
import pathlib
import random
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import traceback

import numpy as np
import pytest

from dpfit import AdaSSP, Ledger, LedgerError, LedgerWarning, PrivateLinearRegression, load
from dpfit._atomic_file import whole_file
from dpfit.accounting import _ledger_file
from dpfit.exceptions import Code
from dpfit.release import Releaser

NOBODY = 65534


@pytest.fixture
def path():
    """A ledger with some entries, in a folder that every user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = pathlib.Path(folder) / "study.dpl"
        ledger = Ledger.create(path, epsilon=20.0, dataset="NHANES 2017", unit="person")
        for place in range(3):
            entry = ledger.add(f"table {place}", mu=0.5)
            ledger.add_checksum(entry.id, "model.json", b"{}")
        yield path
        os.chmod(folder, 0o777)


def fit(path):
    AdaSSP(mu=0.1, ledger=path).fit(np.ones((20, 1)), np.ones(20))


def refuses(path, monkeypatch, code):
    """Check that a fit ends with an error before it looks at a row, and return the error."""

    def released(*_, **__):
        pytest.fail("something was released")

    with monkeypatch.context() as patch:
        for name in ("release", "public_rows", "random"):
            patch.setattr(Releaser, name, released)
        with pytest.raises(LedgerError) as error:
            fit(path)
    assert error.value.code is code
    assert str(path) in str(error.value)
    return error.value


def in_a_child(act, user=None):
    """Return what `act` returns in another process, perhaps of another user: "ok", or an error."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if user is not None:
                os.seteuid(user)
            act()
            answer = "ok"
        except BaseException as error:
            answer = f"{getattr(error, 'code', '')}: {traceback.format_exc()}"
        os.write(writer, answer.encode()[-60000:])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        answer = file.read()
    os.waitpid(child, 0)
    return answer


def changed(path, statement):
    """Change a ledger behind its back."""
    connection = sqlite3.connect(path)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET mu = 0.01 WHERE number = 2",
        "UPDATE entries SET mu = NULL WHERE number = 2",
        "UPDATE entries SET times = 0 WHERE number = 3",
        "UPDATE entries SET what = CAST(x'ff00' AS TEXT) WHERE number = 1",
        "UPDATE entries SET mu = x'00' WHERE number = 1",
        "DELETE FROM entries WHERE number = 1",
        "DELETE FROM entries WHERE number = 3",
        "DELETE FROM entries",
        "UPDATE settings SET mu = 100.0",
        "UPDATE settings SET dataset = 'other'",
        "DELETE FROM settings",
        "DROP TABLE entries",
        "UPDATE files SET checksum = 'sha256:0' WHERE number = 2",
    ],
)
def test_changed_entries_are_noticed(path, statement, monkeypatch):
    changed(path, statement)
    error = refuses(path, monkeypatch, Code.DAMAGED)
    assert "restore a backup" in error.hint
    for use in (Ledger, lambda path: Ledger(path).history()):
        with pytest.raises(LedgerError, match="damaged"):
            use(path)


def test_no_changed_byte_makes_the_sum_smaller(path):
    """Wherever a byte is wrong, there is an error, or the entries are what they were."""
    before = Ledger(path).history()
    good = path.read_bytes()
    rng = random.Random(0)
    # The file is mostly zeros. Where it is not, there is something to damage.
    places = [place for place, byte in enumerate(good) if byte]
    noticed = 0
    for place in rng.sample(places, 400):
        bad = bytearray(good)
        bad[place] ^= rng.randrange(1, 256)
        path.write_bytes(bad)
        try:
            assert Ledger(path).history() == before
        except LedgerError:
            noticed += 1
        for ending in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
    assert noticed > 200


@pytest.mark.parametrize("size", [1, 100, 4096, 8192, 20000])
def test_a_truncated_file_is_noticed(path, size, monkeypatch):
    assert path.stat().st_size > size
    os.truncate(path, size)
    with pytest.raises(LedgerError):
        fit(path)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n" * 1000])
def test_other_files_are_not_ledgers(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="not a dpfit ledger"):
        fit(path)
    assert path.read_bytes() == content


def test_other_databases_are_not_ledgers(tmp_path, monkeypatch):
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE entries (mu REAL)")
    connection.close()
    error = refuses(tmp_path / "other.db", monkeypatch, Code.UNREADABLE)
    assert "not a dpfit ledger" in error.message


def test_a_folder_is_not_a_ledger(tmp_path, monkeypatch):
    refuses(tmp_path, monkeypatch, Code.UNREADABLE)


def test_a_ledger_of_a_newer_version_is_refused(path, monkeypatch):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    error = refuses(path, monkeypatch, Code.NEWER_VERSION)
    assert "pip install --upgrade dpfit" in error.hint
    with pytest.raises(LedgerError, match="newer dpfit"):
        Ledger(path)


def other_user():
    """Return a user to whom permissions apply."""
    return NOBODY if os.geteuid() == 0 else None


@pytest.mark.parametrize(("what", "mode"), [("file", 0o444), ("folder", 0o555)])
def test_without_permission_to_write_there_is_no_fit(path, what, mode):
    os.chmod(path, 0o666)
    os.chmod(path if what == "file" else path.parent, mode)
    before = Ledger(path).history()

    def use():
        # It can still be read.
        assert Ledger(path).history() == before
        assert Ledger(path).remaining().mu > 0.0
        fit(path)

    answer = in_a_child(use, other_user())
    assert answer.startswith("read-only: "), answer
    assert "must be able to write both the file and the folder" in answer
    assert Ledger(path).history() == before


def test_a_ledger_that_cannot_be_read_is_refused(path):
    os.chmod(path, 0)
    answer = in_a_child(lambda: Ledger(path), other_user())
    assert answer.startswith("read-only: "), answer


def test_a_ledger_cannot_be_created_without_permission(path):
    os.chmod(path.parent, 0o555)

    def create():
        Ledger.create(path.with_name("new.dpl"), mu=1.0, dataset="x")

    answer = in_a_child(create, other_user())
    assert "cannot be created: permission denied" in answer
    assert not path.with_name("new.dpl").exists()


@pytest.mark.parametrize("size", [0, 100, 4096, 5000, 10000])
def test_a_full_disk_ends_the_fit(path, size):
    """No file may grow beyond a few bytes, so that the log cannot be written."""
    before = Ledger(path).history()

    def use():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        fit(path)

    answer = in_a_child(use)
    assert answer.startswith("disk-full: "), answer
    assert Ledger(path).history() == before
    fit(path)
    assert len(Ledger(path).history()) == 4


def test_a_full_database_ends_the_fit(path, monkeypatch):
    from dpfit.accounting import _ledger_file

    connect = _ledger_file._connect

    def small(path, mode):
        connection = connect(path, mode)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    before = Ledger(path).history()
    monkeypatch.setattr(_ledger_file, "_connect", small)
    with pytest.raises(LedgerError, match="the disk is full") as error:
        Ledger(path).add("x" * 10000, mu=1e-6)
    assert error.value.code is Code.DISK_FULL
    monkeypatch.undo()
    assert Ledger(path).history() == before


def test_a_full_disk_leaves_no_half_created_ledger(tmp_path):
    path = tmp_path / "new.dpl"

    def use():
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        Ledger.create(path, mu=1.0, dataset="x")

    assert in_a_child(use).startswith("disk-full: ")
    assert list(tmp_path.iterdir()) == []


def test_left_over_logs_are_not_read_into_a_new_ledger(path):
    other = path.with_name("other.dpl")
    log = path.with_name("other.dpl-wal")
    log.write_bytes(b"left over")
    with pytest.raises(LedgerError, match=r"other\.dpl-wal"):
        Ledger.create(other, mu=1.0, dataset="x")
    assert log.read_bytes() == b"left over"
    assert not other.exists()


@pytest.mark.parametrize("copy", [shutil.copy, shutil.copy2])
def test_a_copy_is_refused_until_somebody_decides(path, copy, monkeypatch):
    other = path.with_name("copy.dpl")
    copy(path, other)
    error = refuses(other, monkeypatch, Code.COPIED)
    assert "adopt()" in error.hint
    assert Ledger(other).is_copy()
    assert not Ledger(path).is_copy()
    fit(path)
    entry = Ledger(other).adopt()
    assert (entry.kind, entry.mu, entry.number) == ("adopted", None, 4)
    assert "copied" in entry.remark
    fit(other)
    assert len(Ledger(other).history()) == 5


def test_a_restored_backup_is_refused(path, monkeypatch):
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    fit(path)
    # As `mv backup study.dpl` does.
    os.replace(backup, path)
    refuses(path, monkeypatch, Code.COPIED)


def test_a_restored_backup_is_refused_even_if_it_has_the_same_inode(path, monkeypatch):
    """Inodes are used again. Here all files have the same one."""
    try:
        os.getxattr(path, "user.dpfit.ledger")
    except (AttributeError, OSError):
        pytest.skip("there are no extended attributes here")
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    os.replace(backup, path)
    connection = sqlite3.connect(path)
    (place,) = connection.execute("SELECT identity FROM place").fetchone()
    same_inode = f"{path.stat().st_ino} {place.partition(' ')[2]}"
    connection.execute("UPDATE place SET identity = ?", (same_inode,))
    connection.commit()
    connection.close()
    refuses(path, monkeypatch, Code.COPIED)
    Ledger(path).adopt()
    fit(path)


def test_a_renamed_ledger_is_the_same(path):
    ledger = Ledger(path)
    other = path.with_name("renamed.dpl")
    os.rename(path, other)
    fit(other)
    assert len(Ledger(other).history()) == 4
    with pytest.raises(LedgerError, match="does not exist"):
        ledger.history()


def test_a_symbolic_link_is_the_same_ledger(path):
    link = path.with_name("link.dpl")
    link.symlink_to(path)
    fit(link)
    assert Ledger(link) == Ledger(path)
    assert len(Ledger(path).history()) == 4


def test_a_second_name_is_refused(path, monkeypatch):
    """SQLite keeps a log by name, so that one name would not see what the other spent."""
    os.link(path, path.with_name("second.dpl"))
    refuses(path, monkeypatch, Code.COPIED)


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_a_ledger_is_not_replaced_by_a_model(path, ending, tmp_path):
    model = PrivateLinearRegression(mu=0.1).fit(np.ones((20, 1)), np.ones(20))
    (tmp_path / "link").symlink_to(path)
    content = path.read_bytes()
    for name in (path, tmp_path / "link") if not ending else (f"{path}{ending}",):
        for save in (model.save, model.report):
            with pytest.raises(FileExistsError, match="it is a ledger"):
                save(name)
    assert path.read_bytes() == content
    # Other files are replaced, also databases.
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE x (y)")
    connection.close()
    model.save(other)
    load(other)


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_an_output_does_not_drop_the_locks_of_a_ledger(path, ending):
    """A process that closes a file loses its locks on it, also those of other threads."""

    def save():
        with pytest.raises(FileExistsError), whole_file(f"{path}{ending}"):
            pass

    saving = threading.Thread(target=save)
    other = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], timeout=0.0, isolation_level=None)\n"
        "connection.execute('BEGIN IMMEDIATE')\n"
    )

    def act(_):
        saving.start()
        saving.join(0.3)
        return subprocess.run([sys.executable, "-c", other, path], capture_output=True, text=True)

    found = _ledger_file.write(str(path), act)
    saving.join()
    assert "database is locked" in found.stderr


def test_another_ledger_in_the_same_place_is_noticed(path):
    ledger = Ledger(path)
    path.unlink()
    Ledger.create(path, mu=1.0, dataset="other")
    with pytest.raises(LedgerError, match="replaced by another one"):
        ledger.add("x", mu=0.1)
    assert Ledger(path).history() == ()


def test_a_clock_that_goes_back_is_noted_and_changes_no_order(path, monkeypatch):
    ledger = Ledger(path)
    last = ledger.history()[-1].time
    monkeypatch.setattr("dpfit.accounting._ledger_tables.utc_now", lambda: "1999-12-31T00:00:00Z")
    with pytest.warns(LedgerWarning, match=f"is of {last}, and the clock says 1999"):
        entry = ledger.add("x", mu=0.1)
    assert entry.remark == "the clock went back"
    # Warnings are errors in tests. Then nothing is spent.
    monkeypatch.setattr("dpfit.accounting._ledger_tables.utc_now", lambda: "1999-12-30T00:00:00Z")
    with pytest.raises(LedgerWarning):
        fit(path)
    monkeypatch.undo()
    ledger.add("y", mu=0.1)
    found = ledger.history()
    assert [entry.number for entry in found] == [1, 2, 3, 4, 5]
    assert [entry.what for entry in found][3:] == ["x", "y"]


def test_a_locked_ledger_is_waited_for_and_then_refused(path, monkeypatch):
    monkeypatch.setattr("dpfit.accounting._ledger_file._PATIENCE", 0.2)
    monkeypatch.setattr("dpfit.accounting._ledger_file._WAIT", 0.05)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    refuses(path, monkeypatch, Code.BUSY)
    # Reading does not wait for writers.
    assert len(Ledger(path).history()) == 3
    connection.close()
    fit(path)


def test_new_ledgers_have_the_usual_permissions(path):
    wanted = path.with_name("plain")
    wanted.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(wanted.stat().st_mode)
