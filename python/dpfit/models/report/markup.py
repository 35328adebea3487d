"""HTML that is escaped by construction: only `element` makes it, and strings are text."""

from __future__ import annotations

import html
from typing import TypeAlias

from dpfit.models.names import cleaned

__all__ = ["Child", "Html", "element", "joined", "name_of", "preformatted"]

# Elements without content. Those of SVG need the slash.
_EMPTY = {"meta", "rect", "circle", "path", "line"}


class Html(str):
    """Markup. Any other string is text, which is escaped before it is written."""

    __slots__ = ()


Child: TypeAlias = str | None


def element(tag: str, *children: Child, **attributes: str | float | None) -> Html:
    """Return an element.

    Parameters
    ----------
    tag : str
        Its name.
    *children : Html, str or None
        What is inside: markup, text that is escaped, or nothing.
    **attributes : str, float or None
        Attributes, escaped; None for those that are left out. A last underscore is dropped, as in
        ``class_``, and others are hyphens.
    """
    words = [tag]
    for name, value in attributes.items():
        if value is not None:
            text = f"{value:.10g}" if isinstance(value, float) else str(value)
            words.append(f'{name.rstrip("_").replace("_", "-")}="{_escaped(text)}"')
    if tag in _EMPTY:
        return Html(f"<{' '.join(words)}/>")
    return Html(f"<{' '.join(words)}>{joined(*children)}</{tag}>")


def joined(*children: Child) -> Html:
    """Return markup and escaped text, one after another."""
    return Html("".join(c if isinstance(c, Html) else _escaped(c) for c in children if c))


def name_of(text: str) -> Html:
    """Return the name of a column or level, in whatever direction it is written."""
    # Isolated, so that a name from right to left does not reorder the words around it.
    return element("bdi", cleaned(text) or "(empty)")


def preformatted(text: str) -> Html:
    """Return text with its line breaks."""
    return element("pre", Html("\n".join(map(_escaped, text.split("\n")))), tabindex="0")


def _escaped(text: str) -> str:
    """Return text as HTML, without characters that hide or reorder other text."""
    return html.escape("".join(c if c.isprintable() else " " for c in text))
