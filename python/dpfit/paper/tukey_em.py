"""TukeyEM (Amin et al. 2022): models of disjoint parts, aggregated privately by Tukey depth."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfit._estimator import Array, Floats
from dpfit._parameters import Budget, integer
from dpfit.accounting import Event, Neighbors
from dpfit.exceptions import NotFiniteError, ParameterError
from dpfit.paper._linear import LinearModel
from dpfit.paper._tukey import Grid, release_tukey_point
from dpfit.release import Publisher

__all__ = ["TukeyEM"]

# Coefficients are told apart to 1e-10 and reach to 1e6.
_GRID = Grid(step=2.0**-33, radius=2**53)


class TukeyEM(LinearModel):
    """Least squares on many disjoint parts, and one of the deepest points among their results.

    Parameters
    ----------
    epsilon, delta : float or None
        The budget; 1 and 1e-6 if not given.
    n_models : int, default 1000
        Parts. Each should have more rows than there are columns, and a thousand parts are needed
        for the check to pass at epsilon = 1.
    neighbors : {"add_remove", "replace"}
        One row more or less, or one row changed. Rows are assigned to parts independently of each
        other and of what they hold, so either changes one model.
    fit_intercept : bool, default False
        Whether to add a constant feature of size one.
    n_jobs : int or None
        Not used; for the same signature as the others.
    random_state : int, RandomState, Generator or None
        A seed makes the result repeatable and not private; it warns.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Coefficients; zeros if the check failed.
    intercept_ : float
        The constant; 0 without `fit_intercept`.
    passed_ : bool
        Whether the propose-test-release check passed. Its outcome is part of what is released.
    privacy_ : PrivacyRecord
        The guarantee and the releases that it rests on.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    BoostedAdaSSP : Needs far fewer rows.

    Notes
    -----
    *Privacy.*
    One row changes one of the `n_models` models; ``docs/privacy/tukey_em.md`` has the proof that
    the aggregate is (epsilon, delta)-DP in exact arithmetic.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfit import TukeyEM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50_000, 2))
    >>> y = X @ [1.0, -0.5] + rng.normal(size=50_000)
    >>> model = TukeyEM(epsilon=5.0, delta=1e-6).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.3)
    True
    """

    passed_: bool
    # Not a Gaussian mechanism: there is no budget in mu.
    mu = None

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        n_models: int = 1000,
        neighbors: Neighbors = "add_remove",
        fit_intercept: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_models = n_models
        self.neighbors = neighbors
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(
        self, X: Array, y: Array, spend: Budget, publisher: Publisher
    ) -> tuple[tuple[Event, ...], tuple[str, ...]]:
        n_models = integer("n_models", self.n_models, 1, 1_000_000)
        if spend.epsilon is None or spend.delta is None:
            raise ParameterError("TukeyEM needs epsilon and delta")
        with np.errstate(all="ignore"):
            X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if not (np.isfinite(X).all() and np.isfinite(y).all()):
            raise NotFiniteError("the rows hold NaN or infinite values; drop or replace them")
        source = publisher.random()
        # Independent of each other and of the rows; that some parts are likelier by 2^-54 costs
        # nothing.
        words = source.getrandbits(64 * len(y)).to_bytes(8 * len(y), "little")
        parts = np.frombuffer(words, dtype="<u8") % n_models
        models = _least_squares(X, y, parts, n_models, bool(self.fit_intercept))
        release = release_tukey_point(models, spend.epsilon, spend.delta, _GRID, source=source)
        notes: tuple[str, ...] = ()
        if release.point is None:
            theta = np.zeros(models.shape[1])
            notes = ("The models of the parts lay too far apart for a private choice: all zeros.",)
        else:
            theta = _GRID.coefficients(release.point)
        self.passed_ = release.passed
        self.coef_ = theta[: X.shape[1]]
        self.intercept_ = float(theta[-1]) if self.fit_intercept else 0.0
        return release.events(self.neighbors), notes


def _least_squares(X: Array, y: Array, parts: Array, n_models: int, fit_intercept: bool) -> Floats:
    """Fit every part by itself. What a part gives depends on that part alone, and never raises.

    Privacy
    -------
    A matrix for which the solver does not converge makes its own part zero and touches no other.
    """
    order = np.argsort(parts, kind="stable")
    ends = np.searchsorted(parts[order], np.arange(n_models + 1))
    models = np.zeros((n_models, X.shape[1] + fit_intercept))
    for index in range(n_models):
        rows = order[ends[index] : ends[index + 1]]
        design, target = X[rows], y[rows]
        if fit_intercept:
            design = np.column_stack([design, np.ones(len(rows))])
        if len(rows):
            try:
                with np.errstate(all="ignore"):
                    models[index] = np.linalg.lstsq(design, target, rcond=None)[0]
            except np.linalg.LinAlgError:
                continue
    return models
