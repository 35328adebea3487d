"""`n_jobs` reaches every pass over the rows."""

import numpy as np
import pytest

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.statistics import Gradient, MappedGram, RowCount, ScoreCounts, ScoreProducts

from .tables import seeded


@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_every_pass_has_the_threads_that_were_asked_for(cls, n_jobs, monkeypatch):
    seen = []

    def watched(sums):
        def sum_of(self, part):
            seen.append(part.n_jobs)
            return sums(self, part)

        return sum_of

    for statistic in (RowCount, Gradient, MappedGram, ScoreCounts, ScoreProducts):
        monkeypatch.setattr(statistic, "sum", watched(statistic.sum))
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    seeded(cls, X, X @ [1.0, 2.0], epsilon=5.0, n_jobs=n_jobs)
    # X'X twice, nine gradients, and counts and products of scores; a linear model has four
    # gradients, X'X and counts before, to look for bends, and seven gradients after.
    assert seen == [n_jobs] * (16 if cls is PrivateLinearRegression else 13)
