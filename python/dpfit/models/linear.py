"""PrivateLinearRegression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfit._typing import Floats, Missing, Neighbors
from dpfit.accounting import LedgerLike
from dpfit.engine.strategy import Lines
from dpfit.engine.task import Fitted
from dpfit.models.assembly import estimates_of, levels_of
from dpfit.models.base import FittedAttribute, PrivateModel
from dpfit.models.coefficients import Coding, Coefficients, checked_coding
from dpfit.models.effects import Effect, Line, NoEffect
from dpfit.models.estimates import Inference, checked_inference
from dpfit.models.model import Assembled
from dpfit.models.plots import plot_coefficients
from dpfit.models.summary import linear_summary
from dpfit.models.tables import Summary
from dpfit.schema import Kind, Schema

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PrivateLinearRegression"]


class PrivateLinearRegression(PrivateModel):
    """Differentially private linear regression that needs no bounds and no tuning.

    Parameters
    ----------
    epsilon, delta : float or None
        The privacy budget of each fit. By default 1 and 1e-6, unless `mu` is given.
    mu : float or None
        The privacy budget as the parameter of Gaussian DP, instead of `epsilon` and `delta`.
    schema : Schema or None
        What is public about the columns: levels, bounds, binary columns. Ranges of columns without
        bounds are found privately.
    neighbors : {"add_remove", "replace"}, default "add_remove"
        Whether neighbouring tables differ by adding or removing a row, or by replacing one.
    max_rows : int or None
        The largest number of rows to use per unit; required by ``fit(..., unit=...)``.
    max_weight : float or None
        A public upper bound on weights; required by ``fit(..., sample_weight=...)``.
    missing : {"error", "drop", "indicator"}, default "error"
        What to do with rows that contain NaN or infinity: raise an error, drop them, or keep them.
        "indicator" replaces a missing number by the middle of its column's range and adds a column
        that is 1 for such rows; in a categorical column, missing is one more level. All columns
        have an indicator, unless the schema lists those that need one (``Numeric(missing=True)``)
        or those that do not (``missing=False``). Rows without a target are dropped.
    ledger : Ledger, path or None
        The ledger that pays for each fit: a :class:`dpfit.Ledger` or its file. A fit that its
        budget does not allow raises `BudgetExceeded`.
    n_jobs : int or None
        The number of threads; None for all available.
    verbose : bool, default False
        Whether to show progress on standard error.
    random_state : int, Generator, RandomState or None
        For tests only: with a seed, results are reproducible but not private.

    Attributes
    ----------
    coef_ : array of shape (n_terms,)
        Coefficients in the units of X and y. A term is a numeric column, or a level of a
        categorical column. Levels are relative to the reference of their column, which has the
        coefficient zero: the first level, unless the schema names another one
        (``Categorical(levels, reference=...)``). A level that is too rare to be seen through the
        noise has no range.
    coef_names_ : list of str
        The terms: a column's name, or ``column=level``.
    intercept_ : float
        The constant term: ``predict(X) == X @ coef_ + intercept_`` within `feature_range_` and
        `prediction_range_`, with levels as zero-one columns. `summary` prints another one, at the
        means of the columns.
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
    r_squared_ : tuple of two floats or None
        The share of the target's variance that the predictions explain in the rows of the fit, and
        its standard error; None if nothing can be said about it.
    n_rows_ : float
        The number of rows (noisy).
    n_rounds_ : int
        The number of boosting rounds.
    status_ : {"full", "mean", "nothing"}
        What the data allowed. "mean": too few rows for slopes; all predictions are the mean of the
        target. "nothing": too few rows to find even the range of the target; all predictions are
        the middle of its public bounds, or zero.
    privacy_ : PrivacyRecord
        The releases of the fit and their privacy cost.
    provenance_ : Provenance
        When the model was fitted and, with a ledger, the data set and the entry.
    model_ : Model
        All of the above as one immutable value.

    Notes
    -----
    Noisy histograms find the ranges of columns. The residuals of a first model show where lines
    should end. Rows are then mapped to uncorrelated coordinates of bounded norm, by a noisy X'X,
    and boosted with noisy gradients. The model is the average of the last rounds, shrunk by what
    the noise allows. The method is described in ``docs/explanation/method.md``.

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

    intercept_ = FittedAttribute(lambda model: model.coefficients.intercept)
    coef_ = FittedAttribute(lambda model: model.coefficients.values[:-1])
    coef_names_ = FittedAttribute(lambda model: model.coefficients.names)
    feature_range_ = FittedAttribute(lambda model: model.coefficients.ranges)
    coef_noise_ = FittedAttribute(lambda model: model.coefficients.covariance("noise"))
    coef_sampling_ = FittedAttribute(lambda model: model.coefficients.covariance("sampling"))
    coef_estimates_ = FittedAttribute(lambda model: model.coefficients.unshrunk)

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
        ledger: LedgerLike | None = None,
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
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _strategy(self, kinds: Sequence[Kind]) -> Lines:
        return Lines()

    def _assemble(self, fitted: Fitted, kinds: Sequence[Kind]) -> Assembled:
        return lines(fitted, kinds)

    def coef_interval(
        self,
        level: float = 0.95,
        *,
        inference: Inference = "population",
        coding: Coding = "treatment",
    ) -> Floats:
        """Return confidence intervals of the coefficients and, last, the intercept.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level.
        inference : {"population", "sample"}, default "population"
            What the intervals are for: the coefficients in the population that the rows are a
            sample of, or the least-squares coefficients of these very rows, without sampling error.
        coding : {"treatment", "sum"}, default "treatment"
            What levels are relative to: the reference of their column, as in `coef_`, or the mean
            of the levels that clearly have rows.

        Returns
        -------
        array of shape (n_terms + 1, 2)
            Lower and upper ends; NaN where nothing is known, as for levels that the noise hides
            and for all slopes of a mean-only model; both zero for a reference level.

        Notes
        -----
        The intervals are centred at `coef_estimates_`, and not at `coef_`: predictions are better
        if estimates are shrunk, intervals are not. The sampling error is robust: it holds if the
        variance of the residuals depends on the columns. If the relation is not linear within
        `feature_range_`, the intervals are for the least-squares line of the columns, clipped to
        it. The clipping of rows that are far out and of large residuals can move a coefficient;
        ``docs/explanation/method.md`` says by how much.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        found = Coefficients.of(self.model_, checked_coding(coding))
        return found.interval(level, checked_inference(inference))

    def summary(
        self,
        level: float = 0.95,
        *,
        inference: Inference = "population",
        coding: Coding = "treatment",
    ) -> Summary:
        """Return a summary table: text when printed, HTML in a notebook.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level of the intervals, which are those of :meth:`coef_interval`.
        inference : {"population", "sample"}, default "population"
            What errors, intervals and p-values are about, as in :meth:`coef_interval`.
        coding : {"treatment", "sum"}, default "treatment"
            What levels are relative to, as in :meth:`coef_interval`. This is an option of the
            table and not of the model, because it costs nothing: both tables come from one fit.

        Returns
        -------
        Summary
            Budget and fit, then coefficients with standard errors, p-values and confidence
            intervals. Also ``to_frame()``, ``to_latex()`` and ``to_html()``.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        return linear_summary(
            self.model_, level, checked_inference(inference), checked_coding(coding)
        )

    def plot_coefficients(
        self, level: float = 0.95, ax: Axes | None = None, *, coding: Coding = "treatment"
    ) -> Axes:
        """Plot the coefficients with confidence intervals; requires matplotlib.

        Parameters
        ----------
        level : float, default 0.95
            The confidence level of the intervals, which are those of :meth:`coef_interval`.
        ax : matplotlib Axes, optional
            The axes to draw on; a new figure if None.
        coding : {"treatment", "sum"}, default "treatment"
            What levels are relative to, as in :meth:`coef_interval`.

        Returns
        -------
        matplotlib Axes
            A dot for each term that has an interval: the coefficient times half the width of its
            range, which is the change in prediction from the middle of the range to its end; for
            a level, its effect. Columns with large effects are on top, and levels of a column
            together. Thick bars are intervals without sampling error, thin bars with it.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        return plot_coefficients(self.model_, level, ax, checked_coding(coding))


def lines(fitted: Fitted, kinds: Sequence[Kind]) -> Assembled:
    """Convert the engine's result to a line for each column and an effect for each level."""
    estimate, scale = fitted.estimate, fitted.scale
    intercept = fitted.centre
    found: dict[int, Line] = {}
    heights: list[dict[int, float]] = [{} for _ in kinds]
    places, factors = [], np.full(len(estimate.coefficients), scale)
    for i, (function, size) in enumerate(
        zip(estimate.basis.functions, estimate.coefficients.tolist(), strict=True)
    ):
        places.append(function.level)
        if function.column < 0:
            intercept += scale * size
        elif kinds[function.column].levels:
            heights[function.column][function.level] = scale * size
        elif function.heights is None:
            found[function.column] = Line(0.0, 1.0, scale * size)
        else:
            knots = estimate.basis.columns[function.column].knots
            assert knots is not None
            rising = np.flatnonzero(np.diff(function.heights))
            first, last = int(rising[0]), int(rising[-1]) + 1
            low, high = float(knots.places[first]), float(knots.places[last])
            start = float(function.heights[first])
            slope = (float(function.heights[last]) - start) / (high - low)
            factors[i] = scale * slope
            # Functions are zero at the mean of the column, as released.
            centre = low - start / slope
            found[function.column] = Line(low, high, factors[i] * size, centre)
            intercept -= factors[i] * size * centre
    effects: list[Effect] = []
    for column, kind in enumerate(kinds):
        if kind.levels:
            levels, mean = levels_of(fitted, column, kind, heights[column])
            effects.append(levels)
            intercept += mean
        else:
            effects.append(found.get(column, NoEffect()))
    return intercept, tuple(effects), estimates_of(fitted, effects, places, factors)
