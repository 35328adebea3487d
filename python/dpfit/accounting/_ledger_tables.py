"""The rows of a ledger's tables as values, checked against their hashes when they are read."""

from __future__ import annotations

import dataclasses
import getpass
import hashlib
import json
import os
import platform
import secrets
import sqlite3
import warnings
from collections.abc import Sequence
from typing import Any

from dpfit._printable import printable
from dpfit.accounting._ledger_entries import Charge, LedgerEntry, ModelFile, Settings
from dpfit.accounting._ledger_file import damaged, identity, mark
from dpfit.accounting.provenance import utc_now
from dpfit.exceptions import Code, LedgerError, LedgerWarning

__all__ = [
    "add_file",
    "append",
    "check_place",
    "insert_settings",
    "is_copy",
    "load",
    "set_place",
]

_SETTINGS = [field.name for field in dataclasses.fields(Settings)]
_ENTRY = [field.name for field in dataclasses.fields(LedgerEntry) if field.name != "files"]
_FILE = ["entry", *(field.name for field in dataclasses.fields(ModelFile))]
_CLOCK = "the clock went back"


def insert_settings(connection: sqlite3.Connection, path: str, settings: Settings) -> None:
    """Write the settings of a new ledger, and which file it is."""
    values = dataclasses.asdict(settings)
    _insert(connection, "settings", {"id": 1, **values, "checksum": _hash(values)})
    mark(path)
    _insert(connection, "place", {"id": 1, "identity": identity(path)})


def load(connection: sqlite3.Connection, path: str) -> tuple[Settings, tuple[LedgerEntry, ...]]:
    """Return settings and entries.

    Raises
    ------
    LedgerError
        If an entry is missing or does not match its hash.

    Privacy
    -------
    Each hash covers the settings and all entries up to it, and entries are numbered without gaps:
    an accidental change that lowers the sum is noticed. A forger could compute the hashes again.
    """
    found = _rows(connection, "settings", [*_SETTINGS, "checksum"])
    if len(found) != 1:
        raise damaged(path, "it has no settings")
    *values, chain = found[0]
    if chain != _hash(dict(zip(_SETTINGS, values, strict=True))):
        raise damaged(path, "the settings do not match their checksum")
    settings = Settings(**dict(zip(_SETTINGS, values, strict=True)))
    files: dict[str, list[ModelFile]] = {}
    for *row, own_hash in _rows(connection, "files", [*_FILE, "hash"]):
        values = dict(zip(_FILE, row, strict=True))
        if own_hash != _hash(values):
            raise damaged(path, "a model file does not match its checksum")
        files.setdefault(values.pop("entry"), []).append(ModelFile(**values))
    entries = []
    for number, row in enumerate(_rows(connection, "entries", [*_ENTRY, "chain"]), 1):
        values = dict(zip(_ENTRY, row, strict=False))
        chain = _hash({**values, "before": chain})
        if row[-1] != chain or values["number"] != number:
            raise damaged(path, f"entry {number} is missing or does not match its checksum")
        entries.append(LedgerEntry(**values, files=tuple(files.get(values["id"], ()))))
    counted = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'")
    (last,) = counted.fetchone() or (0,)
    if last != len(entries):
        raise damaged(path, "entries are missing at its end")
    return settings, tuple(entries)


def append(
    connection: sqlite3.Connection,
    path: str,
    entries: Sequence[LedgerEntry],
    cost: Charge,
    remark: str = "",
) -> LedgerEntry:
    """Write an entry after all others.

    Warns
    -----
    LedgerWarning
        If the clock is behind the last entry. The entry says so, too.
    """
    now = utc_now()
    if entries and now < entries[-1].time:
        # Before anything is written: if warnings are errors, nothing is spent.
        warnings.warn(
            f"the last entry of the ledger {path!r} is of {entries[-1].time}, and the clock says "
            f"{now}",
            LedgerWarning,
            stacklevel=2,
        )
        remark = f"{remark}; {_CLOCK}" if remark else _CLOCK
    entry = LedgerEntry(
        number=len(entries) + 1,
        id=secrets.token_hex(8),
        time=now,
        kind=cost.kind,
        user=_user(),
        host=printable(platform.node()),
        process=os.getpid(),
        what=cost.what,
        mu=cost.mu,
        epsilon=cost.epsilon,
        delta=cost.delta,
        times=cost.times,
        unit_name=cost.unit_name,
        max_rows=cost.max_rows,
        remark=remark,
    )
    last = connection.execute(
        "SELECT chain FROM entries WHERE number = ? UNION ALL SELECT checksum FROM settings",
        (len(entries),),
    )
    values = {name: getattr(entry, name) for name in _ENTRY}
    chain = _hash({**values, "before": last.fetchone()[0]})
    _insert(connection, "entries", {**values, "chain": chain})
    return entry


def add_file(connection: sqlite3.Connection, path: str, entry: str, new: ModelFile) -> None:
    """Record a model file of an entry, unless the same content was recorded by the same name."""
    values = {"entry": entry, **dataclasses.asdict(new)}
    if not connection.execute("SELECT 1 FROM entries WHERE id = ?", (entry,)).fetchone():
        raise LedgerError(f"the ledger {path!r} has no entry {printable(entry)!r}", subject=path)
    same = "SELECT 1 FROM files WHERE entry = :entry AND name = :name AND checksum = :checksum"
    if not connection.execute(same, values).fetchone():
        _insert(connection, "files", {**values, "hash": _hash(values)})


def is_copy(connection: sqlite3.Connection, path: str) -> bool:
    """Return whether the file is another one than the ledger was created in, or adopted in."""
    (found,) = connection.execute("SELECT identity FROM place").fetchone() or ("",)
    return bool(found != identity(path))


def check_place(connection: sqlite3.Connection, path: str) -> None:
    """Raise an error if the file is a copy.

    Privacy
    -------
    A ledger and its copy together could spend the budget twice.
    """
    if is_copy(connection, path):
        raise LedgerError(
            f"the ledger {path!r} was copied, restored or moved to another disk; if the other file "
            "is still used, the budget would be spent twice",
            code=Code.COPIED,
            subject=path,
            hint="Ledger(path).adopt() continues with this file",
        )


def set_place(connection: sqlite3.Connection, path: str) -> None:
    """Make this file the one that the ledger is in."""
    mark(path)
    connection.execute("UPDATE place SET identity = ?", (identity(path),))


def _rows(connection: sqlite3.Connection, table: str, columns: Sequence[str]) -> list[Any]:
    order = "id" if table == "settings" else "number"
    return connection.execute(
        f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"
    ).fetchall()


def _insert(connection: sqlite3.Connection, table: str, values: dict[str, Any]) -> None:
    places = ", ".join(f":{name}" for name in values)
    connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", values)


def _hash(values: dict[str, Any]) -> str:
    # Of bytes, too: a damaged text may be read as such.
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _user() -> str:
    try:
        return printable(getpass.getuser())
    except (ImportError, KeyError, OSError):
        # The user has no name, as in some containers.
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"
