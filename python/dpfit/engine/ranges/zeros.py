"""The few rows of a target that is mostly zero, as powers of two show them.

Costs, delays and claims are zero in most rows. Equal bins spread the other rows over many bins, in
each of which the noise hides them; then nothing but zeros would be seen. Powers of two have most
of them in a few bins.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpfit._typing import Array, Floats
from dpfit.engine.constants import RangeConstants
from dpfit.engine.ranges.marginal import Marginal, on_simplex
from dpfit.release import Released

__all__ = ["with_powers"]

# Zeros are frequent if more than this share of the rows is zero.
_FREQUENT = 0.5
# Rows that powers show have to be more than so many standard deviations of the noise in their sum:
# by chance in one target of 700.
_EVIDENCE = 3.0


def with_powers(
    marginal: Marginal,
    edges: Floats,
    bins: Released[Floats],
    powers: Released[Floats],
    constants: RangeConstants,
) -> Marginal:
    """Return the distribution with the rows beside zero that powers of two show.

    If neither these nor equal bins show any, only zeros are left.

    Parameters
    ----------
    marginal : Marginal
        What equal bins show.
    edges : array of shape (k + 1,)
        The edges of these bins.
    bins : Released
        Their counts.
    powers : Released
        Counts of negative powers, from the largest, of zero, and of positive powers.
    constants : RangeConstants
        What the powers are.

    Privacy
    -------
    A function of released numbers.
    """
    rows, middle = float(marginal.weights.sum()), powers.value.size // 2
    if powers.value[middle] <= _FREQUENT * rows or not edges[0] <= 0.0 <= edges[-1]:
        return marginal
    above = _side(edges, bins, powers.value[middle + 1 :], powers.sigma, constants)
    mirrored = Released(bins.value[::-1], bins.sigmas)
    negative = powers.value[:middle][::-1]
    below = _side(-edges[::-1], mirrored, negative, powers.sigma, constants)
    if above is None and below is None:
        least = 2.0**constants.least_power
        others = np.delete(powers.value, middle), np.delete(bins.value, _places(edges, 0.0))
        if any(
            _shows_rows(counts, sigma, constants)
            for counts, sigma in zip(others, (powers.sigma, bins.sigma), strict=True)
        ):
            return marginal
        return replace(marginal, edges=np.array([-least, least]), weights=np.array([rows]))
    # On a side without such rows, the bin of zero ends what is seen.
    width = float(edges[1] - edges[0])
    nothing = np.zeros(0)
    low, before = (np.array([min(max(edges[0], -width), 0.0)]), nothing) if below is None else below
    high, after = (np.array([max(min(edges[-1], width), 0.0)]), nothing) if above is None else above
    if below is not None:
        low = -low[::-1]
    zeros = max(rows - float(before.sum() + after.sum()), 0.0)
    return replace(
        marginal,
        edges=np.concatenate([low, high]),
        weights=np.concatenate([before[::-1], [zeros], after]),
    )


def _places(edges: Floats, value: float) -> Array:
    """Return the bins that contain a value, or end at it."""
    return np.flatnonzero((edges[:-1] <= value) & (edges[1:] >= value))


def _shows_rows(counts: Floats, sigma: float, constants: RangeConstants) -> bool:
    """Return whether counts show rows, in a single bin or in all together."""
    alone = bool(np.any(counts > constants.alone_evidence * sigma))
    return alone or float(counts.sum()) > _EVIDENCE * sigma * math.sqrt(len(counts))


def _side(
    edges: Floats, bins: Released[Floats], counts: Floats, sigma: float, constants: RangeConstants
) -> tuple[Floats, Floats] | None:
    """Return edges of powers above zero, and the rows between them, if bins do not show these."""
    width = float(edges[1] - edges[0])
    starts = 2.0 ** np.arange(constants.least_power, constants.most_power + 1)
    inside = (starts >= width) & (starts < edges[-1])
    beyond = bins.value[edges[:-1] >= width / 2.0]
    if not inside.any() or np.any(beyond > constants.alone_evidence * bins.sigma):
        return None
    found = counts[inside]
    total = max(float(found.sum()), float(found.max()))
    if not _shows_rows(found, sigma, constants) or total > bins.sigma * len(beyond):
        return None
    return np.append(starts[inside][0], 2.0 * starts[inside]), on_simplex(found, total)
