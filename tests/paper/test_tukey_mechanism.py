"""The private choice of TukeyEM: exact laws, exact sensitivities, exact (epsilon, delta).

On small grids every input and every neighbour can be listed, and the probability of every outcome
can be computed. So the guarantee is checked, not sampled; faults that public code has had are
put in to show that the checks would see them.
"""

import dataclasses
import itertools
import random
import warnings
from collections import Counter, deque
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpfit.accounting import GDPAccountant
from dpfit.exceptions import ParameterError
from dpfit.paper._exact_choice import Bounds, Enclosing, draw_below, exact_choice
from dpfit.paper._tukey import Grid, _release, plan_tukey, release_tukey_point
from dpfit.paper._tukey_stages import (
    check_passes,
    depth_levels,
    depth_sums,
    distance_to_unsafety,
    pass_probability,
    shell_point,
    smallest_threshold,
)

mp = mpmath.MPContext()  # of our own: the library's is shared by all tests
mp.dps = 50
mpf = mp.mpf
UNIT = 10**45
ROUNDING = mpf("1e-30")  # far above the oracle's error, far below every difference that matters
quick = settings(max_examples=120, deadline=None)


# ---------------------------------------------------------------------------------------- oracles


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


class Tape:
    """Random bits read from an integer, most significant first, then zeros."""

    def __init__(self, value, length):
        self.value, self.length, self.read = value, length, 0

    def getrandbits(self, k, /):
        self.read += k
        missing = self.read - self.length
        bits = self.value << missing if missing > 0 else self.value >> -missing
        return bits & ((1 << k) - 1)


# ------------------------------------------------------------------------------ the whole, exactly


@pytest.mark.parametrize("parameters", WORLDS, ids=str)
def test_the_whole_is_epsilon_delta_private(parameters):
    found = world(*parameters)
    assert found.worst_whole() <= number(parameters[1])


@pytest.mark.parametrize("parameters", WORLDS, ids=str)
def test_the_choice_is_private_next_to_safe_inputs(parameters):
    found = world(*parameters)
    if any(found.distance.values()):
        assert found.worst_choice() <= number(parameters[1])


def test_the_checks_have_something_to_see():
    """The bounds are nearly attained, and some inputs pass with a middling probability."""
    assert world(*WORLDS[0]).worst_whole() > 0.8 * WORLDS[0][1]
    assert world(*WORLDS[4]).worst_choice() > 0.9 * WORLDS[4][1]
    for parameters in WORLDS[1], WORLDS[2], WORLDS[8]:
        assert any(0.2 < p < 0.8 for p in world(*parameters).passing.values())


@pytest.mark.parametrize("parameters", WORLDS[1:2])
def test_laplace_noise_of_scale_epsilon_is_seen(parameters):
    plan = world(*parameters).plan
    faulty = dataclasses.replace(plan, noise_rate=1 / plan.noise_rate)
    assert World(faulty, radius=3).worst_whole() > 1.5 * parameters[1]


@pytest.mark.parametrize("parameters", [WORLDS[0], WORLDS[2]])
def test_a_threshold_that_is_one_too_low_is_seen(parameters):
    plan = world(*parameters).plan
    faulty = dataclasses.replace(plan, threshold=plan.threshold - 1)
    assert World(faulty, radius=3).worst_whole() > 1.1 * parameters[1]


@pytest.mark.parametrize("parameters", [WORLDS[0], WORLDS[2]])
def test_a_distance_that_is_one_too_high_is_seen(parameters):
    plan = world(*parameters).plan
    assert World(plan, radius=3, shift=1).worst_whole() > 1.1 * parameters[1]


def test_a_choice_without_the_factor_one_half_is_seen():
    plan = plan_tukey(2.0, 0.01, 16, depth=4)
    found = World(plan, radius=1)
    assert max(found.worst_choice(), found.worst_whole()) <= 0.01
    faulty = World(dataclasses.replace(plan, depth_rate=plan.depth_rate * 2), radius=1)
    assert faulty.worst_choice() > 0.1
    assert faulty.worst_whole() > 0.02


