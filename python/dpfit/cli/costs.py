"""The privacy costs that ``dpfit budget add`` adds up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dpfit._typing import Neighbors
from dpfit.accounting import ApproximateRelease, Event, PrivacyRecord, Release, gdp_mu
from dpfit.accounting.statement import rounded_up
from dpfit.cli.errors import wrong_use
from dpfit.exceptions import ParameterError

__all__ = [
    "FIT",
    "MU",
    "OTHER",
    "Cost",
    "check_comparable",
    "cost_of_fit",
    "cost_of_model",
    "cost_of_mu",
    "cost_of_other",
    "numbers_up",
]

T = TypeVar("T")

# What the options of `dpfit budget add` take.
FIT = "EPSILON,DELTA[,TIMES]"
MU = "MU[,TIMES]"
OTHER = "EPSILON[,DELTA[,TIMES]]"
_MAX_TIMES = 1_000_000


class Cost(NamedTuple):
    """The cost of a release, or of several equal ones."""

    name: str
    # Without mu, the noise is not Gaussian.
    mu: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    times: int = 1
    # Of a model; the content of its file is for recognising copies.
    record: PrivacyRecord | None = None
    content: str | None = None
    dataset: str | None = None

    def __str__(self) -> str:
        times = f"; {self.times} times" if self.times > 1 else ""
        return numbers_up(self.epsilon, self.delta, self.mu) + times

    def events(self, neighbors: Neighbors) -> list[Event]:
        """Return the cost as events for the accountant.

        Privacy
        -------
        A fit that cost mu is one Gaussian release of that mu, whatever it consisted of.
        """
        if self.mu is None:
            release = ApproximateRelease(
                mechanism="other",
                statistic="release",
                epsilon=self.epsilon or 0.0,
                delta=self.delta or 0.0,
                neighbors=neighbors,
            )
            return [release] * self.times
        return [
            Release(
                statistic="release",
                sensitivity=1.0,
                mu=self.mu,
                neighbors=neighbors,
                count=self.times,
            )
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the fields that ``--json`` prints."""
        fields = ("name", "mu", "epsilon", "delta", "times")
        protection = ("neighbors", "max_rows", "unit_name")
        return {
            **{name: getattr(self, name) for name in fields},
            **{name: getattr(self.record, name, None) for name in protection},
            "dataset": self.dataset,
        }


def numbers_up(epsilon: float | None, delta: float | None, mu: float | None) -> str:
    """Return the numbers of a cost that are known, rounded up."""
    guarantee = {"epsilon": epsilon, "delta": None if epsilon is None else delta or 0.0, "mu": mu}
    return ", ".join(f"{n} {rounded_up(v)}" for n, v in guarantee.items() if v is not None)


def cost_of_model(path: Path) -> Cost:
    """Return what a fitted model has cost."""
    from dpfit.cli.inputs import open_model
    from dpfit.models.file import to_json

    model = open_model(path)
    record = model.privacy_
    cost = Cost(str(path), record.mu, record.epsilon, record.delta)
    provenance = model.model_.provenance
    dataset = None if provenance is None else provenance.dataset
    return cost._replace(record=record, content=to_json(model), dataset=dataset)


def cost_of_fit(text: str) -> Cost:
    """Return the cost that an option ``--fit`` states."""
    epsilon, delta, times = _numbers("--fit", text, FIT, 2)
    mu = _checked(lambda: gdp_mu(epsilon, delta), "--fit", text, FIT)
    return Cost("fit", mu, epsilon, delta, _times("--fit", text, times))


def cost_of_mu(text: str) -> Cost:
    """Return the cost that an option ``--mu`` states."""
    mu, times = _numbers("--mu", text, MU, 1)
    return Cost("release", mu, times=_times("--mu", text, times))


def cost_of_other(text: str) -> Cost:
    """Return the cost that an option ``--other`` states."""
    epsilon, delta, times = _numbers("--other", text, OTHER, 1)
    if math.isnan(delta):
        delta = 0.0
    cost = Cost("other", None, epsilon, delta, _times("--other", text, times))
    _checked(lambda: cost.events("add_remove"), "--other", text, OTHER)
    return cost


def _checked(act: Callable[[], T], option: str, text: str, form: str) -> T:
    """Return ``act()``; if a number is out of range, name the option and what its numbers are."""
    try:
        return act()
    except ParameterError as error:
        problem = error.message
    raise wrong_use(f"{option} {text}: {problem}", f"the order is {form}")


def _numbers(option: str, text: str, form: str, at_least: int) -> list[float]:
    """Return the numbers between commas; NaN for those that are left out."""
    at_most = form.count(",") + 1
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not at_least <= len(found) <= at_most or any(math.isnan(number) for number in found):
        raise wrong_use(f"{option} {text!r} must be {form}", "dpfit budget add --fit 1,1e-6,5")
    return found + [math.nan] * (at_most - len(found))


def _times(option: str, text: str, times: float) -> int:
    if math.isnan(times):
        return 1
    if not 1 <= times <= _MAX_TIMES or times != int(times):
        raise wrong_use(f"{option} {text!r}: TIMES must be an integer from 1 to {_MAX_TIMES}")
    return int(times)


def check_comparable(costs: Sequence[Cost]) -> list[str]:
    """Refuse to add up costs of models that protect different things.

    Returns
    -------
    list of str
        Notes on what is assumed, and on what looks like a mistake.

    Privacy
    -------
    One model may protect patients and another one hospitals: a sum would protect neither. How many
    rows of a unit a model uses does not change what it protects.
    """
    models = [(cost.name, cost.record) for cost in costs if cost.record is not None]
    for (one, first), (two, second) in itertools.combinations(models, 2):
        compared = ((first.neighbors, second.neighbors), _labels(first, second))
        for different in (pair for pair in compared if len(set(pair)) > 1):
            raise wrong_use(
                f"{one} and {two} protect different things and do not add up: "
                f"{' and '.join(different)}",
                "use --mu or --fit for a cost that you know to be comparable",
            )
    notes = []
    datasets = {cost.dataset: cost.name for cost in reversed(costs) if cost.dataset is not None}
    if len(datasets) > 1:
        of = " and ".join(f"{name} of {dataset!r}" for dataset, name in datasets.items())
        notes.append(
            f"The models are of different data sets: {of}. The total is for people who are in all "
            "of them."
        )
    unnamed = [name for name, record in models if _is_unnamed(record)]
    if len(models) > 1 and unnamed:
        notes.append(
            f"Units have no name in {', '.join(unnamed)}: the total assumes that all models "
            "protect the same people."
        )
    seen: dict[str, str] = {}
    for cost in costs:
        if cost.content is None:
            continue
        first_name = seen.get(cost.content)
        if first_name == cost.name:
            notes.append(f"{cost.name} is counted twice.")
        elif first_name is not None:
            notes.append(f"{first_name} and {cost.name} are the same model; it is counted twice.")
        seen.setdefault(cost.content, cost.name)
    return notes


def _is_unnamed(record: PrivacyRecord) -> bool:
    return record.max_rows is not None and record.unit_name is None


def _labels(one: PrivacyRecord, two: PrivacyRecord) -> tuple[str, str]:
    """Return what two models protect: the same for both if only one of them has a name for it."""
    labels = (f"each {one.unit_label}", f"each {two.unit_label}")
    if _is_unnamed(one) and two.max_rows is not None:
        return labels[1], labels[1]
    if _is_unnamed(two) and one.max_rows is not None:
        return labels[0], labels[0]
    return labels
