"""What the estimators that need no tuning share."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
from threadpoolctl import ThreadpoolController

from dpfit._estimator import Array, PrivateRegressor
from dpfit._parameters import Budget, integer, one_of
from dpfit.accounting import Event, describe_unit
from dpfit.exceptions import ParameterError
from dpfit.fitting import Fitted, fit_table
from dpfit.release import Publisher
from dpfit.schema import Kind, Schema
from dpfit.table import ArrayTable, Missing
from dpfit.units import kept_rows

__all__ = ["PrivateModel"]

# The core's features end at 8192, the constant included; a line or a curve has at least one.
_MOST_COLUMNS = 4000


class PrivateModel(PrivateRegressor):
    """Scaling, boosting and averaging; subclasses say what the features are."""

    schema: Schema | None
    max_rows: int | None
    missing: Missing
    verbose: bool
    n_rows_: float
    n_rounds_: int
    residual_variance_: float | None
    target_range_: tuple[float, float]
    _additive: bool
    _fitted: Fitted

    def fit(self, X: Any, y: Any, *, unit: Any = None) -> Self:
        """Fit the model. Every fit spends its budget anew.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers.
        y : array-like of shape (n_samples,)
            The target.
        unit : array-like of shape (n_samples,) or str, optional
            Whose row it is, if a person may have several, or the name of the column of X that says
            so (it is no feature then). Needs `max_rows`.

        Returns
        -------
        self
            The fitted model.

        Privacy
        -------
        The attributes set by a fit are together private with the budget asked for; if the fit is
        interrupted or fails, the model is as it was before. Without `unit` one row is protected;
        with it, all rows of one unit.
        """
        if (unit is None) != (self.max_rows is None):
            raise ParameterError("unit and max_rows go together: give both or none")
        if isinstance(unit, str):
            X, unit = _without_column(X, unit)
        # Threads of the linear algebra of small matrices would wait, spinning, while the core's
        # threads go over the rows: with both, a round takes twice as long.
        with _threads_of_libraries().limit(limits=1, user_api="blas"):
            return self._spend(X, y, rows_per_unit=self._rows_per_unit(), unit=unit)

    def _rows_per_unit(self) -> int:
        if self.max_rows is None:
            return 1
        return integer("max_rows", self.max_rows, 1, 1 << 20)

    def _protected(self) -> str:
        return describe_unit(self.max_rows)

    def _fit(
        self, X: Array, y: Array, spend: Budget, publisher: Publisher, unit: Any = None
    ) -> tuple[tuple[Event, ...], tuple[str, ...]]:
        if X.shape[1] > _MOST_COLUMNS:
            raise ParameterError(f"X must have at most {_MOST_COLUMNS} columns")
        missing = cast(Missing, one_of("missing", self.missing, ("error", "drop")))
        kinds, target = self._kinds(X.shape[1])
        if unit is not None:
            kept = kept_rows(unit, X, y, self._rows_per_unit())
            X, y = X[kept], y[kept]
        fitted = fit_table(
            ArrayTable(X, y, missing=missing, n_jobs=self.n_jobs),
            kinds,
            target.target,
            publisher,
            spend.mu,
            additive=self._additive,
            knots=self._knots(),
            rows_are_public=self._rows_are_public(missing, unit),
            rows_per_unit=self._rows_per_unit(),
            n_jobs=self.n_jobs,
            show=self.verbose,
            name=type(self).__name__,
        )
        self._fitted = fitted
        self.n_rows_ = fitted.rows
        self.n_rounds_ = fitted.rounds
        self.target_range_ = (fitted.centre - fitted.scale, fitted.centre + fitted.scale)
        variance = fitted.residual_variance
        self.residual_variance_ = None if variance is None else variance * fitted.scale**2
        self._set_attributes(fitted, kinds)
        return publisher.events, ()

    def _rows_are_public(self, missing: Missing, unit: Any) -> bool:
        """Return whether the number of rows that count is the same in all neighbours.

        Privacy
        -------
        It is when one row is replaced by another that counts: not if that may be dropped, and not
        if a unit may be replaced by one with more or fewer rows.
        """
        return self.neighbors == "replace" and missing == "error" and unit is None

    def _kinds(self, count: int) -> tuple[list[Kind], Schema]:
        schema = Schema() if self.schema is None else self.schema
        if not isinstance(schema, Schema):
            raise ParameterError("schema must be a Schema, for example Schema({0: Binary()})")
        names = getattr(self, "feature_names_in_", None)
        kinds = schema.resolve(None if names is None else [str(n) for n in names], count)
        return kinds, schema

    def _knots(self) -> int | None:
        return None

    def _set_attributes(self, fitted: Fitted, kinds: Sequence[Kind]) -> None:
        raise TypeError("a private model needs a method _set_attributes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "drop"
        return tags

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names]
        return [f"x{i}" for i in range(self.n_features_in_)]

    def _place(self, feature: Any) -> int:
        names = self._names()
        if isinstance(feature, str):
            if feature in names:
                return names.index(feature)
        elif isinstance(feature, int | np.integer) and 0 <= feature < len(names):
            return int(feature)
        raise ParameterError(f"no feature {feature!r}; there are {', '.join(names[:20])}")


@functools.cache
def _threads_of_libraries() -> ThreadpoolController:
    """Return what sets the number of threads of libraries; finding them takes milliseconds."""
    return ThreadpoolController()


def _without_column(X: Any, name: str) -> tuple[Any, Any]:
    """Take a column out of a frame."""
    columns = getattr(X, "columns", None)
    if columns is None or name not in list(columns):
        raise ParameterError(f"X has no column {name!r} to be the unit")
    return X[[column for column in columns if column != name]], X[name]