def test_a_choice_from_shallower_depths_than_were_checked_is_seen():
    """Public code has drawn from slices that were off by one."""
    y = [(0,)] * 7 + [(-1000,), (1000,)]
    z = [(0,)] * 6 + [(-1000,), (1000,), (1000,)]
    plan = plan_tukey(2.0, 0.01, 9, depth=3)
    faulty = dataclasses.replace(plan, depth=2)
    first, second = (levels_of(rows, radius=1000) for rows in (y, z))
    assert distance_to_unsafety(first.volumes, plan) > 0
    for used, low, high in (plan, 0.0, 0.01), (faulty, 0.9, 1.0):
        laws = choice_law(first, used), choice_law(second, used)
        found = max(excess(*laws, plan.epsilon_choice), excess(*laws[::-1], plan.epsilon_choice))
        assert low <= found <= high


# --------------------------------------------------------------------------------- sensitivities


SMALL_ROWS = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.tuples(*[st.integers(-2, 2)] * d), min_size=1, max_size=7)
)


def replaced(data, rows):
    """Draw a neighbour."""
    i = data.draw(st.integers(0, len(rows) - 1))
    row = data.draw(st.tuples(*[st.integers(-2, 2)] * len(rows[0])))
    return [*rows[:i], row, *rows[i + 1 :]]


@quick
@given(SMALL_ROWS, st.data())
def test_depth_has_sensitivity_one(rows, data):
    other = replaced(data, rows)
    for point in points_of(2, len(rows[0])):
        assert abs(depth_of(point, rows) - depth_of(point, other)) <= 1


@quick
@given(SMALL_ROWS)
def test_boxes_and_volumes_are_those_of_the_definition(rows):
    levels = levels_of(rows, radius=2)
    points = points_of(2, len(rows[0]))
    depths = {point: depth_of(point, rows) for point in points}
    assert levels.volumes[0] == len(points)
    for i in range(1, len(rows) + 2):
        region = {x for x in points if depths[x] >= i}
        box = levels.box(i)
        assert region == {
            x for x in points if all(a <= c <= b for c, (a, b) in zip(x, box, strict=True))
        }
        assert levels.volumes[i] == len(region)


@quick
@given(SMALL_ROWS, st.data(), st.floats(0.05, 30.0), st.floats(1e-6, 0.5))
def test_distance_has_sensitivity_one(rows, data, epsilon, delta):
    depth = data.draw(st.integers(1, (len(rows) + 1) // 2))
    plan = plan_tukey(epsilon, delta, len(rows), depth=depth)
    found = [
        distance_to_unsafety(levels_of(r, radius=2).volumes, plan)
        for r in (rows, replaced(data, rows))
    ]
    assert abs(found[0] - found[1]) <= 1


@pytest.mark.parametrize("parameters", WORLDS, ids=str)
def test_distance_has_sensitivity_one_on_all_neighbours(parameters):
    found = world(*parameters)
    assert all(abs(found.distance[y] - found.distance[z]) <= 1 for y, z in found.pairs())


@pytest.mark.parametrize("parameters", WORLDS, ids=str)
def test_distance_is_a_lower_bound_on_the_true_one(parameters):
    """Find all unsafe inputs, then walk outwards from them over neighbours."""
    found = world(*parameters)
    epsilon, delta = found.plan.epsilon_choice, number(parameters[1])
    unsafe = {
        rows
        for y, z in found.pairs()
        if excess(found.choice[y], found.choice[z], epsilon) > delta + ROUNDING
        for rows in (y, z)
    }
    true = dict.fromkeys(unsafe, 0)
    queue = deque(unsafe)
    while queue:
        for z in found.neighbours[rows := queue.popleft()]:
            if z not in true:
                true[z] = true[rows] + 1
                queue.append(z)
    assert unsafe
    assert all(found.distance[rows] <= true[rows] for rows in found.distance)


def test_distance_decides_equality_exactly():
    """Two points of depth 1, one of depth 2: the comparison is 1 <= delta * 2."""
    volumes = (3, 2, 2, 0)
    for delta, expected in (0.5, 1), (float(np.nextafter(0.5, 0)), 0):
        plan = plan_tukey(1.0, delta, 2, depth=1)
        assert distance_to_unsafety(volumes, plan) == expected


@quick
@given(SMALL_ROWS, st.floats(0.05, 30.0), st.floats(1e-6, 0.5))
def test_distance_does_not_depend_on_the_starting_precision(rows, epsilon, delta):
    plan = plan_tukey(epsilon, delta, len(rows), depth=1)
    volumes = levels_of(rows, radius=2).volumes
    assert distance_to_unsafety(volumes, plan, start_digits=1) == distance_to_unsafety(
        volumes, plan
    )


@quick
@given(SMALL_ROWS, st.floats(0.05, 30.0), st.floats(1e-6, 0.5))
def test_distance_is_that_of_its_formula(rows, epsilon, delta):
    m, t = len(rows), (len(rows) + 1) // 2
    plan = plan_tukey(epsilon, delta, m, depth=t)
    volumes = levels_of(rows, radius=2).volumes
    v = {i: volumes[min(max(i, 0), m + 1)] for i in range(-m, 3 * m)}
    growth = mp.exp(number(plan.epsilon_choice) / 2)

    def holds(k):
        tail = mp.fsum(
            (v[i] - v[i + 1]) * growth ** (i - t - k - 1) for i in range(t + k + 1, m + 1)
        )
        return v[t - k - 1] - v[t + k + 1] <= number(delta) * tail

    expected = next(k for k in itertools.count() if not holds(k))
    assert distance_to_unsafety(volumes, plan) == expected
    assert not any(holds(k) for k in range(expected, 2 * m - t))


# --------------------------------------------------------------------------------------- the check


@quick
@given(st.floats(1e-3, 50.0), st.floats(1e-12, 0.5))
def test_threshold_is_the_smallest_that_is_safe(rate, delta):
    threshold = smallest_threshold(Fraction(rate), delta)
    ratio = mp.exp(-number(rate))
    tail = [ratio**n / (1 + ratio) for n in (threshold, threshold - 1)]
    assert tail[0] <= number(delta) < tail[1] or (threshold == 1 and tail[0] <= number(delta))


def test_threshold_at_the_ends_of_the_range():
    assert smallest_threshold(Fraction(1000), 0.5) == 1
    assert 1.38e9 < smallest_threshold(Fraction(5e-7), 1e-300) < 1.39e9


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0])
def test_pass_probability_is_that_of_discrete_laplace_noise(epsilon):
    plan = plan_tukey(epsilon, 0.01, 100)
    ratio = mp.exp(-number(plan.epsilon_check))
    reach = int(120 / plan.epsilon_check)
    mass = {x: ratio ** abs(x) * (1 - ratio) / (1 + ratio) for x in range(-reach, reach)}
    tail = dict(zip(mass, reversed([*itertools.accumulate(reversed(mass.values()))]), strict=True))
    for distance in range(plan.threshold + 20):
        assert abs(pass_law(distance, plan) - tail[plan.threshold - distance]) < ROUNDING


