"""Generated tables, for a demonstration without the paper's tables."""

from __future__ import annotations

import numpy as np

from paper.tables import Table

__all__ = ["GENERATED", "generate"]

GENERATED = {1: "generated-wages", 2: "generated-curve", 3: "generated-small-target"}
_ROWS = 8000


def generate(number: int) -> Table:
    """Return a generated table.

    Parameters
    ----------
    number : int
        A key of `GENERATED`.

    Returns
    -------
    Table
        Always the same numbers.
    """
    rng = np.random.default_rng(number)
    shift = rng.integers(0, 3, _ROWS)
    levels = np.eye(3)[shift]
    binary = np.array([False] * 3 + [True] * 3)
    if number == 1:
        # Columns of very different scales, as in many real tables.
        age, income = rng.uniform(18, 67, _ROWS), np.exp(rng.normal(10, 1, _ROWS))
        years = rng.gamma(2.0, 4.0, _ROWS)
        y = 900 + 12 * age + 0.01 * np.minimum(income, 1e5) + 35 * years + 80 * shift
        return Table(
            np.column_stack([age, income, years, levels]), y + rng.normal(0, 90, _ROWS), binary
        )
    z = rng.normal(size=(_ROWS, 3))
    if number == 2:
        y = 5 + 2 * np.sin(2 * z[:, 0]) + z[:, 1] ** 2 - z[:, 2] + 0.5 * shift
        return Table(np.column_stack([10 * z, levels]), y + rng.normal(0, 0.5, _ROWS), binary)
    y = 0.02 + 1e-3 * (z @ [2.0, -1.0, 0.5]) + 1e-3 * shift
    return Table(np.column_stack([z, levels]), y + rng.normal(0, 1e-3, _ROWS), binary)
