"""Rows that a Spark executor keeps between the jobs of a fit, in private files.

Everything here runs in Python workers. A part of a table has a key, which only the worker that
read its rows could choose, and a folder of that name. There, the rows are kept as batches of
numbers, and as blocks of integers once a job needs them. All workers of an executor find them.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dpfit._typing import Batch
from dpfit.sources.engines.worker import Block, ToBlocks, pack_file, unpack_file
from dpfit.statistics import Route

__all__ = ["ROWS", "Keeper", "Kept", "Lost", "Step"]

# The folder of the batches that blocks are made of.
ROWS = "rows"


class Lost(Exception):  # noqa: N818 - not an error: rows can be computed again
    """The rows of a part are not on this executor."""


@dataclass(frozen=True)
class Kept:
    """Rows that were kept: their key, and the executor that has them."""

    key: str
    executor: str

    def to_json(self) -> str:
        """Return both as a string."""
        return json.dumps([self.key, self.executor])

    @classmethod
    def from_json(cls, text: str) -> Kept:
        """Read what `to_json` wrote."""
        return cls(*json.loads(text))


@dataclass(frozen=True)
class Step:
    """How blocks are made: of batches, or of the blocks of the step before.

    Parameters
    ----------
    name : str
        The name of their folder.
    work : callable
        Makes them.
    route : Route
        All maps from rows of numbers to the rows in these blocks.
    """

    name: str
    work: ToBlocks
    route: Route


class Keeper:
    """The files of a fit on the executor of this process.

    Parameters
    ----------
    fit : str
        The random name of the fit.

    Privacy
    -------
    The files contain rows. They are in a folder that only this user can enter, below the one where
    the executor keeps cached and shuffled rows. Spark deletes that when the executor ends, and the
    fit deletes its own when it ends.
    """

    def __init__(self, fit: str) -> None:
        # The folders of this executor's block manager; Spark gives them to every worker.
        folder = os.environ["SPARK_LOCAL_DIRS"].partition(",")[0]
        self._folder = pathlib.Path(folder, f"dpfit-{fit}").absolute()
        self._host = socket.gethostname()
        self.executor = json.dumps([self._host, str(self._folder)])

    def add(self, batches: Iterable[Batch]) -> Kept:
        """Keep the rows of a part."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        key = secrets.token_hex(16)
        (self._folder / key).mkdir(mode=0o700)
        with self._complete(self._folder / key / ROWS) as folder:
            for path, batch in zip(_paths(folder), batches, strict=False):
                pack_file(path, batch)
        return Kept(key, self.executor)

    def batches(self, kept: Kept) -> Iterator[Batch]:
        """Yield the batches of a part."""
        for path in _files(self._folder / kept.key / ROWS):
            yield unpack_file(path)

    def blocks(self, kept: Kept, steps: tuple[Step, ...]) -> Iterator[Block]:
        """Yield the blocks of the last step, which are made now if nobody has made them."""
        *before, step = steps
        folder = self._folder / kept.key / step.name
        if not folder.is_dir():
            rows: Iterator[Any]
            rows = self.blocks(kept, tuple(before)) if before else self.batches(kept)
            with self._complete(folder) as unfinished:
                for path, block in zip(_paths(unfinished), step.work(rows), strict=False):
                    block.rows.save(path)
        row_map = step.route.row_map.native()
        for path in _files(folder):
            yield Block.open(step.route, row_map, path)

    def forget(self, kept: Kept, names: Iterable[str]) -> None:
        """Delete what is not needed any more of a part."""
        for name in names:
            shutil.rmtree(self._folder / kept.key / name, ignore_errors=True)

    def remove(self, executors: Iterable[str] = ()) -> None:
        """Delete everything of this fit, also of other executors that were on this machine."""
        folders = [str(self._folder)]
        for host, folder in map(json.loads, executors):
            if host == self._host:
                folders.append(folder)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def _complete(self, folder: pathlib.Path) -> Iterator[str]:
        """Return a new folder, which gets the name `folder` when everything is written.

        Two workers may make the same blocks: one of them is the first.
        """
        if not folder.parent.is_dir():
            raise Lost
        unfinished = tempfile.mkdtemp(dir=folder.parent)
        try:
            yield unfinished
            with contextlib.suppress(OSError):
                os.rename(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        if not folder.is_dir():
            raise Lost


def _paths(folder: str) -> Iterator[str]:
    """Yield paths of files, in order."""
    number = 0
    while True:
        yield os.path.join(folder, f"{number:08}")
        number += 1


def _files(folder: pathlib.Path) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(folder))
    except FileNotFoundError:
        pass
    # Outside of the handler, so that no path is attached.
    raise Lost
