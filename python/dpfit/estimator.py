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
from dpfit.accounting import (
    Bill,
    Charge,
    LedgerLike,
    PrivacyRecord,
    Provenance,
    utc_now,
)
from dpfit.exceptions import ExactScoreWarning, InsecureSeedWarning, ParameterError
from dpfit.release import Releaser

__all__ = ["PrivateRegressor", "not_enough_memory"]


_exact_score_was_reported = False
_SWITCHES = {"clip_predictions", "fit_intercept", "verbose"}


class PrivateRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose fit spends a privacy budget and leaves a privacy record."""

    epsilon: float | None
    delta: float | None
    mu: float | None
    neighbors: Neighbors
    ledger: LedgerLike | None = None
    n_jobs: int | None
    random_state: Any
    privacy_: PrivacyRecord
    provenance_: Provenance
    # Whether mu is the cost of a fit. If not, it is epsilon and delta.
    _is_gaussian = True

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
        interrupted, the model does not change. A ledger is charged before the first noise is drawn:
        a fit that fails later has spent its budget.
        """
        return self._spend(X, y)

    def _spend(self, X: Any, y: Any, *, rows_per_unit: int = 1, **details: Any) -> Self:
        """Check parameters, fit, and set the privacy record; `details` are passed to `_fit`.

        Privacy
        -------
        If memory is short, the message of NumPy contains a shape, and so the number of rows. It is
        replaced.
        """
        bill: Bill | None = None
        try:
            # Released numbers may be wild, and a warning must not reveal that.
            with self._all_or_nothing(), np.errstate(all="ignore"):
                neighbors = one_of("neighbors", self.neighbors, ("add_remove", "replace"))
                if self.n_jobs is not None:
                    integer("n_jobs", self.n_jobs, 1, 1024)
                for name in _SWITCHES & self.get_params().keys():
                    switch(name, getattr(self, name))
                spend = budget(self.epsilon, self.delta, self.mu)
                unit = details.get("unit")
                max_rows = None if unit is None else rows_per_unit
                unit_name = unit if isinstance(unit, str) else None
                started = utc_now()
                charge = Charge(
                    what=type(self).__name__,
                    mu=spend.mu if self._is_gaussian else None,
                    epsilon=spend.epsilon,
                    delta=spend.delta,
                    neighbors=cast(Neighbors, neighbors),
                    protects_units=max_rows is not None,
                    unit_name=unit_name,
                    max_rows=max_rows,
                )
                bill = Bill.of(self.ledger, charge, is_seeded=self.random_state is not None)
                X, y = self._checked(X, y, details)
                source = entropy(self.random_state)
                releaser = Releaser(
                    source,
                    cast(Neighbors, neighbors),
                    n_jobs=self.n_jobs,
                    rows_per_unit=rows_per_unit,
                    reserve=bill,
                )
                notes = self._fit(X, y, spend, releaser, **details)
                self.privacy_ = PrivacyRecord.from_events(
                    releaser.events,
                    **cast(Any, spend.named()),
                    insecure_seed=source.is_insecure,
                    max_rows=max_rows,
                    unit_name=unit_name,
                    notes=notes,
                )
                self.provenance_ = bill.provenance() if bill else Provenance(fitted_at=started)
            return self
        except MemoryError:
            problem = not_enough_memory("this fit")
        except BaseException as error:
            if bill is not None:
                bill.add_note(error)
            raise
        if bill is not None:
            bill.add_note(problem)
        raise problem

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
        if isinstance(y, str):
            raise ParameterError(
                "score needs the values of the target, not the name of its column",
                subject="y",
                hint=f"evaluate(X, {y!r}, epsilon=...) is private and takes the name",
            )
        _warn_of_exact_score()
        return float(super().score(X, y, sample_weight))

    def __setstate__(self, state: Any) -> None:
        """Restore a pickled estimator; warn if its noise was seeded.

        Privacy
        -------
        Whoever receives a pickled model, or one inside an ensemble or a pipeline, has not seen the
        warning of its fit. `BaggingRegressor` and other ensembles seed their members, and may fit
        them in processes whose warnings are lost.
        """
        super().__setstate__(state)
        record = self.__dict__.get("privacy_")
        if getattr(record, "insecure_seed", False):
            warnings.warn(
                f"this {type(self).__name__} was fitted with a fixed seed and is not private: "
                "anyone who knows or guesses the seed can remove the noise",
                InsecureSeedWarning,
                stacklevel=2,
            )

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
        with contextlib.suppress(MemoryError):
            rows = validate(self, X, reset=False, dtype=np.float64, ensure_all_finite=finite)
            return cast(Floats, rows)
        raise not_enough_memory("these predictions")


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


def not_enough_memory(purpose: str) -> MemoryError:
    """Return an error to raise instead of another one.

    Privacy
    -------
    NumPy's error contains the shape of an array, and so the exact number of rows.
    """
    return MemoryError(f"there is not enough memory for {purpose}")
