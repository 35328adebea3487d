"""The tables of a run: from a folder, from OpenML, or generated."""

from __future__ import annotations

import csv
import functools
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from paper.generated_tables import GENERATED, generate
from paper.openml_source import download
from paper.registry import difference, registry
from paper.tables import Table, read_table

__all__ = ["Catalogue", "Entry", "load", "open_catalogue"]

Group = Literal["headline", "extra", "generated"]
# Columns `task_id` and `note`.
_MANIFEST = "MANIFEST.csv"
# Tables in this subfolder of the data folder are reported separately.
_EXTRA = "extra"

_NO_DATA = """\
None of the paper's tables is available: {reason}.
This is a DEMONSTRATION on generated tables. To use the paper's tables, do one of the following:
  - name a folder of Parquet files such as 361072_cpu_act.parquet: --data FOLDER, or DPFIT_DATA;
  - install the package `openml` and run again with a network: the tables are downloaded once.\
"""


@dataclass(frozen=True)
class Entry:
    """A table of a run.

    Parameters
    ----------
    number : int
        The task number on OpenML; below 10 for generated tables.
    name : str
        The table's name.
    group : {"headline", "extra", "generated"}
        Extra tables are reported separately.
    path : Path or None
        The file; None for a generated table.
    n, d : int
        Rows and columns after encoding.
    bound : float
        Largest absolute value of the target.
    checksum : str
        Checksum of all values.
    note : str
        How the table differs from the paper's; empty if it does not.
    remark : str
        The table's note in the folder's ``MANIFEST.csv``, if there is one.
    """

    number: int
    name: str
    group: Group
    path: Path | None
    n: int
    d: int
    bound: float
    checksum: str
    note: str
    remark: str = ""


@dataclass(frozen=True)
class Catalogue:
    """All tables of a run.

    Parameters
    ----------
    entries : tuple of Entry
        The tables.
    missing : tuple of int
        The paper's tasks that are not available.
    message : str
        Why all tables are generated; empty otherwise.
    """

    entries: tuple[Entry, ...]
    missing: tuple[int, ...] = ()
    message: str = ""


@functools.lru_cache(maxsize=1)
def load(entry: Entry) -> Table:
    """Return a table. The last one is cached."""
    return generate(entry.number) if entry.path is None else read_table(entry.path)


def open_catalogue(
    data: Path | None,
    *,
    extra: bool = False,
    tasks: Collection[int] | None = None,
    cache: Path | None = None,
    say: Callable[[str], None] = print,
) -> Catalogue:
    """Find the tables.

    Parameters
    ----------
    data : Path or None
        Folder of Parquet files ``{number}_{name}.parquet``. Default: ``DPFIT_DATA``, otherwise
        OpenML, otherwise generated tables.
    extra : bool
        Also use the tables in the subfolder ``extra``.
    tasks : collection of int, optional
        Use only these tasks.
    cache : Path, optional
        Where tables from OpenML are stored.
    say : callable
        Receives messages.

    Returns
    -------
    Catalogue
        The tables that were found.

    Raises
    ------
    FileNotFoundError
        If a folder is given and contains none of the tables.
    """
    if data is None and os.environ.get("DPFIT_DATA"):
        data = Path(os.environ["DPFIT_DATA"])
    wanted = [number for number in registry() if tasks is None or number in tasks]
    if data is not None:
        found = _in_folder(data, "headline", wanted)
        if extra:
            have = {entry.number for entry in found}
            found += _in_folder(data / _EXTRA, "extra", [n for n in wanted if n not in have])
        if not found:
            raise FileNotFoundError(f"no table of the paper in {data}; --help shows the file names")
        missing = sorted(set(wanted) - {entry.number for entry in found})
        return Catalogue(tuple(found), tuple(missing))
    try:
        folder = download(wanted, cache, say)
    except OSError as problem:
        entries = tuple(_described(n, name, "generated", None) for n, name in GENERATED.items())
        return Catalogue(entries, tuple(registry()), _NO_DATA.format(reason=problem))
    found = _in_folder(folder, "headline", wanted)
    return Catalogue(tuple(found), tuple(sorted(set(wanted) - {entry.number for entry in found})))


def _remarks(folder: Path) -> dict[int, str]:
    """Return the notes of ``MANIFEST.csv`` by task number."""
    path = folder / _MANIFEST
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row.get("task_id", "").isdigit()]
    return {int(row["task_id"]): row.get("note") or "" for row in rows}


def _in_folder(folder: Path, group: Group, wanted: Collection[int]) -> list[Entry]:
    found = []
    remarks = _remarks(folder.parent if group == "extra" else folder)
    for number in wanted:
        files = sorted(folder.glob(f"{number}_*.parquet"))
        if files:
            entry = _described(number, registry()[number].name, group, files[0])
            found.append(replace(entry, remark=remarks.get(number, "")))
    return found


def _described(number: int, name: str, group: Group, path: Path | None) -> Entry:
    table = generate(number) if path is None else read_table(path)
    n, d = table.X.shape
    note = ""
    if number in registry():
        note = difference(registry()[number], n=n, d=d, bound=table.bound)
    return Entry(number, name, group, path, n, d, table.bound, table.checksum(), note)
