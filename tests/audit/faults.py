"""Estimators with the faults that public code has had, and honest ones beside them."""

import dataclasses

import numpy as np

from dpfit import AdaSSP, _native
from dpfit.estimator import PrivateRegressor
from dpfit.statistics import RowCount, Statistic, Table


class Mean:
    """A private sum of clipped targets, which claims mu; without scikit-learn and without dpfit."""

    bound = 1.0

    def __init__(self, mu=0.25, rounds=1):
        self.mu, self.rounds = mu, rounds

    def sigma(self):
        return self.bound * np.sqrt(self.rounds) / self.mu

    def noise(self, rng):
        return rng.normal(scale=self.sigma(), size=self.rounds)

    def read(self, y):
        return np.clip(y, -self.bound, self.bound)

    def fit(self, X, y):
        noise = self.noise(np.random.default_rng())
        self.sum_ = float(np.mean(self.read(np.asarray(y)).sum() + noise))
        return self


class MuAsSigma(Mean):
    def sigma(self):
        return self.mu


class RoundsNotComposed(Mean):
    def __init__(self, mu=0.25, rounds=200):
        super().__init__(mu, rounds)

    def sigma(self):
        return self.bound / self.mu


class BoundIgnored(Mean):
    def read(self, y):
        return y


class SeedLeftIn(Mean):
    def noise(self, rng):
        return super().noise(np.random.default_rng(1))


class NoiseOfTheClass(Mean):
    kept = None

    def noise(self, rng):
        if type(self).kept is None:
            type(self).kept = super().noise(rng)
        return type(self).kept


class NoiseOfTheObject(Mean):
    def noise(self, rng):
        if not hasattr(self, "_kept"):
            self._kept = super().noise(rng)
        return self._kept


class ScaledByItsLargest(Mean):
    """One row changes how the others are read."""

    def read(self, y):
        return y / np.abs(y).max()


class Laplace(Mean):
    """A sum with Laplace noise, which claims epsilon."""

    def __init__(self, epsilon=0.25):
        self.epsilon = epsilon

    def scale(self):
        return self.bound / self.epsilon

    def noise(self, rng):
        return rng.laplace(scale=self.scale(), size=1)


class LaplaceInverted(Laplace):
    def scale(self):
        return self.epsilon / self.bound


FAULTY = [
    MuAsSigma,
    RoundsNotComposed,
    BoundIgnored,
    SeedLeftIn,
    NoiseOfTheClass,
    NoiseOfTheObject,
    ScaledByItsLargest,
    LaplaceInverted,
]


class Total:
    """Exact sums as the core has them."""

    def __init__(self, values):
        self._values = [int(value) for value in values]

    def insecure_exact(self):
        return self._values

    def release(self, sigma, entropy, *, n_jobs=None):
        noise = _native.rounded_gaussian(sigma, len(self._values), entropy)
        return np.array([float(v + n) for v, n in zip(self._values, noise, strict=True)])


class RowSum(Statistic):
    """The sum of rows, clipped in floating point to norm one and then put on a grid."""

    name = "sum of rows"
    native = Total
    clips = True
    to_grid = staticmethod(np.trunc)

    def sum(self, part):
        ((X, _),) = part
        norms = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0) if self.clips else 1.0
        return Total(self.to_grid(X / norms * 2.0**15).sum(axis=0))

    def sensitivity(self, relation):
        return 2.0**15 * relation.rows

    def noisy(self, total, noise):
        return total.release(noise.sigma, noise.entropy, n_jobs=noise.n_jobs) * 2.0**-15


class AboveTheBound(RowSum):
    to_grid = staticmethod(np.rint)


class NotClipped(RowSum):
    clips = False


class Sum(PrivateRegressor):
    """Releases the sum of rows, through the releaser."""

    statistic = RowSum

    def __init__(
        self,
        epsilon=None,
        delta=None,
        *,
        mu=None,
        neighbors="add_remove",
        n_jobs=None,
        random_state=None,
    ):
        self.epsilon, self.delta, self.mu = epsilon, delta, mu
        self.neighbors, self.n_jobs, self.random_state = neighbors, n_jobs, random_state

    def _fit(self, X, y, spend, releaser):
        table = Table.of(X, y)
        self.coef_ = releaser.release(table, self.statistic(), spend.mu).value
        return self._more(X, table, spend, releaser)

    def _more(self, X, table, spend, releaser):
        return ()


class FloatClipping(Sum):
    statistic = AboveTheBound


class NoClipping(Sum):
    statistic = NotClipped


class ManyReleases(Sum):
    """Rounds that are not composed, and of which the record knows one."""

    def _more(self, X, table, spend, releaser):
        for _ in range(8):
            releaser.release(table, RowSum(), spend.mu)
        releaser._events[0] = dataclasses.replace(releaser._events[0], count=1)
        return ()


class ExactAttribute(Sum):
    """An attribute that was not released."""

    def _more(self, X, table, spend, releaser):
        self.largest_ = float(np.abs(X).max())
        return ()


class DecidesByData(Sum):
    """Whether there is a second release depends on the rows."""

    def _more(self, X, table, spend, releaser):
        if np.abs(X).max() > 100.0:
            releaser.release(table, RowCount(), 1e-9)
            releaser._events.pop()
        return ()


class ScaledRows(AdaSSP):
    """One row changes how the others are read."""

    def _fit(self, X, y, spend, releaser):
        return super()._fit(X / np.abs(X).max(), y, spend, releaser)


FAULTY_TRANSCRIPTS = [
    (FloatClipping, "more than its noise allows"),
    (NoClipping, "more than its noise allows"),
    (ManyReleases, "above the claim"),
    (ExactAttribute, "largest_ does not follow"),
    (DecidesByData, "different releases"),
]


def row_above_the_bound():
    """Return a row whose norm is above the bound after rounding to the nearest integers."""
    rng = np.random.default_rng(3)
    while True:
        row = rng.normal(size=3)
        q = np.rint(row / np.linalg.norm(row) * 2.0**15)
        if q @ q > 2.0**30:
            return 1e3 * row
