"""The file of a ledger: SQLite transactions that are on disk when they return.

Every operation opens its own connection and closes it. So a ledger can be shared by threads,
forked, pickled and cloned: no lock or buffer outlives the call. A fork waits until no thread has a
connection: SQLite keeps in memory which locks a process has, and a child would believe that it has
the locks of its parent.

The file must not be opened in any other way, not even to read it: when a process closes a file, the
operating system drops all locks that the process holds on it, and two fits could then spend the
same budget.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from dpfit._atomic_file import COMPANIONS, CONNECTED, LEDGER, in_turns
from dpfit.exceptions import Code, LedgerError

__all__ = ["VERSION", "create", "damaged", "identity", "mark", "read", "write"]

T = TypeVar("T")

VERSION = 1
"""The version of the tables. A ledger with a higher one is refused."""

# How long to wait for other processes, in seconds; and how long SQLite waits each time, during
# which Ctrl-C is not noticed.
_PATIENCE, _WAIT = 60.0, 0.5
# Errors that pass: another connection is writing, or opening or closing the log.
_PASSING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
# The second if a damaged name is part of SQLite's message.
_PROBLEMS = (sqlite3.Error, UnicodeDecodeError)
_MARK = "user.dpfit.ledger"

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=CONNECTED.acquire,
        after_in_parent=CONNECTED.release,
        after_in_child=CONNECTED.release,
    )

_TABLES = (
    """CREATE TABLE settings (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        ledger TEXT NOT NULL, dataset TEXT NOT NULL, unit TEXT, rows_per_unit INTEGER,
        neighbors TEXT NOT NULL, epsilon REAL, delta REAL NOT NULL, mu REAL NOT NULL,
        other_epsilon REAL NOT NULL, other_delta REAL NOT NULL,
        created TEXT NOT NULL, checksum TEXT NOT NULL)""",
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE, time TEXT NOT NULL, kind TEXT NOT NULL, user TEXT NOT NULL,
        host TEXT NOT NULL, process INTEGER NOT NULL, what TEXT NOT NULL, mu REAL, epsilon REAL,
        delta REAL, times INTEGER NOT NULL, unit_name TEXT, max_rows INTEGER,
        remark TEXT NOT NULL, chain TEXT NOT NULL)""",
    """CREATE TABLE files (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        entry TEXT NOT NULL REFERENCES entries (id), name TEXT NOT NULL, checksum TEXT NOT NULL,
        time TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (entry, name, checksum))""",
    "CREATE TABLE place (id INTEGER PRIMARY KEY CHECK (id = 1), identity TEXT NOT NULL)",
    *(
        f"CREATE TRIGGER {table}_{action.lower()} BEFORE {action} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is never changed, only continued'); END"
        for table in ("settings", "entries", "files")
        for action in ("UPDATE", "DELETE")
    ),
)


