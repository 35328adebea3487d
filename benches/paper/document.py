"""A document as data, independent of its output format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Block", "Code", "Folded", "Grid", "Heading", "Picture", "Text"]


@dataclass(frozen=True)
class Heading:
    """A heading; level 2 is the highest below the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph; `kind` is "warn" for a warning."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Code:
    """A command."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table of strings.

    Parameters
    ----------
    header : sequence of str
        Column names.
    rows : sequence of sequences of str
        Cells.
    wordy : bool
        Whether cells contain sentences rather than numbers.
    marks : mapping
        ``"best"``, ``"holds"`` or ``"fails"`` for some cells, by row and column.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    wordy: bool = False
    marks: Mapping[tuple[int, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Picture:
    """A figure.

    Parameters
    ----------
    name : str
        File name without folder and extension.
    svg : str
        The figure as SVG.
    title, caption : str
        What it shows and how to read it.
    """

    name: str
    svg: str
    title: str
    caption: str


@dataclass(frozen=True)
class Folded:
    """A long part of the document that is collapsed at first."""

    title: str
    blocks: tuple[Block, ...]


Block = Heading | Text | Code | Grid | Picture | Folded
