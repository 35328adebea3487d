"""Parameters out of range: every message names the parameter, its value and the range."""

import math

import numpy as np
import pytest

from dpfit import theory
from dpfit.exceptions import DpfitError, ParameterError

GOOD = {
    "clipped_mean": {"mean": 1.0, "tau": 1.0},
    "infinite_sample_path": {"mean": 1.0, "tau": 1.0, "rounds": 2},
    "infinite_sample_errors": {"mean": 1.0, "tau": 1.0, "rounds": 2},
    "warm_up_rounds": {"mean": 1.0, "tau": 1.0},
    "contraction": {"tau": 1.0},
    "infinite_sample_bound": {"mean": 1.0, "tau": 1.0, "rounds": 2},
    "finite_sample_bound": {"rounds": 2, "tau": 1.0, "n": 10, "rho": 1.0},
    "suggested_rounds": {"n": 10, "tau": 1.0, "mean_bound": 1.0},
    "huber_fixed_point": {"values": [1.0, 2.0], "tau": 1.0},
    "one_round_lower_bound": {"tau": 1.0, "bound": 2.0, "mean": 1.0, "n": 10, "rho": 1.0},
    "two_round_thresholds": {"bound": 2.0, "sigma": 1.0, "n": 10, "rho": 1.0},
    "two_round_upper_bound": {"bound": 2.0, "sigma": 1.0, "n": 10, "rho": 1.0},
    "two_round_error_order": {"bound": 2.0, "sigma": 1.0, "n": 10, "rho": 1.0},
}
NOT_NUMBERS = [None, "1", True, 1j, [1.0], math.nan, math.inf, -math.inf, 10**400]
BAD = {
    "mean": NOT_NUMBERS,
    "mean_bound": [*NOT_NUMBERS, -1.0],
    "sigma": [*NOT_NUMBERS, -1.0],
    "tau": [*NOT_NUMBERS, 0.0, -1.0],
    "bound": [*NOT_NUMBERS, 0.0, -1.0],
    "rho": [*NOT_NUMBERS, 0.0, -1.0],
    "rounds": [*NOT_NUMBERS, -1, 2.0, 2**53 + 1],
    "n": [*NOT_NUMBERS, 0, -1, 10.0, 2**53 + 1],
}


def test_every_function_is_listed():
    assert sorted(GOOD) == sorted(theory.__all__)


@pytest.mark.parametrize("function", GOOD)
def test_good_parameters(function):
    call = getattr(theory, function)
    assert np.isfinite(call(**GOOD[function])).all()
    assert np.isfinite(call(*GOOD[function].values())).all()


@pytest.mark.parametrize(
    ("function", "name"), [(function, name) for function in GOOD for name in GOOD[function]]
)
def test_bad_parameters(function, name):
    for bad in BAD.get(name, []):
        with pytest.raises(ParameterError, match=rf"^{name}\b") as caught:
            getattr(theory, function)(**{**GOOD[function], name: bad})
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, DpfitError)


def test_messages_name_the_value_and_the_range():
    with pytest.raises(ParameterError, match=r"tau must be > 0 and finite, got -1\.0"):
        theory.contraction(-1.0)
    with pytest.raises(
        ParameterError, match="rounds must be an integer from 0 to 9007199254740992, got -3"
    ):
        theory.infinite_sample_path(1.0, 1.0, -3)
    with pytest.raises(ParameterError, match=r"mean must be between -2\.0 and 2\.0, got 3\.0"):
        theory.one_round_lower_bound(1.0, 2.0, 3.0, 10, 1.0)


def test_too_much_noise_for_the_separation():
    with pytest.raises(ParameterError, match=r"must be >= 2, got 1 \(n=10, rho=0\.01\)"):
        theory.one_round_lower_bound(1.0, 1.0, 0.0, 10, 0.01)
    with pytest.raises(ParameterError, match=r"must be >= 9, got 5 \(n=10, rho=0\.25\)"):
        theory.two_round_thresholds(1.0, 1.0, 10, 0.25)


def test_more_rounds_than_can_be_run():
    for tau in (1e-12, 5e-324):
        with pytest.raises(ParameterError, match=r"tau=.* is too small"):
            theory.suggested_rounds(10, tau, 1.0)


def test_numpy_numbers_are_taken():
    assert theory.clipped_mean(np.float64(1.0), np.int64(1)) == theory.clipped_mean(1.0, 1.0)
    assert theory.infinite_sample_path(1.0, 1.0, np.int32(2)).size == 3
