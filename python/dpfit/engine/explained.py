"""How much of the target's variance a model explains, and how sure that is.

Two sums of squares are released: of the residuals of the final model, and of the target's distance
from its mean. Both are clipped; counts that were released before say where, and what clipping
loses. What the model explains also follows from its coefficients and X'X, without another release.
The three have to agree: the variance of the target is that of the residuals and what is explained.
They are reconciled by their errors (least squares under this constraint), so that the most precise
of them count most: for a model that explains little, that is what its coefficients say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfit._typing import Floats
from dpfit.accounting import per_round
from dpfit.engine.estimate import Estimate
from dpfit.engine.stage import Stage
from dpfit.engine.threshold import EDGES, Tails
from dpfit.engine.whitening import Coordinates
from dpfit.release import Released

__all__ = ["THRESHOLDS", "Explained", "Sizes", "explained"]

# A bin has rows if its count is above so many standard deviations of its noise: the second number
# is for bins beyond all that the marginal of the target shows, where a bin of noise does most harm.
_VISIBLE = 3.0, 5.0
# Beyond the last bin that is seen, counts fall from bin to bin as they did before it, by a factor
# between these. If they fell by a half only, each bin would add as much to the sum of squares as
# the one before.
_FALLS = 0.1, 0.5
# Beyond the largest distance that the marginal of the target shows, they fall by this factor.
_BEYOND = 0.35
# What is expected of the rows that the noise may hide, and its standard error, as shares of their
# number: there may be none, or more.
_HIDDEN, _HIDDEN_ERROR = 0.5, 0.75
# What clipping loses is known up to this share: where in a bin the rows are is not counted.
_BINNED = 0.25
# What is explained by X'X is off by this share, because long rows are weighted down.
_WEIGHTED = 0.15
# With a larger standard error, nothing is known about R-squared; nor if the variance of the target
# is not so many of its own errors above zero.
_MOST_ERROR = 0.25
_SURE = 3.0
# Counts that show a smaller share of the rows say nothing about the others.
_ENOUGH = 0.5
# Thresholds to choose from, in half-widths of the target's range.
THRESHOLDS: Floats = 2.0 ** (np.arange(-32, 25) / 4)


@dataclass(frozen=True)
class Explained:
    """The variance of residuals, and the share of the target's variance that is explained.

    Parameters
    ----------
    residual : float
        The mean of squared residuals.
    r_squared, error : float
        The share that is explained, and its standard error as a statement about these rows.
    predicted : float
        The variance of predictions by X'X alone.
    """

    residual: float
    r_squared: float
    error: float
    predicted: float

    @property
    def is_known(self) -> bool:
        """Whether the standard error is small enough for the number to mean something."""
        return self.error <= _MOST_ERROR


@dataclass(frozen=True, eq=False)
class Sizes:
    """How many rows have residuals of which size, as far as it is known.

    Parameters
    ----------
    sizes : array
        Sizes.
    rows : array
        How many rows are of each size.
    errors : array
        The standard errors of these numbers.
    hidden : array
        How many more rows of each size the noise may hide.
    """

    sizes: Floats
    rows: Floats
    errors: Floats
    hidden: Floats

    @classmethod
    def by_scores(cls, counts: Released[Floats], longest: float) -> Sizes:
        """Return the sizes by counts of signed scores in the bins of :data:`EDGES`.

        Few residuals are larger than `longest`, by the target's marginal.
        """
        middle = len(EDGES)
        both = np.append(
            counts.value[middle], counts.value[middle + 1 :] + counts.value[:middle][::-1]
        )
        sigma = math.sqrt(2.0) * counts.sigma
        ends = np.concatenate([[0.0], EDGES, [math.sqrt(2.0) * EDGES[-1]]])
        sizes = np.sqrt((ends[1:] ** 2 + ends[1:] * ends[:-1] + ends[:-1] ** 2) / 3.0)
        seen = np.flatnonzero(both > np.where(ends[:-1] < longest, *_VISIBLE) * sigma)
        last = int(seen[-1]) if seen.size else 0
        further = np.arange(len(both)) - last
        falls = float(np.clip(both[last] / max(float(both[max(last - 1, 0)]), sigma), *_FALLS))
        most = max(float(both[last]), sigma) * falls ** np.maximum(further, 0)
        hidden = np.where(further > 0, np.minimum(most, sigma), 0.0)
        hidden *= _BEYOND ** np.maximum(np.log2(ends[:-1] / longest + 1e-300) * 2.0, 0.0)
        return cls(
            sizes,
            np.where(further <= 0, both, 0.0),
            np.where(further <= 0, sigma, 0.0),
            hidden,
        )

    @classmethod
    def by_tails(cls, tails: Tails, rows: float) -> Sizes:
        """Return the sizes of the target's distance from its mean, by its marginal."""
        # Each further size is the root of two times the one before.
        powers = np.arange(1, 13)
        further = tails.longest * math.sqrt(2.0) ** powers
        shares = float(tails.hidden_shares.max()) * _BEYOND**powers
        sizes = np.concatenate([tails.sizes, tails.hidden_sizes, further])
        seen = np.zeros(len(sizes))
        seen[: len(tails.sizes)] = rows * tails.shares
        hidden = np.zeros(len(sizes))
        hidden[len(tails.sizes) :] = rows * np.concatenate([tails.hidden_shares, shares])
        return cls(sizes, seen, np.zeros(len(sizes)), hidden)

    def lost(self, taus: Floats) -> tuple[Floats, Floats]:
        """Return what sums of squares clipped at these thresholds lose, and the errors of that."""
        beyond = np.maximum(np.square(self.sizes) - np.square(taus)[:, None], 0.0)
        seen, hidden = np.maximum(beyond @ self.rows, 0.0), beyond @ self.hidden
        unsure = np.square(beyond) @ np.square(self.errors)
        error = np.sqrt(unsure + np.square(_HIDDEN_ERROR * hidden) + np.square(_BINNED * seen))
        return seen + _HIDDEN * hidden, error

    def threshold(self, sigma: float) -> float:
        """Return where to clip; the noise has the standard deviation `sigma` for one."""
        errors = np.hypot(sigma * np.square(THRESHOLDS), self.lost(THRESHOLDS)[1])
        return float(THRESHOLDS[int(errors.argmin())])


