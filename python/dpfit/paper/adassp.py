"""BoostedAdaSSP (Algorithm 1 of the paper) and AdaSSP (Algorithm 2)."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from dpfit import _native
from dpfit._estimator import Array, Floats
from dpfit._parameters import Budget, integer, one_of, real, share, shares
from dpfit._progress import rounds
from dpfit.accounting import Event, Neighbors, per_round, split
from dpfit.paper._linear import LinearModel
from dpfit.release import Publisher
from dpfit.solve import LearningRate, Ridge, inverse, learning_rate

__all__ = ["AdaSSP", "BoostedAdaSSP"]

# The clipping threshold is this many units of the target's grid: residuals keep 18 bits, and
# targets up to 2^12 times the threshold are told apart.
_TAU_UNITS = 1 << 18
# With an intercept, the constant gets this share of the squared norm: as much as the features.
_INTERCEPT_SHARE = 0.5
# No coefficient of a row of norm one can use more thresholds: targets end at 2^12 of them.
_LARGEST = 1e6


class _SufficientStatistics(LinearModel):
    """Noisy X'X once, its smallest eigenvalue, and noisy X'g in every round."""

    x_bound: float
    split: tuple[float, float, float]
    ridge: Ridge
    fit_intercept: bool
    clip_predictions: bool
    verbose: bool
    x_bound_: float

    def _prediction_bound(self) -> float | None:
        return self.x_bound_ if self.clip_predictions else None

    def _boost(
        self,
        X: Array,
        y: Array,
        spend: Budget,
        publisher: Publisher,
        *,
        tau: float,
        n_rounds: int,
        schedule: LearningRate,
        averaging: float,
    ) -> tuple[tuple[Event, ...], tuple[str, ...]]:
        x_bound = real("x_bound", self.x_bound, 1e-50, 1e50)
        ridge = cast(Ridge, one_of("ridge", self.ridge, ("adassp", "literal")))
        ratio = shares("split", self.split, 3)
        mu_gram, mu_rounds, mu_eigenvalue = split(spend.mu, ratio)
        mu_round = per_round(mu_rounds, n_rounds)
        # Features are clipped to x_bound, and the constant makes rows longer than that.
        intercept = _INTERCEPT_SHARE if self.fit_intercept else None
        bound = x_bound / math.sqrt(1.0 - (intercept or 0.0))
        unit = tau / _TAU_UNITS
        column = (0.0, 1.0, [(-math.inf, math.inf, 1.0 / bound)])
        row_map = _native.RowMap([column] * X.shape[1], unit=unit, norm="clip", intercept=intercept)
        rows, gram = _native.Rows(row_map), _native.Gram(row_map)
        rows.extend(X, y, gram, n_jobs=self.n_jobs)

        noisy_gram, sigma = publisher.gram(gram, mu_gram, bound)
        eigenvalue = publisher.smallest_eigenvalue(gram, mu_eigenvalue, bound)
        gamma = inverse(noisy_gram, sigma, eigenvalue, ridge)

        theta = np.zeros(row_map.features)
        averaged = max(1, math.ceil(averaging * n_rounds))
        total = np.zeros_like(theta)
        for t in rounds(n_rounds, show=self.verbose, name=type(self).__name__):
            # The store holds rows divided by the bound.
            gradient = rows.gradient(theta * bound, _TAU_UNITS, n_jobs=self.n_jobs)
            noisy, _ = publisher.gradient(gradient, _TAU_UNITS, mu_round, bound, unit)
            step = learning_rate(schedule, t) * (gamma @ noisy)
            # Public numbers, kept finite so that a wild round cannot end the fit.
            limit = _LARGEST * tau / bound
            theta = np.clip(np.nan_to_num(theta + step, posinf=limit, neginf=-limit), -limit, limit)
            if t > n_rounds - averaged:
                total += theta
        theta = total / averaged
        self._set_coefficients(theta, intercept, bound)
        self.n_rounds_ = n_rounds
        self.x_bound_ = x_bound
        return publisher.events, ()

    def _set_coefficients(self, theta: Floats, intercept: float | None, bound: float) -> None:
        if intercept is None:
            self.coef_, self.intercept_ = theta, 0.0
        else:
            self.coef_ = theta[:-1]
            self.intercept_ = float(theta[-1] * bound * math.sqrt(intercept))


class BoostedAdaSSP(_SufficientStatistics):
    """Algorithm 1 of the paper: boosting with AdaSSP as its base learner.

    Parameters
    ----------
    epsilon, delta : float or None
        The budget; 1 and 1e-6 if neither these nor `mu` is given.
    mu : float or None
        The budget as a parameter of Gaussian DP, instead of epsilon and delta.
    x_bound : float, default 1
        Rows are clipped to this norm.
    tau : float, default 1
        Residuals are clipped to this size.
    n_rounds : int, default 100
        Boosting rounds.
    learning_rate : {"constant", "1/t", "1/sqrt(t)"}
        The step of round t.
    split : tuple of three floats, default (1, 1, 1)
        The ratio of mu for X'X, for all rounds together and for the smallest eigenvalue.
    ridge : {"adassp", "literal"}
        How the ridge follows from the released smallest eigenvalue; ``"literal"`` is the paper's
        text taken at its word, and far worse.
    averaging : float, default 0
        The share of last rounds whose mean is returned; 0 for the last one, as in the paper.
    neighbors : {"add_remove", "replace"}
        One row more or less, or one row changed.
    fit_intercept : bool, default False
        Whether to add a constant feature of size `x_bound`, inside the norm.
    clip_predictions : bool, default True
        Whether `predict` clips rows as `fit` does.
    n_jobs : int or None
        Threads; None for the cores that this process may use.
    random_state : int, RandomState, Generator or None
        A seed makes the noise repeatable and the result not private; it warns.
    verbose : bool, default False
        Whether to show a bar with rounds.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Coefficients of the clipped rows.
    intercept_ : float
        The constant; 0 without `fit_intercept`.
    privacy_ : PrivacyRecord
        The guarantee and the releases that it rests on.
    n_rounds_ : int
        Rounds that were run.
    x_bound_ : float
        The norm to which rows were clipped.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    AdaSSP : One round.
    DPGradientDescent : Rounds without X'X.

    Notes
    -----
    Every fit spends its budget: in cross-validation and grid searches the budgets add up.

    *Privacy.*
    The fit is mu-GDP: X'X, its smallest eigenvalue and X'g of every round are released with
    Gaussian noise on exact integers, and their mu compose to the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfit import BoostedAdaSSP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20_000, 2))
    >>> y = X @ [1.0, -0.5]
    >>> model = BoostedAdaSSP(epsilon=1.0, delta=1e-6, n_rounds=10).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.5)
    True
    >>> model.privacy_.epsilon
    1.0
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        mu: float | None = None,
        x_bound: float = 1.0,
        tau: float = 1.0,
        n_rounds: int = 100,
        learning_rate: LearningRate = "constant",
        split: tuple[float, float, float] = (1.0, 1.0, 1.0),
        ridge: Ridge = "adassp",
        averaging: float = 0.0,
        neighbors: Neighbors = "add_remove",
        fit_intercept: bool = False,
        clip_predictions: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mu = mu
        self.x_bound = x_bound
        self.tau = tau
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.split = split
        self.ridge = ridge
        self.averaging = averaging
        self.neighbors = neighbors
        self.fit_intercept = fit_intercept
        self.clip_predictions = clip_predictions
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(
        self, X: Array, y: Array, spend: Budget, publisher: Publisher
    ) -> tuple[tuple[Event, ...], tuple[str, ...]]:
        schedules = ("constant", "1/t", "1/sqrt(t)")
        return self._boost(
            X,
            y,
            spend,
            publisher,
            tau=real("tau", self.tau, 1e-50, 1e50),
            n_rounds=integer("n_rounds", self.n_rounds, 1, 1_000_000),
            schedule=cast(LearningRate, one_of("learning_rate", self.learning_rate, schedules)),
            averaging=share("averaging", self.averaging),
        )