def test_check_draws_with_its_probability():
    """An exact boundary: bits just below it pass, bits just above it do not."""
    plan = plan_tukey(1.0, 0.2, 9, depth=5)
    with mp.workdps(200):
        ratio = mp.exp(-number(plan.epsilon_check))
        for distance in range(5):
            missing = plan.threshold - distance
            tail = ratio ** max(missing, 1 - missing) / (1 + ratio)
            boundary = int(mp.floor((tail if missing >= 1 else 1 - tail) * mpf(2) ** 500))
            assert check_passes(distance, plan, Tape(boundary - 1, 500))
            assert not check_passes(distance, plan, Tape(boundary + 1, 500))


# -------------------------------------------------------------------------------------- the choice


INTERVAL = st.tuples(st.integers(-3, 3), st.integers(0, 3)).map(lambda p: (p[0], p[0] + p[1]))


@st.composite
def nested_boxes(draw):
    """Draw an outer box and an inner one that may be empty in some columns."""
    outer = draw(st.lists(INTERVAL, min_size=1, max_size=4))
    inner = []
    for low, high in outer:
        a = draw(st.integers(low, high))
        inner.append((a, draw(st.integers(a - 1, high))))
    return outer, inner


@quick
@given(nested_boxes())
def test_shell_points_are_a_bijection(boxes):
    outer, inner = ({*itertools.product(*(range(a, b + 1) for a, b in box))} for box in boxes)
    expected = outer - inner
    drawn = [shell_point(*boxes, rank) for rank in range(len(expected))]
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) == expected
    with pytest.raises(ValueError, match="rank"):
        shell_point(*boxes, len(expected))


