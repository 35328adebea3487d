"""Safe output of strings that come from elsewhere, such as files."""

from __future__ import annotations

import unicodedata

__all__ = ["is_printable", "printable"]

# Control characters, marks that reverse or hide text, and code points that are not characters.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def is_printable(text: str) -> bool:
    """Return whether a string consists of letters, digits, symbols and spaces only."""
    return text.isprintable() or not any(map(_is_hidden, text))


def printable(text: str, keep: str = "") -> str:
    r"""Return a string with characters that cannot be printed escaped as in Python.

    Parameters
    ----------
    text : str
        Any string, for example from a model file that somebody else wrote.
    keep : str
        Characters to keep, such as newlines.

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
    return unicodedata.category(character) in _HIDDEN
