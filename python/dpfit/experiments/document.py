"""A document as data: what is said, apart from how it is written down."""

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
    """A paragraph; `kind` is "warn" for what must not be overlooked."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Code:
    """What is typed."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table of text.

    Parameters
    ----------
    header : sequence of str
        Names of columns.
    rows : sequence of sequences of str
        Cells.
    wordy : bool
        Whether cells are sentences rather than numbers.
    marks : mapping
        ``"best"``, ``"holds"`` or ``"fails"`` for cells, by row and column.
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
        Its file's name, without folder and ending.
    svg : str
        The figure itself.
    title, caption : str
        What it shows, and how to read it.
    """

    name: str
    svg: str
    title: str
    caption: str


@dataclass(frozen=True)
class Folded:
    """Something long that opens when it is asked for."""

    title: str
    blocks: tuple[Block, ...]


Block = Heading | Text | Code | Grid | Picture | Folded
