"""What a fit lets out, beside what it held back: every release is caught on its way.

`caught` runs fits with the real noise and keeps both; `replayed` runs a fit in which every release
is answered from an earlier fit's transcript, as if the noise had happened to make up the
difference. Under a replay two tables walk through the same rounds, so their exact statistics
can be compared round by round, and what the model is then may not differ at all.
"""

import contextlib
import copy
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from dpfit.release import Publisher

GRAM, EIGENVALUE = "X'X", "smallest eigenvalue of X'X"
GRADIENT, EXAMPLES, COUNT = "X'g", "sum of clipped gradients", "number of rows"
ENERGY, TARGET = "sum of squared residuals", "histogram of the target"

FALSE_ALARMS = 2e-9
"""Of one check. There are fewer than 300 in tests/privacy: less than 1e-6 a run."""


def features_histogram(count):
    """Return the name of the histograms of so many features."""
    return "histogram of a feature" if count == 1 else f"histograms of {count} features"


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


def one(statistic, exact, numbers):
    """Return how the only release of a method is told: name, exact numbers, noisy ones."""

    def parts(arguments, answer):
        return [(statistic, exact(*arguments), np.array(numbers(answer), dtype=np.float64))]

    return parts


def histogram_parts(arguments, answer):
    """Tell the features' counts from the target's, which has noise of its own."""
    histogram, lengths, _ = arguments
    exact = integers(histogram.insecure_exact(), 1.0)
    noisy = np.concatenate([part for part in answer[0] if part is not None])
    end = len(exact) - lengths[-1]
    counted = sum(length > 0 for length in lengths[:-1])
    found = []
    if counted:
        found.append((features_histogram(counted), exact[:end], noisy[:end]))
    if lengths[-1]:
        found.append((TARGET, exact[end:], noisy[end:]))
    return found


# For every method of the publisher: what it releases, as (name, exact, noisy). Exact values are in
# units that are worked out here and not asked of the publisher.
METHODS = {
    "gram": one(
        GRAM,
        lambda gram, mu, bound: integers(gram.insecure_exact(), bound**2 * 2.0**-30),
        lambda answer: upper(answer[0]),
    ),
    "smallest_eigenvalue": one(
        EIGENVALUE,
        lambda gram, mu, bound: integers(
            [gram.insecure_smallest_eigenvalue()], bound**2 * 2.0**-30
        ),
        lambda answer: [answer[0]],
    ),
    "gradient": one(
        GRADIENT,
        lambda gradient, tau, mu, bound, unit: integers(
            gradient.insecure_exact(), bound * 2.0**-15 * unit
        ),
        lambda answer: answer[0],
    ),
    "example_gradient": one(
        EXAMPLES,
        lambda gradient, mu, bound: integers(gradient.insecure_exact(), bound * 2.0**-24),
        lambda answer: answer,
    ),
    "energy": one(
        ENERGY,
        lambda energy, tau, mu, unit: integers([energy.insecure_exact()], unit**2),
        lambda answer: [answer[0]],
    ),
    "histograms": histogram_parts,
    "count": one(COUNT, lambda rows, mu: np.array([float(rows)]), lambda answer: [answer]),
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
        def release(self, *arguments):
            answer = method(self, *arguments)
            parts = METHODS[name](arguments, answer)
            found.extend(Released(*part, answer) for part in parts)
            return answer

        return release

    with _methods(wrapped):
        yield found


@contextlib.contextmanager
def replayed(transcript):
    """Yield a list as `caught` does, with the answers of an earlier one."""
    found = []

    def wrapped(name, method):
        def release(self, *arguments):
            method(self, *arguments)  # for its event
            answer = copy.deepcopy(transcript[len(found)].answer)
            for statistic, exact, noisy in METHODS[name](arguments, answer):
                assert transcript[len(found)].statistic == statistic
                found.append(Released(statistic, exact, noisy, answer))
            return answer

        return release

    with _methods(wrapped):
        yield found
    assert len(found) == len(transcript)


def fitted(estimator, X, y, **options):
    """Fit and return what was let out."""
    with caught() as found:
        estimator.fit(X, y, **options)
    return found


def claims(record):
    """Return the event of every release, in the order of the releases."""
    return [event for event in record.events for _ in range(event.count)]


def sigmas(record):
    """Return the standard deviation that the record claims for every statistic."""
    found = {}
    for event in record.events:
        assert event.statistic not in found
        found[event.statistic] = event.sigma
    return found


def variance_is(noise, sigma, grid=0.0):
    """Whether noise has the variance it should have: neither less nor more.

    Noise is normal, so the sum of its squares is χ² exactly; of the samples that are right, a
    share of `FALSE_ALARMS` is called wrong. Rounding to a grid adds grid²/12, to far more digits
    than matter where sigma is a few steps or more.
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
    alarm.
    """
    count, width = columns.shape
    pairs = width * (width - 1) // 2
    correlations = np.abs(np.corrcoef(columns.T)[np.triu_indices(width, 1)])
    r = float(correlations.max())
    t = r * math.sqrt((count - 2) / (1.0 - r**2)) if r < 1.0 else math.inf
    return bool(2 * stats.t.sf(t, count - 2) * pairs > FALSE_ALARMS)
