"""Noisy full-batch gradient descent on the squared error."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from dpfit import _native
from dpfit._estimator import Array
from dpfit._parameters import Budget, integer, one_of, real
from dpfit._progress import rounds
from dpfit.accounting import Event, Neighbors, per_round, split
from dpfit.paper._linear import LinearModel
from dpfit.release import Publisher
from dpfit.solve import LearningRate, learning_rate

__all__ = ["DPGradientDescent"]

# The share of mu^2 that the number of rows costs where it is not public: its noise is then of the
# order of ten rows at epsilon = 1, which no step notices.
_COUNT_SHARE = 0.1


class DPGradientDescent(LinearModel):
    """Gradient descent with clipped per-example gradients and Gaussian noise, composed exactly.

    Round t moves the coefficients by the step of round t times the noisy mean gradient
    (1/n) sum clip((y - x theta) x, clip_norm).

    Parameters
    ----------
    epsilon, delta : float or None
        The budget; 1 and 1e-6 if neither these nor `mu` is given.
    mu : float or None
        The budget as a parameter of Gaussian DP, instead of epsilon and delta.
    clip_norm : float, default 1
        Each row's gradient is clipped to this norm.
    n_rounds : int, default 100
        Steps.
    learning_rate : {"constant", "1/t", "1/sqrt(t)"}
        The step of round t: 1, 1/t or 1/sqrt(t).
    neighbors : {"add_remove", "replace"}
        One row more or less, or one row changed. With ``"add_remove"`` the number of rows is not
        public and is released with noise, for a hundredth of the budget.
    fit_intercept : bool, default False
        Whether to add a constant feature of size one.
    n_jobs : int or None
        Threads; None for the cores that this process may use.
    random_state : int, RandomState, Generator or None
        A seed makes the noise repeatable and the result not private; it warns.
    verbose : bool, default False
        Whether to show a bar with rounds.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Coefficients.
    intercept_ : float
        The constant; 0 without `fit_intercept`.
    privacy_ : PrivacyRecord
        The guarantee and the releases that it rests on.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    BoostedAdaSSP : Rounds that also use X'X.

    Notes
    -----
    *Privacy.*
    A row's clipped gradient is a vector of integers of norm at most 2**24 for every input; the sum
    is exact, and Gaussian noise makes each round (mu/sqrt(T))-GDP.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfit import DPGradientDescent
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20_000, 2))
    >>> model = DPGradientDescent(epsilon=1.0).fit(X, X @ [1.0, -0.5])
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.2)
    True
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        mu: float | None = None,
        clip_norm: float = 1.0,
        n_rounds: int = 100,
        learning_rate: LearningRate = "constant",
        neighbors: Neighbors = "add_remove",
        fit_intercept: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mu = mu
        self.clip_norm = clip_norm
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.neighbors = neighbors
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(
        self, X: Array, y: Array, spend: Budget, publisher: Publisher
    ) -> tuple[tuple[Event, ...], tuple[str, ...]]:
        bound = real("clip_norm", self.clip_norm, 1e-50, 1e50)
        n_rounds = integer("n_rounds", self.n_rounds, 1, 1_000_000)
        schedules = ("constant", "1/t", "1/sqrt(t)")
        schedule = cast(LearningRate, one_of("learning_rate", self.learning_rate, schedules))
        mu_rounds, rows = spend.mu, float(len(y))
        if self.neighbors == "add_remove":
            mu_count, mu_rounds = split(spend.mu, (_COUNT_SHARE, 1.0))
            rows = max(1.0, publisher.count(len(y), mu_count))
        mu_round = per_round(mu_rounds, n_rounds)
        theta = np.zeros(X.shape[1] + bool(self.fit_intercept))
        for t in rounds(n_rounds, show=self.verbose, name=type(self).__name__):
            gradient = _native.ExampleGradient.of(X, y, theta, bound, n_jobs=self.n_jobs)
            noisy = publisher.example_gradient(gradient, mu_round, bound)
            theta = np.clip(theta + learning_rate(schedule, t) * noisy / rows, -1e100, 1e100)
        self.coef_ = theta[: X.shape[1]]
        self.intercept_ = float(theta[-1]) if self.fit_intercept else 0.0
        return publisher.events, ()
