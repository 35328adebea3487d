"""``dpfit budget``."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from dpfit.accounting import GDPAccountant, PrivacyRecord, gdp_delta, gdp_epsilon, gdp_mu
from dpfit.accounting.statement import (
    detection_percent,
    probability_factor,
    rounded_down,
    rounded_up,
)
from dpfit.cli.costs import (
    Cost,
    check_comparable,
    cost_of_fit,
    cost_of_model,
    cost_of_mu,
    cost_of_other,
    numbers_up,
)
from dpfit.cli.errors import wrong_use
from dpfit.cli.options import Fits, Json, Models, Mus, Others
from dpfit.cli.printing import epilog, paragraph, print_json, print_note, print_text, unwrapped
from dpfit.exceptions import ParameterError

__all__ = ["app"]

EXAMPLES = (
    "dpfit budget --epsilon 1 --delta 1e-6",
    "dpfit budget --mu 0.2 --delta 1e-6",
    "dpfit budget --mu 0.2 --epsilon 1",
)
ADD_EXAMPLES = (
    "dpfit budget add model1.json model2.json",
    "dpfit budget add --fit 1,1e-6,5",
    "dpfit budget add model1.json --mu 0.1 --other 0.5 --delta 1e-6",
)

_DELTA = 1e-6

app = typer.Typer()


def convert(
    context: typer.Context,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Epsilon.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="Delta. Default: 1e-6, if only one of the others is given."
        ),
    ] = None,
    mu: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="The mu of Gaussian differential privacy."),
    ] = None,
    json: Json = False,
) -> None:
    """Convert a privacy budget: give two of epsilon, delta and mu to get the third.

    The mu of several releases together is the square root of the sum of their squared mu:
    `dpfit budget add` computes it.
    """
    if context.invoked_subcommand is not None:
        if any(value is not None for value in (epsilon, delta, mu)):
            raise wrong_use("options must follow `add`", "dpfit budget add --help")
        return
    if delta is None and (epsilon is None) != (mu is None):
        delta = _DELTA
    shown = {n: f"{v:.12g}" for n, v in (("epsilon", epsilon), ("delta", delta), ("mu", mu)) if v}
    match epsilon, delta, mu:
        case float(), float(), None:
            mu = gdp_mu(epsilon, delta)
            # As a budget: what is copied must not cost more than epsilon and delta.
            shown["mu"] = rounded_down(mu)
        case None, float(), float():
            epsilon = gdp_epsilon(mu, delta)
            shown["epsilon"] = rounded_up(epsilon)
        case float(), None, float():
            delta = gdp_delta(mu, epsilon)
            shown["delta"] = rounded_up(delta)
        case _:
            raise wrong_use("give two of --epsilon, --delta and --mu", EXAMPLES[0])
    if json:
        print_json({"epsilon": epsilon, "delta": delta, "mu": mu})
        return
    for name in ("epsilon", "delta", "mu"):
        print_text(f"{name:<7}  {shown[name]}")
    print_text()
    print_text(paragraph(_guarantee(epsilon, mu)))


def add(
    models: Models = None,
    fits: Fits = None,
    mus: Mus = None,
    others: Others = None,
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="The delta for which to state epsilon. Default: the largest one given, or 1e-6.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Add up the privacy costs of several releases from the same data.

    Model files contain their own cost. Use --other for a release of which only epsilon and delta
    are known. It adds more to the total than a fit of dpfit, whose noise is known to be Gaussian.
    With --other, the total holds if it was decided beforehand how much to spend on such releases,
    and not by looking at results. A ledger sees to that.
    """
    costs = [
        *map(cost_of_model, models or []),
        *map(cost_of_fit, fits or []),
        *map(cost_of_mu, mus or []),
        *map(cost_of_other, others or []),
    ]
    if not costs:
        raise wrong_use("nothing to add up", ADD_EXAMPLES[0])
    notes = check_comparable(costs)
    records = [cost.record for cost in costs if cost.record is not None]
    # A record with a name for the units says more.
    record = min(records, key=lambda record: record.unit_name is None, default=None)
    # Costs add up in the same way under both neighbouring relations.
    neighbors = "add_remove" if record is None else record.neighbors
    accountant = GDPAccountant(neighbors)
    for cost in costs:
        accountant.compose(cost.events(neighbors))
    deltas = [cost.delta for cost in costs if cost.delta]
    stated = delta if delta is not None else _stated_delta(costs, max(deltas, default=_DELTA))
    total_mu = None if any(cost.mu is None for cost in costs) else accountant.mu
    try:
        epsilon: float | None = accountant.epsilon(stated)
    except ParameterError:
        if total_mu is None or delta is not None:
            raise
        # The total exceeds every epsilon that can be stated, but it has a mu.
        epsilon = None
    for note in notes:
        print_note(note)
    if json:
        print_json(
            {
                "epsilon": epsilon,
                "delta": None if epsilon is None else stated,
                "mu": total_mu,
                "neighbors": None if record is None else record.neighbors,
                "protected": None if record is None else f"one {record.unit_label}",
                "releases": [cost.as_json() for cost in costs],
                "private": not any(record.insecure_seed for record in records),
            }
        )
        return
    width = max(len("total"), *(len(cost.name) for cost in costs))
    for cost in costs:
        print_text(f"{cost.name:<{width}}  {cost}")
    print_text(f"{'total':<{width}}  {numbers_up(epsilon, stated, total_mu)}")
    print_text()
    print_text(paragraph(_guarantee(math.inf if epsilon is None else epsilon, total_mu, record)))
    for cost in costs:
        if cost.record is not None and cost.record.insecure_seed:
            print_text(f"NOT PRIVATE: the noise of {cost.name} came from a fixed seed.")


app.callback(
    invoke_without_command=True,
    help=unwrapped(convert),
    epilog=epilog([*EXAMPLES, *ADD_EXAMPLES]),
)(convert)
app.command("add", help=unwrapped(add), epilog=epilog(ADD_EXAMPLES))(add)


def _stated_delta(costs: list[Cost], delta: float) -> float:
    """Return a delta that covers releases by other methods, with room for Gaussian ones."""
    taken = sum((cost.delta or 0.0) * cost.times for cost in costs if cost.mu is None)
    if taken < delta:
        return delta
    has_gaussian = any(cost.mu is not None for cost in costs)
    # Rounded up: the accountant adds exactly.
    return min(2.0 * taken if has_gaussian else math.nextafter(taken, 1.0), 0.5)


def _guarantee(epsilon: float, mu: float | None, record: PrivacyRecord | None = None) -> str:
    """Return what a budget guarantees, and to whom if there is a record."""
    replaces = record is not None and record.neighbors == "replace"
    one, rows = "any one row (or all rows of any one unit)", "row"
    if record is not None and record.max_rows is None:
        one = "any one row"
    elif record is not None:
        one, rows = f"all rows of any one {record.unit_label}", "rows"
    change = f"replacing {one} with any other {rows}" if replaces else f"adding or removing {one}"
    factor = probability_factor(epsilon)
    sentences = [
        f"{change[0].upper()}{change[1:]} changes the probability of any result by at most a "
        f"factor of {factor}, plus delta."
        if factor
        else f"This is hardly any protection: {change} may change the probability of a result by "
        "more than a factor of a million."
    ]
    if mu is not None:
        label = "row or unit" if record is None else record.unit_label
        sentences.append(
            "Someone who knows all other rows and accepts a 5 % false-positive rate detects "
            f"{'a replaced' if replaces else 'an included'} {label} with a probability of at most "
            f"{detection_percent(mu):g} %."
        )
    return " ".join(sentences)
