"""``dpfit budget``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from dpfit.accounting import GDPAccountant, gdp_delta, gdp_epsilon, gdp_mu
from dpfit.accounting._statement import _up, factor_up, noticed
from dpfit.cli.errors import wrong_use
from dpfit.cli.options import Json, input_path
from dpfit.cli.spending import FIT, MU, OTHER, Part, check_alike, of_fit, of_model, of_mu, of_other
from dpfit.cli.text import epilog, note, paragraph, say, say_json, unwrapped
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
        typer.Option(metavar="NUMBER", help="Delta; 1e-6 if one of the others is given alone."),
    ] = None,
    mu: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="The parameter of Gaussian differential privacy."),
    ] = None,
    json: Json = False,
) -> None:
    """Convert a privacy budget: of epsilon, delta and mu give two, and get the third.

    mu is what adds up: the squares of the mu of all releases are added, and the root is the mu of
    all of them together. `dpfit budget add` does that.
    """
    if context.invoked_subcommand is not None:
        if any(value is not None for value in (epsilon, delta, mu)):
            raise wrong_use("options go after `add`", "dpfit budget add --help")
        return
    if delta is None and (epsilon is None) != (mu is None):
        delta = _DELTA
    shown = {n: f"{v:.12g}" for n, v in (("epsilon", epsilon), ("delta", delta), ("mu", mu)) if v}
    match epsilon, delta, mu:
        case float(), float(), None:
            mu = gdp_mu(epsilon, delta)
            shown["mu"] = _up(mu)
        case None, float(), float():
            epsilon = gdp_epsilon(mu, delta)
            shown["epsilon"] = _up(epsilon)
        case float(), None, float():
            delta = gdp_delta(mu, epsilon)
            shown["delta"] = _up(delta)
        case _:
            raise wrong_use("give two of --epsilon, --delta and --mu", EXAMPLES[0])
    if json:
        say_json({"epsilon": epsilon, "delta": delta, "mu": mu})
        return
    for name in ("epsilon", "delta", "mu"):
        say(f"{name:<7}  {shown[name]}")
    say()
    say(paragraph(_in_words(epsilon, mu)))


def add(
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[MODEL]...", parser=input_path, help="Model files.", show_default=False
        ),
    ] = None,
    fits: Annotated[
        list[str] | None,
        typer.Option(
            "--fit",
            metavar=FIT,
            help="A fit of dpfit with this budget, or several; may be repeated.",
        ),
    ] = None,
    mus: Annotated[
        list[str] | None,
        typer.Option("--mu", metavar=MU, help="A Gaussian release; may be repeated."),
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--other",
            metavar=OTHER,
            help="A release by any other method; may be repeated.",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="The delta for which to state epsilon; the largest one given, or 1e-6."),
    ] = None,
    json: Json = False,
) -> None:
    """Add up what several releases from the same data cost together.

    Model files say what they have cost. Releases of which epsilon and delta alone are known
    (--other) add up to more than those of dpfit, whose noise is Gaussian.
    """
    parts = [
        *map(of_model, models or []),
        *(of_fit(text) for text in fits or []),
        *(of_mu(text) for text in mus or []),
        *(of_other(text) for text in others or []),
    ]
    if not parts:
        raise wrong_use("there is nothing to add up", ADD_EXAMPLES[0])
    remarks = check_alike(parts)
    relation = next((part.neighbors for part in parts if part.neighbors), None)
    # One with a name, if there is one, says more.
    known = sorted(parts, key=lambda part: part.unit_column is None)
    protected = next((part.protected for part in known if part.protected), None)
    # To the accountant it is a name: what adds up is the same.
    neighbors = relation or "add_remove"
    accountant = GDPAccountant(neighbors)
    for part in parts:
        accountant.compose(part.events(neighbors))
    deltas = [part.delta for part in parts if part.delta]
    stated = delta if delta is not None else _stated_delta(parts, max(deltas, default=_DELTA))
    # Of releases of which epsilon and delta alone are known there is no mu.
    whole = None if any(part.other for part in parts) else accountant.mu
    try:
        epsilon: float | None = accountant.epsilon(stated)
    except ParameterError:
        if whole is None or delta is not None:
            raise
        # So much was spent that no epsilon holds. What it adds up to has a mu all the same.
        epsilon = None
    for remark in remarks:
        note(remark)
    if json:
        say_json(
            {
                "epsilon": epsilon,
                "delta": None if epsilon is None else stated,
                "mu": whole,
                "neighbors": relation,
                "protected": protected,
                "releases": [part.plain() for part in parts],
                "private": all(part.private for part in parts),
            }
        )
        return
    width = max(len("together"), *(len(part.name) for part in parts))
    for part in parts:
        say(f"{part.name:<{width}}  {part.cost}")
    total = [f"mu {_up(whole)}"] if whole else []
    if epsilon is not None:
        total = [f"epsilon {_up(epsilon)}", f"delta {_up(stated)}", *total]
    say(f"{'together':<{width}}  {', '.join(total)}")
    say()
    words = _in_words(math.inf if epsilon is None else epsilon, whole, relation, protected)
    say(paragraph(words))
    for part in parts:
        if not part.private:
            say(f"NOT PRIVATE: the noise of {part.name} came from a fixed seed.")


app.callback(
    invoke_without_command=True,
    help=unwrapped(convert),
    epilog=epilog([*EXAMPLES, *ADD_EXAMPLES]),
)(convert)
app.command("add", help=unwrapped(add), epilog=epilog(ADD_EXAMPLES))(add)


def _stated_delta(parts: list[Part], delta: float) -> float:
    """Return a delta of at least what the others need, with room for the Gaussian part beside."""
    taken = sum((part.delta or 0.0) * part.times for part in parts if part.other)
    if taken < delta:
        return delta
    gaussian = any(not part.other for part in parts)
    # Rounded up, because the accountant adds exactly.
    return min(2.0 * taken if gaussian else math.nextafter(taken, 1.0), 0.5)


def _in_words(
    epsilon: float,
    mu: float | None,
    neighbors: str | None = None,
    protected: str | None = None,
) -> str:
    """Return what a budget promises, as far as it is known to whom."""
    if protected is None or neighbors is None:
        change = "one row more or less (or one unit with all its rows)"
    else:
        rows = "" if protected == "one row" else " with all its rows"
        change = f"{protected}{rows} " + (
            "replaced by any other" if neighbors == "replace" else "more or less"
        )
    factor = factor_up(epsilon)
    words = (
        f"{change[0].upper()}{change[1:]} changes the probability of every result by at most a "
        f"factor of {factor}, and a further delta."
        if factor
        else f"This is hardly a promise: {change} may change the probability of a result by a "
        "factor of more than a million."
    )
    if mu is not None:
        seen = "was replaced" if neighbors == "replace" else "is there"
        words += (
            f" Someone who knows all the rest, and accepts a false alarm in 5 % of cases, would "
            f"notice that it {seen} in at most {noticed(mu):g} % of cases."
        )
    return words
