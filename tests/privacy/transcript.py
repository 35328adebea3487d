"""What a fit lets out, beside what it held back: every release is caught on its way.

`caught` runs fits with the real noise and keeps both; `replayed` runs a fit in which every release
is answered from an earlier fit's transcript, as if the noise had happened to make up the
difference. Under a replay two tables walk through the same rounds, so their exact statistics
can be compared round by round, and what the model is then may not differ at all.
"""

import contextlib
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from dpfit.release import Publisher

GRAM, EIGENVALUE = "X'X", "smallest eigenvalue of X'X"
GRADIENT, EXAMPLES, COUNT = "X'g", "sum of clipped gradients", "number of rows"
ENERGY, HISTOGRAM = "sum of squared residuals", "histograms of 3 columns"

FALSE_ALARMS = 1e-8
"""Of one check. There are fewer than a hundred in tests/privacy: less than 1e-6 a run."""


@dataclass(frozen=True)
class Released:
    """One release: the statistic in the user's units, before and after noise."""

    statistic: str
    exact: np.ndarray
    noisy: np.ndarray
    answer: object

    @property
    def noise(self):
        return self.noisy - self.exact


def upper(matrix):
    return matrix[np.triu_indices(len(matrix))]


def isometric(features):
    """Return the weights of the upper triangle that make its Euclidean norm Frobenius's."""
    rows, columns = np.triu_indices(features)
    return np.where(rows == columns, 1.0, math.sqrt(2.0))


def integers(values, unit):
    return np.array([float(value) for value in values]) * unit


# For every method of the publisher: the statistic's name; its exact value, in units that are
# worked out here and not asked of the publisher; the numbers in the answer.
METHODS = {
    "gram": (
        GRAM,
        lambda gram, mu, bound: integers(gram.insecure_exact(), bound**2 * 2.0**-30),
        lambda answer: upper(answer[0]),
    ),
    "smallest_eigenvalue": (
        EIGENVALUE,
        lambda gram, mu, bound: integers(
            [gram.insecure_smallest_eigenvalue()], bound**2 * 2.0**-30
        ),
        lambda answer: np.array([answer[0]]),
    ),
    "gradient": (
        GRADIENT,
        lambda gradient, tau, mu, bound, unit: integers(
            gradient.insecure_exact(), bound * 2.0**-15 * unit
        ),
        np.asarray,
    ),
    "example_gradient": (
        EXAMPLES,
        lambda gradient, mu, bound: integers(gradient.insecure_exact(), bound * 2.0**-24),
        np.asarray,
    ),
    "energy": (
        ENERGY,
        lambda energy, tau, mu, unit: integers([energy.insecure_exact()], unit**2),
        lambda answer: np.array([answer[0]]),
    ),
    "histogram": (
        HISTOGRAM,
        lambda histogram, mu: integers(histogram.insecure_exact(), 1.0),
        lambda answer: np.asarray(answer[0]),
    ),
    "count": (COUNT, lambda rows, mu: np.array([float(rows)]), lambda answer: np.array([answer])),
}


@contextlib.contextmanager
def _methods(wrapped):
    with pytest.MonkeyPatch.context() as patch:
        for name in METHODS:
            patch.setattr(Publisher, name, wrapped(name, getattr(Publisher, name)))
        yield


@contextlib.contextmanager
def caught():
    """Yield a list to which every release is added."""
    found = []

    def wrapped(name, method):
        statistic, exact, numbers = METHODS[name]

        def release(self, *arguments):
            answer = method(self, *arguments)
            before = exact(*arguments)
            found.append(Released(statistic, before, numbers(answer).copy(), answer))
            return answer

        return release

    with _methods(wrapped):
        yield found


@contextlib.contextmanager
def replayed(transcript):
    """Yield a list as `caught` does, with the answers of an earlier one."""
    found = []

    def wrapped(name, method):
        statistic, exact, _ = METHODS[name]

        def release(self, *arguments):
            method(self, *arguments)  # for its event
            earlier = transcript[len(found)]
            assert earlier.statistic == statistic
            found.append(
                Released(statistic, exact(*arguments), earlier.noisy, answer=earlier.answer)
            )
            return earlier.answer

        return release

    with _methods(wrapped):
        yield found
    assert len(found) == len(transcript)


def fitted(estimator, X, y):
    """Fit and return what was let out."""
    with caught() as found:
        estimator.fit(X, y)
    return found


def sigmas(record):
    """Return the standard deviation that the record claims for every statistic."""
    found = {}
    for event in record.events:
        assert event.statistic not in found
        found[event.statistic] = event.sigma
    return found


def variance_is(noise, sigma, grid=0.0):
    """Whether noise has the variance it should have: neither less nor more.

    Noise is normal, so the sum of its squares is χ² exactly; one sample in 1e8 that is right is
    called wrong. Rounding to a grid adds grid²/12, to far more digits than matter
    where sigma is a few steps or more.
    """
    noise = np.ravel(noise)
    variance = sigma**2 + grid**2 / 12.0
    statistic = float((noise**2).sum() / variance)
    less, more = stats.chi2.cdf(statistic, noise.size), stats.chi2.sf(statistic, noise.size)
    return bool(min(less, more) > FALSE_ALARMS / 2)


def mean_is_zero(noise, sigma):
    """Whether the mean is what chance allows; false alarms as above."""
    noise = np.ravel(noise)
    distance = abs(float(noise.sum())) / (sigma * math.sqrt(noise.size))
    return bool(2 * stats.norm.sf(distance) > FALSE_ALARMS)


def largest_correlation_is_chance(columns):
    """Whether no two columns of normal numbers go together.

    A correlation of independent normals gives Student's t exactly; all pairs share one false
    alarm in 1e8.
    """
    count, width = columns.shape
    pairs = width * (width - 1) // 2
    correlations = np.abs(np.corrcoef(columns.T)[np.triu_indices(width, 1)])
    r = float(correlations.max())
    t = r * math.sqrt((count - 2) / (1.0 - r**2)) if r < 1.0 else math.inf
    return bool(2 * stats.t.sf(t, count - 2) * pairs > FALSE_ALARMS)
