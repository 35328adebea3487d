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

from dpfit.models.calibration import PredictionHistogram
from dpfit.release import Releaser
from dpfit.statistics import (
    ClippedGradients,
    Gradient,
    Gram,
    Histograms,
    MappedGram,
    ResidualCounts,
    ResidualSums,
    RowCount,
    ScoreCounts,
    ScoreProducts,
    SmallestEigenvalue,
    SquaredResiduals,
    WeightedCounts,
    WeightedPredictions,
    WeightedSquares,
    WeightedSums,
    WeightedTotal,
    WeightSum,
)

GRAM, EIGENVALUE = "X'X", "smallest eigenvalue of X'X"
GRADIENT, EXAMPLES, COUNT = "X'g", "sum of clipped gradients", "number of rows"
ENERGY, TARGET = "sum of squared residuals", "histogram of the target"
MAPPED, RESIDUALS = "X'X of mapped rows", "histogram of residuals"
SCORES, PRODUCTS = "histogram of scores", "products of scores"
SUMS, PREDICTIONS = "sums of residuals", "histogram of predictions"
WEIGHTS = "sum of weights"

FALSE_ALARMS = 2e-9
"""Of one check. There are fewer than 300 in tests/privacy: less than 1e-6 a run."""


def features_histogram(count):
    """Return the name of the histograms of so many features."""
    return "histogram of a feature" if count == 1 else f"histograms of {count} features"


@dataclass(frozen=True)
class Released:
    """One release: the statistic in the user's units, before and after noise of size `sigma`."""

    statistic: str
    exact: np.ndarray
    noisy: np.ndarray
    sigma: float
    answer: object

    @property
    def noise(self):
        return self.noisy - self.exact

    def in_norm(self, values):
        """Return values like `exact` so that their Euclidean norm is that of the sensitivity."""
        if self.statistic not in (GRAM, MAPPED, PRODUCTS):
            return values
        return values * isometric(math.isqrt(2 * len(values)))


def upper(matrix):
    return matrix[np.triu_indices(len(matrix))]


def isometric(features):
    """Return the weights of the upper triangle that make its Euclidean norm Frobenius's."""
    rows, columns = np.triu_indices(features)
    return np.where(rows == columns, 1.0, math.sqrt(2.0))


def shift(reach):
    """Return by how many bits a score is shifted, so that the largest fits into 15 bits."""
    return next(bits for bits in range(48) if reach <= 32767 << bits)


def integers(values, unit):
    return np.array([float(value) for value in values]) * unit


def one(name, exact, numbers=lambda value: [value]):
    """Return how the only component of a statistic is told: name, exact numbers, noisy ones."""

    def parts(statistic, total, value):
        return [(name, exact(statistic, total), np.array(numbers(value), dtype=np.float64))]

    return parts


def histogram_parts(statistic, total, value):
    """Tell the features' counts from the target's, which has noise of its own."""
    exact = integers(total.insecure_exact(), 1.0)
    noisy = np.concatenate([part for part in value if part is not None])
    *features, target = (part is not None for part in value)
    end = len(exact) - (len(value[-1]) if target else 0)
    found = []
    if any(features):
        found.append((features_histogram(sum(features)), exact[:end], noisy[:end]))
    if target:
        found.append((TARGET, exact[end:], noisy[end:]))
    return found


def weighted(cls, unit=lambda statistic: 1.0):
    """Return how a weighted sum is told: in multiples of the largest weight."""

    def exact(statistic, total):
        return integers(total.insecure_exact(), unit(statistic) / statistic.weights[1])

    return one(cls.name, exact, lambda value: value)


