"""Replays in which every release is compared as integers, and what is lost as a fraction.

A run on a table is recorded. On a neighbour, every release is answered as it was for the first
table, so that both take the same steps. Nothing is rounded: not the distance of two sums, nor its
sum over all releases.
"""

import contextlib
import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from dpfit import release
from dpfit.release import Releaser
from dpfit.statistics import Gram, Histograms, MappedGram, ScoreProducts, SmallestEigenvalue


@dataclass(frozen=True)
class Step:
    """A release: for each component its claim, its noise, and its weighted integers."""

    statistic: str
    claims: tuple[tuple[str, float, float], ...]
    sigmas: tuple[float, ...]
    parts: tuple[tuple[tuple[int, int], ...], ...]
    answer: Any


def parts_of(statistic, total):
    """Return the integers of each component, with their weights in the squared norm."""
    if isinstance(statistic, SmallestEigenvalue):
        return (((1, int(total.insecure_smallest_eigenvalue())),),)
    exact = total.insecure_exact()
    exact = [exact] if isinstance(exact, int) else [int(value) for value in exact]
    weights = [1] * len(exact)
    if isinstance(statistic, Gram | MappedGram | ScoreProducts):
        # Entries beside the diagonal of a symmetric matrix count twice.
        places = zip(*np.triu_indices(total.features), strict=True)
        weights = [1 if i == j else 2 for i, j in places]
    values = tuple(zip(weights, exact, strict=True))
    if not isinstance(statistic, Histograms):
        return (values,)
    last = 0 if statistic.bins[-1] is None else len(statistic.bins[-1].native())
    end = len(values) - last
    return tuple(part for part in (values[:end], values[end:]) if part)


@contextlib.contextmanager
def recorded(answers=None):
    """Yield two lists: releases, and numbers of rows that are used without noise."""
    steps, public = [], []
    released, rows = Releaser.release, Releaser.public_rows

    def catch(self, table, statistic, *mus):
        answer, total = released(self, table, statistic, *mus), table.sum(statistic)
        components = statistic.components(self._relation)
        claims = tuple(
            (part.name, part.sensitivity, mu) for part, mu in zip(components, mus, strict=True)
        )
        if answers is not None:
            assert claims == answers[len(steps)].claims
            answer = copy.deepcopy(answers[len(steps)].answer)
        sigmas = release._sigmas(components, mus)
        name = type(statistic).__name__
        steps.append(Step(name, claims, sigmas, parts_of(statistic, total), answer))
        return answer

    def used(self, table):
        public.append(rows(self, table))
        return public[-1]

    with (
        mock.patch.object(Releaser, "release", catch),
        mock.patch.object(Releaser, "public_rows", used),
    ):
        yield steps, public
    assert answers is None or len(steps) == len(answers)


def compare(first, second, mu, shares):
    """Compare the releases of two neighbours; note the largest squared shares of sensitivities."""
    spent = Fraction(0)
    for one, other in zip(first, second, strict=True):
        for (name, sensitivity, each), sigma, a, b in zip(
            one.claims, one.sigmas, one.parts, other.parts, strict=True
        ):
            pairs = zip(a, b, strict=True)
            moved = sum(weight * (value - beside) ** 2 for (weight, value), (_, beside) in pairs)
            assert moved <= Fraction(sensitivity) ** 2, name
            assert moved <= (Fraction(each) * Fraction(sigma)) ** 2, name
            spent += moved / Fraction(sigma) ** 2
            share = float(moved / Fraction(sensitivity) ** 2)
            shares[one.statistic] = max(shares.get(one.statistic, 0.0), share)
    assert spent <= Fraction(mu) ** 2


def check(run, table, neighbours, mu, shares):
    """Check that `run` loses at most mu to any of the neighbours, and returns the same."""
    with recorded() as (first, rows):
        result = run(table)
    for other in neighbours:
        with recorded(first) as (second, others_rows):
            assert run(other) == result
        assert rows == others_rows
        compare(first, second, mu, shares)
