"""Convert a document to a self-contained HTML page."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from importlib.resources import files

from paper.document import Block, Code, Folded, Grid, Heading, Picture, Text

__all__ = ["to_html"]


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """Return the page.

    Parameters
    ----------
    title : str
        The title.
    blocks : sequence of Block
        The contents.
    """
    style = files("paper").joinpath("report.css").read_text("utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>\n{style}</style></head>\n"
        f"<body>\n<h1>{html.escape(title)}</h1>\n{_blocks(blocks)}\n</body></html>\n"
    )


def _blocks(blocks: Sequence[Block]) -> str:
    return "\n".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Text(text, kind):
            return f'<p class="{kind or "plain"}">{html.escape(text)}</p>'
        case Code(text):
            return f"<pre>{html.escape(text)}</pre>"
        case Grid():
            return _grid(block)
        case Picture():
            return _picture(block)
        case Folded(title, inside):
            summary = f"<summary>{html.escape(title)}</summary>"
            return f"<details>{summary}\n{_blocks(inside)}\n</details>"


def _grid(grid: Grid) -> str:
    lines = ["<tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in grid.header) + "</tr>"]
    for y, row in enumerate(grid.rows):
        cells = []
        for x, cell in enumerate(row):
            kind = f' class="{grid.marks[y, x]}"' if (y, x) in grid.marks else ""
            cells.append(f"<td{kind}>{html.escape(cell)}</td>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    kind = ' class="text"' if grid.wordy else ""
    return f'<div class="wide"><table{kind}>\n' + "\n".join(lines) + "\n</table></div>"


def _picture(picture: Picture) -> str:
    data = base64.b64encode(picture.svg.encode()).decode()
    return (
        f'<figure><img alt="{html.escape(picture.title, quote=True)}" '
        f'src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{html.escape(picture.caption)}</figcaption></figure>"
    )