# For every statistic: what is released, as (name, exact, noisy). Exact values are in public
# numbers that are worked out here and not asked of the statistic.
STATISTICS = {
    Gram: one(
        GRAM,
        lambda s, total: integers(total.insecure_exact(), s.row_map.scale.bound**2 * 2.0**-30),
        upper,
    ),
    MappedGram: one(MAPPED, lambda s, total: integers(total.insecure_exact(), 2.0**-30), upper),
    SmallestEigenvalue: one(
        EIGENVALUE,
        lambda s, total: integers(
            [total.insecure_smallest_eigenvalue()], s.row_map.scale.bound**2 * 2.0**-30
        ),
    ),
    Gradient: one(
        GRADIENT,
        lambda s, total: integers(total.insecure_exact(), s.scale.bound * 2.0**-15 * s.scale.step),
        lambda value: value,
    ),
    ClippedGradients: one(
        EXAMPLES,
        lambda s, total: integers(total.insecure_exact(), s.bound * 2.0**-24),
        lambda value: value,
    ),
    SquaredResiduals: one(
        ENERGY, lambda s, total: integers([total.insecure_exact()], s.scale.step**2)
    ),
    Histograms: histogram_parts,
    PredictionHistogram: one(
        PREDICTIONS, lambda s, total: integers(total.insecure_exact(), 1.0), lambda value: value[0]
    ),
    ResidualCounts: one(
        RESIDUALS, lambda s, total: integers(total.insecure_exact(), 1.0), lambda value: value
    ),
    ScoreCounts: one(
        SCORES, lambda s, total: integers(total.insecure_exact(), 1.0), lambda value: value
    ),
    ScoreProducts: one(
        PRODUCTS,
        lambda s, total: integers(
            total.insecure_exact(),
            (s.scale.bound * 2.0**-15 * s.scale.step * 2.0 ** shift(s.reach)) ** 2,
        ),
        upper,
    ),
    ResidualSums: one(
        SUMS, lambda s, total: integers(total.insecure_exact(), s.scale.step), np.concatenate
    ),
    WeightSum: one(
        WEIGHTS,
        lambda s, total: integers(total.insecure_exact(), 2.0**-30 / (1.0 - 2.0**-20)),
    ),
    WeightedCounts: weighted(WeightedCounts),
    WeightedPredictions: weighted(WeightedPredictions),
    WeightedTotal: weighted(WeightedTotal),
    WeightedSums: weighted(WeightedSums, lambda statistic: statistic.scale.step),
    WeightedSquares: weighted(WeightedSquares, lambda statistic: statistic.scale.step**2),
    RowCount: one(COUNT, lambda s, total: np.array([float(total.insecure_exact())])),
}


@contextlib.contextmanager
def _releases(answered):
    """Let `answered` say what a release returns; yield a list to which every release is added."""
    found, method = [], Releaser.release

    def release(self, table, statistic, *mus):
        answer = answered(method(self, table, statistic, *mus), found)
        total = table.sum(statistic)
        parts = STATISTICS[type(statistic)](statistic, total, answer.value)
        for part, sigma in zip(parts, answer.sigmas, strict=True):
            found.append(Released(*part, sigma, answer))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Releaser, "release", release)
        yield found


@contextlib.contextmanager
def caught():
    """Yield a list to which every release is added."""
    with _releases(lambda answer, found: answer) as found:
        yield found


@contextlib.contextmanager
def replayed(transcript):
    """Yield a list as `caught` does, with the answers of an earlier one."""
    # The release itself is made for its event.
    with _releases(lambda _, found: copy.deepcopy(transcript[len(found)].answer)) as found:
        yield found
    assert [part.statistic for part in found] == [part.statistic for part in transcript]


def fitted(estimator, X, y, **options):
    """Fit and return what was let out."""
    with caught() as found:
        estimator.fit(X, y, **options)
    return found


def claims(record):
    """Return the event of every release, in the order of the releases."""
    return [event for event in record.events for _ in range(event.count)]


def largest_share(first, second, record):
    """Return how far neighbours are apart in a release, as a share of what the record claims.

    Assert that they are nowhere further apart, and that the noise is enough for how far they are:
    the mu that a release has is at most the claimed one.
    """
    largest = 0.0
    for a, b, event in zip(first, second, claims(record), strict=True):
        assert a.statistic == b.statistic == event.statistic
        moved = float(np.linalg.norm(a.in_norm(a.exact - b.exact)))
        assert moved <= event.sensitivity * (1.0 + 1e-12), a.statistic
        assert moved <= event.mu * a.sigma * (1.0 + 1e-12), a.statistic
        largest = max(largest, moved / event.sensitivity)
    return largest


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