class AdaSSP(_SufficientStatistics):
    """Algorithm 2 of the paper: ridge regression from noisy sufficient statistics, in one round.

    Parameters
    ----------
    epsilon, delta : float or None
        The budget; 1 and 1e-6 if neither these nor `mu` is given.
    mu : float or None
        The budget as a parameter of Gaussian DP, instead of epsilon and delta.
    x_bound : float, default 1
        Rows are clipped to this norm.
    y_bound : float, default 1
        Targets are clipped to this size.
    split : tuple of three floats, default (1, 1, 1)
        The ratio of mu for X'X, X'y and the smallest eigenvalue.
    ridge : {"adassp", "literal"}
        How the ridge follows from the released smallest eigenvalue.
    neighbors : {"add_remove", "replace"}
        One row more or less, or one row changed.
    fit_intercept : bool, default False
        Whether to add a constant feature of size `x_bound`, inside the norm.
    clip_predictions : bool, default True
        Whether `predict` clips rows as `fit` does.
    n_jobs : int or None
        Threads; None for the cores that this process may use.
    random_state : int, RandomState, Generator or None
        A seed makes the noise repeatable and the result not private; it warns.

    Attributes
    ----------
    coef_, intercept_, privacy_, n_features_in_, feature_names_in_
        As in :class:`BoostedAdaSSP`.

    See Also
    --------
    BoostedAdaSSP : Many rounds, for when bounds are not known.

    Notes
    -----
    *Privacy.*
    As :class:`BoostedAdaSSP`, with one round.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfit import AdaSSP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20_000, 2))
    >>> model = AdaSSP(epsilon=1.0).fit(X, X @ [1.0, -0.5])
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.2)
    True
    """

    verbose = False

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        mu: float | None = None,
        x_bound: float = 1.0,
        y_bound: float = 1.0,
        split: tuple[float, float, float] = (1.0, 1.0, 1.0),
        ridge: Ridge = "adassp",
        neighbors: Neighbors = "add_remove",
        fit_intercept: bool = False,
        clip_predictions: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mu = mu
        self.x_bound = x_bound
        self.y_bound = y_bound
        self.split = split
        self.ridge = ridge
        self.neighbors = neighbors
        self.fit_intercept = fit_intercept
        self.clip_predictions = clip_predictions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(
        self, X: Array, y: Array, spend: Budget, publisher: Publisher
    ) -> tuple[tuple[Event, ...], tuple[str, ...]]:
        y_bound = real("y_bound", self.y_bound, 1e-50, 1e50)
        return self._boost(
            X,
            y,
            spend,
            publisher,
            tau=y_bound,
            n_rounds=1,
            schedule="constant",
            averaging=0.0,
        )