@quick
@given(SMALL_ROWS, st.data(), st.floats(0.05, 30.0))
def test_choice_law_is_the_exponential_mechanism(rows, data, epsilon):
    depth = data.draw(st.integers(1, (len(rows) + 1) // 2))
    plan = plan_tukey(epsilon, 0.1, len(rows), depth=depth)
    growth = mp.exp(number(plan.epsilon_choice) / 2)
    depths = {x: depth_of(x, rows) for x in points_of(2, len(rows[0]))}
    weights = {x: growth**i for x, i in depths.items() if i >= depth}
    law = choice_law(levels_of(rows, radius=2), plan)
    total = mp.fsum(weights.values())
    assert set(law) == set(weights)
    assert all(abs(mpf(p) / UNIT - weights[x] / total) < ROUNDING for x, p in law.items())


def draw_depth(volumes, plan, source, start_digits):
    """Draw a depth as the choice does."""
    return plan.depth + exact_choice(
        lambda enclosing: depth_sums(volumes, plan, enclosing), source, start_digits=start_digits
    )


@pytest.mark.parametrize("start_digits", [1, 50])
def test_depths_are_drawn_with_exact_boundaries(start_digits):
    """Uniform numbers that differ from a boundary by 2**-600 fall on the right side of it."""
    plan = plan_tukey(3.0, 0.1, 6, depth=1)
    levels = levels_of([(-2, 0), (-1, 2), (0, 0), (0, 1), (1, -1), (2, -2)], radius=2)
    with mp.workdps(250):
        growth = mp.exp(number(plan.depth_rate))
        weights = [(levels.volumes[i] - levels.volumes[i + 1]) * growth**i for i in range(1, 7)]
        possible = [i for i, weight in enumerate(weights) if weight]
        for first, second in itertools.pairwise(possible):
            share = mp.fsum(weights[:second]) / mp.fsum(weights)
            boundary = int(mp.floor(share * mpf(2) ** 600))
            for bits, index in (boundary - 1, first), (boundary + 1, second):
                tape = Tape(bits, 600)
                drawn = draw_depth(levels.volumes, plan, tape, start_digits)
                assert drawn == index + 1
                assert tape.read >= 600


@quick
@given(st.integers(0, 2**64 - 1), SMALL_ROWS, st.floats(0.05, 30.0))
def test_depths_do_not_depend_on_the_starting_precision(bits, rows, epsilon):
    plan = plan_tukey(epsilon, 0.1, len(rows), depth=1)
    volumes = levels_of(rows, radius=2).volumes
    bits = bits << 1 | 1  # keep away from zero, where no number of digits is ever enough
    drawn = {draw_depth(volumes, plan, Tape(bits, 65), n) for n in (1, 7, 50)}
    assert len(drawn) == 1


def chi_square_p_value(counts, probabilities):
    """Return the p-value of Pearson's test."""
    total = sum(counts.values())
    assert set(counts) <= set(probabilities)
    statistic = sum((counts[x] - total * p) ** 2 / (total * p) for x, p in probabilities.items())
    assert min(probabilities.values()) * total > 20
    return mp.gammainc((len(probabilities) - 1) / 2, statistic / 2, regularized=True)


ROWS = [(-2, 0), (-1, 2), (0, 0), (0, 1), (1, -1), (2, -2)]


def test_points_are_drawn_with_the_exact_law():
    """200,000 draws; a correct sampler with another seed fails with probability 1e-7."""
    plan, levels = plan_tukey(2.0, 0.1, 6, depth=1), levels_of(ROWS, radius=2)
    source, sums = random.Random(20220807), {}

    def cumulative(enclosing):  # as in the choice, but remembered: the input is always the same
        if enclosing.digits not in sums:
            sums[enclosing.digits] = depth_sums(levels.volumes, plan, enclosing)
        return sums[enclosing.digits]

    def draw():
        depth = plan.depth + exact_choice(cumulative, source)
        rank = draw_below(levels.volumes[depth] - levels.volumes[depth + 1], source)
        return shell_point(levels.box(depth), levels.box(depth + 1), rank)

    counts = Counter(draw() for _ in range(200_000))
    law = {x: mpf(p) / UNIT for x, p in choice_law(levels, plan).items()}
    assert chi_square_p_value(counts, law) > 1e-7
    flat = {x: mpf(1) / len(law) for x in law}
    assert chi_square_p_value(counts, flat) < 1e-7


def test_releases_have_the_exact_law_of_the_whole():
    """10,000 draws of check and choice as they are; false alarms as above."""
    rows, grid = np.array([[0]] * 3 + [[2]] * 2), Grid(step=1.0, radius=3)
    plan = plan_tukey(1.0, 0.3, 5, depth=2)
    levels, source = levels_of(rows, 3), random.Random(353)
    counts = Counter(_release(rows, plan, grid, source).point for _ in range(10_000))
    passing = pass_law(distance_to_unsafety(levels.volumes, plan), plan)
    law = {x: passing * p / UNIT for x, p in choice_law(levels, plan).items()}
    assert chi_square_p_value(counts, {**law, None: 1 - passing}) > 1e-7


# ------------------------------------------------------------------------------- exact arithmetic


@quick
@given(
    st.integers(0, 10**400),
    st.fractions(-200, 200, max_denominator=10**30),
    st.sampled_from([1, 3, 20, 50]),
)
@example(integer=10**400 + 1, exponent=Fraction(1), digits=20)
def test_enclosures_hold_the_exact_number(integer, exponent, digits):
    enclosing = Enclosing(digits)
    with mp.workdps(500):
        first, second = enclosing.integer(integer), enclosing.exp(exponent)
        exact = mpf(integer), mp.exp(number(exponent))
        for bounds, value in (
            (first, exact[0]),
            (second, exact[1]),
            (enclosing.plus(first, second), exact[0] + exact[1]),
            (enclosing.times(first, second), exact[0] * exact[1]),
            (enclosing.over(first, second), exact[0] / exact[1]),
            (enclosing.minus(enclosing.plus(first, second), second), exact[0]),
        ):
            low, high = mpf(str(bounds.low)), mpf(str(bounds.high))
            assert low <= value <= high
        if digits > 1 and integer:
            assert (first.high - first.low) * 10 ** (digits - 1) <= first.low


def test_indices_of_weight_zero_are_never_drawn():
    sums = [Bounds(*[Enclosing(9).integer(n).low] * 2) for n in (0, 3, 3, 3, 4, 4)]
    drawn = Counter(exact_choice(lambda _: sums, random.Random(seed)) for seed in range(200))
    assert set(drawn) == {1, 4}


def test_integers_are_drawn_uniformly():
    source = random.Random(5)
    assert {draw_below(1, source) for _ in range(9)} == {0}
    counts = Counter(draw_below(6, source) for _ in range(6000))
    assert chi_square_p_value(counts, {x: mpf(1) / 6 for x in range(6)}) > 1e-7
    assert 0 <= draw_below(10**3000, source) < 10**3000


# --------------------------------------------------------------------------------- the public face


WILD = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.125, -0.375]


@quick
@given(
    st.lists(st.sampled_from(WILD) | st.floats(), min_size=6, max_size=6), st.integers(-1074, 900)
)
def test_rounding_to_the_grid_is_row_local(values, exponent):
    grid = Grid(step=2.0**exponent, radius=1000)
    rows = np.array(values).reshape(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = grid.quantise(rows)
    assert whole.tolist() == [grid.quantise(row[None])[0].tolist() for row in rows]
    for value, found in zip(values, whole.ravel().tolist(), strict=True):
        if np.isnan(value):
            assert found == 0
        elif np.isinf(value):
            assert found == (1000 if value > 0 else -1000)
        else:
            exact = Fraction(value) / Fraction(grid.step)
            assert found == max(-1000, min(1000, round(exact)))


def test_coefficients_are_exact():
    grid = Grid(step=2.0**-20)
    point = (2**53, -(2**53), 12345, 0)
    assert [Fraction(c) for c in grid.coefficients(point)] == [Fraction(p, 2**20) for p in point]
    assert grid.quantise(grid.coefficients(point)[None]).tolist() == [list(point)]


@pytest.mark.parametrize("value", [*WILD, 3.0])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (400, 2)])
def test_models_that_coincide_are_no_special_case(value, shape):
    grid = Grid(step=0.125)
    models = np.full(shape, value)
    release = release_tukey_point(models, 1.0, 1e-6, grid, source=random.Random(3))
    assert release.passed == (shape[0] == 400)
    expected = tuple(grid.quantise(models)[0].tolist())
    assert release.point == (expected if release.passed else None)


