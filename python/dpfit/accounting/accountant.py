"""The accountant, which composes events into one guarantee."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Self

from dpfit._rounding import fraction_down, fraction_up, root_up, sum_of_squares
from dpfit._typing import Neighbors
from dpfit.accounting._checks import (
    DELTA_RANGE,
    EPSILON_RANGE,
    check_neighbors,
    check_within,
    must_be,
)
from dpfit.accounting.events import ApproximateRelease, Event, Release
from dpfit.accounting.gdp import gdp_delta, gdp_epsilon, gdp_mu
from dpfit.exceptions import ParameterError

__all__ = ["GDPAccountant"]


class GDPAccountant:
    """Compose releases on one data set under one neighbouring relation.

    Gaussian releases compose exactly: their mu is the root of the sum of squares. If only
    (epsilon, delta) of a release is known, these are added to the epsilon and delta of the
    Gaussian part.

    Parameters
    ----------
    neighbors : {"add_remove", "replace"}, default "add_remove"
        The neighbouring relation of every event.

    Privacy
    -------
    The results of :meth:`epsilon` and :meth:`delta` hold for all events together. Each mechanism
    may depend on the results of earlier ones, but not how a budget is divided between Gaussian and
    other events (``docs/privacy/ledger.md``). The Gaussian part follows from composition of
    Gaussian differential privacy (Dong, Roth and Su 2022, corollary 3.3), the sum of the parts from
    basic composition (Dwork and Roth 2014, theorem 3.16). Gaussian releases may be grouped even if
    others were made between them, because composition of trade-off functions does not depend on
    the order (Dong, Roth and Su 2022, section 3.1). Sums are exact and rounded once, to the private
    side.

    Examples
    --------
    >>> accountant = GDPAccountant()
    >>> for statistic, mu in (("gram", 3.0), ("gradient", 4.0)):
    ...     _ = accountant.add(
    ...         Release(statistic=statistic, sensitivity=1.0, mu=mu, neighbors="add_remove")
    ...     )
    >>> accountant.mu
    5.0
    >>> accountant.epsilon(1e-6) == gdp_epsilon(5.0, 1e-6)
    True
    """

    def __init__(self, neighbors: Neighbors = "add_remove") -> None:
        self._neighbors = check_neighbors(neighbors)
        self._events: tuple[Event, ...] = ()

    @property
    def neighbors(self) -> Neighbors:
        """The neighbouring relation."""
        return self._neighbors

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, in the order in which they were added."""
        return self._events

    @property
    def mu(self) -> float:
        """The mu of the Gaussian part, rounded up; 0 if there is none.

        Privacy
        -------
        The Gaussian releases together are mu-GDP. This does not cover the other events.
        """
        try:
            return root_up(*sum_of_squares((event.mu, event.count) for event in self._gaussian()))
        except OverflowError:
            raise ParameterError("the composed mu exceeds the largest double") from None

    def add(self, event: Event) -> Self:
        """Add one event.

        Parameters
        ----------
        event : Release or ApproximateRelease

        Returns
        -------
        GDPAccountant
            The accountant itself, so that calls can be chained.

        Raises
        ------
        ParameterError
            As for :meth:`compose`.

        Privacy
        -------
        Events cannot be removed.
        """
        return self.compose((event,))

    def compose(self, events: Iterable[Event]) -> Self:
        """Add several events: all of them, or none if one is invalid.

        Parameters
        ----------
        events : iterable of Release or ApproximateRelease

        Returns
        -------
        GDPAccountant
            The accountant itself, so that calls can be chained.

        Raises
        ------
        ParameterError
            If an event has an unknown type or another neighbouring relation. The accountant does
            not change.

        Privacy
        -------
        All events are checked before the first one is added.
        """
        new = tuple(events)
        for i, event in enumerate(new):
            # An exact match: a subclass could give the same fields another meaning.
            if type(event) is not Release and type(event) is not ApproximateRelease:
                allowed = "a Release or an ApproximateRelease"
                raise must_be(f"events[{i}]", allowed, type(event).__name__)
            if event.neighbors != self._neighbors:
                allowed = f"{self._neighbors!r}, as for the accountant"
                raise must_be(f"events[{i}].neighbors", allowed, repr(event.neighbors))
        self._events += new
        return self

    def epsilon(self, delta: float) -> float:
        """Return an epsilon for which all events together are (epsilon, delta)-DP.

        Parameters
        ----------
        delta : float
            From 1e-300 to 0.5, and larger than the deltas of the (epsilon, delta) events. 0 is
            allowed if no event needs a delta.

        Returns
        -------
        float
            The epsilon of the Gaussian part at the delta that the other events leave, plus the
            epsilons of the other events, rounded up. 0 if there are no events.

        Raises
        ------
        ParameterError
            If delta is out of range or too small for the events.

        Privacy
        -------
        The guarantee holds for all events together; see the class.
        """
        delta = check_within("delta", delta, (0.0, DELTA_RANGE[1]))
        spent_epsilon, spent_delta = self._approximate()
        if not self._gaussian():
            if spent_delta > delta:
                raise _too_small("delta", delta, spent_delta, DELTA_RANGE)
            return fraction_up(spent_epsilon)
        rest = _rest("delta", delta, spent_delta, DELTA_RANGE)
        return fraction_up(Fraction(gdp_epsilon(self.mu, rest)) + spent_epsilon)

    def delta(self, epsilon: float) -> float:
        """Return a delta for which all events together are (epsilon, delta)-DP.

        Parameters
        ----------
        epsilon : float
            From 1e-6 to 1e3, and larger than the epsilons of the (epsilon, delta) events.

        Returns
        -------
        float
            The delta of the Gaussian part at the epsilon that the other events leave, plus the
            deltas of the other events, rounded up; at most 1. 0 if no event needs a delta.

        Raises
        ------
        ParameterError
            If epsilon is out of range or too small for the events.

        Privacy
        -------
        The guarantee holds for all events together; see the class.
        """
        epsilon = check_within("epsilon", epsilon, EPSILON_RANGE)
        spent_epsilon, spent_delta = self._approximate()
        if not self._gaussian():
            if spent_epsilon > epsilon:
                raise _too_small("epsilon", epsilon, spent_epsilon, EPSILON_RANGE)
            return min(fraction_up(spent_delta), 1.0)
        rest = _rest("epsilon", epsilon, spent_epsilon, EPSILON_RANGE)
        return min(fraction_up(Fraction(gdp_delta(self.mu, rest)) + spent_delta), 1.0)

    def gaussian_budget(self, epsilon: float, delta: float) -> float:
        """Return the mu of all Gaussian releases that a total (epsilon, delta) allows.

        Parameters
        ----------
        epsilon : float
            From 1e-6 to 1e3, and larger than the epsilons of the (epsilon, delta) events.
        delta : float
            From 1e-300 to 0.5, and larger than the deltas of the (epsilon, delta) events.

        Returns
        -------
        float
            The largest mu that can be certified. It includes the Gaussian releases that were
            already added.

        Raises
        ------
        ParameterError
            If epsilon or delta is out of range or too small for the (epsilon, delta) events.

        Privacy
        -------
        If the Gaussian releases compose to at most this mu, then all events together are
        (epsilon, delta)-DP. The differences are rounded down before they are converted.

        Examples
        --------
        >>> GDPAccountant().gaussian_budget(1.0, 1e-6) == gdp_mu(1.0, 1e-6)
        True
        """
        epsilon = check_within("epsilon", epsilon, EPSILON_RANGE)
        delta = check_within("delta", delta, DELTA_RANGE)
        spent_epsilon, spent_delta = self._approximate()
        return gdp_mu(
            _rest("epsilon", epsilon, spent_epsilon, EPSILON_RANGE),
            _rest("delta", delta, spent_delta, DELTA_RANGE),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the events and their mu as a dictionary of plain values."""
        return {
            "neighbors": self._neighbors,
            "mu": self.mu,
            "events": [event.to_dict() for event in self._events],
        }

    def to_json(self) -> str:
        """Return the events and their mu as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def __repr__(self) -> str:
        """Return a short description."""
        return (
            f"GDPAccountant(neighbors={self._neighbors!r}, events={len(self._events)}, "
            f"mu={self.mu!r})"
        )

    def _gaussian(self) -> list[Release]:
        return [event for event in self._events if isinstance(event, Release)]

    def _approximate(self) -> tuple[Fraction, Fraction]:
        """Return the exact sums of epsilon and delta over the (epsilon, delta) events."""
        others = [event for event in self._events if isinstance(event, ApproximateRelease)]
        return (
            sum((Fraction(event.epsilon) for event in others), Fraction()),
            sum((Fraction(event.delta) for event in others), Fraction()),
        )


def _rest(name: str, total: float, spent: Fraction, allowed: tuple[float, float]) -> float:
    """Return what the (epsilon, delta) events leave for the Gaussian ones, rounded down."""
    rest = fraction_down(Fraction(total) - spent)
    if rest < allowed[0]:
        raise _too_small(name, total, spent + Fraction(allowed[0]), allowed)
    return rest


def _too_small(
    name: str, value: float, lowest: Fraction, allowed: tuple[float, float]
) -> ParameterError:
    least = fraction_up(lowest)
    if least > allowed[1]:
        return ParameterError(
            f"the events need {name} >= {least!r}, but {name} cannot exceed {allowed[1]!r}",
            subject=name,
        )
    return must_be(name, f"between {least!r} and {allowed[1]!r} for these events", value)
