"""Print text, JSON, notes and progress."""

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
from dpfit.cli.standard_streams import write_utf8

__all__ = [
    "epilog",
    "is_terminal",
    "paragraph",
    "print_json",
    "print_model",
    "print_note",
    "print_sql",
    "print_text",
    "program",
    "progress",
    "unwrapped",
]

_MAX_WIDTH = 100
_LAYOUT = "\n\t"


def epilog(examples: Sequence[str]) -> str:
    """Return the end of a command's help. A test runs the examples."""
    # Brackets would be markup.
    lines = [example.replace("[", "\\[") for example in examples]
    return "\n".join(["[bold]Examples[/bold]", *lines])


def unwrapped(function: Callable[..., Any]) -> str:
    """Return a docstring with one line per paragraph, for the help to wrap."""
    text = inspect.cleandoc(function.__doc__ or "")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def print_text(text: str = "") -> None:
    """Print text, with control characters escaped: names may come from an untrusted file."""
    print(printable(text, keep=_LAYOUT))


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    # JSON has its own escapes for control characters.
    write_utf8(text if is_printable(text.replace("\n", "")) else json.dumps(value, indent=2))


def print_model(model: Any) -> None:
    """Print the summary of a model, and its privacy statement."""
    print_text(str(model.summary()))
    print_text()
    print_text(paragraph(model.privacy_.statement()))


def print_sql(text: str) -> None:
    """Print a query, in UTF-8 as the names in the model are."""
    write_utf8(printable(text, keep=_LAYOUT))


def print_note(text: str) -> None:
    """Print a remark on standard error."""
    print(printable(text, keep=_LAYOUT), file=sys.stderr)


def paragraph(text: str, indent: str = "") -> str:
    """Return text wrapped to the width of the terminal; an empty line separates paragraphs."""
    width = min(shutil.get_terminal_size().columns, _MAX_WIDTH)
    # A number and its percent sign stay on one line.
    parts = (
        textwrap.fill(
            part.replace(" %", "\xa0%"),
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        for part in text.split("\n\n")
    )
    return "\n\n".join(parts).replace("\xa0%", " %")


def program() -> str:
    """Return how to call this program, for commands that the user can copy."""
    name = sys.argv[0]
    found = shutil.which("dpfit")
    if os.path.basename(name) != "dpfit" or not os.path.exists(name):
        return "dpfit"
    if found and os.path.samefile(found, name):
        return "dpfit"
    return shlex.quote(name)


def is_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr.isatty()


@contextlib.contextmanager
def progress(text: str) -> Iterator[Callable[[str], Any]]:
    """Show a spinner on standard error while something runs, if it is a terminal.

    Yields
    ------
    callable
        Changes the text.
    """
    if not is_terminal():
        yield lambda text: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(text) as status:
        yield status.update
