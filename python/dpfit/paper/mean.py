"""BoostedAdaSSP in dimension zero (Algorithm 3 of the paper): a private mean without bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfit import _native
from dpfit._parameters import Budget, integer, real
from dpfit._progress import rounds_done
from dpfit._typing import Array, Floats, Neighbors
from dpfit.accounting import LedgerLike, per_round, split
from dpfit.estimator import PrivateRegressor
from dpfit.release import Releaser
from dpfit.statistics import Gradient, RowCount, RowMap, Scale, Table

__all__ = ["BoostedMean"]

# Steps of the target's grid up to the clipping threshold.
_TAU_STEPS = 1 << 18
# A constant one on the grid of the rows, which ends one step short of one.
_ONE = (_native.ROW_SCALE - 1) / _native.ROW_SCALE
_COUNT_SHARE = 0.3


class BoostedMean(PrivateRegressor):
    """Private mean by boosting (Algorithm 3 of the paper).

    Each round adds the noisy mean of the clipped residuals to the estimate. Without noise, the
    estimate converges to the mean of a symmetric distribution for every clipping threshold. Like
    :class:`sklearn.dummy.DummyRegressor`, the model predicts the same number for every row.

    Parameters
    ----------
    epsilon, delta : float, optional
        The privacy budget. By default 1 and 1e-6, unless `mu` is given.
    mu : float, optional
        The privacy budget as the parameter of Gaussian DP, instead of `epsilon` and `delta`. It is
        the square root of the paper's rho.
    tau : float, default 1
        Magnitude to which residuals are clipped.
    n_rounds : int, default 100
        Number of boosting rounds.
    neighbors : {"add_remove", "replace"}, default "add_remove"
        Whether neighbouring tables differ by adding or removing one row, or by replacing one row,
        as in the paper. With ``"add_remove"``, the number of rows is not public. It is released
        with noise.
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
    mean_ : float
        The estimated mean.
    privacy_ : PrivacyRecord
        The privacy guarantee and the releases that it is based on.
    provenance_ : Provenance
        When the model was fitted and, with a ledger, the data set and the entry.
    n_features_in_, feature_names_in_
        Number and names of the features, as in scikit-learn.

    See Also
    --------
    dpfit.theory : The infinite-sample iteration and the bounds of the paper's propositions.

    Notes
    -----
    *Privacy.*
    The sum of residuals clipped to tau has sensitivity tau (2 tau if a row is replaced). Each of R
    rounds is (mu/sqrt(R))-GDP, where mu is the budget of all rounds together.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfit import BoostedMean
    >>> y = np.random.default_rng(0).normal(loc=3.0, size=10_000)
    >>> model = BoostedMean(epsilon=1.0, tau=1.0).fit(np.zeros((10_000, 1)), y)
    >>> abs(model.mean_ - 3.0) < 0.2
    True
    """

    mean_: float

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        mu: float | None = None,
        tau: float = 1.0,
        n_rounds: int = 100,
        neighbors: Neighbors = "add_remove",
        ledger: LedgerLike | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mu = mu
        self.tau = tau
        self.n_rounds = n_rounds
        self.neighbors = neighbors
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Array, y: Array, spend: Budget, releaser: Releaser) -> tuple[str, ...]:
        tau = real("tau", self.tau, 1e-50, 1e50)
        n_rounds = integer("n_rounds", self.n_rounds, 1, 1_000_000)
        progress = rounds_done(show=self.verbose, name=type(self).__name__)
        # One column of ones: nothing in X is looked at.
        table = Table.of(np.broadcast_to(1.0, (len(y), 1)), y, self.n_jobs)
        mu_rounds = spend.mu
        if self.neighbors == "add_remove":
            mu_count, mu_rounds = split(spend.mu, (_COUNT_SHARE, 1.0))
            count = max(1.0, releaser.release(table, RowCount(), mu_count).value)
        else:
            count = releaser.public_rows(table)
        mu_round = per_round(mu_rounds, n_rounds)
        scale = Scale(step=tau / _TAU_STEPS)
        column = (0.0, 1.0, [(-math.inf, math.inf, 1.0)])
        stored = table.store(RowMap([column], (0.0, 1.0), scale, None, norm="clip"), gram=False)
        mean = 0.0
        for t in range(1, n_rounds + 1):
            gradient = Gradient(np.array([mean / _ONE]), _TAU_STEPS, scale)
            noisy = releaser.release(stored, gradient, mu_round).value
            mean = float(np.clip(mean + noisy[0] / _ONE / count, -1e100, 1e100))
            progress(t, n_rounds)
        self.mean_ = mean
        return ()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Nothing in X is looked at.
        tags.input_tags.allow_nan = True
        return tags

    def predict(self, X: Any) -> Floats:
        """Predict the mean for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows. Only their number matters.

        Returns
        -------
        array of shape (n_samples,)
            The mean, repeated.
        """
        return np.full(len(self._rows(X)), self.mean_)
