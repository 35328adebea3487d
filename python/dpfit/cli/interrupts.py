"""What Ctrl-C and other signals do to a command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["exit_on_ctrl_c", "handling", "ignore_ctrl_c", "last_words", "leave"]

# What to print before the process ends: functions that return lines, or nothing.
_LAST_WORDS: list[Callable[[], str]] = []


def exit_on_ctrl_c() -> None:
    """Let Ctrl-C end the process at once.

    Notes
    -----
    An exception would do in most places. But one that is raised in an import, a destructor or a
    callback may be replaced by another, or printed and forgotten: then a traceback is shown, or the
    command continues. A command that writes a file removes it first (`dpfit.cli.outputs`).
    """
    _handle(signal.SIGINT, lambda number, _: leave(number))


def ignore_ctrl_c() -> None:
    """Ignore Ctrl-C from here on, when the command is done."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave(number: int, outcome: str = "") -> None:
    """End the process because of a signal.

    Parameters
    ----------
    number : int
        The signal.
    outcome : str
        What has become of the command's output; empty if it has none.
    """
    word = "interrupted" if number == signal.SIGINT else "terminated"
    # A progress bar hides the cursor.
    with contextlib.suppress(Exception):
        cursor = "\r\x1b[K\x1b[?25h" if sys.stderr.isatty() else ""
        text = f"{word}; {outcome}" if outcome else word
        before = "".join(words() for words in _LAST_WORDS)
        os.write(2, f"{cursor}{before}dpfit: {text}\n".encode())
    os._exit(128 + number)


@contextlib.contextmanager
def last_words(words: Callable[[], str]) -> Iterator[None]:
    """Print what a function returns if a signal ends the process meanwhile."""
    _LAST_WORDS.append(words)
    try:
        yield
    finally:
        _LAST_WORDS.remove(words)


@contextlib.contextmanager
def handling(
    numbers: list[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Handle signals for a while."""
    before = [(number, _handle(number, handler)) for number in numbers]
    try:
        yield
    finally:
        for number, previous in before:
            if previous is not None:
                signal.signal(number, previous)


def _handle(
    number: signal.Signals, handler: Callable[[int, FrameType | None], None]
) -> signal._HANDLER:
    """Handle a signal; return the handler before, None if nothing was changed."""
    # `nohup` and `&` make a process ignore signals, and it should.
    ignored = signal.getsignal(number) in (signal.SIG_IGN, None)
    if ignored or threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(number, handler)
