"""`n_jobs` reaches every pass over the rows."""

import numpy as np
import pytest

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.table import BatchTable

from .tables import seeded


class Watched:
    """Stored rows that remember how many threads each pass was given."""

    def __init__(self, rows, seen):
        self.rows, self.seen = rows, seen

    def gradient(self, theta, tau, *, n_jobs):
        self.seen.append(n_jobs)
        return self.rows.gradient(theta, tau, n_jobs=n_jobs)

    def energy(self, theta, tau, *, n_jobs):
        self.seen.append(n_jobs)
        return self.rows.energy(theta, tau, n_jobs=n_jobs)


@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_every_pass_has_the_threads_that_were_asked_for(cls, n_jobs, monkeypatch):
    seen = []
    store = BatchTable.store

    def watched(self, row_map):
        rows, gram = store(self, row_map)
        return Watched(rows, seen), gram

    monkeypatch.setattr(BatchTable, "store", watched)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    seeded(cls, X, X @ [1.0, 2.0], epsilon=5.0, n_jobs=n_jobs)
    assert seen == [n_jobs] * 16
