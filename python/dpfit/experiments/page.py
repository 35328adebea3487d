"""Pieces of a page of HTML that needs no other file."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files

__all__ = ["code", "details", "image", "paragraph", "section", "table", "whole_page"]


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{html.escape(text)}</p>' if kind else f"<p>{html.escape(text)}</p>"


def section(title: str, *parts: str, level: int = 2) -> str:
    """Return a heading and what belongs to it."""
    return f"<h{level}>{html.escape(title)}</h{level}>\n" + "\n".join(parts)


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text: bool = False,
    marks: dict[tuple[int, int], str] | None = None,
) -> str:
    """Return a table.

    Parameters
    ----------
    header : sequence of str
        Names of columns.
    rows : iterable of sequences of str
        Cells.
    text : bool
        Whether cells are sentences rather than numbers.
    marks : dict, optional
        Classes of cells, by row and column.
    """
    marks = marks or {}
    lines = ["<tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in header) + "</tr>"]
    for y, row in enumerate(rows):
        cells = []
        for x, cell in enumerate(row):
            kind = f' class="{marks[y, x]}"' if (y, x) in marks else ""
            cells.append(f"<td{kind}>{html.escape(cell)}</td>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    kind = ' class="text"' if text else ""
    return f'<div class="wide"><table{kind}>\n' + "\n".join(lines) + "\n</table></div>"


def image(svg: str, title: str, caption: str = "") -> str:
    """Return a figure whose picture is inside the page."""
    data = base64.b64encode(svg.encode()).decode()
    return (
        f'<figure><img alt="{html.escape(title, quote=True)}" '
        f'src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def code(text: str) -> str:
    """Return text as it is typed."""
    return f"<pre>{html.escape(text)}</pre>"


def details(title: str, *parts: str) -> str:
    """Return something that opens when it is asked for."""
    inside = "\n".join(parts)
    return f"<details><summary>{html.escape(title)}</summary>\n{inside}\n</details>"


def whole_page(title: str, *parts: str) -> str:
    """Return the page."""
    body = "\n".join(parts)
    style = files("dpfit.experiments").joinpath("report.css").read_text("utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>\n{style}</style></head>\n"
        f"<body>\n<h1>{html.escape(title)}</h1>\n{body}\n</body></html>\n"
    )
