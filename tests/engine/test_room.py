"""How long rows are relative to their bound: few are longer, and noise stays small."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.engine.shrinkage import Prior
from dpfit.engine.solve import noise_norm
from dpfit.engine.whitening import first_scales, room, wide_room


def test_the_first_scales_give_rows_the_norm_that_leaves_room():
    prior = Prior(np.array([1.0, 0.1, 0.1, 1e-12]))
    variances = np.array([1.0, 1.0, 0.15, 1.0])
    scales = first_scales(variances, prior, 1e-4)
    # Three of the four are used.
    assert np.sum(scales**2 * variances) == pytest.approx(1.0 / room(3) ** 2)
    assert scales[-1] == 0.0
    assert scales[0] ** 2 == pytest.approx(np.max(scales**2 * variances))


@pytest.mark.parametrize("number", [2, 3, 5, 20, 100])
def test_one_row_in_a_hundred_of_normal_coordinates_is_longer_than_the_bound(number):
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(100_000), rng.normal(size=(100_000, number - 1))])
    size = np.sqrt(np.mean(np.square(rows).sum(axis=1)))
    longer = np.mean(np.linalg.norm(rows, axis=1) > room(number) * size)
    assert longer == pytest.approx(0.01, abs=0.002)


def test_more_coordinates_need_less_room():
    rooms = [room(number) for number in range(2, 300)]
    assert np.all(np.diff(rooms) < 0.0)
    assert rooms[-1] > 1.0
    # The constant alone is as long in all rows: no other coordinate, no less room than for one.
    assert room(1) == room(2)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 60), st.floats(1.0, 1e9))
def test_a_wider_bound_keeps_the_noise_below_the_variance(number, signal):
    """The norm of the noise is 0.4 of a coordinate's variance, unless the bound is at a limit."""
    wide = wide_room(number, signal)
    assert 1.0 <= wide <= 8.0
    sigma = (wide * room(number)) ** 2 / signal
    share = noise_norm(number, sigma) * number
    if wide == 1.0:
        assert share >= 0.4 * (1.0 - 1e-9)
    elif wide == 8.0:
        assert share <= 0.4 * (1.0 + 1e-9)
    else:
        assert share == pytest.approx(0.4)