def test_wild_models_among_tame_ones_neither_raise_nor_dominate():
    rng = np.random.default_rng(1)
    models = rng.normal([2.0, -1.0, 0.5], 0.01, size=(600, 3))
    models[::20] = np.nan
    models[1::20] = np.inf
    before = models.copy()
    release = release_tukey_point(models, 2.0, 1e-6, Grid(step=2.0**-20), source=random.Random(4))
    assert release.passed
    np.testing.assert_array_equal(models, before)
    found = Grid(step=2.0**-20).coefficients(release.point)
    assert np.abs(found - [2.0, -1.0, 0.5]).max() < 0.05


def test_models_far_apart_are_refused():
    models = np.random.default_rng(2).standard_cauchy(size=(100, 20)) * 1e6
    release = release_tukey_point(models, 1.0, 1e-6, Grid(step=2.0**-20))
    assert (release.passed, release.point) == (False, None)


def test_high_dimensions_do_not_underflow():
    models = np.random.default_rng(3).normal(1.0, 1e-3, size=(1000, 100))
    grid = Grid(step=2.0**-16)
    release = release_tukey_point(models, 8.0, 1e-6, grid, source=random.Random(6))
    assert release.passed
    assert np.abs(grid.coefficients(release.point) - 1.0).max() < 2e-3


