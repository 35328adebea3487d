"""What all estimators share: checking, the budget, the record."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpfit._parameters import Budget, budget, entropy, integer, one_of, switch
from dpfit._validate import validate
from dpfit.accounting import Event, Neighbors, PrivacyRecord, describe_unit
from dpfit.release import Publisher

__all__ = ["Array", "Floats", "PrivateRegressor"]

Floats: TypeAlias = npt.NDArray[np.float64]
Array: TypeAlias = npt.NDArray[Any]


_SWITCHES = {"clip_predictions", "fit_intercept", "verbose"}


class PrivateRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose fit spends a budget and leaves a record of it."""

    epsilon: float | None
    delta: float | None
    mu: float | None
    neighbors: Neighbors
    n_jobs: int | None
    random_state: Any
    privacy_: PrivacyRecord

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model. Every fit spends its budget anew.

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
        The attributes set by a fit are together private with the budget asked for; if the fit is
        interrupted or fails, the model is as it was before.
        """
        return self._spend(X, y)

    def _spend(self, X: Any, y: Any, *, rows_per_unit: int = 1, **details: Any) -> Self:
        """Check, fit and leave a record; `details` go to the fit."""
        # Released numbers may be wild. No warning tells of them.
        with self._all_or_nothing(), np.errstate(all="ignore"):
            neighbors = one_of("neighbors", self.neighbors, ("add_remove", "replace"))
            if self.n_jobs is not None:
                integer("n_jobs", self.n_jobs, 1, 1024)
            for name in _SWITCHES & self.get_params().keys():
                switch(name, getattr(self, name))
            spend = budget(self.epsilon, self.delta, self.mu)
            X, y = self._checked(X, y, details)
            source = entropy(self.random_state)
            publisher = Publisher(
                source,
                cast(Neighbors, neighbors),
                n_jobs=self.n_jobs,
                rows_per_unit=rows_per_unit,
            )
            unit = details.get("unit")
            events, notes = self._fit(X, y, spend, publisher, **details)
            self.privacy_ = PrivacyRecord.from_events(
                events,
                **cast(Any, spend.named()),
                insecure_seed=source.is_insecure,
                unit=self._protected(),
                unit_column=unit if isinstance(unit, str) else None,
                notes=notes,
            )
        return self

    def _checked(self, X: Any, y: Any, details: dict[str, Any]) -> tuple[Any, Any]:
        """Return what the fit takes for X and y."""
        return cast(tuple[Any, Any], validate(self, X, y, y_numeric=True, ensure_all_finite=False))

    def _protected(self) -> str:
        """Return what one change of the table is, for the record."""
        return describe_unit()

    def _fit(
        self, X: Array, y: Array, spend: Budget, publisher: Publisher
    ) -> tuple[tuple[Event, ...], tuple[str, ...]]:
        """Set the fitted attributes; return what was released and notes for the record."""
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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "privacy_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Noise, and bounds that do not look at the data: no promise on a table of 200 rows.
        tags.regressor_tags.poor_score = True
        return tags

    def _rows(self, X: Any) -> Floats:
        """Return the rows to predict for."""
        check_is_fitted(self)
        finite = not self.__sklearn_tags__().input_tags.allow_nan
        rows = validate(self, X, reset=False, dtype=np.float64, ensure_all_finite=finite)
        return cast(Floats, rows)
