"""What a budget pays for before anything about the columns is known."""

import numpy as np
import pytest

from dpfit import (
    Binary,
    Categorical,
    InsecureSeedWarning,
    Numeric,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
)
from dpfit.engine.worth import affords_slopes

pytestmark = pytest.mark.filterwarnings("ignore", category=InsecureSeedWarning)
NUMBERS = [Numeric()] * 9
KINDS = [
    [],
    [Binary()],
    [Numeric()],
    NUMBERS,
    [*NUMBERS, Binary(), Categorical(["a", "b", "c"])],
    NUMBERS * 5,
]


def least_signal(kinds, bends=0):
    signals = np.geomspace(0.1, 1e5, 200)
    paid = [affords_slopes(kinds, bends, float(signal)) for signal in signals]
    # More budget never pays for less.
    assert paid == sorted(paid)
    return signals[paid.index(True)] if any(paid) else np.inf


@pytest.mark.parametrize("kinds", KINDS, ids=len)
def test_slopes_need_more_signal_the_more_columns_there_are(kinds):
    assert least_signal(kinds) <= least_signal([*kinds, *NUMBERS]) or not kinds


def test_bends_do_not_need_more_signal_than_their_lines():
    """Rows with many functions are nearly of the same length, so less noise is needed."""
    assert least_signal(NUMBERS, 10) <= least_signal(NUMBERS)


def test_without_columns_there_are_no_slopes():
    assert least_signal([]) == np.inf


@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
@pytest.mark.parametrize(("rows", "has_slopes"), [(600, False), (20_000, True)])
def test_a_mean_does_not_pay_for_the_ranges_of_columns(cls, rows, has_slopes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5))
    y = X.sum(axis=1) + rng.normal(size=rows)
    model = cls(epsilon=0.1, random_state=0).fit(X, y)
    names = [event.statistic for event in model.privacy_.events]
    assert ("histograms of 5 features" in names) == has_slopes
    assert model.status_ == ("full" if has_slopes else "mean")
