"""Decide on a range from noisy counts of signed powers of two."""

from __future__ import annotations

import math

import numpy as np

from dpfit._typing import Floats
from dpfit.engine.constants import RangeConstants

__all__ = ["locate"]

_ROOM = 2.0**-40


def locate(
    counts: Floats, sigma: float, rows: float, constants: RangeConstants
) -> tuple[float, float, bool]:
    """Return the range in which counts are above the noise, and whether there is one.

    Without one, the range is a guess.

    Parameters
    ----------
    counts : array
        Released counts of negative powers, from the largest, of zero, and of positive powers.
    sigma : float
        The standard deviation of their noise.
    rows : float
        The released number of rows.
    constants : RangeConstants
        What counts as evidence.

    Privacy
    -------
    A function of released numbers.
    """
    middle = counts.size // 2
    positive, negative, zero = counts[middle + 1 :], counts[:middle][::-1], counts[middle]
    # Most columns have one sign. Each sign alone has less noise than both together.
    plus, minus = (_visible_run(part, sigma, constants) for part in (positive, negative))
    if plus is None and minus is None:
        both = _visible_run(positive + negative, math.sqrt(2.0) * sigma, constants)
        if both is not None:
            plus = minus = both
    elif plus is not None and minus is not None:
        plus, minus = _without_stray(plus, minus, positive, negative, sigma, constants)
    is_seen = plus is not None or minus is not None
    if not is_seen:
        if zero > constants.zero_evidence * sigma:
            # All values that can be located are zero.
            least = 2.0**constants.least_power
            return -least, least, bool(rows - zero < constants.others_evidence * sigma)
        plus, minus = _likely(positive, negative, sigma, constants)
    has_zero = bool(zero > constants.zero_evidence * sigma)
    if plus is not None and minus is not None:
        high = 2.0 ** (constants.least_power + max(plus[1], minus[1]) + 1)
        return -high, high, is_seen
    run = plus or minus
    assert run is not None
    first, last = run
    high = 2.0 ** (constants.least_power + last + 1)
    low = 2.0 ** (constants.least_power + first) if first >= last - 1 and not has_zero else 0.0
    if plus is not None:
        return low, high, is_seen
    # Bins contain their lower ends only: room for the value at the upper end, zero above all.
    return -high, _ROOM * high - low, is_seen


def _visible_run(counts: Floats, noise: float, constants: RangeConstants) -> tuple[int, int] | None:
    """Return the first and the last power of a run that noise does not explain."""
    first, last, evidence = _run(counts - constants.run_penalty * noise)
    if evidence < constants.run_evidence * noise:
        return None
    if evidence > constants.clear * noise:
        # Trim noise at the ends of a run that is seen clearly.
        clear = (counts[first : last + 1] > constants.beside * noise).nonzero()[0]
        if clear.size:
            return first + int(clear[0]), first + int(clear[-1])
    return first, last


def _without_stray(
    plus: tuple[int, int],
    minus: tuple[int, int],
    positive: Floats,
    negative: Floats,
    sigma: float,
    constants: RangeConstants,
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return the runs without one that is weak, of larger numbers than a clear one of other sign.

    It would make the range larger by many powers of two. Of noise alone, one of the 100 powers of a
    sign is so large in about one column of 100.
    """

    def evidence(counts: Floats, run: tuple[int, int]) -> float:
        part = counts[run[0] : run[1] + 1]
        return float(part.sum()) / sigma - constants.run_penalty * len(part)

    of_plus, of_minus = evidence(positive, plus), evidence(negative, minus)
    least = constants.elsewhere_evidence
    if minus[1] > plus[1] and of_minus < least and of_plus > constants.clear:
        return plus, None
    if plus[1] > minus[1] and of_plus < least and of_minus > constants.clear:
        return None, minus
    return plus, minus


def _likely(
    positive: Floats, negative: Floats, sigma: float, constants: RangeConstants
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return the most likely power of either sign; an absurd one needs a higher count to be it."""
    powers = np.arange(constants.least_power, constants.most_power + 1)
    absurdity = constants.absurdity * sigma * np.abs(powers)
    places = int((positive - absurdity).argmax()), int((negative - absurdity).argmax())
    if (positive - absurdity)[places[0]] >= (negative - absurdity)[places[1]]:
        return (places[0], places[0]), None
    return None, (places[1], places[1])


def _run(values: Floats) -> tuple[int, int, float]:
    """Return the first and the last place of the run with the largest sum, and the sum."""
    sums = np.zeros(len(values) + 1)
    values.cumsum(out=sums[1:])
    lowest = np.minimum.accumulate(sums)[:-1]
    last = int((sums[1:] - lowest).argmax())
    first = int(sums[: last + 1].argmin())
    return first, last, float(sums[last + 1] - sums[first])
