"""Composition of mu-GDP releases, and its inverse: mu divided among several of them.

Squares, sums and roots are exact integers, and each answer is rounded once, to the private side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from dpfit.accounting._checks import check_count, check_non_negative, check_positive
from dpfit.accounting._rounding import root_of_ratio_down, root_up, sum_of_squares
from dpfit.exceptions import ParameterError

__all__ = ["compose", "per_round", "split"]

_SMALLEST_NORMAL = math.ldexp(1.0, -1022)


def compose(*mus: float) -> float:
    """Return the mu of several releases taken together, ``sqrt(mu_1**2 + mu_2**2 + ...)``.

    Parameters
    ----------
    *mus : float
        Privacy parameters of the releases; not negative.

    Returns
    -------
    float
        The smallest double that is at least the exact root; 0 for no releases.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or if the root exceeds the largest double.

    Privacy
    -------
    Releases that are mu_i-GDP, each chosen with sight of the earlier ones, are together mu-GDP
    with the mu returned (Dong, Roth and Su 2022, corollary 3.3). Squares, sum and root are
    exact integers; the only rounding is the last one, and it goes up.

    Examples
    --------
    >>> compose(3.0, 4.0)
    5.0
    >>> compose(1e-200, 1e-200)
    1.4142135623730953e-200
    """
    checked = [(check_non_negative(f"mus[{i}]", mu), 1) for i, mu in enumerate(mus)]
    try:
        return root_up(*sum_of_squares(checked))
    except OverflowError:
        raise ParameterError("mus compose to more than the largest double") from None


def split(mu: float, ratio: Iterable[float]) -> tuple[float, ...]:
    """Divide mu among several releases in a given ratio.

    Parameters
    ----------
    mu : float
        What the releases may compose to; positive.
    ratio : iterable of float
        Relative size of each part; all positive, at least one.

    Returns
    -------
    tuple of float
        For each entry r the largest double that is at most ``mu * r / sqrt(sum of squares)``.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or a part would be below the smallest normal
        double.

    Privacy
    -------
    The parts compose to at most mu in exact arithmetic, because each is rounded down from exact
    integers; they compose to mu within a few units in the last place, so nothing is wasted.
    ``compose(*split(mu, ratio)) <= mu`` holds as doubles, too.

    Examples
    --------
    >>> split(5.0, (3, 4))
    (3.0, 4.0)
    """
    mu = check_positive("mu", mu)
    if not isinstance(ratio, Iterable):
        raise ParameterError(f"ratio must hold positive numbers, got {type(ratio).__name__}")
    shares = [check_positive(f"ratio[{i}]", share) for i, share in enumerate(ratio)]
    if not shares:
        raise ParameterError("ratio must hold at least one number")
    total, total_exponent = sum_of_squares((share, 1) for share in shares)
    whole, whole_exponent = sum_of_squares([(mu, 1)])
    parts: dict[float, float] = {}
    for i, share in enumerate(shares):
        if share in parts:
            continue
        square, exponent = sum_of_squares([(share, 1)])
        exponent += whole_exponent - total_exponent
        parts[share] = root_of_ratio_down(whole * square, total, exponent)
        if parts[share] < _SMALLEST_NORMAL:
            raise ParameterError(
                f"ratio[{i}]={share!r} is too small: its part of mu={mu!r} must be at least "
                f"{_SMALLEST_NORMAL!r}"
            )
    return tuple(parts[share] for share in shares)


def per_round(mu: float, count: int) -> float:
    """Divide mu among a number of equal releases.

    Parameters
    ----------
    mu : float
        What the releases may compose to; positive.
    count : int
        Number of releases; at least 1.

    Returns
    -------
    float
        The largest double that is at most ``mu / sqrt(count)``.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or the part would be below the smallest
        normal double.

    Privacy
    -------
    As for :func:`split`: ``count`` releases of this mu compose to at most the given mu in exact
    arithmetic.

    Examples
    --------
    >>> per_round(1.0, 4)
    0.5
    """
    mu = check_positive("mu", mu)
    count = check_count("count", count)
    whole, exponent = sum_of_squares([(mu, 1)])
    part = root_of_ratio_down(whole, count, exponent)
    if part < _SMALLEST_NORMAL:
        raise ParameterError(
            f"count={count} is too large: each part of mu={mu!r} must be at least "
            f"{_SMALLEST_NORMAL!r}"
        )
    return part
