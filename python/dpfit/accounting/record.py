"""The privacy record of a fitted estimator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dpfit._rounding import fraction_up
from dpfit._typing import Neighbors
from dpfit.accounting._checks import (
    DELTA_RANGE,
    EPSILON_RANGE,
    check_count,
    check_name,
    check_neighbors,
    check_positive,
    check_within,
    must_be,
)
from dpfit.accounting.accountant import GDPAccountant
from dpfit.accounting.certificate import as_certificate, record_schema
from dpfit.accounting.events import ApproximateRelease, Event, Release, event_from_dict
from dpfit.accounting.statement import as_html, as_statement, as_text
from dpfit.exceptions import BudgetExceeded, ParameterError

__all__ = ["PrivacyRecord"]

_FORMAT = "dpfit-privacy-record"
# Since 2 the protected unit is data (max_rows, unit_name) instead of a phrase.
_VERSION = 2
_TOLERANCE = Fraction(1, 10**12)


@dataclass(frozen=True, kw_only=True)
class PrivacyRecord:
    """The privacy guarantee of a result, and the releases that it is based on.

    Most callers use :meth:`from_events`, which derives the numbers that follow from the others.

    Parameters
    ----------
    epsilon, delta : float or None
        The guarantee as (epsilon, delta)-DP; both or neither.
    mu : float or None
        The budget of the Gaussian releases; None if there are none.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation.
    events : tuple of Release or ApproximateRelease
        The releases; at least one.
    insecure_seed : bool, default False
        Whether the noise came from a fixed seed. If so, nothing is private.
    max_rows : int or None, default None
        The largest number of rows that are used of each unit. None if there are no units: each
        row is protected by itself.
    unit_name : str or None, default None
        The name of the person-ID column. None if there is no such column, or if the IDs were
        passed without a name.
    notes : tuple of str, default ()
        Sentences to add to the statement. They may depend on the data only through the releases.

    Raises
    ------
    BudgetExceeded
        If the events cost more than epsilon, delta and mu.
    ParameterError
        If a parameter is invalid, or if the events cost less than ``1 - 1e-12`` times the budget.

    Privacy
    -------
    A record exists only if its numbers are true of its events: in exact arithmetic, the events
    compose to at most the budget, and mu-GDP with the recorded mu implies the recorded (epsilon,
    delta). The record contains nothing that was read from the data.

    Examples
    --------
    >>> from dpfit.accounting import gdp_mu
    >>> budget = gdp_mu(1.0, 1e-6)
    >>> event = Release(statistic="mean", sensitivity=1.0, mu=budget, neighbors="add_remove")
    >>> record = PrivacyRecord.from_events([event], epsilon=1.0, delta=1e-6)
    >>> print(record)
    epsilon    1
    delta      1e-06
    mu         0.236705
    neighbors  add_remove
    protects   each row
    releases   mean
    >>> PrivacyRecord.from_json(record.to_json()) == record
    True
    """

    epsilon: float | None
    delta: float | None
    mu: float | None
    neighbors: Neighbors
    events: tuple[Event, ...]
    insecure_seed: bool = False
    max_rows: int | None = None
    unit_name: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the fields, and that the events cost what the budget says."""
        check_neighbors(self.neighbors)
        if self.max_rows is not None:
            object.__setattr__(self, "max_rows", check_count("max_rows", self.max_rows))
        if self.unit_name is not None:
            if not isinstance(self.unit_name, str):
                raise must_be("unit_name", "a string or None", type(self.unit_name).__name__)
            if self.max_rows is None:
                raise ParameterError("unit_name requires max_rows", subject="unit_name")
        if type(self.insecure_seed) is not bool:
            raise must_be("insecure_seed", "True or False", type(self.insecure_seed).__name__)
        if isinstance(self.notes, str):
            raise must_be("notes", "a sequence of strings", "str")
        notes = tuple(check_name(f"notes[{i}]", note) for i, note in enumerate(self.notes))
        object.__setattr__(self, "notes", notes)
        object.__setattr__(self, "events", tuple(self.events))
        for name, value in _checked_budget(self.epsilon, self.delta, self.mu).items():
            object.__setattr__(self, name, value)
        self._check_events()

    @classmethod
    def from_events(
        cls,
        events: Iterable[Event],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        insecure_seed: bool = False,
        max_rows: int | None = None,
        unit_name: str | None = None,
        notes: Iterable[str] = (),
    ) -> Self:
        """Return the record of events that were meant to spend a given budget.

        Parameters
        ----------
        events : iterable of Release or ApproximateRelease
            The releases; at least one, all under the same neighbouring relation.
        epsilon, delta : float, optional
            The budget. With ``mu`` instead of ``epsilon``, epsilon is stated for this ``delta``.
        mu : float, optional
            The budget of the Gaussian releases, instead of ``epsilon``.
        insecure_seed, max_rows, unit_name, notes
            As for the class.

        Returns
        -------
        PrivacyRecord
            Without epsilon and delta if only ``mu`` was given, or if epsilon would exceed 1000.

        Raises
        ------
        BudgetExceeded, ParameterError
            As for the class.

        Privacy
        -------
        Derived numbers are rounded to the private side. The record is then checked like any other.
        """
        events = tuple(events)
        if not events:
            raise _no_events()
        if mu is not None and epsilon is not None:
            raise ParameterError("epsilon and mu exclude each other: pass one of them")
        known = isinstance(events[0], Release | ApproximateRelease)
        neighbors: Neighbors = events[0].neighbors if known else "add_remove"
        accountant = GDPAccountant(neighbors).compose(events)
        if mu is not None:
            epsilon, delta = _stated_guarantee(accountant, check_positive("mu", mu), delta)
        elif epsilon is not None and delta is not None and accountant.mu > 0.0:
            mu = accountant.gaussian_budget(epsilon, delta)
        return cls(
            epsilon=epsilon,
            delta=delta,
            mu=mu,
            neighbors=neighbors,
            events=events,
            insecure_seed=insecure_seed,
            max_rows=max_rows,
            unit_name=unit_name,
            notes=tuple(notes),
        )

    @property
    def unit_label(self) -> str:
        """What is protected, as a noun: ``row``, ``unit``, or the name of the person-ID column.

        A name that is not a plain word, or that is one of these two, is quoted and escaped.

        Privacy
        -------
        The costs of two records add up if their labels and ``neighbors`` are the same. If units
        have no name, the reader must know that they are the same people.
        """
        if self.max_rows is None:
            return "row"
        if self.unit_name is None:
            return "unit"
        is_word = self.unit_name.isidentifier() and self.unit_name not in ("row", "unit")
        return self.unit_name if is_word else repr(self.unit_name)

    @property
    def protects(self) -> str:
        """What is protected, for example ``each row`` or ``each patient (at most 5 rows each)``."""
        if self.max_rows is None:
            return "each row"
        rows = "row" if self.max_rows == 1 else "rows"
        return f"each {self.unit_label} (at most {self.max_rows} {rows} each)"

    def statement(self) -> str:
        """Return the guarantee and its conditions in plain English.

        The first paragraph is for readers who are not statisticians. The second, an appendix,
        names the released statistics and their cost.

        Privacy
        -------
        Numbers are rounded up, so the text never promises more than the record. With
        ``insecure_seed`` it begins with NOT PRIVATE.
        """
        return as_statement(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the record, including its statement, as a dictionary of plain values."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "mu": self.mu,
            "neighbors": self.neighbors,
            "max_rows": self.max_rows,
            "unit_name": self.unit_name,
            "insecure_seed": self.insecure_seed,
            "events": [event.to_dict() for event in self.events],
            "notes": list(self.notes),
            "statement": self.statement(),
        }

    def to_json(self) -> str:
        """Return the record as JSON; :meth:`from_json` reads it back without loss.

        Besides the record, the JSON has a *certificate*: the same facts under the names that NIST
        SP 800-226 and the Differential Privacy Deployments Registry use. :meth:`json_schema`
        describes the format.
        """
        fields = {**self.to_dict(), "certificate": as_certificate(self)}
        return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False)

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """Return the JSON Schema (draft 2020-12) of what :meth:`to_json` writes."""
        return record_schema()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the record that :meth:`to_dict` wrote.

        Privacy
        -------
        All checks of a new record are made. Statement and certificate are not read; they are
        derived again from the checked numbers.
        """
        if not isinstance(fields, Mapping):
            raise must_be("a record", "a mapping", type(fields).__name__)
        form = (fields.get("format"), fields.get("version"))
        if form != (_FORMAT, _VERSION):
            raise must_be("(format, version)", repr((_FORMAT, _VERSION)), repr(form))
        values = {
            name: value
            for name, value in fields.items()
            if name not in ("format", "version", "statement", "certificate")
        }
        if set(values) != set(cls.__dataclass_fields__):
            wrong = sorted(str(name) for name in set(values) ^ set(cls.__dataclass_fields__))
            raise ParameterError(f"PrivacyRecord: missing or unknown fields {wrong}")
        for name in ("events", "notes"):
            if not isinstance(values[name], list):
                raise must_be(name, "a list", type(values[name]).__name__)
        values["events"] = tuple(event_from_dict(event) for event in values["events"])
        values["notes"] = tuple(values["notes"])
        return cls(**values)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the record that :meth:`to_json` wrote, checked as in :meth:`from_dict`."""
        try:
            fields = json.loads(text)
        except json.JSONDecodeError as error:
            raise ParameterError(f"the record is not valid JSON: {error.msg}") from None
        return cls.from_dict(fields)

    def __str__(self) -> str:
        """Return the record as a few aligned lines."""
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def _check_events(self) -> None:
        """Raise if the events cost more than the budget, or noticeably less."""
        if not self.events:
            raise _no_events()
        accountant = GDPAccountant(self.neighbors).compose(self.events)
        others = [event for event in self.events if isinstance(event, ApproximateRelease)]
        if self.epsilon is None and others:
            raise ParameterError("epsilon and delta are required: some events are not Gaussian")
        if accountant.mu == 0.0:
            if self.mu is not None:
                raise must_be("mu", "None if no event is Gaussian", self.mu)
            for name, granted in (("epsilon", self.epsilon), ("delta", self.delta)):
                spent = sum((Fraction(getattr(event, name)) for event in others), Fraction())
                _check_spent(name, spent, granted or 0.0)
            return
        if self.mu is None:
            raise ParameterError("mu is required: some events are Gaussian", subject="mu")
        _check_spent("mu", Fraction(accountant.mu), self.mu)
        if self.epsilon is not None and self.delta is not None:
            _check_conversion(accountant, self.mu, self.epsilon, self.delta)


