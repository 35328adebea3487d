"""The base class of the estimators that need no tuning."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar, cast, get_args, overload

from dpfit._blas_threads import one_blas_thread
from dpfit._parameters import Budget, integer, one_of, real
from dpfit._progress import Progress
from dpfit._typing import Missing
from dpfit.engine.constants import Constants
from dpfit.engine.fit import first_statistics, fit
from dpfit.engine.strategy import Strategy
from dpfit.engine.task import FitTask, Fitted
from dpfit.exceptions import NotFiniteError, ParameterError
from dpfit.models.assembly import nothing
from dpfit.models.fitted import FittedModel
from dpfit.models.inputs import check_limits, not_finite, training_source
from dpfit.models.model import Assembled, Model
from dpfit.release import Releaser
from dpfit.schema import Indicators, Kind, Schema, terms
from dpfit.schema.kinds import MOST_TERMS
from dpfit.sources import Reading, Source
from dpfit.sources.missing import AddIndicators

__all__ = ["FittedAttribute", "PrivateModel"]

T = TypeVar("T")


class FittedAttribute(Generic[T]):
    """A read-only attribute of a fitted estimator, computed from its `model_`."""

    def __init__(self, view: Callable[[Model], T]) -> None:
        self._view = view

    @overload
    def __get__(self, estimator: None, cls: type) -> Self: ...
    @overload
    def __get__(self, estimator: PrivateModel, cls: type) -> T: ...
    def __get__(self, estimator: PrivateModel | None, cls: type) -> Self | T:
        return self if estimator is None else self._view(estimator.model_)

    def __set__(self, estimator: PrivateModel, value: T) -> None:
        raise AttributeError("fitted attributes are read-only views of model_")


class PrivateModel(FittedModel):
    """Find ranges, boost and average; subclasses choose features and effects."""

    schema: Schema | None
    max_rows: int | None
    max_weight: float | None
    missing: Missing
    verbose: bool
    intercept_ = FittedAttribute(lambda model: model.intercept)
    target_range_ = FittedAttribute(lambda model: model.target_range)
    prediction_range_ = FittedAttribute(lambda model: model.prediction_range)
    residual_variance_ = FittedAttribute(lambda model: model.residual_variance)
    r_squared_ = FittedAttribute(lambda model: model.r_squared)
    n_rows_ = FittedAttribute(lambda model: model.rows)
    n_rounds_ = FittedAttribute(lambda model: model.rounds)
    status_ = FittedAttribute(lambda model: model.status)
    # A subclass can try others.
    _constants = Constants()
    # The model without its privacy record, which is made last.
    _draft: Callable[..., Model]

    def fit(self, X: Any, y: Any = None, *, unit: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model. Each call spends the budget again.

        Parameters
        ----------
        X : table
            An array; a DataFrame of pandas, polars, PyArrow or another library that narwhals
            supports; an Arrow stream; the result of `dpfit.scan_parquet`, `dpfit.scan_csv` or
            `dpfit.scan_batches`; a Dask DataFrame or array; a Spark DataFrame.
        y : array-like of shape (n_samples,) or str, optional
            The target, or the name of its column in X. Not needed if a scan names the target.
        unit : array-like of shape (n_samples,) or str, optional
            The person, or other unit, that each row belongs to; or the name of that column in X,
            which is then not a feature. Requires `max_rows`.
        sample_weight : array-like of shape (n_samples,) or str, optional
            The weight of each row, such as a survey weight; or the name of that column in X, which
            is then not a feature. Weights are clipped to `max_weight`, which is required. A
            negative or missing weight is treated as a missing value.

        Returns
        -------
        self
            The fitted estimator.

        Privacy
        -------
        All fitted attributes together satisfy the privacy guarantee of the budget. If the fit
        fails or is interrupted, the estimator is left unchanged. A ledger is charged before the
        first noise is drawn: a fit that fails later has spent its budget. Without `unit`, each row
        is protected; with it, all rows of a unit. Names and types of columns are treated as public.
        """
        hint = "give it to the constructor; BaggingRegressor passes weights, too"
        check_limits(unit, self.max_rows, sample_weight, self.max_weight, hint)
        with one_blas_thread(), self._all_or_nothing():
            self._spend(X, y, rows_per_unit=self._rows_per_unit(), unit=unit, weight=sample_weight)
            self.model_ = self._draft(privacy=self.privacy_, provenance=self.provenance_)
            del self._draft
        return self

    def _rows_per_unit(self) -> int:
        if self.max_rows is None:
            return 1
        return integer("max_rows", self.max_rows, 1, 1 << 20)

    def _checked(self, X: Any, y: Any, details: dict[str, Any]) -> tuple[Any, Any]:
        """Return the table as a source of rows, which has the target."""
        source, details["not_features"] = training_source(
            self, X, y, details["unit"], details["weight"]
        )
        return source, None

    def _fit(
        self,
        X: Any,
        y: Any,
        spend: Budget,
        releaser: Releaser,
        unit: Any = None,
        weight: Any = None,
        not_features: tuple[str, ...] = (),
    ) -> tuple[str, ...]:
        source: Source = X
        missing = cast(Missing, one_of("missing", self.missing, get_args(Missing)))
        max_weight = None
        if self.max_weight is not None:
            # Also if there are no weights: an infinite one could not be saved after the fit.
            max_weight = real("max_weight", self.max_weight, 0.0, 1e100)
        kinds, schema = self._resolved(source)
        columns, change = tuple(kinds), None
        if missing == "indicator":
            indicators = Indicators(columns)
            indicators.check([source.label(place) for place in range(source.columns)])
            columns, change = indicators.columns, AddIndicators(indicators)
        if len(terms(columns)) > MOST_TERMS:
            raise ParameterError(
                f"X must have at most {MOST_TERMS} columns, counting each level as a column"
                + (" and indicators of missing values" if change is not None else "")
            )
        progress = Progress(show=self.verbose, name=type(self).__name__)
        task = FitTask(
            columns,
            schema.target,
            spend.mu,
            self._strategy(columns),
            rows_are_public=self._rows_are_public(missing, unit),
            rows_per_unit=self._rows_per_unit(),
            progress=progress.rounds_done,
            constants=self._constants,
        )
        # All checks that need no data are done. Rows are read from here on.
        reading = Reading(
            missing,
            self.n_jobs,
            None if unit is None else self._rows_per_unit(),
            progress.rows_read,
            change,
            max_weight=None if weight is None else max_weight,
            first=first_statistics(task, with_missing=change is not None),
        )
        fitted: Fitted | None = None
        try:
            with contextlib.closing(source):
                fitted = fit(source.table(kinds, reading), task, releaser)
        except NotFiniteError:
            pass
        if fitted is None:
            # Raised here because the core does not know the parameters of estimators.
            hint = 'missing="drop" drops such rows, missing="indicator" keeps them with a flag'
            raise not_finite(weight, hint)
        self._draft = self._drafted(fitted, tuple(kinds), columns, not_features, missing)
        return self._notes(missing)

    def _notes(self, missing: Missing) -> tuple[str, ...]:
        """Return sentences to add to the privacy statement.

        Privacy
        -------
        They depend on parameters only.
        """
        if missing == "drop":
            return ("Rows with missing values were dropped.",)
        if missing == "indicator":
            return (
                "Missing values of features were replaced by the middle of a released or public "
                "range, or by a level of their own; flags indicate them. Rows without a target "
                "were dropped.",
            )
        return ()

    def _rows_are_public(self, missing: Missing, unit: Any) -> bool:
        """Return whether all neighbouring tables have the same number of used rows.

        Privacy
        -------
        They do if one row is replaced by another. They do not if the other row may be dropped, or
        if a unit may be replaced by one with more or fewer rows.
        """
        return self.neighbors == "replace" and missing == "error" and unit is None

    def _resolved(self, source: Source) -> tuple[list[Kind], Schema]:
        schema = Schema() if self.schema is None else self.schema
        if not isinstance(schema, Schema):
            raise ParameterError(
                f"schema must be a Schema, got {type(schema).__name__}",
                subject="schema",
                hint="Schema({0: Binary()}), or Schema.from_json(path) to read a file",
            )
        return schema.resolve(self._names(), source.columns, source.declared), schema

    def _names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _drafted(
        self,
        fitted: Fitted,
        kinds: tuple[Kind, ...],
        columns: tuple[Kind, ...],
        not_features: tuple[str, ...],
        missing: Missing,
    ) -> Callable[..., Model]:
        """Return the model without its privacy record; `columns` are those that have effects."""
        names, residual = self._names(), fitted.residual_variance
        explained = fitted.explained
        if fitted.target_is_seen:
            intercept, effects, estimates = self._assemble(fitted, columns)
        else:
            intercept, effects, estimates = nothing(columns, fitted.prediction_range)
            residual = explained = None
        return functools.partial(
            Model,
            estimator=type(self).__name__,
            names=None if names is None else tuple(names),
            kinds=kinds,
            not_features=not_features,
            intercept=intercept,
            effects=effects,
            estimates=estimates,
            target_range=fitted.target_range if fitted.target_is_seen else (-math.inf, math.inf),
            prediction_range=fitted.prediction_range,
            residual_variance=None if residual is None else residual * fitted.scale**2,
            r_squared=(explained.r_squared, explained.error)
            if explained is not None and explained.is_known
            else None,
            rows=fitted.rows,
            rounds=fitted.estimate.rounds,
            missing=missing,
        )

    def _assemble(self, fitted: Fitted, kinds: Sequence[Kind]) -> Assembled:
        """Convert the engine's result to effects, in the units of X and y."""
        raise TypeError("a private model needs a method _assemble")

    def _strategy(self, kinds: Sequence[Kind]) -> Strategy:
        """Return which features the model has."""
        raise TypeError("a private model needs a method _strategy")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.target_tags.required = True
        return tags
