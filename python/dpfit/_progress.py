"""A line that shows how far a fit is."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator

__all__ = ["rounds", "rows_read"]

_WIDTH = 30


def rounds(count: int, *, show: bool, name: str) -> Iterator[int]:
    """Yield 1, 2, ..., count, with a bar on standard error if `show`."""
    for t in range(1, count + 1):
        yield t
        if show:
            done = _WIDTH * t // count
            bar = "#" * done + "." * (_WIDTH - done)
            end = "\n" if t == count else ""
            print(f"\r{name} [{bar}] round {t}/{count}", end=end, file=sys.stderr, flush=True)


def rows_read(*, show: bool, name: str) -> Callable[[int], None]:
    """Return what shows that rows are read, on standard error if `show`.

    Privacy
    -------
    It takes the number of rows read so far and does not show it: that of the table is not public,
    and terminals are watched and recorded. A wheel turns by a step for each batch.
    """
    turns = itertools.cycle("|/-\\")

    def tell(_: int) -> None:
        # Nothing is left of it when the bar is drawn over it.
        print(f"\r{name} reading {next(turns)}", end="", file=sys.stderr, flush=True)

    return tell if show else lambda _: None
