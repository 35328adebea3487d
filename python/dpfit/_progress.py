"""Progress of a fit, on one line of standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable

__all__ = ["rounds_done", "rows_read"]

_WIDTH = 30


def rounds_done(*, show: bool, name: str, what: str = "round") -> Callable[[int, int], None]:
    """Return a function that draws how many rounds are done, on standard error if `show`."""

    def draw(done: int, rounds: int) -> None:
        length = _WIDTH * done // rounds
        bar = "#" * length + "." * (_WIDTH - length)
        end = "\n" if done == rounds else ""
        print(f"\r{name} [{bar}] {what} {done}/{rounds}", end=end, file=sys.stderr, flush=True)

    return draw if show else lambda done, rounds: None


def rows_read(*, show: bool, name: str) -> Callable[[int], None]:
    """Return a function that shows that rows are being read, on standard error if `show`.

    Privacy
    -------
    The function is called for each batch with the number of rows read so far, and shows the same
    line once. The number of rows is not public, and something that moves with each batch would
    tell it roughly.
    """
    told = False

    def tell(_: int) -> None:
        nonlocal told
        if not told:
            told = True
            # The bar overwrites all of it.
            print(f"\r{name} reading rows", end="", file=sys.stderr, flush=True)

    return tell if show else lambda _: None
