"""Events: what they accept, what they refuse, and that they survive being written down."""

import dataclasses
import json
import math
import pickle

import pytest

from dpfit.accounting import ApproximateRelease, Release, event_from_dict
from dpfit.exceptions import ParameterError

GAUSSIAN = {"statistic": "gram", "sensitivity": 1.0, "mu": 0.3, "neighbors": "add_remove"}
APPROXIMATE = {
    "mechanism": "exponential",
    "statistic": "model",
    "epsilon": 0.5,
    "delta": 1e-7,
    "neighbors": "replace",
}


def test_sigma_defaults_to_the_smallest_that_is_enough():
    event = Release(**GAUSSIAN)
    assert event.sigma == pytest.approx(1 / 0.3)
    assert event.mechanism == "gaussian"
    assert event.count == 1
    assert Release(**GAUSSIAN, sigma=event.sigma) == event
    assert Release(**GAUSSIAN, sigma=100.0).sigma == 100.0


def test_sigma_that_is_too_small_is_refused():
    needed = Release(**GAUSSIAN).sigma
    for sigma in (math.nextafter(needed, 0.0), 0.3):
        with pytest.raises(ParameterError, match="sigma must be >= "):
            Release(**GAUSSIAN, sigma=sigma)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("statistic", ""),
        ("statistic", " "),
        ("statistic", 3),
        ("sensitivity", 0.0),
        ("sensitivity", -1.0),
        ("sensitivity", math.inf),
        ("sensitivity", None),
        ("mu", 0.0),
        ("mu", math.nan),
        ("mu", "0.3"),
        ("neighbors", "bounded"),
        ("neighbors", None),
        ("neighbors", ["replace"]),
        ("sigma", 0.0),
        ("count", 0),
        ("count", 1.0),
        ("count", True),
        ("mechanism", "laplace"),
    ],
)
def test_bad_gaussian_fields(field, value):
    with pytest.raises(ParameterError, match=field):
        Release(**{**GAUSSIAN, field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mechanism", ""),
        ("statistic", None),
        ("epsilon", -0.1),
        ("epsilon", 1001.0),
        ("epsilon", math.nan),
        ("delta", -1e-9),
        ("delta", 0.6),
        ("delta", 1e-301),
        ("neighbors", "add"),
    ],
)
def test_bad_approximate_fields(field, value):
    with pytest.raises(ParameterError, match=field):
        ApproximateRelease(**{**APPROXIMATE, field: value})


def test_a_release_without_cost_is_refused():
    with pytest.raises(ParameterError, match="must have a cost"):
        ApproximateRelease(**{**APPROXIMATE, "epsilon": 0.0, "delta": 0.0})


@pytest.mark.parametrize("event", [Release(**GAUSSIAN, count=7), ApproximateRelease(**APPROXIMATE)])
def test_events_are_frozen_and_survive_writing(event):
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.statistic = "other"
    written = json.loads(json.dumps(event.to_dict()))
    assert event_from_dict(written) == event
    assert type(event).from_dict(written) == event
    assert pickle.loads(pickle.dumps(event)) == event
    assert hash(event_from_dict(written)) == hash(event)


def test_bad_dictionaries():
    good = Release(**GAUSSIAN).to_dict()
    for bad in (
        {**good, "type": "Laplace"},
        {**good, "type": None},
        {**good, "extra": 1},
        {key: value for key, value in good.items() if key != "mu"},
        {**good, "sigma": 0.1},
        [],
        None,
    ):
        with pytest.raises(ParameterError):
            event_from_dict(bad)
    with pytest.raises(ParameterError, match="missing or unknown"):
        ApproximateRelease.from_dict(good)
    with pytest.raises(ParameterError, match="type must be"):
        Release.from_dict({**good, "type": "ApproximateRelease"})


def test_numpy_values_become_plain_ones():
    np = pytest.importorskip("numpy", reason="numpy scalars are the subject")
    event = Release(
        statistic="gram",
        sensitivity=np.float64(1.0),
        mu=np.float64(0.3),
        neighbors="add_remove",
        count=np.int64(3),
    )
    assert type(event.mu) is float
    assert type(event.count) is int
    assert json.loads(json.dumps(event.to_dict()))["count"] == 3
