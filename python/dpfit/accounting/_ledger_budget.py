"""What the budget of a ledger allows. Nothing here touches a file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpfit._rounding import fraction_down, fraction_up, root_of_ratio_down
from dpfit.accounting._checks import EPSILON_RANGE
from dpfit.accounting._ledger_entries import (
    Charge,
    LedgerEntry,
    Remaining,
    Settings,
    gaussian_rest,
)
from dpfit.accounting.gdp import gdp_epsilon, gdp_mu
from dpfit.accounting.statement import rounded_down, rounded_up
from dpfit.exceptions import BudgetExceeded, LedgerWarning, ParameterError

__all__ = ["charged", "exceeded", "fits", "remaining", "remark_on_units"]

# How many doubles above an epsilon are tried.
_STEPS = 16


def charged(settings: Settings, entries: Sequence[LedgerEntry], charge: Charge) -> Charge:
    """Return what a charge costs the ledger; refuse one that protects something else.

    Raises
    ------
    ParameterError
        If the guarantee of the charge says nothing about the ledger's unit.

    Privacy
    -------
    The sum protects what every entry protects. A guarantee for rows protects a unit with k rows by
    k times its mu (Dong, Roth and Su 2022, theorem 2.14), rounded up. Under replacement, it does
    so only if all units have the same number of rows: the number of rows is public in such fits.
    """
    if charge.neighbors != settings.neighbors:
        raise _incompatible(
            f"has neighbors={settings.neighbors!r}, and {charge.what} has {charge.neighbors!r}",
            "use the same relation, or another ledger",
        )
    if charge.protects_units is None:
        return charge
    if charge.protects_units:
        if settings.unit is None:
            raise _incompatible(
                f"protects rows, and {charge.what} protects units",
                "create a ledger with a unit",
            )
        earlier = {entry.unit_name for entry in entries} - {None, charge.unit_name}
        if charge.unit_name is not None and earlier:
            raise _incompatible(
                f"has entries for the units in column {min(map(str, earlier))!r}, and "
                f"{charge.what} protects those in {charge.unit_name!r}",
                "rename the column if both are the same people",
            )
        return charge
    if settings.unit is None or settings.rows_per_unit == 1:
        return charge
    if settings.rows_per_unit is None:
        raise _incompatible(
            f"protects each {settings.unit}, and {charge.what} protects rows",
            "fit with a unit, or create a ledger with rows_per_unit",
        )
    if settings.neighbors == "replace":
        raise _incompatible(
            f"protects each {settings.unit}, who may be replaced by one with more or fewer rows, "
            f"and {charge.what} protects rows",
            "fit with a unit",
        )
    if charge.mu is None:
        raise _incompatible(
            f"protects each {settings.unit} with up to {settings.rows_per_unit} rows, and "
            f"{charge.what} protects rows",
            "only Gaussian fits are charged for several rows",
        )
    mu = fraction_up(Fraction(charge.mu) * settings.rows_per_unit)
    return replace(charge, mu=mu)


def remark_on_units(settings: Settings, entries: Sequence[LedgerEntry], charge: Charge) -> str:
    """Return a remark for a new entry, if fits disagree about the rows of a unit.

    Some protect rows, which the ledger counts as one row of each unit, and some protect units,
    which is needed if a unit can have several rows.

    Warns
    -----
    LedgerWarning
        If there is a remark. Nothing has been written then: if warnings are errors, nothing is
        spent.

    Privacy
    -------
    A fit that protects rows protects a unit with several rows less than the ledger says. Whether
    there are such units is not known here: the user has to decide.
    """
    if settings.unit is None or settings.rows_per_unit != 1 or charge.protects_units is None:
        return ""
    # A cost that a person added without a model holds for the unit: its entry has no max_rows.
    others = [
        entry
        for entry in entries
        if (entry.max_rows is None) == charge.protects_units
        and (entry.kind == "fit" or entry.max_rows is not None)
    ]
    if not others:
        return ""
    rows, units = f"entry {others[0].number}", charge.what
    if not charge.protects_units:
        rows, units = units, rows
    warnings.warn(
        f"{rows} is charged as if each {settings.unit} had 1 row, but {units} has a person-ID "
        f"column: if a {settings.unit} can have several rows, it is protected less than the ledger "
        "says. Fit with unit= and max_rows= (--unit and --max-rows)",
        LedgerWarning,
        # Where it is printed once, though a fit checks the budget before it is charged.
        stacklevel=2,
    )
    if charge.protects_units:
        return f"{rows} is charged for 1 row of each {settings.unit}"
    return f"charged for 1 row of each {settings.unit}, unlike {units}"


def fits(settings: Settings, costs: Iterable[LedgerEntry | Charge]) -> bool:
    """Return whether costs, in the order in which they are paid, are within the budget.

    Privacy
    -------
    Sums are exact. The budget is divided between Gaussian and other costs before the first Gaussian
    one, and not changed after that: whoever could choose later, by looking at results, could
    exceed delta (``docs/privacy/ledger.md``).
    """
    costs = tuple(costs)
    squares, epsilon, delta = _sums(costs)
    most = _for_others(settings, costs)
    if epsilon > most[0] or delta > most[1]:
        return False
    return squares <= Fraction(_gaussian_budget(settings, costs)) ** 2


def remaining(settings: Settings, entries: Sequence[LedgerEntry]) -> Remaining:
    """Return what is left of the budget.

    Privacy
    -------
    Rounded down: a fit that asks for it can be paid.
    """
    squares = _sums(entries)[0]
    left = Fraction(_gaussian_budget(settings, entries)) ** 2 - squares
    mu = root_of_ratio_down(left.numerator, left.denominator, 0) if left > 0 else 0.0
    return Remaining(mu, _affordable_epsilon(mu, settings.delta), settings.delta)


def exceeded(
    path: str, settings: Settings, entries: Sequence[LedgerEntry], cost: Charge
) -> BudgetExceeded:
    """Return the error for a cost that exceeds what is left, which it states."""
    if cost.mu is None and settings.epsilon is None:
        return BudgetExceeded(
            f"the budget of the ledger {path!r} is a mu, from which a release that is not Gaussian "
            "cannot be paid",
            subject="ledger",
            hint="Ledger.create(path, epsilon=..., delta=...)",
        )
    asked = f"{cost.times} x " if cost.times > 1 else ""
    hint = None
    if cost.mu is not None:
        left = remaining(settings, entries)
        asked += f"mu = {rounded_up(cost.mu)}"
        rows = (settings.unit and settings.rows_per_unit) or 1
        if cost.protects_units is False and rows > 1:
            asked += f" for {rows} rows of each {settings.unit}"
        elif cost.epsilon is not None and cost.delta is not None:
            guarantee = (rounded_up(cost.epsilon), rounded_up(cost.delta))
            asked += " (epsilon = {} at delta = {})".format(*guarantee)
        rest = f"mu = {rounded_down(left.mu)}"
        if left.epsilon is not None:
            rest += f" (epsilon = {rounded_down(left.epsilon)} at delta = {left.delta:g})"
    else:
        (_, *spent), most = _sums(entries), _for_others(settings, entries)
        asked += (
            f"epsilon = {rounded_up(cost.epsilon or 0.0)}, delta = {rounded_up(cost.delta or 0.0)}"
        )
        # Zero instead of minus zero.
        left_over = [fraction_down(a - b) or 0.0 for a, b in zip(most, spent, strict=True)]
        rest = "epsilon = {}, delta = {}".format(*map(rounded_down, left_over))
        if any(entry.mu is not None for entry in entries):
            rest += " for releases that are not Gaussian"
            hint = (
                "after the first Gaussian release, others are paid from what was set aside: "
                "Ledger.create(..., other_epsilon=..., other_delta=...)"
            )
    return BudgetExceeded(
        f"{cost.what} needs {asked}, and the ledger {path!r} of {settings.dataset!r} has {rest} "
        "left",
        subject="ledger",
        hint=hint,
    )


def _affordable_epsilon(mu: float, delta: float) -> float | None:
    """Return the largest epsilon, up to a few ulps, whose mu at delta is at most a given one.

    Returns
    -------
    float or None
        0 if there is none, None if epsilon could exceed its limit of 1000.

    Privacy
    -------
    Rounded down: a fit with this epsilon and delta costs at most mu.
    """
    low, high = EPSILON_RANGE
    if mu < gdp_mu(low, delta):
        return 0.0
    if mu >= gdp_mu(high, delta):
        return None
    epsilon = gdp_epsilon(mu, delta)
    while gdp_mu(epsilon, delta) > mu:
        epsilon = math.nextafter(epsilon, 0.0)
    # Several epsilons may have this mu: a budget of 2 is not to be shown as 1.9999999999999998.
    for _ in range(_STEPS):
        above = math.nextafter(epsilon, math.inf)
        if gdp_mu(above, delta) > mu:
            break
        epsilon = above
    return epsilon


def _sums(costs: Iterable[LedgerEntry | Charge]) -> tuple[Fraction, Fraction, Fraction]:
    """Return the exact sums of mu squared, and of epsilon and delta where there is no mu."""
    squares: dict[float, int] = {}
    epsilon = delta = Fraction()
    for cost in costs:
        if cost.mu is not None:
            squares[cost.mu] = squares.get(cost.mu, 0) + cost.times
        else:
            epsilon += Fraction(cost.epsilon or 0.0) * cost.times
            delta += Fraction(cost.delta or 0.0) * cost.times
    return sum((Fraction(mu) ** 2 * n for mu, n in squares.items()), Fraction()), epsilon, delta


def _set_aside(
    settings: Settings, costs: Sequence[LedgerEntry | Charge]
) -> tuple[Fraction, Fraction]:
    """Return the epsilon and delta that Gaussian costs may not use.

    It is what was set aside, or what was spent before the first Gaussian cost if that is more.
    """
    first = next((place for place, cost in enumerate(costs) if cost.mu is not None), len(costs))
    _, epsilon, delta = _sums(costs[:first])
    return (
        max(epsilon, Fraction(settings.other_epsilon)),
        max(delta, Fraction(settings.other_delta)),
    )


def _for_others(
    settings: Settings, costs: Sequence[LedgerEntry | Charge]
) -> tuple[Fraction, Fraction]:
    """Return the epsilon and delta that all costs together may have that are not Gaussian."""
    if settings.epsilon is None:
        return Fraction(), Fraction()
    if any(cost.mu is not None for cost in costs):
        return _set_aside(settings, costs)
    return Fraction(settings.epsilon), Fraction(settings.delta)


def _gaussian_budget(settings: Settings, costs: Sequence[LedgerEntry | Charge]) -> float:
    """Return the mu of all Gaussian costs together that other costs leave room for."""
    if settings.epsilon is None:
        return settings.mu
    return gaussian_rest(settings.epsilon, settings.delta, *_set_aside(settings, costs))


def _incompatible(problem: str, hint: str) -> ParameterError:
    return ParameterError(f"the ledger {problem}", subject="ledger", hint=hint)