def _no_events() -> ParameterError:
    return ParameterError("events must contain at least one release", subject="events")


def _checked_budget(epsilon: object, delta: object, mu: object) -> dict[str, float | None]:
    """Return the budget as doubles."""
    if (epsilon is None) != (delta is None):
        raise ParameterError("epsilon and delta must be passed together")
    if epsilon is None and mu is None:
        raise ParameterError("a budget is required: epsilon and delta, or mu")
    return {
        "epsilon": None
        if epsilon is None
        else check_within("epsilon", epsilon, (0.0, EPSILON_RANGE[1])),
        "delta": None if delta is None else check_within("delta", delta, (0.0, DELTA_RANGE[1])),
        "mu": None if mu is None else check_positive("mu", mu),
    }


def _check_spent(name: str, spent: Fraction, granted: float) -> None:
    """Raise if the cost exceeds the budget, or is noticeably lower."""
    if spent > Fraction(granted):
        raise BudgetExceeded(
            f"the events cost {name}={fraction_up(spent)!r}, which exceeds the budget of "
            f"{name}={granted!r}",
            subject=name,
        )
    if spent < Fraction(granted) * (1 - _TOLERANCE):
        raise ParameterError(
            f"the events cost only {name}={fraction_up(spent)!r} of the budget of "
            f"{name}={granted!r}; they must spend all of it, up to a relative error of 1e-12",
            subject=name,
        )


def _check_conversion(accountant: GDPAccountant, mu: float, epsilon: float, delta: float) -> None:
    """Raise if mu does not imply (epsilon, delta), or implies a noticeably smaller one."""
    limit = accountant.gaussian_budget(epsilon, delta)
    if mu > limit or epsilon != _stated_guarantee(accountant, mu, delta)[0]:
        _check_spent("mu", Fraction(mu), limit)


def _stated_guarantee(
    accountant: GDPAccountant, mu: float, delta: float | None
) -> tuple[float | None, float | None]:
    """Return (epsilon, delta) for Gaussian events that cost mu; None if epsilon exceeds 1000."""
    if delta is None or mu > accountant.gaussian_budget(EPSILON_RANGE[1], delta):
        return None, None
    budget = GDPAccountant(accountant.neighbors).compose(
        event for event in accountant.events if isinstance(event, ApproximateRelease)
    )
    budget.add(Release(statistic="budget", sensitivity=mu, mu=mu, neighbors=accountant.neighbors))
    return budget.epsilon(delta), delta
