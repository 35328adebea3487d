"""Progress of a fit: a line on standard error, or a bar below the cell of a notebook."""

from __future__ import annotations

import html
import importlib
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["Progress", "rounds_done"]

_WIDTH = 30


class Progress:
    """The progress of one fit.

    Parameters
    ----------
    show : bool
        Whether to show anything.
    name : str
        What is going on.
    what : str, default "round"
        What is counted.
    """

    def __init__(self, *, show: bool, name: str, what: str = "round") -> None:
        self._show, self._name, self._what = show, name, what
        self._has_read = False
        self._view: _Line | _Bar | None = None

    def rows_read(self, _: int) -> None:
        """Show that rows are being read. Called for each batch with the rows read so far.

        Privacy
        -------
        What is shown is the same for all batches. The number of rows is not public, and something
        that moves with each batch would tell it roughly.
        """
        if self._show and not self._has_read:
            self._has_read = True
            self._shown().read(self._name)

    def rounds_done(self, done: int, rounds: int) -> None:
        """Show how many rounds are done."""
        if self._show:
            self._shown().count(self._name, self._what, done, rounds)

    def _shown(self) -> _Line | _Bar:
        if self._view is None:
            self._view = _Bar() if _is_notebook() else _Line()
        return self._view


def rounds_done(*, show: bool, name: str, what: str = "round") -> Callable[[int, int], None]:
    """Return a function that shows how many rounds are done, if `show`."""
    return Progress(show=show, name=name, what=what).rounds_done


class _Line:
    """A line on standard error that is redrawn."""

    def read(self, name: str) -> None:
        # The bar overwrites all of it.
        print(f"\r{name} reading rows", end="", file=sys.stderr, flush=True)

    def count(self, name: str, what: str, done: int, rounds: int) -> None:
        length = _WIDTH * done // rounds
        bar = "#" * length + "." * (_WIDTH - length)
        end = "\n" if done == rounds else ""
        print(f"\r{name} [{bar}] {what} {done}/{rounds}", end=end, file=sys.stderr, flush=True)


class _Bar:
    """An output of a notebook's cell, which is replaced: a saved notebook has the last state."""

    def __init__(self) -> None:
        self._handle: Any = None

    def read(self, name: str) -> None:
        # A bar without a value moves by itself, however many rows there are.
        self._draw(f"{name}: reading rows", "<progress></progress>")

    def count(self, name: str, what: str, done: int, rounds: int) -> None:
        bar = f'<progress value="{done}" max="{rounds}"></progress>'
        self._draw(f"{name}: {what} {done}/{rounds}", bar)

    def _draw(self, text: str, bar: str) -> None:
        content = {"text/plain": text, "text/html": f"<div>{bar} {html.escape(text)}</div>"}
        if self._handle is None:
            # A kernel has it already; dpfit does not need it.
            display: Any = importlib.import_module("IPython.display").display
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return getattr(shell, "kernel", None) is not None
