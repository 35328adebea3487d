"""The base class of all estimators: checks, budget, privacy record."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpfit._parameters import Budget, budget, entropy, integer, one_of, switch
from dpfit._typing import Array, Floats, Neighbors
from dpfit._validation import validate
from dpfit.accounting import PrivacyRecord
from dpfit.exceptions import ExactScoreWarning
from dpfit.release import Releaser

__all__ = ["PrivateRegressor"]


_exact_score_was_reported = False
_SWITCHES = {"clip_predictions", "fit_intercept", "verbose"}


class PrivateRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose fit spends a privacy budget and leaves a privacy record."""

    epsilon: float | None
    delta: float | None
    mu: float | None
    neighbors: Neighbors
    n_jobs: int | None
    random_state: Any
    privacy_: PrivacyRecord

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model. Each call to `fit` spends the budget again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers.
        y : array-like of shape (n_samples,)
            The target.

        Returns
        -------
        self
            The fitted model.

        Privacy
        -------
        All fitted attributes together satisfy the guarantee in `privacy_`. If the fit fails or is
        interrupted, the model does not change.
        """
        return self._spend(X, y)

    def _spend(self, X: Any, y: Any, *, rows_per_unit: int = 1, **details: Any) -> Self:
        """Check parameters, fit, and set the privacy record; `details` are passed to `_fit`.

        Privacy
        -------
        If memory is short, the message of NumPy contains a shape, and so the number of rows. It is
        replaced.
        """
        try:
            # Released numbers may be wild, and a warning must not reveal that.
            with self._all_or_nothing(), np.errstate(all="ignore"):
                neighbors = one_of("neighbors", self.neighbors, ("add_remove", "replace"))
                if self.n_jobs is not None:
                    integer("n_jobs", self.n_jobs, 1, 1024)
                for name in _SWITCHES & self.get_params().keys():
                    switch(name, getattr(self, name))
                spend = budget(self.epsilon, self.delta, self.mu)
                X, y = self._checked(X, y, details)
                source = entropy(self.random_state)
                releaser = Releaser(
                    source,
                    cast(Neighbors, neighbors),
                    n_jobs=self.n_jobs,
                    rows_per_unit=rows_per_unit,
                )
                unit = details.get("unit")
                notes = self._fit(X, y, spend, releaser, **details)
                self.privacy_ = PrivacyRecord.from_events(
                    releaser.events,
                    **cast(Any, spend.named()),
                    insecure_seed=source.is_insecure,
                    max_rows=None if unit is None else rows_per_unit,
                    unit_name=unit if isinstance(unit, str) else None,
                    notes=notes,
                )
            return self
        except MemoryError:
            pass
        raise MemoryError("there is not enough memory for this fit")

    def _checked(self, X: Any, y: Any, details: dict[str, Any]) -> tuple[Any, Any]:
        """Return X and y as `_fit` takes them."""
        return cast(tuple[Any, Any], validate(self, X, y, y_numeric=True, ensure_all_finite=False))

    def _fit(self, X: Array, y: Array, spend: Budget, releaser: Releaser) -> tuple[str, ...]:
        """Set the fitted attributes; return notes for the record."""
        raise TypeError("a private regressor needs a method _fit")

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the exact R² of predictions. It is not private.

        Parameters
        ----------
        X : table
            Rows to predict for.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            Weights.

        Returns
        -------
        float
            The coefficient of determination.

        Warns
        -----
        ExactScoreWarning
            Once per process.

        Privacy
        -------
        An exact number is not differentially private: with and without a row it differs, and many
        scores together reveal rows. The `evaluate` method of the estimators without tuning is
        private.
        """
        _warn_of_exact_score()
        return float(super().score(X, y, sample_weight))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "privacy_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Because of noise and fixed bounds, nothing is promised for a table of 200 rows.
        tags.regressor_tags.poor_score = True
        return tags

    def _rows(self, X: Any) -> Floats:
        """Return X as an array of rows."""
        check_is_fitted(self)
        finite = not self.__sklearn_tags__().input_tags.allow_nan
        rows = validate(self, X, reset=False, dtype=np.float64, ensure_all_finite=finite)
        return cast(Floats, rows)


def _warn_of_exact_score() -> None:
    """Warn once per process, whatever calls `score`: cross-validation would warn for each fold."""
    global _exact_score_was_reported
    if _exact_score_was_reported:
        return
    _exact_score_was_reported = True
    warnings.warn(
        "score returns an exact number, which is not differentially private: do not publish it if "
        "the rows are private, and use evaluate(X, y, epsilon=...) instead",
        ExactScoreWarning,
        stacklevel=3,
    )
