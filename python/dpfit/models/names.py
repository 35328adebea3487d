"""Names of columns and levels, shortened so that they fit and stay different."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

__all__ = ["LONGEST_NAME", "MOST_LISTED", "cleaned", "distinct", "listed", "shortened", "width_of"]

LONGEST_NAME = 24
# Names or places that a note lists.
MOST_LISTED = 5
# Steps in which names get longer until they differ.
_STEP = 4


def width_of(text: str) -> int:
    """Return the width of a string in a terminal."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def cleaned(name: str) -> str:
    """Return a name on one line, without characters that cannot be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())


def shortened(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name on one line, with its middle omitted if it is long."""
    clean = cleaned(name)
    if width_of(clean) <= longest:
        return clean
    left = right = ""
    for first, last in zip(clean, reversed(clean), strict=True):
        if width_of(left + first + right) > longest - 3:
            break
        left += first
        if width_of(left + last + right) > longest - 3:
            break
        right = last + right
    return f"{left}...{right}"


def listed(names: Sequence[str]) -> str:
    """Return the first few names as text."""
    shown = names[:MOST_LISTED]
    separator = "; " if any("," in name for name in shown) else ", "
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return separator.join(shown) + more


def distinct(names: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    """Return shortened names, different from each other: some are longer than `longest`.

    Names that differ in what cannot be printed alone, or not at all, are numbered.
    """
    shown = [shortened(name, longest) for name in names]
    most = max((width_of(cleaned(name)) for name in names), default=0)
    while longest < most:
        longest += _STEP
        count = Counter(shown)
        if len(count) == len(shown):
            return shown
        shown = [
            shortened(name, longest) if count[short] > 1 else short
            for name, short in zip(names, shown, strict=True)
        ]
    taken = set(shown)
    for short, number in Counter(shown).items():
        if number == 1:
            continue
        places = [place for place, other in enumerate(shown) if other == short]
        suffix = 1
        for place in places:
            while f"{short} ({suffix})" in taken:
                suffix += 1
            shown[place] = f"{short} ({suffix})"
            taken.add(shown[place])
    return shown
