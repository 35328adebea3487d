"""Docstrings as Markdown, for the API pages: roles of Sphinx, and mentions of pages.

In the code, a class is :class:`~dpfit.Ledger` and a page ``docs/how_to/ledger.md``. On the site the
first is `Ledger`, and the second a link.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|class|meth|mod|attr):`~?(?:[\w.]*\.)?(\w+)`")
_PAGE = re.compile(r"``docs/([\w/]+)\.md``")


class Roles(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a class, function, module or attribute."""
        if obj.docstring:
            text = _ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = _PAGE.sub(_link, text)


def _link(match: re.Match[str]) -> str:
    name = match[1].rpartition("/")[2].replace("_", " ")
    return f"[{name}](../../{match[1]}.md)"
