"""Zero-dimensional BoostedAdaSSP (Algorithm 3 of the paper): a private mean without bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfit import _native
from dpfit._estimator import Array, Floats, PrivateRegressor
from dpfit._parameters import Budget, integer, real
from dpfit._progress import rounds
from dpfit.accounting import Event, Neighbors, per_round, split
from dpfit.release import Publisher

__all__ = ["BoostedMean"]

_TAU_UNITS = 1 << 18
# A constant one on the grid of the rows, which ends one step short of one.
_ONE = 32767.0 / 32768.0
_COUNT_SHARE = 0.3


class BoostedMean(PrivateRegressor):
    """Algorithm 3 of the paper: the mean of clipped residuals, added up over rounds.

    It predicts one number for every row, as :class:`sklearn.dummy.DummyRegressor` does, and
    converges to the mean (of a symmetric law) for every clipping threshold.

    Parameters
    ----------
    epsilon, delta : float or None
        The budget; 1 and 1e-6 if neither these nor `mu` is given.
    mu : float or None
        The budget as a parameter of Gaussian DP, instead of epsilon and delta; the square root of
        the paper's rho.
    tau : float, default 1
        Residuals are clipped to this size.
    n_rounds : int, default 100
        Boosting rounds.
    neighbors : {"add_remove", "replace"}
        One row more or less, or one row changed, as in the paper. With ``"add_remove"`` the number
        of rows is not public and is released with noise.
    n_jobs : int or None
        Threads; None for the cores that this process may use.
    random_state : int, RandomState, Generator or None
        A seed makes the noise repeatable and the result not private; it warns.
    verbose : bool, default False
        Whether to show a bar with rounds.

    Attributes
    ----------
    mean_ : float
        The estimate.
    privacy_ : PrivacyRecord
        The guarantee and the releases that it rests on.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    dpfit.theory : The infinite-sample iteration and the bounds of the propositions.

    Notes
    -----
    *Privacy.*
    The sum of n residuals clipped to tau has sensitivity tau (2 tau if a row is replaced); each
    round's release is (mu/sqrt(R))-GDP.

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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(
        self, X: Array, y: Array, spend: Budget, publisher: Publisher
    ) -> tuple[tuple[Event, ...], tuple[str, ...]]:
        tau = real("tau", self.tau, 1e-50, 1e50)
        n_rounds = integer("n_rounds", self.n_rounds, 1, 1_000_000)
        unit = tau / _TAU_UNITS
        row_map = _native.RowMap([(0.0, 1.0, [(-np.inf, np.inf, 1.0)])], unit=unit)
        rows = _native.Rows(row_map)
        rows.extend(np.broadcast_to(1.0, (len(y), 1)), y, n_jobs=self.n_jobs)
        mu_rounds, count = spend.mu, float(len(y))
        if self.neighbors == "add_remove":
            mu_count, mu_rounds = split(spend.mu, (_COUNT_SHARE, 1.0))
            count = max(1.0, publisher.count(len(y), mu_count))
        mu_round = per_round(mu_rounds, n_rounds)
        mean = 0.0
        for _ in rounds(n_rounds, show=self.verbose, name=type(self).__name__):
            gradient = rows.gradient(np.array([mean / _ONE]), _TAU_UNITS, n_jobs=self.n_jobs)
            noisy, _ = publisher.gradient(gradient, _TAU_UNITS, mu_round, 1.0, unit)
            mean = float(np.clip(mean + noisy[0] / _ONE / count, -1e100, 1e100))
        self.mean_ = mean
        return publisher.events, ()

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
            Rows, of which only the number matters.

        Returns
        -------
        array of shape (n_samples,)
            The mean, repeated.
        """
        return np.full(len(self._rows(X)), self.mean_)
