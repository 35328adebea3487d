"""Noisy full-batch gradient descent on the squared error."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from dpfit._parameters import Budget, integer, one_of, real
from dpfit._progress import rounds_done
from dpfit._typing import Array, Neighbors
from dpfit.accounting import LedgerLike, per_round, split
from dpfit.engine.solve import LearningRate, learning_rate
from dpfit.paper._linear import LinearModel
from dpfit.release import Releaser
from dpfit.statistics import ClippedGradients, RowCount, Table

__all__ = ["DPGradientDescent"]

# The mu of the row count, if it is not public, relative to the mu of all rounds: about 1 % of mu^2.
# At epsilon = 1 and delta = 1e-6, its noise has a standard deviation of 42 rows.
_COUNT_SHARE = 0.1


class DPGradientDescent(LinearModel):
    """Private full-batch gradient descent with clipped per-example gradients.

    Round t adds the step size of round t times the noisy mean gradient,
    (1/n) sum clip((y - x theta) x, clip_norm), to the coefficients theta.

    Parameters
    ----------
    epsilon, delta : float, optional
        The privacy budget. By default 1 and 1e-6, unless `mu` is given.
    mu : float, optional
        The privacy budget as the parameter of Gaussian DP, instead of `epsilon` and `delta`.
    clip_norm : float, default 1
        Norm to which the gradient of each row is clipped.
    n_rounds : int, default 100
        Number of steps.
    learning_rate : {"constant", "1/t", "1/sqrt(t)"}, default "constant"
        Step size of round t: 1, 1/t or 1/sqrt(t).
    neighbors : {"add_remove", "replace"}, default "add_remove"
        Whether neighbouring tables differ by adding or removing one row, or by replacing one row.
        With ``"add_remove"``, the number of rows is not public. It is released with noise, for one
        percent of mu squared.
    fit_intercept : bool, default False
        Whether to add a constant feature with value 1.
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
        Coefficients.
    intercept_ : float
        The intercept; 0 without `fit_intercept`.
    privacy_ : PrivacyRecord
        The privacy guarantee and the releases that it is based on.
    provenance_ : Provenance
        When the model was fitted and, with a ledger, the data set and the entry.
    n_features_in_, feature_names_in_
        Number and names of the features, as in scikit-learn.

    See Also
    --------
    BoostedAdaSSP : Rounds that also use X'X.

    Notes
    -----
    *Privacy.*
    The clipped gradient of every row is a vector of integers with norm at most 2**24, for any
    input. The sum is exact. Gaussian noise makes each of T rounds (mu/sqrt(T))-GDP, where mu is the
    budget of all rounds together.

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
        ledger: LedgerLike | None = None,
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
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Array, y: Array, spend: Budget, releaser: Releaser) -> tuple[str, ...]:
        bound = real("clip_norm", self.clip_norm, 1e-50, 1e50)
        n_rounds = integer("n_rounds", self.n_rounds, 1, 1_000_000)
        schedules = ("constant", "1/t", "1/sqrt(t)")
        schedule = cast(LearningRate, one_of("learning_rate", self.learning_rate, schedules))
        progress = rounds_done(show=self.verbose, name=type(self).__name__)
        table = Table.of(X, y, self.n_jobs)
        mu_rounds = spend.mu
        if self.neighbors == "add_remove":
            mu_count, mu_rounds = split(spend.mu, (_COUNT_SHARE, 1.0))
            rows = max(1.0, releaser.release(table, RowCount(), mu_count).value)
        else:
            rows = releaser.public_rows(table)
        mu_round = per_round(mu_rounds, n_rounds)
        theta = np.zeros(X.shape[1] + bool(self.fit_intercept))
        for t in range(1, n_rounds + 1):
            noisy = releaser.release(table, ClippedGradients(theta, bound), mu_round).value
            theta = np.clip(theta + learning_rate(schedule, t) * noisy / rows, -1e100, 1e100)
            progress(t, n_rounds)
        self.coef_ = theta[: X.shape[1]]
        self.intercept_ = float(theta[-1]) if self.fit_intercept else 0.0
        return ()
