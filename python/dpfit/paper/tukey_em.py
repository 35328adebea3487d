"""TukeyEM (Amin et al. 2022): models of disjoint parts, aggregated privately by Tukey depth."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfit._parameters import Budget, integer
from dpfit._typing import Array, Floats, Neighbors
from dpfit.accounting import LedgerLike
from dpfit.exceptions import NotFiniteError, ParameterError
from dpfit.paper._linear import LinearModel
from dpfit.paper._tukey import Grid, plan_tukey, release_tukey_point
from dpfit.release import Releaser

__all__ = ["TukeyEM"]

# Coefficients have a resolution of 1e-10 and a range of 1e6.
_GRID = Grid(step=2.0**-33, radius=2**53)


class TukeyEM(LinearModel):
    """Private aggregate of least-squares models on disjoint parts, by Tukey depth.

    Parameters
    ----------
    epsilon, delta : float, optional
        The privacy budget. By default 1 and 1e-6.
    n_models : int, default 1000
        Number of parts. Each part should have more rows than there are columns. At epsilon = 1, the
        check needs about a thousand parts to pass.
    neighbors : {"add_remove", "replace"}, default "add_remove"
        Whether neighbouring tables differ by adding or removing one row, or by replacing one row.
        Rows are assigned to parts independently of each other and of their values, so either
        change affects one model.
    fit_intercept : bool, default False
        Whether to add a constant feature with value 1.
    ledger : Ledger or path, optional
        The ledger that pays for each fit. A fit that its budget does not allow raises
        `BudgetExceeded`.
    n_jobs : int, optional
        Ignored; present for consistency with the other estimators.
    random_state : int, RandomState or Generator, optional
        A seed for tests. It makes the result repeatable, so it is not private, and warns.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Coefficients; zeros if the check failed.
    intercept_ : float
        The intercept; 0 without `fit_intercept`.
    passed_ : bool
        Whether the propose-test-release check passed. This outcome is part of the release.
    privacy_ : PrivacyRecord
        The privacy guarantee and the releases that it is based on.
    provenance_ : Provenance
        When the model was fitted and, with a ledger, the data set and the entry.
    n_features_in_, feature_names_in_
        Number and names of the features, as in scikit-learn.

    See Also
    --------
    BoostedAdaSSP : Needs far fewer rows.

    Notes
    -----
    *Privacy.*
    One row changes one of the `n_models` models. ``docs/privacy/tukey_em.md`` proves that the
    aggregate is (epsilon, delta)-DP. It is computed in exact arithmetic.

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
    _is_gaussian = False

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        n_models: int = 1000,
        neighbors: Neighbors = "add_remove",
        fit_intercept: bool = False,
        ledger: LedgerLike | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_models = n_models
        self.neighbors = neighbors
        self.fit_intercept = fit_intercept
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, X: Array, y: Array, spend: Budget, releaser: Releaser) -> tuple[str, ...]:
        n_models = integer("n_models", self.n_models, 1, 1_000_000)
        if spend.epsilon is None or spend.delta is None:
            raise ParameterError("TukeyEM requires epsilon and delta")
        with np.errstate(all="ignore"):
            X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if not (np.isfinite(X).all() and np.isfinite(y).all()):
            raise NotFiniteError("X or y contains NaN or infinity; drop or replace such rows")
        # All that can fail because of parameters, before the budget is spent.
        plan_tukey(spend.epsilon, spend.delta, n_models)
        source = releaser.random()
        # Parts are independent of each other and of the rows. Their probabilities differ by a
        # relative 2^-44 at most, which costs no privacy.
        words = source.getrandbits(64 * len(y)).to_bytes(8 * len(y), "little")
        parts = np.frombuffer(words, dtype="<u8") % n_models
        models = _least_squares(X, y, parts, n_models, bool(self.fit_intercept))
        release = release_tukey_point(models, spend.epsilon, spend.delta, _GRID, source=source)
        notes: tuple[str, ...] = ()
        if release.point is None:
            theta = np.zeros(models.shape[1])
            notes = (
                "The models differed too much for a private choice; all coefficients are zero.",
            )
        else:
            theta = _GRID.coefficients(release.point)
        self.passed_ = release.passed
        self.coef_ = theta[: X.shape[1]]
        self.intercept_ = float(theta[-1]) if self.fit_intercept else 0.0
        releaser.record(*release.events(self.neighbors))
        return notes


def _least_squares(X: Array, y: Array, parts: Array, n_models: int, fit_intercept: bool) -> Floats:
    """Return the least-squares coefficients of every part. Each depends on its part alone.

    Privacy
    -------
    No values raise. If the solver does not converge for a part, the coefficients of that part are
    zero and no others change.
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
