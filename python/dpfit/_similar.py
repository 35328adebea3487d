"""Names that are like a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["similar_name"]


def similar_name(name: str, known: Iterable[object]) -> str | None:
    """Return the name that was probably meant; None if there is none.

    Parameters
    ----------
    name : str
        A name that is not known.
    known : iterable
        The names to choose from. Those that are not strings are ignored.

    Privacy
    -------
    At most one of the names is returned: in a CSV file without a header, the names of columns are
    a row of data.

    Examples
    --------
    >>> similar_name("Los", ["AGE", "LOS", "LOAD"])
    'LOS'
    """
    folded = {other.casefold(): other for other in known if isinstance(other, str)}
    found = difflib.get_close_matches(name.casefold(), list(folded), 1)
    return folded[found[0]] if found else None
