"""``dpfit budget``."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple

import typer

from dpfit.accounting import (
    ApproximateRelease,
    Event,
    GDPAccountant,
    Neighbors,
    Release,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
)
from dpfit.accounting._statement import _up as rounded_up
from dpfit.cli.errors import wrong_use
from dpfit.cli.options import Json
from dpfit.cli.text import epilog, paragraph, say, say_json, unwrapped

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
_FALSE_ALARMS = 0.05
# What the options of `add` take.
_FIT = "EPSILON,DELTA[,TIMES]"
_MU = "MU[,TIMES]"
_OTHER = "EPSILON[,DELTA[,TIMES]]"

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
            shown["mu"] = _down(mu)
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
        typer.Argument(metavar="[MODEL]...", help="Model files.", show_default=False),
    ] = None,
    fits: Annotated[
        list[str] | None,
        typer.Option(
            "--fit",
            metavar=_FIT,
            help="A fit of dpfit with this budget, or several; may be repeated.",
        ),
    ] = None,
    mus: Annotated[
        list[str] | None,
        typer.Option("--mu", metavar=_MU, help="A Gaussian release; may be repeated."),
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--other",
            metavar=_OTHER,
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
        *map(_of_model, models or []),
        *(_of_fit(text) for text in fits or []),
        *(_of_mu(text) for text in mus or []),
        *(_of_other(text) for text in others or []),
    ]
    if not parts:
        raise wrong_use("there is nothing to add up", ADD_EXAMPLES[0])
    _check_alike(parts)
    neighbors = parts[0].neighbors or "add_remove"
    accountant = GDPAccountant(neighbors)
    for part in parts:
        accountant.compose(part.events(neighbors))
    deltas = [part.delta for part in parts if part.delta]
    stated = delta if delta is not None else _stated_delta(parts, max(deltas, default=_DELTA))
    epsilon = accountant.epsilon(stated)
    # Of releases of which epsilon and delta alone are known there is no mu.
    whole = None if any(part.other for part in parts) else accountant.mu
    if json:
        say_json(
            {
                "epsilon": epsilon,
                "delta": stated,
                "mu": whole,
                "releases": [part.plain() for part in parts],
                "private": all(part.private for part in parts),
            }
        )
        return
    width = max(len("together"), *(len(part.name) for part in parts))
    for part in parts:
        say(f"{part.name:<{width}}  {part.cost}")
    total = f"epsilon {_up(epsilon)}, delta {_up(stated)}"
    say(f"{'together':<{width}}  {total}" + (f", mu {_up(whole)}" if whole else ""))
    say()
    say(paragraph(_in_words(epsilon, whole)))
    for part in parts:
        if not part.private:
            say(f"NOT PRIVATE: the noise of {part.name} came from a fixed seed.")


app.callback(
    invoke_without_command=True,
    help=unwrapped(convert),
    epilog=epilog([*EXAMPLES, *ADD_EXAMPLES]),
)(convert)
app.command("add", help=unwrapped(add), epilog=epilog(ADD_EXAMPLES))(add)


class _Part(NamedTuple):
    """Something that was released, or will be."""

    name: str
    mu: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    times: int = 1
    neighbors: Neighbors | None = None
    unit: str | None = None
    private: bool = True
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
                statistic=self.name,
                epsilon=self.epsilon or 0.0,
                delta=self.delta or 0.0,
                neighbors=neighbors,
            )
            return [release] * self.times
        assert self.mu is not None
        return [
            Release(
                statistic=self.name,
                sensitivity=1.0,
                mu=self.mu,
                neighbors=neighbors,
                count=self.times,
            )
        ]

    def plain(self) -> dict[str, Any]:
        """Return it as what JSON has words for."""
        fields = {"mu": self.mu, "epsilon": self.epsilon, "delta": self.delta}
        return {"name": self.name, **fields, "times": self.times}


def _of_model(path: Path) -> _Part:
    from dpfit.cli.inputs import open_model

    record = open_model(path).privacy_
    return _Part(
        str(path),
        record.mu,
        record.epsilon,
        record.delta,
        neighbors=record.neighbors,
        unit=record.unit,
        private=not record.insecure_seed,
    )


def _of_fit(text: str) -> _Part:
    epsilon, delta, times = _numbers("--fit", text, _FIT, 2)
    return _Part("fit", gdp_mu(epsilon, delta), epsilon, delta, _times("--fit", text, times))


def _of_mu(text: str) -> _Part:
    mu, times = _numbers("--mu", text, _MU, 1)
    return _Part("release", mu, times=_times("--mu", text, times))


def _of_other(text: str) -> _Part:
    epsilon, delta, times = _numbers("--other", text, _OTHER, 1)
    if math.isnan(delta):
        delta = 0.0
    return _Part("other", None, epsilon, delta, _times("--other", text, times), other=True)


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
    if times != int(times) or not 1 <= times <= 1_000_000:
        raise wrong_use(f"{option} {text!r} must end in a number of times, from 1 to a million")
    return int(times)


def _check_alike(parts: list[_Part]) -> None:
    """Refuse to add up promises about different things."""
    for what in ("neighbors", "unit"):
        known = [part for part in parts if getattr(part, what) is not None]
        for part in known[1:]:
            first, other = getattr(known[0], what), getattr(part, what)
            if first != other:
                raise wrong_use(
                    f"{known[0].name} and {part.name} promise different things and do not add up: "
                    f"{first} and {other}"
                )


def _stated_delta(parts: list[_Part], delta: float) -> float:
    """Return a delta of at least what the others need, with room for the Gaussian part beside."""
    taken = sum((part.delta or 0.0) * part.times for part in parts if part.other)
    if taken < delta:
        return delta
    gaussian = any(not part.other for part in parts)
    # Rounded up, because the accountant adds exactly.
    return min(2.0 * taken if gaussian else math.nextafter(taken, 1.0), 0.5)


def _in_words(epsilon: float, mu: float | None) -> str:
    factor = math.exp(min(epsilon, 700.0))
    words = (
        "One row more or less (or one unit with all its rows) changes the probability of every "
        f"result by at most a factor of {_up(factor, 3)}, and a further delta."
        if factor < 1e6
        else "This is hardly a promise: one row more or less may change the probability of a "
        "result by a factor of more than a million."
    )
    if mu is not None:
        normal = NormalDist()
        power = normal.cdf(mu - normal.inv_cdf(1.0 - _FALSE_ALARMS))
        percent = min(math.ceil(power * 1000.0 + 1e-6) / 10.0, 100.0)
        words += (
            f" Someone who knows all the rest, and accepts a false alarm in 5 % of cases, would "
            f"notice that it is there in at most {percent:g} % of cases."
        )
    return words


def _up(value: float, digits: int = 6) -> str:
    return rounded_up(value, digits)


def _down(value: float) -> str:
    """Return a number with few digits, rounded down: so much may be spent."""
    rounded = Context(prec=6, rounding=ROUND_FLOOR).create_decimal(Decimal(repr(value)))
    return f"{float(rounded):g}"
