"""Wins and mean errors in every regime and at every epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from paper.errors import Errors, gmean
from paper.methods import METHODS, OURS, PEERS, REFERENCES
from paper.regimes import (
    CONSTANT,
    PAPER,
    REGIMES,
    SCALED,
    Regime,
    untuned_against_tuned,
)
from paper.registry import twins

__all__ = ["LINEAR_PEERS", "headline", "means", "shared", "summarise", "untouched", "wins"]

# The methods in tables of means.
_SHOWN = (*PEERS, *OURS, *REFERENCES)
LINEAR_PEERS = tuple(peer for peer in PEERS if peer != "dp_ebm")


def means(errors: Errors, regime: Regime) -> dict[str, list[float]]:
    """Return each method's geometric mean of test MSE / Var(y) at every epsilon.

    The means are over the tables that have results of all methods.
    """
    found: dict[str, list[float]] = {name: [] for name in _SHOWN}
    for epsilon in errors.design.epsilons:
        tasks = shared(errors, regime, epsilon)
        for name in _SHOWN:
            column = errors.column(regime.side(name), epsilon)
            found[name].append(gmean([column[task] for task in tasks if task in column]))
    return found


def shared(errors: Errors, regime: Regime, epsilon: float) -> list[int]:
    """Return the tables with results of all methods; methods without any result are ignored."""
    columns = [errors.column(regime.side(name), epsilon) for name in _SHOWN]
    present = [column for column in columns if column]
    return sorted(set(errors.tasks).intersection(*present)) if present else []


def untouched(tasks: Iterable[int]) -> list[int]:
    """Return the even tasks that share no data with an odd one, on which constants were chosen."""
    return [task for task in tasks if task % 2 == 0 and all(twin % 2 == 0 for twin in twins(task))]


def wins(errors: Errors, regime: Regime) -> dict[str, list[tuple[int, int]]]:
    """Return BoostedAdaSSP's wins against each peer and the number of tables, at every epsilon."""
    found = {}
    for peer in PEERS:
        if peer != PAPER:
            first, second = regime.side(PAPER), regime.side(peer)
            pairs = [errors.compare(first, second, e) for e in errors.design.epsilons]
            found[peer] = [(pair.wins, len(pair.tasks)) for pair in pairs]
    return found


def headline(errors: Errors) -> dict[str, list[tuple[int, int]]]:
    """Return the wins of dpfit's models, untuned, against tuned methods at every epsilon.

    Returns
    -------
    dict
        For each dpfit model: wins and number of tables against each peer, against the best of all
        peers on each table (``"every peer"``), and against the best of the linear ones
        (``"every linear peer"``).
    """
    found = {}
    for ours in OURS:
        for peer in PEERS:
            pairs = [
                errors.compare((ours, "fixed"), (peer, "tuned"), e) for e in errors.design.epsilons
            ]
            found[f"{ours} / {peer}"] = [(pair.wins, len(pair.tasks)) for pair in pairs]
        best = [untuned_against_tuned(errors, ours, e) for e in errors.design.epsilons]
        found[f"{ours} / every peer"] = [(pair.wins, len(pair.tasks)) for pair in best]
        linear = [
            errors.against_best((ours, "fixed"), [(p, "tuned") for p in LINEAR_PEERS], e)
            for e in errors.design.epsilons
        ]
        found[f"{ours} / every linear peer"] = [(pair.wins, len(pair.tasks)) for pair in linear]
    return found


def summarise(errors: Errors) -> dict[str, Any]:
    """Return all of this as plain data."""
    names = [f"{epsilon:g}" for epsilon in errors.design.epsilons]

    def shares(found: dict[str, list[tuple[int, int]]]) -> dict[str, Any]:
        return {
            name: {
                epsilon: {
                    "wins": won,
                    "tables": of,
                    "share": round(won / of, 4) if of else math.nan,
                }
                for epsilon, (won, of) in zip(names, pairs, strict=True)
            }
            for name, pairs in found.items()
        }

    return {
        "tables": list(errors.tasks),
        "BoostedAdaSSP against peers": {
            regime.key: shares(wins(errors, regime)) for regime in (*REGIMES[:3], CONSTANT, SCALED)
        },
        "ours untuned against tuned": shares(headline(errors)),
        "ours untuned against tuned, tables of no choice": shares(
            headline(errors.only(untouched(errors.tasks)))
        ),
        "geometric mean of test MSE / Var(y)": {
            regime.key: {
                METHODS[name].label: dict(
                    zip(names, [round(value, 6) for value in values], strict=True)
                )
                for name, values in means(errors, regime).items()
            }
            for regime in (*REGIMES[:3], CONSTANT, SCALED)
        },
    }
