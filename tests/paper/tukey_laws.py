"""Exact laws of the private choice of TukeyEM on small grids, which its tests share.

On small grids every input and every neighbour can be listed, and the probability of every outcome
can be computed. So the guarantee is checked, not sampled; faults that public code has had are
put in to show that the checks would see them.
"""

import itertools
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from dpfit.paper._exact_choice import Enclosing
from dpfit.paper._tukey import Grid, plan_tukey
from dpfit.paper._tukey_stages import (
    depth_levels,
    distance_to_unsafety,
    pass_probability,
    shell_point,
)

mp = mpmath.MPContext()  # of our own: the library's is shared by all tests
mp.dps = 50
mpf = mp.mpf
UNIT = 10**45
ROUNDING = mpf("1e-30")  # far above the oracle's error, far below every difference that matters
quick = settings(max_examples=120, deadline=None)
SMALL_ROWS = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.tuples(*[st.integers(-2, 2)] * d), min_size=1, max_size=7)
)


def number(fraction):
    """Return a fraction as an mpmath number."""
    fraction = Fraction(fraction)
    return mpf(fraction.numerator) / fraction.denominator


def depth_of(point, rows):
    """Return the depth by its definition."""
    return min(
        min(sum(row[j] <= x for row in rows), sum(row[j] >= x for row in rows))
        for j, x in enumerate(point)
    )


def points_of(radius, n_features):
    """Return all grid points."""
    return list(itertools.product(range(-radius, radius + 1), repeat=n_features))


def levels_of(rows, radius):
    """Return the implementation's levels."""
    rows = np.array(rows, dtype=np.int64)
    return depth_levels(rows, Grid(step=1.0, radius=radius).size(rows.shape[1]))


def choice_law(levels, plan):
    """Return the law of the choice in fixed point, from the implementation's boxes and shells."""
    growth = mp.exp(number(plan.depth_rate))
    weights = {}
    for depth in range(plan.depth, plan.n_models + 1):
        outer, inner = levels.box(depth), levels.box(depth + 1)
        for rank in range(levels.volumes[depth] - levels.volumes[depth + 1]):
            weights[shell_point(outer, inner, rank)] = growth**depth
    total = mp.fsum(weights.values())
    return {point: fixed(weight / total) for point, weight in weights.items()}


def pass_law(distance, plan):
    """Return the probability of passing, from the implementation's bounds."""
    low, high = pass_probability(distance, plan, Enclosing(60))
    assert high - low < 1e-50
    return mpf(str(low))


def fixed(value):
    """Return a number in fixed point, which is faster to add up."""
    return int(mp.nint(value * UNIT))


@cache
def fixed_exp(epsilon):
    """Return the exponential in fixed point."""
    return fixed(mp.exp(number(epsilon)))


def excess(first, second, epsilon):
    """Return the hockey-stick divergence: the smallest delta for this epsilon and direction."""
    factor = fixed_exp(epsilon)
    found = 0
    for x, p in first.items():
        if (gap := p * UNIT - factor * second.get(x, 0)) > 0:
            found += gap
    return mpf(found) / UNIT**2


def neighbours_of(rows, points):
    """Return all inputs with one row replaced. The order of rows does not matter."""
    for i, point in itertools.product(range(len(rows)), points):
        if point != rows[i]:
            yield tuple(sorted((*rows[:i], point, *rows[i + 1 :])))


class World:
    """Every input of m rows on a small grid, with what the mechanism does on it."""

    def __init__(self, plan, radius, n_features=1, shift=0):
        self.plan = plan
        points = points_of(radius, n_features)
        inputs = list(itertools.combinations_with_replacement(points, plan.n_models))
        self.neighbours = {rows: set(neighbours_of(rows, points)) for rows in inputs}
        levels = {rows: levels_of(rows, radius) for rows in inputs}
        self.distance = {
            rows: distance_to_unsafety(found.volumes, plan) + shift
            for rows, found in levels.items()
        }
        self.choice = {rows: choice_law(found, plan) for rows, found in levels.items()}
        self.passing = {n: pass_law(n, plan) for n in set(self.distance.values())}
        self.whole = {rows: self._whole(rows) for rows in inputs}

    def _whole(self, rows):
        passing = self.passing[self.distance[rows]]
        law = {point: fixed(passing * p / UNIT) for point, p in self.choice[rows].items()}
        return {**law, None: fixed(1 - passing)}

    def pairs(self):
        return ((y, z) for y, found in self.neighbours.items() for z in found)

    def worst_whole(self):
        """Return the delta of the whole mechanism at epsilon, over all neighbours."""
        epsilon = Fraction(self.plan.epsilon_check) + Fraction(self.plan.epsilon_choice)
        return max(excess(self.whole[y], self.whole[z], epsilon) for y, z in self.pairs())

    def worst_choice(self):
        """Return the delta of the choice at its epsilon, over neighbours of which one is safe."""
        return max(
            excess(self.choice[y], self.choice[z], self.plan.epsilon_choice)
            for y, z in self.pairs()
            if self.distance[y] > 0 or self.distance[z] > 0
        )


# (epsilon, delta, models, least depth, radius, features, share of the check)
WORLDS = [
    (1.0, 0.1, 1, 1, 3, 1, 0.5),
    (1.0, 0.3, 5, 3, 3, 1, 0.5),
    (1.0, 0.2, 5, 3, 3, 1, 0.5),
    (4.0, 0.1, 5, 2, 3, 1, 0.5),
    (12.0, 0.05, 5, 2, 3, 1, 0.5),
    (10.0, 0.01, 5, 2, 3, 1, 0.1),
    (20.0, 1e-3, 5, 3, 3, 1, 0.25),
    (8.0, 0.1, 4, 1, 3, 1, 0.5),
    (1.5, 0.05, 16, 4, 1, 1, 0.8),
    (1.0, 0.25, 3, 2, 1, 2, 0.5),
    (9.0, 0.02, 4, 2, 1, 2, 0.4),
]


@cache
def world(epsilon, delta, n_models, depth, radius, n_features, share):
    """Return the world of one set of parameters."""
    plan = plan_tukey(epsilon, delta, n_models, depth=depth, check_share=share)
    return World(plan, radius, n_features)
