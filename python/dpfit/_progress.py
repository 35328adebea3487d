"""A line that shows how far a fit is."""

from __future__ import annotations

import sys
from collections.abc import Iterator

__all__ = ["rounds"]

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
