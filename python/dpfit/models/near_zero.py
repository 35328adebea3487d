"""Columns of which a fit saw no value but zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpfit.models.names import distinct, listed

if TYPE_CHECKING:
    from dpfit.models.model import Model

__all__ = ["LEAST", "near_zero_notes"]

# Below it, fits do not tell numbers from zero (`RangeConstants.least_power`).
LEAST = 2.0**-49


def near_zero_notes(model: Model) -> list[str]:
    """Return a note on numeric columns whose range is almost zero, if there are any.

    Most of their values are zero, and the noise hides the others: coefficients can then be huge,
    with huge errors. Often these are zeros and ones that the schema does not list as binary.
    """
    if model.status != "full":
        return []
    found = [
        name
        for name, kind, ends in zip(
            model.column_names, model.columns, model.column_ranges, strict=True
        )
        if not (kind.is_binary or kind.is_date or kind.listed)
        and np.isfinite(ends).all()
        and np.abs(ends).max() < LEAST
    ]
    if not found:
        return []
    return [
        f"Almost constant: {listed(distinct(found))}. The noise hides all values but zero. If "
        "the others are ones, list the column as Binary() in the schema. Otherwise, public bounds, "
        "more rows or a larger budget help."
    ]
