"""The theory's figures are drawn, and are the same every time."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from dpfit.theory import one_round_lower_bound, two_round_upper_bound
from paper import theory_samples
from paper.theory_figures import THEORY
from paper.theory_outliers import outlier_bound, outlier_error
from paper.theory_rates import separate, settled
from paper.theory_samples import estimates, normal


@pytest.mark.parametrize("shown", THEORY, ids=lambda shown: shown.name)
def test_a_figure_is_drawn(shown, monkeypatch):
    # Fits are tested elsewhere; here their answers are made up.
    monkeypatch.setattr(theory_samples, "private_mean", lambda rows, *_: rows.mean())
    picture = shown.draw(1)
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert shown.text


def test_a_figure_is_the_same_every_time():
    draw = THEORY[2].draw
    assert draw(1) == draw(1)


@pytest.mark.parametrize("bound", [100.0, 1000.0])
def test_what_is_simulated_lies_between_the_bounds(bound):
    one = separate(1, bound, 1.0, 10_000, rounds=1, repeats=2000, rho=0.5)
    two = separate(2, bound, 1.0, 10_000, rounds=2, repeats=2000, rho=1 / 3)
    assert np.mean(one**2) >= one_round_lower_bound(bound, bound, 0.0, 10_000, 0.5)
    assert np.mean(two**2) <= two_round_upper_bound(bound, 1.0, 10_000, 1 / 3)


@pytest.mark.parametrize("rho", [1.0, 1e-3])
def test_a_settled_distance_is_what_is_measured(rho):
    found = estimates("settled", 60, normal(3.0, 2000), 1.0, 50, rho)
    # After 50 rounds the iteration without noise is at the mean. Seeds are fixed; with others the
    # mean of 60 would have a relative standard deviation of 0.1.
    assert np.abs(found - 3.0).mean() == pytest.approx(settled(50, 1.0, 2000, rho), rel=0.3)


def test_what_the_caption_says_of_outliers_is_so():
    small, large = outlier_error(0.2, 3.0, 1, repeats=3), outlier_error(0.2, 100.0, 1, repeats=3)
    many = outlier_error(0.2, 3.0, 100, repeats=3)
    assert small == pytest.approx(7.0, abs=0.1)
    assert large == pytest.approx(18.0, abs=0.3)
    # Noise has a standard deviation of 0.012 here, and the bound is 0.3 above the fixed point.
    assert 0.7 < many < outlier_bound(0.2, 3.0)
    assert outlier_error(0.2, 0.05, 100, repeats=3) == pytest.approx(5.0, abs=0.1)


def test_a_bound_on_outliers_ends_with_its_condition():
    assert outlier_bound(0.25, 3.0) == pytest.approx(2**0.5, abs=0.01)
    assert np.isnan(outlier_bound(0.26, 3.0))
