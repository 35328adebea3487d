"""Shares of the norm and shrunk coefficients, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.engine.shrinkage import Prior, water_filling

quick = settings(max_examples=150, deadline=None)
variances = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=20).map(np.array)
noises = st.floats(1e-9, 1e3)


def remaining(shares, variances, noise):
    """Return what is left of coefficients that are shrunk as well as can be."""
    return float(np.sum(variances * noise / (noise + shares * variances)))


@quick
@given(variances, noises)
def test_shares_add_up_to_one_and_worth_more_means_a_larger_share(variances, noise):
    shares = water_filling(variances, noise)
    assert np.all(shares >= 0.0)
    assert shares.sum() == pytest.approx(1.0)
    assert np.all(np.diff(shares[np.argsort(variances)]) >= -1e-12)


@quick
@given(variances, noises, st.integers(0, 1000))
def test_no_other_shares_have_a_smaller_error(variances, noise, seed):
    shares = water_filling(variances, noise)
    least = remaining(shares, variances, noise)
    rng = np.random.default_rng(seed)
    for concentration in (0.1, 1.0, 10.0):
        other = rng.dirichlet(np.full(len(variances), concentration))
        assert least <= remaining(other, variances, noise) * (1 + 1e-9)
        near = 0.99 * shares + 0.01 * other
        assert least <= remaining(near, variances, noise) * (1 + 1e-9)


def test_shares_by_hand():
    assert water_filling(np.array([1.0, 1.0]), 0.1) == pytest.approx([0.5, 0.5])
    assert water_filling(np.array([1.0, 0.0, 1e-9]), 0.1) == pytest.approx([1.0, 0.0, 0.0])
    # g = c - noise / v, with c = (1 + 0.1 + 0.2) / 2.
    assert water_filling(np.array([1.0, 0.5]), 0.1) == pytest.approx([0.55, 0.45])


@quick
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1000))
def test_the_posterior_is_that_of_the_textbook(p, q, seed):
    rng = np.random.default_rng(seed)
    prior = Prior(rng.uniform(0.1, 2.0, p))
    inverse, estimates, noise = rng.normal(size=(q, p)), rng.normal(size=q), rng.uniform(0.1, 2, q)
    mean, variance = prior.posterior(inverse, estimates, noise)
    # Precisions add up: (V^-1 + B' N^-1 B)^-1.
    covariance = np.linalg.inv(
        np.diag(1.0 / prior.variances) + inverse.T @ np.diag(1.0 / noise) @ inverse
    )
    assert mean == pytest.approx(covariance @ inverse.T @ (estimates / noise), abs=1e-8)
    assert variance == pytest.approx(np.diag(covariance), abs=1e-8)


def test_columns_without_effect_go_to_nearly_zero_and_clear_ones_stay():
    rng = np.random.default_rng(0)
    p, noise = 41, 0.01
    truth = np.zeros(p)
    truth[:3] = 0.5, 1.0, -0.7
    kept, null = [], []
    for _ in range(100):
        estimates = truth + rng.normal(0.0, np.sqrt(noise), p)
        _, mean = Prior(np.full(p, 0.2)).learned(np.eye(p), estimates, np.full(p, noise))
        kept.append(mean[:3])
        null.append(mean[3:] ** 2)
    assert np.mean(kept, axis=0) == pytest.approx(truth[:3], rel=0.05)
    # Less than with the first prior, and far less than unshrunk.
    before = noise * (0.2 / (0.2 + noise)) ** 2
    assert np.mean(null) < 0.9 * before


def test_bends_of_a_straight_curve_vanish_together_and_those_of_a_bent_one_do_not():
    rng = np.random.default_rng(1)
    blocks = np.arange(1, 11), np.arange(11, 21)
    p, noise = 21, 0.01
    variances = np.full(p, 0.05)
    truth = np.zeros(p)
    truth[blocks[1]] = 0.3 * rng.choice([-1.0, 1.0], 10)
    straight, bent = [], []
    for _ in range(50):
        estimates = truth + rng.normal(0.0, np.sqrt(noise), p)
        prior, mean = Prior(variances, blocks).learned(np.eye(p), estimates, np.full(p, noise))
        again, _ = prior.posterior(np.eye(p), estimates, np.full(p, noise))
        assert mean == pytest.approx(again)
        assert prior.variances[0] == 0.05
        for block in blocks:
            assert np.ptp(prior.variances[block]) < 1e-12
        straight.append(np.mean(mean[blocks[0]] ** 2) / noise)
        bent.append(np.mean(np.square(mean - truth)[blocks[1]]) / noise)
    assert np.mean(straight) < 0.25
    assert np.mean(bent) < 1.1


def test_kept_priors_have_their_blocks_at_new_places():
    prior = Prior(np.arange(1.0, 8.0), (np.array([2, 3]), np.array([5, 6])))
    found = prior.kept(np.array([0, 3, 4, 5]))
    assert found.variances.tolist() == [1.0, 4.0, 5.0, 6.0]
    assert [block.tolist() for block in found.blocks] == [[1], [3]]
    assert prior.kept(np.array([0, 1])).blocks == ()


def test_rougher_bends_are_expected_to_be_smaller():
    assert Prior.of_bends(3) == pytest.approx([0.5, 0.125, 0.5 / 9])
