"""PrivateAdditiveRegression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfit import _native
from dpfit._parameters import integer
from dpfit._typing import Floats, Missing, Neighbors
from dpfit.accounting import LedgerLike
from dpfit.engine.strategy import Curves
from dpfit.engine.task import Fitted
from dpfit.models.assembly import estimates_of, levels_of
from dpfit.models.base import FittedAttribute, PrivateModel
from dpfit.models.effects import Curve, Effect, NoEffect
from dpfit.models.estimates import Inference, checked_inference, checked_level
from dpfit.models.model import Assembled
from dpfit.models.plots import plot_curves
from dpfit.models.summary import additive_summary
from dpfit.models.tables import Summary
from dpfit.schema import Kind, Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PrivateAdditiveRegression"]

_MOST_KNOTS = 64


class PrivateAdditiveRegression(PrivateModel):
    """Differentially private additive regression: one piecewise-linear curve for each feature.

    Parameters
    ----------
    epsilon, delta : float or None
        The privacy budget of each fit. By default 1 and 1e-6, unless `mu` is given.
    mu : float or None
        The privacy budget as the parameter of Gaussian DP, instead of `epsilon` and `delta`.
    knots : int or None
        The number of points where a curve can bend, besides its two ends; 10 by default. There are
        fewer where the noisy histogram of a column does not tell them apart. How much a curve
        bends depends on the budget.
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
    intercept_ : float
        The prediction where all curves are zero: approximately the mean of the target.
    feature_range_ : array of shape (n_features, 2)
        The range of each curve, which is flat outside.
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
        What the data allowed. "mean": too few rows for curves; all predictions are the mean of the
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
    The method is that of :class:`~dpfit.PrivateLinearRegression`, with a line and bends for each
    column, as many as the budget pays for, and without a first model. Knots are at quantiles of
    the column, which come from its noisy histogram.

    *Privacy.* All fitted attributes are computed from noisy releases that compose to the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfit import PrivateAdditiveRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(50_000, 2))
    >>> y = np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=50_000)
    >>> model = PrivateAdditiveRegression(epsilon=1.0).fit(X, y)
    >>> x, height = model.curve(0)
    >>> bool(height[0] > height[len(x) // 2] < height[-1])
    True
    """

    feature_range_ = FittedAttribute(lambda model: model.column_ranges)

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        knots: int | None = None,
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
        self.knots = knots
        self.schema = schema
        self.neighbors = neighbors
        self.max_rows = max_rows
        self.max_weight = max_weight
        self.missing = missing
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _strategy(self, kinds: Sequence[Kind]) -> Curves:
        if self.knots is None:
            return Curves()
        levels = sum(len(kind.levels) for kind in kinds)
        curves = sum(not kind.levels for kind in kinds)
        # One of the core's features is the constant.
        room = _native.MOST_FEATURES - 1 - levels
        most = max(min(_MOST_KNOTS, room // max(curves, 1) - 1), 1)
        # Two more knots are the ends.
        return Curves(integer("knots", self.knots, 1, most) + 2)

    def _assemble(self, fitted: Fitted, kinds: Sequence[Kind]) -> Assembled:
        return curves(fitted, kinds)

    def curve(
        self,
        feature: int | str,
        interval: float | None = None,
        *,
        inference: Inference = "population",
    ) -> tuple[Any, ...]:
        """Return the points of a feature's curve.

        Parameters
        ----------
        feature : int or str
            Position or name.
        interval : float, optional
            A confidence level, such as 0.95, to return confidence bands, too.
        inference : {"population", "sample"}, default "population"
            What bands are for: the curve in the population that the rows are a sample of, or the
            least-squares curve of these very rows, without sampling error.

        Returns
        -------
        x, height : arrays
            The curve is straight between these points and flat outside them. Heights are in the
            units of y; over the rows they average approximately zero. For a categorical column, x
            is the list of its levels. The heights of levels sum to zero over those that clearly
            have rows or, if there are rows whose level is not listed, are relative to those, which
            have the height zero.
        low, high : arrays
            With `interval`: lower and upper ends of confidence intervals for the heights, each for
            its own point; NaN where nothing is known. They are centred at the heights before
            shrinkage, and widened to contain `height` where that is further away. The errors are
            those of the functions that are in the model: not of a bend that the budget was too
            small for.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        place = self.model_.position(feature)
        if interval is None:
            return self.model_.curve(place)
        level = checked_level(interval, "interval")
        band = self.model_.band(place, level, checked_inference(inference))
        return (*self.model_.curve(place), *band.T)

    def summary(self, *, inference: Inference = "population") -> Summary:
        """Return a summary table: text when printed, HTML in a notebook.

        Parameters
        ----------
        inference : {"population", "sample"}, default "population"
            What p-values are about, as in :meth:`curve`.

        Returns
        -------
        Summary
            Budget and fit, then the range and the importance of each curve, its effective degrees
            of freedom, and tests whether it differs from no effect and from a line. Also
            ``to_frame()``, ``to_latex()`` and ``to_html()``.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        return additive_summary(self.model_, checked_inference(inference))

    def plot_curves(
        self,
        features: Sequence[int | str] | int | str | None = None,
        ncols: int = 3,
        *,
        interval: float | None = 0.95,
    ) -> Figure:
        """Plot the curves on a common vertical scale; requires matplotlib.

        Parameters
        ----------
        features : sequence of int or str, optional
            Positions or names, drawn in this order; None for the (at most) twelve most important
            ones, starting with the most important.
        ncols : int, default 3
            The number of plots in a row.
        interval : float or None, default 0.95
            The confidence level of the bands, which are those of :meth:`curve`; None for none.

        Returns
        -------
        matplotlib Figure
            A plot for each feature, with dots at the knots and a confidence band, or bars for
            levels.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        level = None if interval is None else checked_level(interval, "interval")
        return plot_curves(self.model_, features, ncols, level)


def curves(fitted: Fitted, kinds: Sequence[Kind]) -> Assembled:
    """Convert the engine's result to a curve for each column and an effect for each level."""
    estimate, scale = fitted.estimate, fitted.scale
    intercept = fitted.centre
    heights: list[dict[int, float]] = [{} for _ in kinds]
    shapes: list[list[Floats]] = [[] for _ in kinds]
    sums: list[Floats] = [np.zeros(1) for _ in kinds]
    straight = [0] * len(kinds)
    places = []
    for function, size in zip(
        estimate.basis.functions, estimate.coefficients.tolist(), strict=True
    ):
        column = function.column
        places.append(function.level)
        if column < 0:
            intercept += scale * size
        elif kinds[column].levels:
            heights[column][function.level] = scale * size
        else:
            shape = np.array([0.0, 1.0]) if function.heights is None else function.heights
            places[-1] = len(shapes[column])
            shapes[column].append(shape)
            sums[column] = sums[column] + scale * size * shape
            straight[column] += not function.is_bend
    effects: list[Effect] = []
    for column, kind in enumerate(kinds):
        if kind.levels:
            levels, mean = levels_of(fitted, column, kind, heights[column])
            effects.append(levels)
            intercept += mean
        elif not shapes[column]:
            effects.append(NoEffect())
        else:
            knots = estimate.basis.columns[column].knots
            points = np.array([0.0, 1.0]) if knots is None else knots.places
            functions = tuple(tuple(shape.tolist()) for shape in shapes[column])
            own = tuple(points.tolist()), tuple(sums[column].tolist())
            effects.append(Curve(*own, functions, straight[column]))
    factors = np.full(len(places), scale)
    return intercept, tuple(effects), estimates_of(fitted, effects, places, factors)
