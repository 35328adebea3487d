"""A document as Markdown, with figures in files beside it."""

from __future__ import annotations

from collections.abc import Sequence

from dpfit.experiments.document import Block, Code, Folded, Grid, Heading, Picture, Text

__all__ = ["to_markdown"]

_Open = Heading | Text | Code | Grid | Picture


def to_markdown(title: str, blocks: Sequence[Block]) -> str:
    """Return the text.

    Parameters
    ----------
    title : str
        On top.
    blocks : sequence of Block
        What is in it. What is folded is left out: it is in the page and in the CSV.
    """
    parts = [f"# {title}", *(_block(block) for block in blocks if not isinstance(block, Folded))]
    return "\n\n".join(parts) + "\n"


def _block(block: _Open) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text, kind):
            return f"**{text}**" if kind == "warn" else text
        case Code(text):
            return f"```\n{text}\n```"
        case Grid():
            return _grid(block)
        case Picture(name, _, title, caption):
            return f"![{title}](figures/{name}.svg)\n\n*{caption}*"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _grid(grid: Grid) -> str:
    lines = ["| " + " | ".join(map(_cell, grid.header)) + " |"]
    lines.append("|" + ("---|" if grid.wordy else "---:|") * len(grid.header))
    lines[1] = lines[1].replace("---:|", "---|", 1)
    for y, row in enumerate(grid.rows):
        cells = [f"**{_cell(c)}**" if (y, x) in grid.marks else _cell(c) for x, c in enumerate(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
