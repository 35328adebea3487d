"""What commands print."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dpfit._printable import is_printable, printable
from dpfit.cli.streams import write_exactly

__all__ = [
    "epilog",
    "is_terminal",
    "note",
    "paragraph",
    "program",
    "progress",
    "say",
    "say_json",
    "say_sql",
    "unwrapped",
]

_WIDEST = 100
_LAYOUT = "\n\t"


def epilog(examples: Sequence[str]) -> str:
    """Return the end of a command's help. The examples are run by a test."""
    # Brackets would be markup.
    lines = [example.replace("[", "\\[") for example in examples]
    return "\n".join(["[bold]Examples[/bold]", *lines])


def unwrapped(function: Callable[..., Any]) -> str:
    """Return a docstring with a line for each paragraph, which the help wraps anew."""
    text = inspect.cleandoc(function.__doc__ or "")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def say(text: str = "") -> None:
    """Print a text. Names in it may be of a file of others: a terminal must not obey them."""
    print(printable(text, keep=_LAYOUT))


def say_json(value: Any) -> None:
    """Print what a program can read."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    # In JSON, too, what a terminal might obey has another spelling.
    write_exactly(text if is_printable(text.replace("\n", "")) else json.dumps(value, indent=2))


def say_sql(text: str) -> None:
    """Print a query, in which names are as in the model."""
    write_exactly(printable(text, keep=_LAYOUT))


def note(text: str) -> None:
    """Print a text beside the output, on standard error."""
    print(printable(text, keep=_LAYOUT), file=sys.stderr)


def paragraph(text: str, indent: str = "") -> str:
    """Return a text in lines that fit in the terminal."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def program() -> str:
    """Return what this program is called by, so that a line can be typed as it is shown."""
    name = sys.argv[0]
    found = shutil.which("dpfit")
    if os.path.basename(name) != "dpfit" or not os.path.exists(name):
        return "dpfit"
    if found and os.path.samefile(found, name):
        return "dpfit"
    return shlex.quote(name)


def is_terminal() -> bool:
    """Return whether somebody may be watching standard error."""
    return sys.stderr.isatty()


@contextlib.contextmanager
def progress(text: str) -> Iterator[Any]:
    """Show that something goes on, and take it away when it is done. Not in a pipe.

    Yields
    ------
    callable
        Takes another text to show.
    """
    if not is_terminal():
        yield lambda text: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(text) as status:
        yield status.update
