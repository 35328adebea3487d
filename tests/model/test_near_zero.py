"""Summaries name numeric columns of which a fit saw nothing but zeros."""

import numpy as np
import pandas as pd
import pytest

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.engine.constants import RangeConstants
from dpfit.models.near_zero import LEAST


@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
def test_a_range_that_is_almost_zero(cls):
    """A range of noise looks like that of numbers that are too small to be seen."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(10_000, 2)), columns=["age", "died"])
    frame["days"] = frame.age + rng.normal(size=len(frame))
    note = "Almost constant: died. The noise hides all values but zero."
    for unit, is_noted in ((1e-16, True), (1e-12, False)):
        model = cls(epsilon=5.0).fit(frame.assign(died=frame.died * unit), "days")
        assert (note in " ".join(str(model.summary()).split())) == is_noted


def test_a_column_that_is_not_seen_may_be_binary():
    rng = np.random.default_rng(0)
    rows = 10_000
    frame = pd.DataFrame({"age": rng.uniform(20, 80, rows), "died": np.zeros(rows)})
    frame["days"] = frame.age + rng.normal(size=rows)
    text = str(PrivateLinearRegression(epsilon=1.0).fit(frame, "days").summary())
    assert "Not in the model: died." in text
    assert "Binary() in the schema" in " ".join(text.split())


def test_the_least_number_is_that_of_the_fits():
    assert 2.0 ** (RangeConstants.least_power + 1) == LEAST
