"""The private choice of TukeyEM: exact sensitivities, exact (epsilon, delta), faults put in."""

import dataclasses
import itertools
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfit.paper._tukey import plan_tukey
from dpfit.paper._tukey_stages import distance_to_unsafety

from .tukey_laws import (
    ROUNDING,
    SMALL_ROWS,
    WORLDS,
    World,
    choice_law,
    depth_of,
    excess,
    levels_of,
    mp,
    number,
    points_of,
    quick,
    world,
)

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
