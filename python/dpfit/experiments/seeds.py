"""Seeds that follow from what they are for.

A run that is killed and started again, in any order and with any number of processes, draws the
same numbers for the same piece of work.
"""

from __future__ import annotations

import hashlib
import json

__all__ = ["seed_of"]


def seed_of(*key: str | int | float) -> int:
    """Return a seed of 31 bits for a piece of work.

    Parameters
    ----------
    *key : str, int or float
        What the work is.

    Returns
    -------
    int
        From 0 to 2**31 - 1.

    Examples
    --------
    >>> from dpfit.experiments.seeds import seed_of
    >>> seed_of("fit", 361072, 1.0) == seed_of("fit", 361072, 1.0)
    True
    """
    text = json.dumps(key, ensure_ascii=True, allow_nan=True)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little") >> 1
