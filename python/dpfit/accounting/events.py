"""Releases as data: what was let out, how sensitive it was, what it cost.

An event describes a release, not its outcome. It holds parameters and no number that was read
from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal, Self

from dpfit.accounting._checks import (
    DELTA_RANGE,
    EPSILON_RANGE,
    Neighbors,
    check_count,
    check_name,
    check_neighbors,
    check_positive,
    check_within,
)
from dpfit.accounting.gdp import gaussian_sigma
from dpfit.exceptions import ParameterError

__all__ = ["ApproximateRelease", "Event", "Release", "event_from_dict"]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A statistic released with Gaussian noise, once or in several identical rounds.

    Parameters
    ----------
    statistic : str
        What was released, for example ``"gram"``.
    sensitivity : float
        Largest Euclidean distance between the statistic of two neighbouring tables, in the
        statistic's own units.
    mu : float
        Privacy parameter of one round.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation that ``sensitivity`` refers to.
    sigma : float, optional
        Standard deviation of the noise, in the statistic's own units. By default the smallest
        that gives ``mu``.
    count : int, default 1
        Number of rounds.
    mechanism : str, default "gaussian"
        No other is allowed; it is here so that it appears in records.

    Raises
    ------
    ParameterError
        If a parameter is not usable, or if ``sigma`` is too small for ``mu``.

    Privacy
    -------
    One round is mu-GDP, and all are ``mu * sqrt(count)``-GDP, if the sensitivity is true and the
    noise is normal with at least this sigma. That ``sensitivity <= mu * sigma`` is checked in
    exact arithmetic; the sensitivity itself is the caller's claim.

    Examples
    --------
    >>> event = Release(statistic="gram", sensitivity=1.0, mu=0.25, neighbors="add_remove")
    >>> event.sigma
    4.0
    """

    statistic: str
    sensitivity: float
    mu: float
    neighbors: Neighbors
    sigma: float = None  # type: ignore[assignment]  # filled in below, so never None
    count: int = 1
    mechanism: Literal["gaussian"] = "gaussian"

    def __post_init__(self) -> None:
        """Check and normalise the fields."""
        if self.mechanism != "gaussian":
            raise ParameterError(f"mechanism={self.mechanism!r} must be 'gaussian'")
        sensitivity = check_positive("sensitivity", self.sensitivity)
        mu = check_positive("mu", self.mu)
        if self.sigma is None:  # type: ignore[redundant-expr, unused-ignore]
            sigma = gaussian_sigma(sensitivity, mu)
        else:
            sigma = check_positive("sigma", self.sigma)
            if Fraction(sensitivity) > Fraction(mu) * Fraction(sigma):
                raise ParameterError(
                    f"sigma={sigma!r} is too small: mu={mu!r} at sensitivity={sensitivity!r} needs "
                    f"sigma >= {gaussian_sigma(sensitivity, mu)!r}"
                )
        _set(
            self,
            statistic=check_name("statistic", self.statistic),
            sensitivity=sensitivity,
            mu=mu,
            neighbors=check_neighbors(self.neighbors),
            sigma=sigma,
            count=check_count("count", self.count),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a dictionary of plain values."""
        return {"type": "Release", **asdict(self)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the event that :meth:`to_dict` wrote."""
        return cls(**_fields(cls, fields))


@dataclass(frozen=True, kw_only=True)
class ApproximateRelease:
    """A release that is known to be (epsilon, delta)-DP and nothing more.

    Parameters
    ----------
    mechanism : str
        How it was made private, for example ``"exponential"``.
    statistic : str
        What was released.
    epsilon : float
        From 0 to 1e3.
    delta : float
        0 for pure differential privacy, otherwise from 1e-300 to 0.5.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation that epsilon and delta refer to.

    Raises
    ------
    ParameterError
        If a parameter is not usable, or if epsilon and delta are both 0.

    Privacy
    -------
    The pair (epsilon, delta) is the caller's claim. An accountant adds such pairs up, which holds
    for every mechanism.

    Examples
    --------
    >>> ApproximateRelease(
    ...     mechanism="exponential", statistic="model", epsilon=0.5, neighbors="add_remove"
    ... ).delta
    0.0
    """

    mechanism: str
    statistic: str
    epsilon: float
    delta: float = 0.0
    neighbors: Neighbors

    def __post_init__(self) -> None:
        """Check and normalise the fields."""
        epsilon = check_within("epsilon", self.epsilon, (0.0, EPSILON_RANGE[1]))
        delta = check_within("delta", self.delta, (0.0, DELTA_RANGE[1]))
        if 0.0 < delta < DELTA_RANGE[0]:
            raise ParameterError(
                f"delta={delta!r} is out of range: 0 or {DELTA_RANGE[0]!r} <= delta <= "
                f"{DELTA_RANGE[1]!r}"
            )
        if epsilon == delta == 0.0:
            raise ParameterError("epsilon=0.0 and delta=0.0: a release must have a cost")
        _set(
            self,
            mechanism=check_name("mechanism", self.mechanism),
            statistic=check_name("statistic", self.statistic),
            epsilon=abs(epsilon),
            delta=abs(delta),
            neighbors=check_neighbors(self.neighbors),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a dictionary of plain values."""
        return {"type": "ApproximateRelease", **asdict(self)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the event that :meth:`to_dict` wrote."""
        return cls(**_fields(cls, fields))


Event = Release | ApproximateRelease
"""What an accountant understands."""

_TYPES: dict[str, type[Release] | type[ApproximateRelease]] = {
    "Release": Release,
    "ApproximateRelease": ApproximateRelease,
}


def event_from_dict(fields: Mapping[str, Any]) -> Event:
    """Return the event that its ``to_dict`` wrote.

    Parameters
    ----------
    fields : mapping
        As written by ``to_dict``; the entry ``"type"`` says which event it is.

    Returns
    -------
    Release or ApproximateRelease

    Raises
    ------
    ParameterError
        If the type is unknown, or the fields are not those of the type.

    Privacy
    -------
    The event is checked as if it were made anew, so a changed file cannot hold an event that
    could not be made.

    Examples
    --------
    >>> event = Release(statistic="gram", sensitivity=1.0, mu=0.25, neighbors="add_remove")
    >>> event_from_dict(event.to_dict()) == event
    True
    """
    if not isinstance(fields, Mapping):
        raise ParameterError(f"an event must be a mapping, got {type(fields).__name__}")
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ParameterError(f"type={kind!r} must be one of {sorted(_TYPES)}")
    return _TYPES[kind].from_dict(fields)


def _fields(cls: type[Release] | type[ApproximateRelease], fields: Mapping[str, Any]) -> Any:
    """Return the keyword arguments in a dictionary that must hold all fields and no others."""
    expected = {"type", *cls.__dataclass_fields__}
    if set(fields) != expected:
        wrong = sorted(str(name) for name in set(fields) ^ expected)
        raise ParameterError(f"{cls.__name__}: missing or unknown fields {wrong}")
    if fields["type"] != cls.__name__:
        raise ParameterError(f"type={fields['type']!r} must be {cls.__name__!r}")
    return {name: value for name, value in fields.items() if name != "type"}


def _set(event: object, **values: object) -> None:
    """Store checked values in a frozen dataclass that is being made."""
    for name, value in values.items():
        object.__setattr__(event, name, value)
