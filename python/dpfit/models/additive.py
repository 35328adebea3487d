"""PrivateAdditiveRegression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpfit import _native
from dpfit._parameters import integer
from dpfit._typing import Floats, Missing, Neighbors
from dpfit.engine.strategy import Curves
from dpfit.engine.task import Fitted
from dpfit.models.base import FittedAttribute, PrivateModel
from dpfit.models.effects import Curve, Effect, Levels, NoEffect
from dpfit.models.model import Assembled
from dpfit.models.plots import plot_curves
from dpfit.models.summary import Summary, additive_summary
from dpfit.schema import Kind, Level, Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PrivateAdditiveRegression"]

_MOST_KNOTS = 64


class PrivateAdditiveRegression(PrivateModel):
    """Differentially private additive regression: one piecewise-linear curve for each feature.

    Parameters
    ----------
    epsilon, delta : float or None
        The privacy budget; 1 and 1e-6 if neither these nor `mu` are given.
    mu : float or None
        The privacy budget in terms of Gaussian DP, instead of `epsilon` and `delta`.
    knots : int or None
        The number of points where a curve can bend, besides its two ends; 10 by default. There are
        fewer where the noisy histogram of a column does not tell them apart. How much a curve
        bends depends on the budget.
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
    n_rows_ : float
        The number of rows (noisy).
    n_rounds_ : int
        The number of boosting rounds.
    status_ : {"full", "mean", "nothing"}
        What the data allowed. "mean": too few rows for curves; all predictions are the mean of the
        target. "nothing": too few rows to find even the range of the target; predictions are noise.
    privacy_ : PrivacyRecord
        The releases of the fit and their privacy cost.
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

    def curve(self, feature: int | str) -> tuple[Floats | list[Level], Floats]:
        """Return the points of a feature's curve.

        Parameters
        ----------
        feature : int or str
            Position or name.

        Returns
        -------
        x, height : arrays
            The curve is straight between these points and flat outside them. Heights are in the
            units of y; over the rows they average approximately zero. For a categorical column, x
            is the list of its levels. The heights of levels sum to zero or, if there are rows
            whose level is not listed, are relative to those, which have the height zero.
        """
        check_is_fitted(self)
        return self.model_.curve(self.model_.position(feature))

    def summary(self) -> Summary:
        """Return a summary table: text when printed, HTML in a notebook.

        Returns
        -------
        Summary
            Budget and fit, then the range and the importance of each curve.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        return additive_summary(self.model_)

    def plot_curves(
        self, features: Sequence[int | str] | int | str | None = None, ncols: int = 3
    ) -> Figure:
        """Plot the curves on a common vertical scale; requires matplotlib.

        Parameters
        ----------
        features : sequence of int or str, optional
            Positions or names, drawn in this order; None for the (at most) twelve most important
            ones, starting with the most important.
        ncols : int, default 3
            The number of plots in a row.

        Returns
        -------
        matplotlib Figure
            A plot for each feature, with dots at the knots.

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        return plot_curves(self.model_, features, ncols)


def curves(fitted: Fitted, kinds: Sequence[Kind]) -> Assembled:
    """Convert the engine's result to a curve for each column and an effect for each level."""
    estimate = fitted.estimate
    intercept = fitted.centre + fitted.scale * float(estimate.coefficients[0])
    heights: dict[int, Floats] = {}
    for function, size in zip(estimate.basis.functions, estimate.coefficients, strict=True):
        if function.column < 0:
            continue
        shape = function.heights
        if shape is None:
            shape = np.array([0.0, 1.0])
            if levels := kinds[function.column].levels:
                shape = (np.arange(len(levels)) == function.level).astype(np.float64)
        start = heights.setdefault(function.column, np.zeros(len(shape)))
        heights[function.column] = start + fitted.scale * size * shape
    effects: list[Effect] = []
    for place, kind in enumerate(kinds):
        height = heights.get(place)
        if kind.levels:
            unseen = [(place, level) in estimate.levels.unseen for level in range(len(kind.levels))]
            if height is None:
                height, unseen = np.zeros(len(kind.levels)), [True] * len(kind.levels)
            height[unseen] = 0.0
            if place not in estimate.levels.unlisted and not all(unseen):
                seen = np.flatnonzero(~np.array(unseen))
                intercept += float(height[seen].mean())
                height[seen] -= height[seen].mean()
            flags = tuple(not flag for flag in unseen)
            effects.append(Levels(kind.levels, tuple(height.tolist()), flags))
        elif height is None:
            effects.append(NoEffect())
        else:
            knots = estimate.basis.columns[place].knots
            points = np.array([0.0, 1.0]) if knots is None else knots.places
            effects.append(Curve(tuple(points.tolist()), tuple(height.tolist())))
    return intercept, tuple(effects), None
