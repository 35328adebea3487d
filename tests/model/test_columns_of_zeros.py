"""Columns that are zero in nearly all rows, so that the noise hides their other values."""

import numpy as np
import pandas as pd
import pytest

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression


@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
def test_a_column_of_which_only_zeros_are_seen_is_left_out(cls):
    """2 % are ones: less than twice the noise of a count. Equal bins would end at 1e-15."""
    rng = np.random.default_rng(0)
    rows, names = 5000, [f"flag {i}" for i in range(12)]
    frame = pd.DataFrame((rng.random((rows, len(names))) < 0.02).astype(float), columns=names)
    frame["age"] = rng.normal(50.0, 10.0, rows)
    frame["days"] = frame.age + rng.normal(size=rows)
    left_out = near_zero = 0
    for _ in range(3):
        model = cls(epsilon=0.5).fit(frame, "days")
        ends = np.abs(np.array(model.feature_range_)[: len(names)]).max(axis=1)
        left_out += int(np.isinf(ends).sum())
        near_zero += int((ends <= 2.0**-49).sum())
    # Noise has a run in one column of 20: in more than half of 36 with a probability below 1e-12,
    # and at the smallest powers in more than three with one below 1e-7.
    assert left_out >= 18
    assert near_zero <= 3


def test_a_column_that_is_not_seen_may_be_binary():
    rng = np.random.default_rng(0)
    rows = 10_000
    frame = pd.DataFrame({"age": rng.uniform(20, 80, rows), "died": np.zeros(rows)})
    frame["days"] = frame.age + rng.normal(size=rows)
    text = str(PrivateLinearRegression(epsilon=1.0).fit(frame, "days").summary())
    assert "Not in the model: died." in text
    assert "Binary() in the schema" in " ".join(text.split())
