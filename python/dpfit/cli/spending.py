"""What was released, or will be, and what it costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dpfit.accounting import ApproximateRelease, Event, Neighbors, Release, gdp_mu
from dpfit.accounting._statement import _up
from dpfit.cli.errors import wrong_use
from dpfit.exceptions import ParameterError

__all__ = [
    "FIT",
    "MU",
    "OTHER",
    "Part",
    "check_alike",
    "of_fit",
    "of_model",
    "of_mu",
    "of_other",
]

T = TypeVar("T")

# What the options of `dpfit budget add` take.
FIT = "EPSILON,DELTA[,TIMES]"
MU = "MU[,TIMES]"
OTHER = "EPSILON[,DELTA[,TIMES]]"
_NO_NAME = "one unit"


class Part(NamedTuple):
    """Something that was released, or will be."""

    name: str
    mu: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    times: int = 1
    neighbors: Neighbors | None = None
    unit: str | None = None
    unit_column: str | None = None
    # What one change of the table is about: one row, one patient.
    protected: str | None = None
    private: bool = True
    # All of a model file, by which the same one is known again.
    content: str | None = None
    # Of which epsilon and delta alone are known.
    other: bool = False

    @property
    def cost(self) -> str:
        """What one of them costs."""
        words = f"mu {_up(self.mu)}" if self.mu is not None else ""
        if self.epsilon is not None:
            words = f"epsilon {_up(self.epsilon)}, delta {_up(self.delta or 0.0)}" + (
                f", {words}" if words else ""
            )
        return words + (f"; {self.times} times" if self.times > 1 else "")

    def events(self, neighbors: Neighbors) -> list[Event]:
        """Return it as the accountant has it.

        Privacy
        -------
        A fit that cost mu is one Gaussian release of that mu, whatever it was made of.
        """
        if self.other:
            release = ApproximateRelease(
                mechanism="other",
                statistic="release",
                epsilon=self.epsilon or 0.0,
                delta=self.delta or 0.0,
                neighbors=neighbors,
            )
            return [release] * self.times
        assert self.mu is not None
        return [
            Release(
                statistic="release",
                sensitivity=1.0,
                mu=self.mu,
                neighbors=neighbors,
                count=self.times,
            )
        ]

    def plain(self) -> dict[str, Any]:
        """Return it as what JSON has words for."""
        fields = {"mu": self.mu, "epsilon": self.epsilon, "delta": self.delta}
        promise = {"neighbors": self.neighbors, "unit": self.unit, "unit_column": self.unit_column}
        return {"name": self.name, **fields, "times": self.times, **promise}


def of_model(path: Path) -> Part:
    """Return what a model has cost."""
    from dpfit.cli.inputs import open_model
    from dpfit.model_file import to_json

    model = open_model(path)
    record = model.privacy_
    return Part(
        str(path),
        record.mu,
        record.epsilon,
        record.delta,
        neighbors=record.neighbors,
        unit=record.unit,
        unit_column=record.unit_column,
        protected=record.protected,
        private=not record.insecure_seed,
        content=to_json(model),
    )


def of_fit(text: str) -> Part:
    """Return what a fit costs, of which the budget is given."""
    epsilon, delta, times = _numbers("--fit", text, FIT, 2)
    mu = _in_order(lambda: gdp_mu(epsilon, delta), "--fit", text, FIT)
    return Part("fit", mu, epsilon, delta, _times("--fit", text, times))


def of_mu(text: str) -> Part:
    """Return what a Gaussian release costs."""
    mu, times = _numbers("--mu", text, MU, 1)
    return Part("release", mu, times=_times("--mu", text, times))


def of_other(text: str) -> Part:
    """Return what a release by any other method costs."""
    epsilon, delta, times = _numbers("--other", text, OTHER, 1)
    if math.isnan(delta):
        delta = 0.0
    part = Part("other", None, epsilon, delta, _times("--other", text, times), other=True)
    _in_order(lambda: part.events("add_remove"), "--other", text, OTHER)
    return part


def _in_order(act: Callable[[], T], option: str, text: str, form: str) -> T:
    """Return what `act` returns; if a number is out of range, say what is expected where."""
    try:
        return act()
    except ParameterError as error:
        problem = str(error)
    raise wrong_use(f"{option} {text}: {problem}", f"the order is {form}")


def _numbers(option: str, text: str, form: str, least: int) -> list[float]:
    """Return numbers between commas; NaN for those that are left out."""
    most = form.count(",") + 1
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not least <= len(found) <= most or any(math.isnan(number) for number in found):
        raise wrong_use(f"{option} {text!r} must be {form}", "dpfit budget add --fit 1,1e-6,5")
    return found + [math.nan] * (most - len(found))


def _times(option: str, text: str, times: float) -> int:
    if math.isnan(times):
        return 1
    if not 1 <= times <= 1_000_000 or times != int(times):
        raise wrong_use(f"{option} {text!r} must end in a number of times, from 1 to a million")
    return int(times)


def check_alike(parts: Sequence[Part]) -> list[str]:
    """Refuse to add up promises about different things.

    Returns
    -------
    list of str
        What is taken for granted, and what looks like a mistake.

    Privacy
    -------
    Who is protected by one model, a patient, need not be by another, of hospitals: a sum would be
    a promise to neither. How many rows of a unit a model uses makes no other promise.
    """
    models = [part for part in parts if part.protected is not None]
    for one, two in itertools.combinations(models, 2):
        for first, second in ((one.neighbors, two.neighbors), _protected(one, two)):
            if first != second:
                raise wrong_use(
                    f"{one.name} and {two.name} promise different things and do not add up: "
                    f"{first} and {second}",
                    "--mu and --fit add what is known to be about the same",
                )
    remarks = []
    if len(models) > 1 and any(_has_no_name(part) for part in models):
        names = ", ".join(part.name for part in models if _has_no_name(part))
        remarks.append(
            f"What tells units apart has no name in {names}: that they are the same people, told "
            "apart in the same way, is assumed."
        )
    seen: dict[str | None, str] = {}
    for part in models:
        if part.content in seen:
            first = seen[part.content]
            remarks.append(
                f"{part.name} is counted twice."
                if part.name == first
                else f"{first} and {part.name} are the same model, which is counted twice."
            )
        seen.setdefault(part.content, part.name)
    return remarks


def _has_no_name(part: Part) -> bool:
    return part.unit_column is None and part.protected == _NO_NAME


def _protected(one: Part, two: Part) -> tuple[str | None, str | None]:
    """Return what two models protect, the same of both if a name is all that differs."""
    if _has_no_name(one) and two.unit_column is not None:
        return two.protected, two.protected
    if _has_no_name(two) and one.unit_column is not None:
        return one.protected, one.protected
    return one.protected, two.protected
