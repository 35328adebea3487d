"""Thresholds follow the tails of residuals, and of targets where noise hides residuals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.threshold import EDGES, Tails, _is_seen, best_threshold, shows_most

from .marginals import marginals, of_values

ROWS = 100_000
# Ten coefficients, 100,000 rows and mu = 1 for the averaged rounds.
NOISE = 1.3 * 10 / ROWS
BINS = 2 * len(EDGES) + 1
# Targets of which one in a hundred is far out: their tails do not limit the threshold.
LONG = Tails(np.array([1.0, 100.0]), np.array([0.99, 0.01]), np.zeros(2), np.zeros(2))
# Targets within their range.
SHORT = Tails(np.array([0.5, 1.0]), np.array([0.8, 0.2]), np.zeros(2), np.zeros(2))


def tails_of(targets):
    """Return the tails of targets in half-widths of their range, by an exact histogram."""
    return Tails.of(of_values(targets, 512), 0.0, 1.0)


def counts_of(residuals):
    """Return exact counts in the bins of residuals, from the most negative."""
    edges = np.concatenate([[-np.inf], -EDGES[::-1], EDGES, [np.inf]])
    return np.histogram(residuals, edges)[0].astype(float)


def draw(name, seed=0):
    rng = np.random.default_rng(seed)
    if name == "normal":
        return 0.3 * rng.normal(size=ROWS)
    if name == "rare":
        return (rng.random(ROWS) < 0.05).astype(float)
    return 0.2 * (rng.lognormal(0.0, 1.0, ROWS) - np.exp(0.5))


@pytest.mark.parametrize("sigma", [0.05, 0.3, 1.0, 3.0])
def test_normal_residuals_are_clipped_at_about_three_standard_deviations(sigma):
    residuals = sigma * np.random.default_rng(0).normal(size=ROWS)
    found = best_threshold(counts_of(residuals), 10.0, ROWS, NOISE, tails_of(residuals))
    assert 2.0 * sigma < found.tau < 5.0 * sigma
    assert found.variance == pytest.approx(sigma**2, rel=0.15)


def test_a_rare_one_among_zeros_is_not_clipped():
    residuals = draw("rare")
    found = best_threshold(counts_of(residuals), 10.0, ROWS, NOISE, tails_of(residuals))
    assert found.tau >= 1.0


def test_long_tails_are_clipped_far_out():
    residuals = draw("lognormal")
    found = best_threshold(counts_of(residuals), 10.0, ROWS, NOISE, tails_of(residuals))
    clipped = np.clip(residuals, -found.tau, found.tau)
    # Clipping moves the mean by little, and three standard deviations would move it by more.
    assert abs(np.mean(residuals - clipped)) < 0.05 * residuals.std()
    assert found.tau > 3.0 * residuals.std()
    assert found.variance == pytest.approx(np.mean(clipped**2), rel=0.15)


@pytest.mark.parametrize("name", ["normal", "rare", "lognormal"])
@pytest.mark.parametrize("noise", [NOISE, 0.1, 1.0])
def test_what_may_be_lost_in_a_coefficient_is_all_that_clipping_takes(name, noise):
    residuals = draw(name)
    found = best_threshold(counts_of(residuals), 10.0, ROWS, noise, tails_of(residuals))
    # A column may have the sign of the residual: then nothing that is clipped cancels.
    size = np.abs(residuals)
    assert found.lost >= 0.9 * np.mean(np.maximum(size - found.tau, 0.0))
    sure = best_threshold(counts_of(residuals), 1e-6, ROWS, noise, tails_of(residuals))
    taken = np.mean(np.maximum(size - sure.tau, 0.0))
    # Residuals may be 0.21 of their size off the middle of their bin.
    within = 0.25 * np.mean(np.where(size >= sure.tau, size, 0.0))
    assert sure.lost == pytest.approx(taken, rel=0.02, abs=within)


@pytest.mark.parametrize("name", ["normal", "rare", "lognormal"])
def test_more_noise_never_means_a_wider_threshold(name):
    residuals = draw(name)
    counts, tails = counts_of(residuals), tails_of(residuals)
    found = [best_threshold(counts, 10.0, ROWS, NOISE * 4.0**i, tails).tau for i in range(10)]
    assert np.all(np.diff(found) <= 0.0)
    assert found[0] > found[-1]


@pytest.mark.parametrize("name", ["normal", "lognormal"])
def test_the_threshold_grows_with_the_residuals(name):
    residuals = draw(name)
    taus = [
        best_threshold(counts_of(part), 10.0, ROWS, NOISE, tails_of(part)).tau
        for part in (scale * residuals for scale in (0.5, 1.0, 2.0, 4.0))
    ]
    assert np.array(taus[1:]) / taus[:-1] == pytest.approx(np.full(3, 2.0))


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10_000),
    st.floats(0.1, 1e5),
    st.floats(1.0, 1e6),
    st.floats(1e-6, 1e3),
    marginals(fewest=1),
    st.floats(0.0, 10.0),
)
def test_thresholds_are_usable_if_counts_are_noise_alone(
    seed, sigma, rows, noise, marginal, overlooked
):
    counts = np.round(np.random.default_rng(seed).normal(0.0, sigma, BINS))
    width = np.ptp(marginal.edges)
    marginal = replace(
        marginal,
        overlooked=(overlooked, 0.1),
        reach=(marginal.edges[0] - 1e6 * width, marginal.edges[-1]),
    )
    tails = Tails.of(marginal, float(marginal.edges.mean()), width / 2)
    found = best_threshold(counts, sigma, rows, noise, tails)
    assert 0.0 < found.tau < np.inf
    assert 0.0 < found.variance < np.inf
    assert np.isfinite(found.lost)


@pytest.mark.parametrize("tails", [SHORT, LONG], ids=["short", "long"])
def test_noise_alone_rarely_looks_like_residuals(tails):
    rng = np.random.default_rng(0)
    found = [
        best_threshold(rng.normal(0.0, 100.0, BINS), 100.0, ROWS, NOISE, tails).tau
        for _ in range(1000)
    ]
    # Then the threshold is that of the targets' tails, of which nothing seems to be explained.
    assert np.mean(np.array(found) != tails.threshold(NOISE)) < 0.02


@pytest.mark.parametrize(("wider", "ends"), [(1.0, (0.6, 1.5)), (2.0, (0.6, 2.5))])
def test_noise_in_counts_hardly_moves_the_threshold(wider, ends):
    residuals, rng = draw("normal"), np.random.default_rng(1)
    exact, tails = counts_of(residuals), tails_of(wider * residuals)
    wanted = best_threshold(exact, 50.0, ROWS, NOISE, tails).tau
    assert ends[0] < wanted < ends[1]
    found = [
        best_threshold(exact + rng.normal(0.0, 50.0, BINS), 50.0, ROWS, NOISE, tails).tau
        for _ in range(500)
    ]
    # A bin of noise far out would make it many times as wide.
    assert np.mean(np.array(found) != wanted) < 0.02


@pytest.mark.parametrize("rows_in_sigmas", [5.0, 15.0, 30.0, 60.0])
@pytest.mark.parametrize("wider", [1.0, 1.5, 2.0])
def test_residuals_that_noise_hides_bin_by_bin_do_not_make_the_threshold_tiny(
    rows_in_sigmas, wider
):
    """Targets are as wide as residuals, or wider because the model explains a part of them."""
    residuals, rng = draw("normal"), np.random.default_rng(2)
    exact, sigma = counts_of(residuals), ROWS / rows_in_sigmas
    tails = tails_of(wider * residuals)
    found = [
        best_threshold(exact + rng.normal(0.0, sigma, BINS), sigma, ROWS, 0.1, tails).tau
        for _ in range(200)
    ]
    assert np.mean(np.array(found) < residuals.std()) < 0.05


def test_bins_that_are_not_seen_may_have_rows_up_to_where_targets_end():
    """0.3 % of the rows are ten half-widths away, which is below the noise in their bin."""
    counts = counts_of(draw("normal"))
    far = replace(SHORT, sizes=np.array([0.3, 10.0]), shares=np.array([0.997, 0.003]))
    clear, noisy = (best_threshold(counts, s, ROWS, NOISE, far).tau for s in (1e-3, 100.0))
    # Without noise in the counts, all of them are known to be explained.
    assert clear <= 1.5
    # With noise, many may be there; fewer than in the last bin that is seen.
    assert noisy >= 5.0
    # No target is so far away.
    near = replace(SHORT, sizes=np.array([0.3, 1.0]), shares=np.array([0.997, 0.003]))
    assert best_threshold(counts, 100.0, ROWS, NOISE, near).tau <= 1.5


@pytest.mark.parametrize("noise", [1e-4, 1e-2, 1.0])
def test_the_threshold_is_at_most_that_of_the_tails(noise):
    """Residuals of noisy rounds: some of them are far out, where no target is."""
    rng = np.random.default_rng(3)
    residuals = np.where(rng.random(ROWS) < 1e-3, 50.0, 0.05)
    found = best_threshold(counts_of(residuals), 1.0, ROWS, noise, SHORT)
    assert SHORT.threshold(noise) <= 1.0
    # Or at twice their spread, below which rounds would stop.
    least = 2.0 * np.sqrt(np.mean(np.square(np.minimum(residuals, SHORT.threshold(noise)))))
    assert found.tau <= max(SHORT.threshold(noise), 1.2 * least)
    free = best_threshold(counts_of(residuals), 1.0, ROWS, 1e-4, LONG)
    assert free.tau > 30.0


# ------------------------------------------------------------------------------------------ tails


def test_tails_by_hand():
    marginal = Marginal(
        np.array([0.0, 2.0, 4.0, 8.0]),
        np.array([5.0, 3.0, 2.0]),
        overlooked=(0.01, 0.02),
        reach=(-4.0, 16.0),
    )
    tails = Tails.of(marginal, 3.0, 2.0)
    np.testing.assert_allclose(tails.sizes, [1.0, 0.0, 1.5])
    np.testing.assert_allclose(tails.shares, [0.5, 0.3, 0.2])
    # Rows that the noise hides are taken to be halfway between the last bin and what was looked at.
    np.testing.assert_allclose(tails.hidden_sizes, [2.5, 4.5])
    np.testing.assert_allclose(tails.hidden_shares, [0.01, 0.02])
    assert tails.longest == 4.5


def test_hidden_rows_are_at_the_ends_if_it_is_not_known_where_was_looked():
    marginal = Marginal(np.array([-1.0, 0.0, 3.0]), np.ones(2), overlooked=(0.1, 0.1))
    tails = Tails.of(marginal, 0.0, 1.0)
    np.testing.assert_array_equal(tails.hidden_sizes, [1.0, 3.0])
    assert tails.longest == 3.0


def test_tails_within_their_range_are_clipped_at_its_end():
    """If noise costs next to nothing; never wider, whatever it costs."""
    assert SHORT.threshold(1e-9) == 1.0
    for noise in (0.01, 0.1, 1.0, 100.0):
        assert SHORT.threshold(noise) <= 1.0
    assert SHORT.threshold(100.0) == EDGES[0]


def test_rows_that_may_be_hidden_widen_the_threshold():
    hidden = replace(SHORT, hidden_sizes=np.array([0.0, 20.0]), hidden_shares=np.array([0.0, 0.01]))
    assert SHORT.threshold(1e-3) <= 1.0
    assert hidden.threshold(1e-3) > 10.0
    assert hidden.threshold(10.0) < 1.0


@settings(max_examples=100, deadline=None)
@given(marginals(fewest=1), st.floats(1e-6, 1e3), st.floats(1.0, 10.0))
def test_more_noise_never_means_a_wider_threshold_of_tails(marginal, noise, factor):
    tails = Tails.of(marginal, float(marginal.edges.mean()), np.ptp(marginal.edges) / 2)
    assert tails.threshold(noise * factor) <= tails.threshold(noise)
    assert tails.threshold(noise) in EDGES


def test_a_largest_threshold_is_kept():
    residuals = draw("long")
    counts, tails = counts_of(residuals), tails_of(residuals)
    free = best_threshold(counts, 10.0, ROWS, NOISE, tails)
    held = best_threshold(counts, 10.0, ROWS, NOISE, tails, free.tau / 2)
    assert held.tau == free.tau / 2
    assert best_threshold(counts, 10.0, ROWS, NOISE, tails, 2 * free.tau) == free


@pytest.mark.parametrize("seed", range(5))
def test_counts_show_most_normal_residuals_if_that_is_said(seed):
    """The limit is for a run of bins: half of the limit leaves most rows seen."""
    rng, rows = np.random.default_rng(seed), 600.0
    limit = 0.75 * rows / (4.0 * np.sqrt(8.0))
    assert shows_most(0.99 * limit, rows)
    assert not shows_most(1.01 * limit, rows)
    residuals = 0.3 * rng.normal(size=int(rows))
    noisy = counts_of(residuals) + rng.normal(0.0, 0.5 * limit, BINS)
    seen = np.where(_is_seen(noisy, 0.5 * limit), noisy, 0.0)
    assert seen.sum() > 0.5 * rows