def create(path: str, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Create the file and its tables; `fill` writes the first rows.

    Privacy
    -------
    A file that exists is never replaced: the system creates the file only if there is none, so of
    several processes one succeeds. All tables are one transaction: after a crash the file is
    complete or not a ledger. Nothing that dpfit writes gets this name in the meantime.
    """
    with in_turns(os.path.dirname(path)):
        _create(path, fill)


def _create(path: str, fill: Callable[[sqlite3.Connection], None]) -> None:
    for name in (f"{path}{ending}" for ending in COMPANIONS):
        if os.path.lexists(name):
            # SQLite would read it as a part of the new file.
            raise _error(path, Code.EXISTS, f"cannot be created: {name!r} exists")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    except FileExistsError:
        raise _error(path, Code.EXISTS, "exists already") from None
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise _error(path, Code.READ_ONLY, f"cannot be created: {reason}") from None
    try:
        with _errors_named(path), _connection(path, "rw") as connection:
            # In the file, not in a log: whoever looks at the file sees what it is.
            connection.execute(f"PRAGMA application_id = {LEDGER}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            for statement in _TABLES:
                connection.execute(statement)
            fill(connection)
            connection.execute("COMMIT")
    except BaseException:
        for name in (path, *(f"{path}{ending}" for ending in COMPANIONS)):
            with contextlib.suppress(OSError):
                os.unlink(name)
        raise


def write(path: str, act: Callable[[sqlite3.Connection], T], *, commit: bool = True) -> T:
    """Return ``act(connection)``, called while no other process writes.

    Parameters
    ----------
    path : str
        The file.
    act : callable
        Reads and writes. It may be called again if another process interfered. If it raises,
        nothing is written.
    commit : bool, default True
        Whether to keep what was written. False to find out whether it can be.

    Privacy
    -------
    When this returns, the changes are on disk and survive a crash. Only one process at a time is
    between reading the sum and writing the entry, so two of them cannot spend the same budget.
    """

    def attempt() -> T:
        with _connection(path, "rw") as connection:
            connection.execute("BEGIN IMMEDIATE")
            _check_version(path, connection)
            # Closing the connection undoes what is not committed.
            result = act(connection)
            connection.execute("COMMIT" if commit else "ROLLBACK")
            return result

    return _patiently(path, attempt)


def read(path: str, act: Callable[[sqlite3.Connection], T]) -> T:
    """Return ``act(connection)`` on a consistent state of the file, which may be read-only."""

    def attempt(mode: str) -> T:
        with _connection(path, mode) as connection:
            connection.execute("BEGIN")
            _check_version(path, connection)
            return act(connection)

    try:
        return _patiently(path, lambda: attempt("rw"))
    except LedgerError as error:
        if error.code is not Code.READ_ONLY or not os.access(path, os.R_OK):
            raise
    # SQLite needs files beside this one to read it, unless it is told that nobody writes. Nobody
    # does: there is no log.
    has_log = os.path.exists(f"{path}-wal")
    return _patiently(path, lambda: attempt("ro" if has_log else "ro&immutable=1"))


def identity(path: str) -> str:
    """Return what distinguishes a file from its copies and survives renaming it.

    It is the inode and, where there are extended attributes, the mark of :func:`mark`: inodes of
    deleted files are used again.

    Raises
    ------
    LedgerError
        If the file has several names: SQLite would keep a log for each of them, and spending
        under one name would not be seen under the other.
    """
    try:
        found = os.stat(path)
    except OSError:
        raise _missing(path) from None
    if found.st_nlink > 1:
        raise _error(path, Code.COPIED, "has several names (hard links)", "remove all but one")
    text = b""
    if hasattr(os, "getxattr"):
        with contextlib.suppress(OSError):
            text = os.getxattr(path, _MARK)
    return f"{found.st_ino} {text.hex()}"


def mark(path: str) -> None:
    """Give the file an attribute that most ways of copying do not copy, where that is possible."""
    if hasattr(os, "setxattr"):
        with contextlib.suppress(OSError):
            os.setxattr(path, _MARK, secrets.token_bytes(8))


@contextlib.contextmanager
def _connection(path: str, mode: str) -> Iterator[sqlite3.Connection]:
    """Open the file, and close it before this process can fork."""
    with CONNECTED, contextlib.closing(_connect(path, mode)) as connection:
        yield connection


def _connect(path: str, mode: str) -> sqlite3.Connection:
    if not os.path.isfile(path):
        if os.path.isdir(path):
            raise _error(path, Code.UNREADABLE, "is a folder")
        raise _missing(path)
    uri = f"{Path(path).absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=_WAIT, isolation_level=None)
    # Damaged text is found by its hash, not by its encoding.
    connection.text_factory = lambda text: str(text, "utf-8", "replace")
    try:
        # FULL in the WAL mode. EXTRA is the same there, and safer where WAL is not available.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(path: str, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != LEDGER or version < 1:
        raise _error(path, Code.UNREADABLE, "is not a dpfit ledger")
    if version > VERSION:
        raise _error(
            path,
            Code.NEWER_VERSION,
            f"was written by a newer dpfit, in format {version}; this version reads format "
            f"{VERSION}",
            "pip install --upgrade dpfit",
        )


def _patiently(path: str, attempt: Callable[[], T]) -> T:
    """Return ``attempt()``; try again while another process is in the way."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return attempt()
        except _PROBLEMS as error:
            passes = _primary(error) in _PASSING and time.monotonic() < deadline
            problem = _translated(path, error)
        if not passes:
            raise problem
        time.sleep(random.uniform(0.001, 0.02))


@contextlib.contextmanager
def _errors_named(path: str) -> Iterator[None]:
    try:
        yield
    except _PROBLEMS as error:
        problem = _translated(path, error)
    else:
        return
    raise problem


def _primary(error: Exception) -> int:
    """Return SQLite's code, without its details."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def _translated(path: str, error: Exception) -> LedgerError:
    """Return an error of SQLite as one of dpfit."""
    match _primary(error):
        case sqlite3.SQLITE_NOTADB:
            return _error(path, Code.DAMAGED, "is not a dpfit ledger, or is damaged", _OTHER_FILE)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_ERROR | sqlite3.SQLITE_FORMAT:
            return damaged(path, "SQLite cannot read it")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return _error(
                path,
                Code.READ_ONLY,
                "cannot be written",
                "its user must be able to write both the file and the folder",
            )
        case sqlite3.SQLITE_FULL:
            return _error(path, Code.DISK_FULL, "cannot be written: the disk is full")
        case sqlite3.SQLITE_IOERR:
            return _error(
                path, Code.DISK_FULL, "cannot be written: disk error, or the disk is full"
            )
        case code if code in _PASSING:
            return _error(path, Code.BUSY, "is locked by another process")
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return _error(path, Code.FAILED, f"cannot be used ({name})")


_RESTORE = "restore a backup, and add what was spent since then"
_OTHER_FILE = f"Ledger.create writes ledgers; if this one is damaged, {_RESTORE}"


def damaged(path: str, reason: str) -> LedgerError:
    """Return the error for a file whose content cannot be trusted."""
    return _error(path, Code.DAMAGED, f"is damaged: {reason}", _RESTORE)


def _missing(path: str) -> LedgerError:
    return _error(path, Code.NO_FILE, "does not exist", "Ledger.create(path, ...) creates one")


def _error(path: str, code: Code, problem: str, hint: str | None = None) -> LedgerError:
    return LedgerError(f"the ledger {path!r} {problem}", code=code, subject=path, hint=hint)
