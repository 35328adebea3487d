"""Texts of others, to be shown."""

from __future__ import annotations

import unicodedata

__all__ = ["is_printable", "printable"]

# Signals to a terminal, marks that turn or hide what is around them, and what is no character.
_NOT_SHOWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def is_printable(text: str) -> bool:
    """Return whether a text is nothing but letters, signs and spaces."""
    return text.isprintable() or not any(map(_is_hidden, text))


def printable(text: str, keep: str = "") -> str:
    r"""Return a text in which whatever is no letter, sign or space is written as Python does.

    Parameters
    ----------
    text : str
        Any text, such as one of a model file, which may be anybody's.
    keep : str
        Characters that may stay, such as the ends of lines.

    Examples
    --------
    >>> print(printable("\x1b[2Jall is well"))
    \x1b[2Jall is well
    """
    if is_printable(text):
        return text
    return "".join(
        character.encode("unicode_escape").decode()
        if _is_hidden(character) and character not in keep
        else character
        for character in text
    )


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _NOT_SHOWN