def explained(stage: Stage, estimate: Estimate, mu: float) -> Explained:
    """Release how much of the target's variance a model explains.

    Parameters
    ----------
    stage : Stage
        Holds the rows that the model was fitted to.
    estimate : Estimate
        The model.
    mu : float
        The budget.

    Privacy
    -------
    Two releases, which compose to mu. Everything else is a function of released numbers.
    """
    assert estimate.counts is not None
    assert estimate.coordinates is not None
    mu_each = per_round(mu, 2)
    basis, tails = estimate.basis, stage.tails
    mean = _mean_prediction(_with_constant(estimate.coordinates), estimate.coefficients)
    of_target = Sizes.by_tails(tails, stage.rows)
    of_residuals = Sizes.by_scores(estimate.counts, tails.longest)
    if of_residuals.rows.sum() < _ENOUGH * stage.rows:
        # As of a model that explains nothing.
        of_residuals = of_target
    residual = _squares(stage, basis.mapped(estimate.coefficients), of_residuals, mu_each)
    constant = np.zeros(len(basis.functions))
    constant[0] = mean
    whole = _squares(stage, basis.mapped(constant), of_target, mu_each)
    return _reconciled(residual, whole, _by_coefficients(estimate))


def _with_constant(coordinates: Coordinates) -> Floats:
    """Return the mean products of functions with the first, the constant."""
    first = np.zeros(len(coordinates.matrix))
    first[0] = 1.0
    return coordinates.moments_with(first)


def _mean_prediction(moments: Floats, coefficients: Floats) -> float:
    """Return the mean of predictions, by mean products of functions with the constant.

    It is zero if the noise hides all of X'X. Zero is the mean of the target by its marginal, and no
    target is more than two half-widths of its range away from it.
    """
    if not moments[0] > 0.0:
        return 0.0
    return float(np.clip(moments @ coefficients / moments[0], -2.0, 2.0))


def _squares(stage: Stage, theta: Floats, sizes: Sizes, mu: float) -> tuple[float, float]:
    """Release the mean of squared residuals; return it with its error.

    Privacy
    -------
    One release, which is mu-GDP.
    """
    tau = sizes.threshold(stage.rows_per_unit / mu)
    found = stage.squared_residuals(theta, tau, mu)
    (lost,), (unsure,) = sizes.lost(np.array([tau]))
    return (found.value + lost) / stage.rows, math.hypot(found.sigma, unsure) / stage.rows


def _by_coefficients(estimate: Estimate) -> tuple[float, float]:
    """Return the variance of predictions, by X'X, and its error.

    Shrunk coefficients are what is expected of the true ones, so residuals are not correlated with
    predictions, except by the noise of coefficients.
    """
    assert estimate.coordinates is not None
    found, constant = estimate.coordinates, _with_constant(estimate.coordinates)
    means = constant / constant[0]
    slopes = found.moments_with(estimate.coefficients) / constant[0]
    slopes -= means * (means @ estimate.coefficients)
    value = float(estimate.coefficients @ slopes)
    noise = 2.0 * math.sqrt(max(float(slopes @ estimate.covariance.private @ slopes), 0.0))
    # The noise of X'X: `slack` is what it can hide, half of its spectral norm.
    own = np.square(found.inverse @ estimate.coefficients)
    of_gram = float(own @ found.slack) / math.sqrt(len(own) / 2.0)
    return max(value, 0.0), math.hypot(noise, of_gram, _WEIGHTED * value)


def _reconciled(
    residual: tuple[float, float], whole: tuple[float, float], predicted: tuple[float, float]
) -> Explained:
    """Return R-squared by three numbers, each with its error, that should add up."""
    values = np.array([residual[0], whole[0], predicted[0]])
    variances = np.square([residual[1], whole[1], predicted[1]])
    sums = np.array([1.0, -1.0, 1.0])
    total = float(variances.sum())
    gap = float(sums @ values)
    values = values - gap * variances * sums / total
    covariance = np.diag(variances) - np.outer(variances * sums, variances * sums) / total
    # If they contradict each other, their errors were too small.
    covariance *= max(gap**2 / total, 1.0)
    left, all_of_it = max(float(values[0]), 0.0), max(float(values[1]), 1e-12)
    slopes = np.array([1.0, -left / all_of_it, 0.0]) / all_of_it
    error = math.sqrt(max(float(slopes @ covariance @ slopes), 0.0))
    if all_of_it < _SURE * math.sqrt(covariance[1, 1]):
        error = math.inf
    return Explained(left, 1.0 - left / all_of_it, error, predicted[0])
