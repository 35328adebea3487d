"""Which tables there are: a folder, OpenML, or generated ones."""

from __future__ import annotations

import csv
import functools
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dpfit.experiments.generated import GENERATED, generate
from dpfit.experiments.openml_source import download
from dpfit.experiments.registry import difference, registry
from dpfit.experiments.tables import Table, read_table

__all__ = ["Catalogue", "Entry", "load", "open_catalogue"]

Group = Literal["headline", "extra", "generated"]
# Columns `task_id` and `note`.
_MANIFEST = "MANIFEST.csv"
# Tables in this folder of the data folder are reported apart.
_EXTRA = "extra"

_NO_DATA = """\
None of the paper's tables could be had: {reason}.
This is a DEMONSTRATION on generated tables. For the paper's tables do one of these:
  - give a folder of Parquet files named like 361072_cpu_act.parquet: --data FOLDER, or DPFIT_DATA;
  - with a network and the package `openml`, run again: they are fetched from openml.org and kept.\
"""


@dataclass(frozen=True)
class Entry:
    """A table that a run can use.

    Parameters
    ----------
    number : int
        The task's number on OpenML; small for generated tables.
    name : str
        The table's name.
    group : {"headline", "extra", "generated"}
        Extra tables are reported apart.
    path : Path or None
        Its file; None if it is generated.
    n, d : int
        Rows and columns after encoding.
    bound : float
        Largest absolute value of the target.
    checksum : str
        Stands for the numbers in it.
    note : str
        Where it differs from the paper's table; empty if it does not.
    remark : str
        What the folder's ``MANIFEST.csv`` says of it, if there is one.
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
    """Tables, and what to tell about them.

    Parameters
    ----------
    entries : tuple of Entry
        What there is.
    missing : tuple of int
        The paper's tasks that are not there.
    message : str
        Why there are only generated tables; empty otherwise.
    """

    entries: tuple[Entry, ...]
    missing: tuple[int, ...] = ()
    message: str = ""


@functools.lru_cache(maxsize=1)
def load(entry: Entry) -> Table:
    """Return a table; the last one is remembered."""
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
        Folder of Parquet files ``{number}_{name}.parquet``; otherwise ``DPFIT_DATA``, otherwise
        OpenML, otherwise generated tables.
    extra : bool
        Whether to use tables in the folder's folder ``extra``.
    tasks : collection of int, optional
        Only these.
    cache : Path, optional
        Where tables from OpenML are kept.
    say : callable
        Gets messages.

    Returns
    -------
    Catalogue
        What was found.

    Raises
    ------
    FileNotFoundError
        If a folder was named and holds none of the tables.
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
            raise FileNotFoundError(f"no table of the paper in {data}: see --help for file names")
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
    """Return what is noted about tables, by number."""
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
