"""Seeds that depend only on what they are used for.

A run that is killed and started again, in any order and with any number of processes, draws the
same numbers for the same work item.
"""

from __future__ import annotations

import hashlib
import json

__all__ = ["seed_of"]


def seed_of(*key: str | int | float) -> int:
    """Return a seed of 31 bits.

    Parameters
    ----------
    *key : str, int or float
        What the seed is used for.

    Returns
    -------
    int
        From 0 to 2**31 - 1.

    Examples
    --------
    >>> from paper.seeds import seed_of
    >>> seed_of("fit", 361072, 1.0) == seed_of("fit", 361072, 1.0)
    True
    """
    text = json.dumps(key, ensure_ascii=True, allow_nan=True)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little") >> 1
