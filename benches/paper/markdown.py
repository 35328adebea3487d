"""Convert a document to Markdown, with figures in files beside it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any

from paper.document import Block, Code, Folded, Grid, Heading, Picture, Text

__all__ = ["to_markdown"]

_WIDTH = 118
_WHOLE_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}


def to_markdown(title: str, blocks: Sequence[Block]) -> str:
    """Return the document as a string.

    Parameters
    ----------
    title : str
        The title.
    blocks : sequence of Block
        The contents.
    """
    return "\n\n".join([f"# {title}", *map(_block, blocks)]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text, kind):
            return _wrapped(f"**{text}**" if kind == "warn" else text)
        case Code(text):
            lines = textwrap.wrap(text, _WIDTH - 2, subsequent_indent="    ", **_WHOLE_WORDS)
            return "```\n" + " \\\n".join(lines) + "\n```"
        case Grid():
            return _grid(block)
        case Picture(name, _, title, caption):
            return f"![{title}](figures/{name}.svg)\n\n" + _wrapped(f"*{caption}*")
        case Folded(title, inside):
            summary = f"<details><summary>{title}</summary>"
            return "\n\n".join([summary, *map(_block, inside), "</details>"])


def _wrapped(text: str, bullet: str = "") -> str:
    filled = textwrap.fill(
        text,
        _WIDTH,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        **_WHOLE_WORDS,
    )
    # A line that begins with a number and a dot would be an item of a list.
    return re.sub(r"^( *\d+)\. ", r"\1\\. ", filled, flags=re.MULTILINE)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _grid(grid: Grid) -> str:
    rows = [
        [f"**{c}**" if (y, x) in grid.marks else c for x, c in enumerate(row)]
        for y, row in enumerate(grid.rows)
    ]
    rule = "|---|" + ("---|" if grid.wordy else "---:|") * (len(grid.header) - 1)
    lines = [_row(grid.header), rule, *map(_row, rows)]
    if grid.wordy and max(map(len, lines)) > _WIDTH:
        return _list(grid.header, rows)
    return "\n".join(lines)


def _list(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of sentences as a list, which can be wrapped."""
    lines = []
    for title, *cells in rows:
        lines.append(_wrapped(f"**{title}**", "- "))
        for name, cell in zip(header[1:], cells, strict=True):
            lines.append(_wrapped(f"{name}: {cell}", "  - "))
    return "\n".join(lines)
