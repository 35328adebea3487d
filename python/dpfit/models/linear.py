"""PrivateLinearRegression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfit._typing import Floats, Missing, Neighbors
from dpfit.engine.strategy import Lines
from dpfit.engine.task import Fitted
from dpfit.models.base import FittedAttribute, PrivateModel
from dpfit.models.coefficients import CoefficientErrors
from dpfit.models.effects import Effect, Levels, Line, NoEffect
from dpfit.models.model import Assembled
from dpfit.models.plots import plot_coefficients
from dpfit.models.summary import Summary, linear_summary
from dpfit.schema import Kind, Schema, terms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PrivateLinearRegression"]


class PrivateLinearRegression(PrivateModel):
    """Differentially private linear regression that needs no bounds and no tuning.

    Parameters
    ----------
    epsilon, delta : float or None
        The privacy budget; 1 and 1e-6 if neither these nor `mu` are given.
    mu : float or None
        The privacy budget in terms of Gaussian DP, instead of `epsilon` and `delta`.
    schema : Schema or None
        Public knowledge about columns: bounds, binary columns, levels. Ranges of other columns are
        found privately.
    neighbors : {"add_remove", "replace"}, default "add_remove"
        Whether neighbouring tables differ by adding or removing a row, or by replacing one.
    max_rows : int or None
        The number of rows to keep of each unit; for use with ``fit(..., unit=...)``.
    max_weight : float or None
        A public upper bound on weights; for use with ``fit(..., sample_weight=...)``.
    missing : {"error", "drop"}, default "error"
        What to do with rows that contain NaN or infinity.
    n_jobs : int or None
        The number of threads; None for all available.
    verbose : bool, default False
        Whether to show progress on standard error.
    random_state : int, Generator, RandomState or None
        For tests only: with a seed, results are reproducible but not private.

    Attributes
    ----------
    coef_ : array of shape (n_terms,)
        Coefficients in the units of X and y. A term is a column of numbers, or a level of a
        categorical column. The effects of a column's levels sum to zero or, if there are rows
        whose level is not listed, are relative to those. A level that is too rare to be seen
        through the noise has the coefficient zero and no range.
    coef_names_ : list of str
        The terms: a column's name, or ``column=level``.
    intercept_ : float
        The constant term: ``predict(X) == X @ coef_ + intercept_`` within `feature_range_` and
        `prediction_range_`, with levels as zero-one columns.
    feature_range_ : array of shape (n_terms, 2)
        The range of each line; `predict` clips values to it.
    coef_noise_, coef_sampling_ : arrays of shape (n_terms + 1, n_terms + 1)
        Covariances of the coefficients and, last, the intercept: from privacy noise, and from the
        rows being a sample. `coef_noise_` is infinite where nothing is known.
    coef_estimates_ : array of shape (n_terms + 1,)
        Estimates of the coefficients and, last, the intercept, before they were shrunk: what
        `summary` prints, and the centres of the intervals.
    target_range_ : tuple of two floats
        The range of most target values; infinite if the noise hides it.
    prediction_range_ : tuple of two floats
        What predictions are clipped to: `target_range_`, widened by its width at either end, and
        the public bounds of the target.
    residual_variance_ : float or None
        The variance of the residuals, estimated from clipped ones; None for a mean-only model.
    n_rows_ : float
        The number of rows (noisy).
    n_rounds_ : int
        The number of boosting rounds.
    status_ : {"full", "mean", "nothing"}
        What the data allowed. "mean": too few rows for slopes; all predictions are the mean of the
        target. "nothing": too few rows to find even the range of the target; predictions are noise.
    privacy_ : PrivacyRecord
        The releases of the fit and their privacy cost.
    model_ : Model
        All of the above as one immutable value.

    Notes
    -----
    Noisy histograms find the ranges of columns. The residuals of a first model show where lines
    should end. Rows are then mapped to uncorrelated coordinates of bounded norm, by a noisy X'X,
    and boosted with noisy gradients. The model is the average of the last rounds, shrunk by what
    the noise allows. The method is described in ``docs/method.md``.

    *Privacy.* All fitted attributes are computed from noisy releases that compose to the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfit import PrivateLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, size=(20_000, 2))
    >>> y = 3 * X[:, 0] - X[:, 1] + rng.normal(size=20_000)
    >>> model = PrivateLinearRegression(epsilon=1.0).fit(X, y)
    >>> bool(np.all(np.abs(model.coef_ - [3, -1]) < 0.2))
    True
    """

    coef_ = FittedAttribute(lambda model: model.coefficients.estimates[:-1])
    coef_names_ = FittedAttribute(lambda model: model.coefficients.names)
    feature_range_ = FittedAttribute(lambda model: model.coefficients.ranges)
    coef_noise_ = FittedAttribute(lambda model: model.coefficients.errors.noise)
    coef_sampling_ = FittedAttribute(lambda model: model.coefficients.errors.sampling)
    coef_estimates_ = FittedAttribute(lambda model: model.coefficients.errors.estimates)

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        schema: Schema | None = None,
        neighbors: Neighbors = "add_remove",
        max_rows: int | None = None,
        max_weight: float | None = None,
        missing: Missing = "error",
        n_jobs: int | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mu = mu
        self.schema = schema
        self.neighbors = neighbors
        self.max_rows = max_rows
        self.max_weight = max_weight
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _strategy(self, kinds: Sequence[Kind]) -> Lines:
        return Lines()

    def _assemble(self, fitted: Fitted, kinds: Sequence[Kind]) -> Assembled:
        return lines(fitted, kinds)

    def coef_interval(self, level: float = 0.95, *, sampling: bool = True) -> Floats:
        """Return confidence intervals of the coefficients and, last, the intercept.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level.
        sampling : bool, default True
            Whether to include sampling error. If True, the intervals are for the coefficients in
            the population that the rows are a sample of. If False, they are for the least-squares
            coefficients of these rows.

        Returns
        -------
        array of shape (n_terms + 1, 2)
            Lower and upper ends; NaN where nothing is known, as for levels that the noise hides
            and for all slopes of a mean-only model.

        Notes
        -----
        The intervals are centred at `coef_estimates_`, and not at `coef_`: predictions are better
        if estimates are shrunk, intervals are not. The sampling error is robust: it holds if the
        variance of the residuals depends on the columns. If the relation is not linear within
        `feature_range_`, the intervals are for the least-squares line of the columns, clipped to
        it. The clipping of rows that are far out and of large residuals can move a coefficient;
        ``docs/method.md`` says by how much.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        return self.model_.coefficients.interval(level, sampling=sampling)

    def summary(self, level: float = 0.95) -> Summary:
        """Return a summary table: text when printed, HTML in a notebook.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level of the intervals, which are those of :meth:`coef_interval`.

        Returns
        -------
        Summary
            Budget and fit, then coefficients with standard errors and confidence intervals.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        return linear_summary(self.model_, level)

    def plot_coefficients(self, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Plot the coefficients with confidence intervals; requires matplotlib.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level of the intervals, which are those of :meth:`coef_interval`.
        ax : matplotlib Axes, optional
            The axes to draw on; a new figure if None.

        Returns
        -------
        matplotlib Axes
            A dot for each term, the largest on top: the coefficient times half the width of its
            range, which is the change in prediction from the middle of the range to its end; for
            a level, its effect. Thick bars are intervals without sampling error, thin bars with it.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        return plot_coefficients(self.model_, level, ax)


def lines(fitted: Fitted, kinds: Sequence[Kind]) -> Assembled:
    """Convert the engine's result to a line for each column and an effect for each level."""
    estimate = fitted.estimate
    places = {term: place for place, term in enumerate(terms(kinds))}
    # Slopes and intercept as linear functions of the functions' coefficients.
    change = np.zeros((len(places) + 1, len(estimate.coefficients)))
    ranges: list[tuple[float, float] | None] = [None] * len(places)
    for i, function in enumerate(estimate.basis.functions):
        if function.column < 0:
            change[-1, i] = 1.0
        elif function.heights is None:
            level = function.level if kinds[function.column].levels else None
            place = places[function.column, level]
            change[place, i], ranges[place] = 1.0, (0.0, 1.0)
        else:
            knots = estimate.basis.columns[function.column].knots
            assert knots is not None
            place = places[function.column, None]
            rising = np.flatnonzero(np.diff(function.heights))
            first, last = int(rising[0]), int(rising[-1]) + 1
            ends = float(knots.places[first]), float(knots.places[last])
            slope = (function.heights[last] - function.heights[first]) / (ends[1] - ends[0])
            change[place, i], ranges[place] = slope, ends
            change[-1, i] = function.heights[first] - slope * ends[0]
    for column, level in estimate.levels.unseen:
        ranges[places[column, level]] = None
        change[places[column, level]] = 0.0
    for column, kind in enumerate(kinds):
        own = [places[column, i] for i in range(len(kind.levels)) if ranges[places[column, i]]]
        if own and column not in estimate.levels.unlisted:
            # The effects sum to zero; the intercept gets their mean.
            mean = change[own].mean(axis=0)
            change[own] -= mean
            change[-1] += mean
    change *= fitted.scale
    found = change @ estimate.coefficients
    found[-1] += fitted.centre
    effects: list[Effect] = []
    for column, kind in enumerate(kinds):
        if kind.levels:
            own = [places[column, level] for level in range(len(kind.levels))]
            seen = tuple(ranges[place] is not None for place in own)
            effects.append(Levels(kind.levels, tuple(found[own].tolist()), seen))
        elif line_ends := ranges[places[column, None]]:
            effects.append(Line(*line_ends, float(found[places[column, None]])))
        else:
            effects.append(NoEffect())
    return float(found[-1]), tuple(effects), _errors(fitted, kinds, change)


def _errors(fitted: Fitted, kinds: Sequence[Kind], change: Floats) -> CoefficientErrors:
    """Return estimates and errors of slopes and intercept, `change` times the coefficients.

    What the rounds do not reach, because the noise in X'X hides it, is part of the noise.
    """
    estimate = fitted.estimate
    estimates = change @ estimate.unshrunk
    estimates[-1] += fitted.centre
    found = estimate.covariance.mapped(change)
    noise = found.noise + change @ estimate.hidden @ change.T
    if not fitted.target_is_seen:
        # In addition to the noise in the sums, the location of the target is a guess.
        released = np.flatnonzero(np.diag(noise))
        noise[released, released] = math.inf
    places = {term: place for place, term in enumerate(terms(kinds))}
    for column, level in estimate.levels.unsure:
        place = places[column, level if kinds[column].levels else None]
        noise[place, place] = math.inf
    return CoefficientErrors(estimates, noise, found.sampling, found.spread)
