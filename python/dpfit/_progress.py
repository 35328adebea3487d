"""Progress of a fit, on one line of standard error."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable

__all__ = ["rounds_done", "rows_read"]

_WIDTH = 30
# Between two turns of the wheel.
_SECONDS = 0.1


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
    The function takes the number of rows read so far but does not show it, because the number of
    rows is not public. A spinner moves with time, not with batches, whose number would tell as
    much.
    """
    turns = itertools.cycle("|/-\\")
    next_turn = 0.0

    def tell(_: int) -> None:
        nonlocal next_turn
        now = time.monotonic()
        if now < next_turn:
            return
        next_turn = now + _SECONDS
        # The bar overwrites all of it.
        print(f"\r{name} reading {next(turns)}", end="", file=sys.stderr, flush=True)

    return tell if show else lambda _: None
