"""The check and the choice of TukeyEM are drawn with their exact laws, in exact arithmetic."""

import itertools
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpfit.paper._exact_choice import Bounds, Enclosing, draw_below, exact_choice
from dpfit.paper._tukey import Grid, _release, plan_tukey
from dpfit.paper._tukey_stages import (
    check_passes,
    depth_sums,
    distance_to_unsafety,
    shell_point,
    smallest_threshold,
)

from .tukey_laws import (
    ROUNDING,
    SMALL_ROWS,
    UNIT,
    choice_law,
    depth_of,
    levels_of,
    mp,
    mpf,
    number,
    pass_law,
    points_of,
    quick,
)


class Tape:
    """Random bits read from an integer, most significant first, then zeros."""

    def __init__(self, value, length):
        self.value, self.length, self.read = value, length, 0

    def getrandbits(self, k, /):
        self.read += k
        missing = self.read - self.length
        bits = self.value << missing if missing > 0 else self.value >> -missing
        return bits & ((1 << k) - 1)


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
