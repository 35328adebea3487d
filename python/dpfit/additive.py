"""PrivateAdditiveRegression: one curve for each feature."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit import model_file
from dpfit._estimator import Floats
from dpfit._parameters import integer
from dpfit._private import PrivateModel
from dpfit.accounting import Neighbors
from dpfit.export import Bent, Line
from dpfit.fitting import Fitted
from dpfit.plots import plot_curves
from dpfit.schema import Categorical, Kind, Level, Schema
from dpfit.summary import Summary, additive_summary
from dpfit.table import Missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PrivateAdditiveRegression"]

_MOST_KNOTS = 64


class PrivateAdditiveRegression(PrivateModel):
    """A sum of piecewise-linear curves, one for each feature, under differential privacy.

    Parameters
    ----------
    epsilon, delta : float or None
        The budget; 1 and 1e-6 if neither these nor `mu` is given.
    mu : float or None
        The budget as a parameter of Gaussian DP, instead of epsilon and delta.
    knots : int or None
        Points at which a curve may bend; None for as many as budget and data allow.
    schema : Schema or None
        What is public about columns: bounds, zero-one columns. What is not listed is found out
        privately.
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
    intercept_ : float
        What is predicted where all curves are zero: about the mean of the target.
    feature_range_ : array of shape (n_features, 2)
        Where the curves go: `predict` takes a value beyond as the nearest end.
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
    The same engine as :class:`~dpfit.PrivateLinearRegression`, with a feature for every piece of
    every curve. Knots are at quantiles of the column, which its released histogram tells.

    *Privacy.* All attributes follow from noisy releases that compose to the budget.

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

    _additive = True

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
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _knots(self, kinds: Sequence[Kind]) -> int | None:
        if self.knots is None:
            return None
        levels = sum(len(kind.levels) for kind in kinds if isinstance(kind, Categorical))
        curves = sum(not isinstance(kind, Categorical) for kind in kinds)
        # The core's features end at 8192, the constant included.
        most = max(min(_MOST_KNOTS, (8191 - levels) // max(curves, 1) - 1), 1)
        return integer("knots", self.knots, 1, most)

    def _set_attributes(self, fitted: Fitted, kinds: Sequence[Kind]) -> None:
        basis, theta = fitted.basis, fitted.mean.theta
        self._curves: list[tuple[Floats, Floats]] = []
        ranges = np.tile([-np.inf, np.inf], (len(kinds), 1))
        size = fitted.scale * basis.gain
        constant = fitted.scale * math.sqrt(basis.intercept) * theta[-1]
        for column, kind in enumerate(kinds):
            ramps = [(basis.ramps[i], theta[i]) for i in basis.of_column(column)]
            if isinstance(kind, Categorical):
                codes = np.arange(len(kind.levels), dtype=np.float64)
                effects = np.array([coefficient * ramp.height for ramp, coefficient in ramps])
                self._curves.append((codes, size * effects if ramps else np.zeros(len(codes))))
                if ramps:
                    ranges[column] = 0.0, 1.0
                continue
            if not ramps:
                self._curves.append((np.zeros(1), np.zeros(1)))
                continue
            points = np.array([ramps[0][0].low, *(ramp.high for ramp, _ in ramps)])
            heights = np.zeros(len(points))
            for ramp, coefficient in ramps:
                heights += coefficient * ramp.values(points)
            heights *= size
            if fitted.means is not None:
                # Zero on average: at one point, a curve has the noise of that point everywhere.
                used = basis.of_column(column)
                mean = fitted.scale * float(theta[used] @ fitted.means[used])
                mean = min(max(mean, float(heights.min())), float(heights.max()))
                heights -= mean
                constant += mean
            self._curves.append((points, heights))
            ranges[column] = points[0], points[-1]
        self.intercept_ = float(fitted.centre + constant)
        self.feature_range_ = ranges

    def _released(self) -> dict[str, Any]:
        curves = [{"x": x, "height": height} for x, height in self._curves]
        return {**super()._released(), "curves": curves}

    def _restore(self, released: Mapping[str, Any]) -> None:
        super()._restore(released)
        self._curves = [
            (model_file.numbers(curve["x"]), model_file.numbers(curve["height"]))
            for curve in released["curves"]
        ]
        count = len(self._kinds)
        if self.feature_range_.shape != (count, 2) or len(self._curves) != count:
            raise ValueError("there are not as many curves as columns")
        for (x, height), kind in zip(self._curves, self._kinds, strict=True):
            levels = len(kind.levels) if isinstance(kind, Categorical) else len(x)
            if x.ndim != 1 or x.shape != height.shape or not len(x) == levels > 0:
                raise ValueError("a curve has not as many heights as points")

    def curve(self, feature: int | str) -> tuple[Floats | list[Level], Floats]:
        """Return the curve of a feature: where it bends, and its height there.

        Parameters
        ----------
        feature : int or str
            Position or name.

        Returns
        -------
        x, height : arrays
            The curve is straight between these points and flat beyond; heights are in the units
            of y, and zero on average over the rows, as far as X'X shows. Of a categorical column
            x is the list of its levels, whose heights add up to zero or, if there are rows with a
            level that is not listed, are relative to those; such a level has the height zero.
        """
        place = self._place(feature)
        x, height = self._curves[place]
        kind = self._kinds[place]
        if isinstance(kind, Categorical):
            return list(kind.levels), height.copy()
        return x.copy(), height.copy()

    def _effect(self, place: int, x: Floats) -> Floats | float:
        points, heights = self._curves[place]
        if len(points) == 1:
            return 0.0
        effect: Floats = np.interp(x, points, heights)
        return effect

    def _line(self, place: int) -> Line | Bent | None:
        points, heights = self._curves[place]
        return Bent(points, heights) if len(points) > 1 else None

    def _effects(self, place: int) -> Floats:
        return self._curves[place][1]

    def summary(self) -> Summary:
        """Return a table of the model: text when printed, HTML in a notebook.

        Returns
        -------
        Summary
            Budget and fit at the top, then the range and the reach of every curve.

        Privacy
        -------
        Computed from released numbers; costs nothing.
        """
        return additive_summary(self)

    def plot_curves(
        self, features: Sequence[int | str] | int | str | None = None, ncols: int = 3
    ) -> Figure:
        """Draw the curves side by side, on one vertical scale; needs matplotlib.

        Parameters
        ----------
        features : sequence of int or str, optional
            Positions or names, drawn in this order. None for the twelve most important.
        ncols : int, default 3
            Curves in a row.

        Returns
        -------
        matplotlib Figure
            The curves.

        Privacy
        -------
        Computed from released numbers; costs nothing.
        """
        return plot_curves(self, features, ncols)
