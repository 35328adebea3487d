"""BoostedAdaSSP (Algorithm 1 of the paper) and AdaSSP (Algorithm 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from dpfit._parameters import Budget, integer, one_of, real, share, shares
from dpfit._progress import rounds_done
from dpfit._typing import Array, Floats, Neighbors
from dpfit.accounting import LedgerLike, per_round, split
from dpfit.engine.solve import LearningRate, Ridge, inverse, learning_rate
from dpfit.paper._linear import LinearModel
from dpfit.release import Releaser
from dpfit.statistics import Gradient, Gram, RowMap, Scale, SmallestEigenvalue, Table

__all__ = ["AdaSSP", "BoostedAdaSSP"]

# The clipping threshold is this many steps of the target's grid: residuals keep 18 bits, and
# targets up to 2^12 times the threshold are distinguished.
_TAU_STEPS = 1 << 18
# With an intercept, the constant gets this share of the squared norm: as much as the features.
_CONSTANT_SHARE = 0.5
# No coefficient of a row of norm one can use more thresholds: targets end at 2^12 of them.
_LARGEST = 1e6


@dataclass(frozen=True)
class _Rounds:
    """What the rounds do: clipping threshold, number, step sizes, and share to average."""

    tau: float
    count: int = 1
    schedule: LearningRate = "constant"
    averaging: float = 0.0


class _SufficientStatistics(LinearModel):
    """Release X'X and its smallest eigenvalue once, and X'g in every round."""

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
        releaser: Releaser,
        rounds: _Rounds,
    ) -> tuple[str, ...]:
        x_bound = real("x_bound", self.x_bound, 1e-50, 1e50)
        ridge = cast(Ridge, one_of("ridge", self.ridge, ("adassp", "literal")))
        ratio = shares("split", self.split, 3)
        progress = rounds_done(show=self.verbose, name=type(self).__name__)
        mu_gram, mu_rounds, mu_eigenvalue = split(spend.mu, ratio)
        mu_round = per_round(mu_rounds, rounds.count)
        # Features are clipped to x_bound, and the constant makes rows longer than that.
        constant_share = _CONSTANT_SHARE if self.fit_intercept else None
        bound = x_bound / math.sqrt(1.0 - (constant_share or 0.0))
        scale = Scale(rounds.tau / _TAU_STEPS, bound)
        column = (0.0, 1.0, [(-math.inf, math.inf, 1.0 / bound)])
        row_map = RowMap([column] * X.shape[1], (0.0, 1.0), scale, constant_share, norm="clip")
        stored = Table.of(X, y, self.n_jobs).store(row_map)

        gram = releaser.release(stored, Gram(row_map), mu_gram)
        eigenvalue = releaser.release(stored, SmallestEigenvalue(row_map), mu_eigenvalue)
        gamma = inverse(gram.value, gram.sigma, (eigenvalue.value, eigenvalue.sigma), ridge)

        theta = np.zeros(len(gram.value))
        averaged = max(1, math.ceil(rounds.averaging * rounds.count))
        total = np.zeros_like(theta)
        for t in range(1, rounds.count + 1):
            noisy = releaser.release(stored, Gradient(theta, _TAU_STEPS, scale), mu_round).value
            step = learning_rate(rounds.schedule, t) * (gamma @ noisy)
            # Public numbers, kept finite so that a wild round cannot end the fit.
            limit = _LARGEST * rounds.tau / bound
            theta = np.clip(np.nan_to_num(theta + step, posinf=limit, neginf=-limit), -limit, limit)
            if t > rounds.count - averaged:
                total += theta
            progress(t, rounds.count)
        theta = total / averaged
        self._set_coefficients(theta, constant_share, bound)
        self.n_rounds_ = rounds.count
        self.x_bound_ = x_bound
        return ()

    def _set_coefficients(self, theta: Floats, constant_share: float | None, bound: float) -> None:
        if constant_share is None:
            self.coef_, self.intercept_ = theta, 0.0
        else:
            self.coef_ = theta[:-1]
            self.intercept_ = float(theta[-1] * bound * math.sqrt(constant_share))


class BoostedAdaSSP(_SufficientStatistics):
    """Private boosting with AdaSSP as base learner (Algorithm 1 of the paper).

    Parameters
    ----------
    epsilon, delta : float, optional
        The privacy budget. By default 1 and 1e-6, unless `mu` is given.
    mu : float, optional
        The privacy budget as the parameter of Gaussian DP, instead of `epsilon` and `delta`.
    x_bound : float, default 1
        Norm to which rows are clipped.
    tau : float, default 1
        Magnitude to which residuals are clipped.
    n_rounds : int, default 100
        Number of boosting rounds.
    learning_rate : {"constant", "1/t", "1/sqrt(t)"}, default "constant"
        Step size of round t: 1, 1/t or 1/sqrt(t).
    split : tuple of three floats, default (1, 1, 1)
        Ratio in which mu is divided among X'X, all rounds together, and the smallest eigenvalue.
    ridge : {"adassp", "literal"}, default "adassp"
        How the ridge penalty is computed from the released smallest eigenvalue. ``"literal"``
        follows the paper's text word for word and gives much larger errors.
    averaging : float, default 0
        Fraction of the rounds, counted from the last, whose coefficients are averaged. 0 returns
        the coefficients of the last round, as in the paper.
    neighbors : {"add_remove", "replace"}, default "add_remove"
        Whether neighbouring tables differ by adding or removing one row, or by replacing one row.
    fit_intercept : bool, default False
        Whether to add a constant feature of magnitude `x_bound`. The sensitivity accounts for it.
    clip_predictions : bool, default True
        Whether `predict` clips rows as `fit` does.
    ledger : Ledger or path, optional
        The ledger that pays for each fit. A fit that its budget does not allow raises
        `BudgetExceeded`.
    n_jobs : int, optional
        Number of threads. By default, the number of cores that the process may use.
    random_state : int, RandomState or Generator, optional
        A seed for tests. It makes the noise repeatable, so the result is not private, and warns.
    verbose : bool, default False
        Whether to show a progress bar.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Coefficients for the clipped rows.
    intercept_ : float
        The intercept; 0 without `fit_intercept`.
    privacy_ : PrivacyRecord
        The privacy guarantee and the releases that it is based on.
    provenance_ : Provenance
        When the model was fitted and, with a ledger, the data set and the entry.
    n_rounds_ : int
        Number of rounds.
    x_bound_ : float
        Norm to which rows were clipped.
    n_features_in_, feature_names_in_
        Number and names of the features, as in scikit-learn.

    See Also
    --------
    AdaSSP : A single round.
    DPGradientDescent : Rounds that do not use X'X.

    Notes
    -----
    Every fit spends its budget. In cross-validation and grid search, the costs add up.

    *Privacy.*
    The fit is mu-GDP: X'X, its smallest eigenvalue and X'g of every round are exact integers, which
    are released with Gaussian noise. Their mu compose to the budget.

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
        ledger: LedgerLike | None = None,
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
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Array, y: Array, spend: Budget, releaser: Releaser) -> tuple[str, ...]:
        schedules = ("constant", "1/t", "1/sqrt(t)")
        rounds = _Rounds(
            tau=real("tau", self.tau, 1e-50, 1e50),
            count=integer("n_rounds", self.n_rounds, 1, 1_000_000),
            schedule=cast(LearningRate, one_of("learning_rate", self.learning_rate, schedules)),
            averaging=share("averaging", self.averaging),
        )
        return self._boost(X, y, spend, releaser, rounds)


