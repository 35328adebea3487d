"""PrivateLinearRegression: the one to use."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from dpfit import model_file
from dpfit._estimator import Floats
from dpfit._parameters import real
from dpfit._private import PrivateModel
from dpfit.accounting import Neighbors
from dpfit.cutting import cutting_bias
from dpfit.export import Line
from dpfit.fitting import Fitted
from dpfit.plots import plot_coefficients
from dpfit.schema import Categorical, Kind, Schema, terms
from dpfit.summary import Summary, linear_summary
from dpfit.table import Missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PrivateLinearRegression"]


class PrivateLinearRegression(PrivateModel):
    """Linear regression under differential privacy, without bounds and without tuning.

    Parameters
    ----------
    epsilon, delta : float or None
        The budget; 1 and 1e-6 if neither these nor `mu` is given.
    mu : float or None
        The budget as a parameter of Gaussian DP, instead of epsilon and delta.
    schema : Schema or None
        What is public about columns: bounds, zero-one columns, levels. What is neither listed nor
        declared by a column's type is found out privately.
    neighbors : {"add_remove", "replace"}
        One row more or less, or one row changed.
    max_rows : int or None
        With `fit(..., unit=...)`: how many rows of one unit are kept.
    missing : {"error", "drop"}
        What to do with a row that holds NaN or an infinity.
    n_jobs : int or None
        Threads; None for all that the process may use.
    verbose : bool, default False
        Whether to show progress on standard error.
    random_state : int, Generator, RandomState or None
        For tests only: a seed makes the result repeatable and not private.

    Attributes
    ----------
    coef_ : array of shape (n_terms,)
        Slopes, in the units of X and y: one for each column of numbers and one for each level of a
        categorical column. The latter add up to zero or, if there are rows with a level that is
        not listed, are relative to those; a level too rare to be seen has zero, and no range.
        Without such columns there are as many terms as features.
    coef_names_ : list of str
        What each of them is for: a column's name, or ``column=level``.
    intercept_ : float
        What is predicted where all features are zero and no level is listed.
    feature_range_ : array of shape (n_terms, 2)
        Where the line goes: `predict` takes a value beyond as the nearest end.
    coef_noise_, coef_sampling_ : arrays of shape (n_terms + 1, n_terms + 1)
        Covariances of the slopes and, last, of the intercept: of the noise that was added, and of
        the rows as a sample. The former is infinite where nothing is known.
    coef_bias_ : array of shape (n_terms + 1,)
        How far they may be off, beside that, because columns were cut and residuals clipped, or
        because the rounds had not come to their end; an estimate. Infinite for a slope of which
        the noise in X'X hides too much.
    target_range_ : tuple of two floats
        Between which most of the target lies; infinite if the noise hides where that is.
    residual_variance_ : float or None
        The variance of residuals; None if there were too few rows for more than a mean.
    n_rows_ : float
        The number of rows, as released.
    n_rounds_ : int
        Rounds of boosting.
    privacy_ : PrivacyRecord
        What was released, and what it cost.

    Notes
    -----
    Ranges of columns are found by noisy histograms; rows are then scaled, weighted to norm one and
    boosted with noisy gradients, and the mean of the last rounds is the model. All of it is
    described in ``docs/no_tuning.md``.

    *Privacy.* All attributes follow from noisy releases that compose to the budget.

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

    coef_: Floats
    coef_names_: list[str]
    _first_terms: list[int]
    coef_noise_: Floats
    coef_sampling_: Floats
    coef_bias_: Floats
    _additive = False

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        schema: Schema | None = None,
        neighbors: Neighbors = "add_remove",
        max_rows: int | None = None,
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
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _set_attributes(self, fitted: Fitted, kinds: Sequence[Kind]) -> None:
        basis, mean = fitted.basis, fitted.mean
        places = {term: place for place, term in enumerate(terms(kinds))}
        count = len(places)
        coefficients = np.zeros(count)
        ranges = np.tile([-np.inf, np.inf], (count, 1))
        # Slopes and intercept as linear functions of the coordinates in the mean's directions.
        change = np.zeros((count + 1, mean.directions.shape[1]))
        change[-1] = fitted.scale * math.sqrt(basis.intercept) * mean.directions[-1]
        intercept = fitted.centre + fitted.scale * math.sqrt(basis.intercept) * mean.theta[-1]
        for term in basis.terms:
            place = places[term]
            used = [i for i in basis.of_term(term) if np.abs(mean.directions[i]).max() > 0.0]
            if not used:
                # A level that is too rare to be seen.
                continue
            first = used[0]
            slope = fitted.scale * basis.gain * basis.ramps[first].slope
            coefficients[place] = slope * mean.theta[first]
            ranges[place] = basis.ramps[first].low, basis.ramps[used[-1]].high
            change[place] = slope * mean.directions[first]
            change[-1] -= basis.ramps[first].centre * change[place]
            intercept -= coefficients[place] * basis.ramps[first].centre
        self.coef_ = coefficients
        self.coef_names_, self._first_terms = self._term_names(kinds), _first_terms(kinds)
        self.intercept_ = float(intercept)
        self.feature_range_ = ranges
        self.coef_noise_ = change @ mean.noise @ change.T
        if not fitted.target_is_seen:
            # Beside the noise in the sums there is that in the guess where the target lies.
            released = np.flatnonzero(np.diag(self.coef_noise_))
            self.coef_noise_[released, released] = math.inf
        # Of a mean nothing was released about residuals: no target in its range is further away.
        variance = 1.0 if fitted.clipped_variance is None else fitted.clipped_variance
        self.coef_sampling_ = change @ mean.sampling @ change.T * variance
        self.coef_bias_ = self._bias(fitted, kinds, change)

    def _bias(self, fitted: Fitted, kinds: Sequence[Kind], change: Floats) -> Floats:
        """Return how far coefficients may be off, beside noise and sampling."""
        squares = np.maximum(np.diag(change @ fitted.mean.shrinkage @ change.T), 0.0)
        known = np.diag(self.coef_noise_) + np.diag(self.coef_sampling_)
        # More may be missing of such a slope than there is.
        hidden = (squares[:-1] > np.square(self.coef_)) & (squares[:-1] > known[:-1])
        for place, (column, level) in enumerate(terms(kinds)):
            marginal = fitted.marginals[column] if fitted.marginals else None
            low, high = self.feature_range_[place]
            if level is None and marginal is not None and math.isfinite(low):
                threshold = fitted.tau * fitted.scale
                parts = cutting_bias(marginal, low, high, self.coef_[place], threshold)
                squares[[place, -1]] += np.square(parts)
        squares[np.flatnonzero(hidden)] = math.inf
        result: Floats = np.sqrt(squares)
        return result

    def _released(self) -> dict[str, Any]:
        return {
            **super()._released(),
            "coef": self.coef_,
            "coef_noise": self.coef_noise_,
            "coef_sampling": self.coef_sampling_,
            "coef_bias": self.coef_bias_,
        }

    def _restore(self, released: Mapping[str, Any]) -> None:
        super()._restore(released)
        self.coef_names_ = self._term_names(self._kinds)
        self._first_terms = _first_terms(self._kinds)
        count = len(self.coef_names_)
        self.coef_ = model_file.numbers(released["coef"])
        self.coef_noise_ = model_file.numbers(released["coef_noise"])
        self.coef_sampling_ = model_file.numbers(released["coef_sampling"])
        self.coef_bias_ = model_file.numbers(released["coef_bias"])
        square = (count + 1, count + 1)
        if (
            (self.coef_.shape, self.feature_range_.shape) != ((count,), (count, 2))
            or self.coef_noise_.shape != square
            or self.coef_sampling_.shape != square
            or self.coef_bias_.shape != square[:1]
        ):
            raise ValueError("there are not as many coefficients as terms")

    def _effect(self, place: int, x: Floats) -> Floats | float:
        line = self._line(place)
        if line is None:
            return 0.0
        effect: Floats = np.clip(x, line.low, line.high) * line.slope
        return effect

    def _line(self, place: int) -> Line | None:
        term = self._first_terms[place]
        # A feature without a slope has no range either.
        if self.coef_[term] == 0.0:
            return None
        low, high = self.feature_range_[term]
        return Line(float(low), float(high), float(self.coef_[term]), 0.0)

    def _effects(self, place: int) -> Floats:
        kind = self._kinds[place]
        assert isinstance(kind, Categorical)
        first = self._first_terms[place]
        return self.coef_[first : first + len(kind.levels)]

    def coef_interval(self, level: float = 0.95, *, sampling: bool = True) -> Floats:
        """Return confidence intervals of the slopes and, last, of the intercept.

        Parameters
        ----------
        level : float, default 0.95
            How often the intervals hold.
        sampling : bool, default True
            Whether the rows are a sample of something larger: the intervals then hold for the
            slopes in the whole. Otherwise they hold for the slopes that least squares would give
            on these very rows, without noise.

        Returns
        -------
        array of shape (n_terms + 1, 2)
            Lower and upper ends; NaN where nothing is known: for a level that was not seen
            through the noise, for every slope of a model that is a mean.

        Notes
        -----
        Columns are cut to `feature_range_` and residuals are clipped. What that does to a slope, if
        the line goes on beyond the range, is estimated and part of the interval (`coef_bias_`), and
        so is what the rounds have not reached. Where a line is not the truth within the range,
        slopes are those of weighted rows.

        Privacy
        -------
        Computed from released numbers; costs nothing.
        """
        level = real("level", level, 0.0, 1.0 - 1e-12)
        wide = float(ndtri(0.5 + level / 2)) * self._standard_errors(sampling)
        middle = np.append(self.coef_, self.intercept_)
        # Nothing is known of a slope without a range, or one that the noise of X'X hides.
        unknown = ~np.isfinite(self.feature_range_).all(axis=1) | np.isinf(self.coef_bias_[:-1])
        wide[np.flatnonzero(unknown)] = np.nan
        return np.column_stack([middle - wide, middle + wide])

    def _standard_errors(self, sampling: bool) -> Floats:
        variance = np.diag(self.coef_noise_)
        if sampling:
            variance = variance + np.diag(self.coef_sampling_)
        variance = variance + np.square(self.coef_bias_)
        result: Floats = np.sqrt(np.maximum(variance, 0.0))
        return result

    def summary(self, level: float = 0.95) -> Summary:
        """Return a table of the model: text when printed, HTML in a notebook.

        Parameters
        ----------
        level : float, default 0.95
            How often the intervals hold.

        Returns
        -------
        Summary
            Budget and fit at the top, then coefficients with their standard errors and intervals.

        Notes
        -----
        The intervals are those of :meth:`coef_interval`.

        Privacy
        -------
        Computed from released numbers; costs nothing.
        """
        return linear_summary(self, level)

    def plot_coefficients(self, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Draw the coefficients with their intervals; needs matplotlib.

        Parameters
        ----------
        level : float, default 0.95
            How often the intervals hold.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        matplotlib Axes
            Coefficients times half the width of their ranges, the largest on top.

        Notes
        -----
        The intervals are those of :meth:`coef_interval`.

        Privacy
        -------
        Computed from released numbers; costs nothing.
        """
        return plot_coefficients(self, level, ax)


def _first_terms(kinds: Sequence[Kind]) -> list[int]:
    """Return the place of every column's first coefficient."""
    sizes = [len(kind.levels) if isinstance(kind, Categorical) else 1 for kind in kinds]
    return list(itertools.accumulate(sizes, initial=0))[:-1]