def test_a_seed_makes_a_release_repeatable_and_the_default_does_not():
    models = np.random.default_rng(5).normal(size=(400, 4))
    grid = Grid(step=2.0**-30)
    draw = [
        release_tukey_point(models, 3.0, 1e-4, grid, source=random.Random(7)).point
        for _ in range(2)
    ]
    assert draw[0] == draw[1]
    assert len({release_tukey_point(models, 3.0, 1e-4, grid).point for _ in range(3)}) == 3


@quick
@given(st.floats(1e-6, 1e3), st.floats(1e-300, 0.5), st.floats(1e-6, 1 - 1e-6))
def test_costs_never_add_up_to_more_than_was_granted(epsilon, delta, share):
    plan = plan_tukey(epsilon, delta, 8, check_share=share)
    total = Fraction(plan.epsilon_check) + Fraction(plan.epsilon_choice)
    assert total <= Fraction(epsilon) <= total * (1 + Fraction(1, 2**50))
    assert plan.noise_rate == Fraction(plan.epsilon_check)
    assert plan.depth_rate * 2 == Fraction(plan.epsilon_choice)


def test_events_cost_what_was_granted_whatever_the_outcome():
    plan = plan_tukey(1.0, 1e-6, 8)
    same = release_tukey_point(np.zeros((400, 1)), 1.0, 1e-6, Grid(step=1.0))
    apart = release_tukey_point(np.arange(2.0)[:, None], 1.0, 1e-6, Grid(step=1.0))
    assert (same.passed, apart.passed) == (True, False)
    assert same.events("add_remove") == apart.events("add_remove")
    check, choice = same.events("add_remove")
    assert (check.epsilon, check.delta) == (plan.epsilon_check, 0.0)
    assert (choice.epsilon, choice.delta) == (plan.epsilon_choice, 1e-6)
    accountant = GDPAccountant().add(check).add(choice)
    assert accountant.epsilon(1e-6) == 1.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0.0}, "epsilon=0.0"),
        ({"delta": 0.0}, "delta=0.0"),
        ({"delta": 0.7}, "delta=0.7"),
        ({"depth": 0}, "depth=0"),
        ({"depth": 4}, "depth=4"),
        ({"check_share": 0.0}, "check_share=0.0"),
        ({"check_share": 1.0}, "check_share=1.0"),
        ({"epsilon": 1e-6, "check_share": 5e-324}, "check_share=5e-324"),
        ({"models": np.zeros((0, 2))}, "shape"),
        ({"models": np.zeros((2, 0))}, "shape"),
        ({"models": np.zeros(3)}, "two-dimensional"),
        ({"models": np.zeros((2, 2), dtype=np.float32)}, "float64"),
        ({"models": [[1.0]]}, "array"),
    ],
)
def test_parameters_are_checked(changed, message):
    arguments = {
        "models": np.zeros((6, 2)),
        "epsilon": 1.0,
        "delta": 1e-6,
        "grid": Grid(step=1.0),
        **changed,
    }
    with pytest.raises(ParameterError, match=message):
        release_tukey_point(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": 0.3}, "power of two"),
        ({"step": -0.5}, "step=-0.5"),
        ({"step": float("inf")}, "step=inf"),
        ({"step": 1.0, "radius": 0}, "radius=0"),
        ({"step": 1.0, "radius": 2**53 + 1}, "radius"),
        ({"step": 2.0**1000}, "finite"),
    ],
)
def test_grids_are_checked(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Grid(**arguments)