class AdaSSP(_SufficientStatistics):
    """Private ridge regression from noisy sufficient statistics (Algorithm 2 of the paper).

    Parameters
    ----------
    epsilon, delta, mu, x_bound
        As in :class:`BoostedAdaSSP`.
    y_bound : float, default 1
        Magnitude to which targets are clipped.
    split : tuple of three floats, default (1, 1, 1)
        Ratio in which mu is divided among X'X, X'y and the smallest eigenvalue.
    ridge, neighbors, fit_intercept, clip_predictions, ledger, n_jobs, random_state
        As in :class:`BoostedAdaSSP`.

    Attributes
    ----------
    coef_, intercept_, privacy_, provenance_, n_features_in_, feature_names_in_
        As in :class:`BoostedAdaSSP`.

    See Also
    --------
    BoostedAdaSSP : Many rounds, for targets without a known bound.

    Notes
    -----
    *Privacy.*
    As for :class:`BoostedAdaSSP`, with one round.

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
        ledger: LedgerLike | None = None,
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
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, X: Array, y: Array, spend: Budget, releaser: Releaser) -> tuple[str, ...]:
        y_bound = real("y_bound", self.y_bound, 1e-50, 1e50)
        return self._boost(X, y, spend, releaser, _Rounds(tau=y_bound))
