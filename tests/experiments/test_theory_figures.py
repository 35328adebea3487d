"""The theory's figures are drawn, and are the same every time."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from dpfit.experiments import theory_figures
from dpfit.experiments.theory_figures import THEORY, _two_round_errors
from dpfit.theory import one_round_lower_bound, two_round_upper_bound


@pytest.mark.parametrize("shown", THEORY, ids=lambda shown: shown.name)
def test_a_figure_is_drawn(shown, monkeypatch):
    # Fits are tested elsewhere; here their answers are made up.
    monkeypatch.setattr(theory_figures, "_boosted", lambda rows, tau, rounds, seed: rows.mean())
    picture = shown.draw(1)
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert shown.text


def test_a_figure_is_the_same_every_time():
    draw = THEORY[2].draw
    assert draw(1) == draw(1)


@pytest.mark.parametrize("bound", [100.0, 1000.0])
def test_what_is_simulated_lies_between_the_bounds(bound):
    one = _two_round_errors(1, bound, 1.0, 10_000, rounds=1, repeats=2000)
    two = _two_round_errors(2, bound, 1.0, 10_000, rounds=2, repeats=2000)
    assert np.mean(one**2) >= one_round_lower_bound(bound, bound, 0.0, 10_000, 1.0)
    assert np.mean(two**2) <= two_round_upper_bound(bound, 1.0, 10_000, 1.0)
