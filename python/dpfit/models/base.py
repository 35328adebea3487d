"""The base class of the estimators that need no tuning."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar, cast, overload

from sklearn.utils.validation import check_is_fitted

from dpfit._blas_threads import one_blas_thread
from dpfit._parameters import Budget, integer, one_of
from dpfit._progress import rounds_done, rows_read
from dpfit._typing import Missing
from dpfit.engine.constants import Constants
from dpfit.engine.fit import fit
from dpfit.engine.strategy import Strategy
from dpfit.engine.task import FitTask, Fitted
from dpfit.estimator import PrivateRegressor, not_enough_memory
from dpfit.exceptions import Code, NotFiniteError, ParameterError
from dpfit.models import file as model_file
from dpfit.models.export.sql import Dialect, to_sql
from dpfit.models.inputs import error_in_prediction, prediction_source, training_source
from dpfit.models.model import Assembled, Model
from dpfit.release import Releaser
from dpfit.schema import Kind, Schema, terms
from dpfit.schema.kinds import MOST_TERMS
from dpfit.sources import Reading, Source

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


class PrivateModel(PrivateRegressor):
    """Find ranges, boost and average; subclasses choose features and effects."""

    schema: Schema | None
    max_rows: int | None
    missing: Missing
    verbose: bool
    model_: Model
    intercept_ = FittedAttribute(lambda model: model.intercept)
    target_range_ = FittedAttribute(lambda model: model.target_range)
    prediction_range_ = FittedAttribute(lambda model: model.prediction_range)
    residual_variance_ = FittedAttribute(lambda model: model.residual_variance)
    n_rows_ = FittedAttribute(lambda model: model.rows)
    n_rounds_ = FittedAttribute(lambda model: model.rounds)
    status_ = FittedAttribute(lambda model: model.status)
    # A subclass can try others.
    _constants = Constants()
    # The model without its privacy record, which is made last.
    _draft: Callable[..., Model]

    def fit(self, X: Any, y: Any = None, *, unit: Any = None) -> Self:
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

        Returns
        -------
        self
            The fitted estimator.

        Privacy
        -------
        All fitted attributes together satisfy the privacy guarantee of the budget. If the fit
        fails or is interrupted, the estimator is left unchanged. Without `unit`, each row is
        protected; with it, all rows of a unit. Names and types of columns are treated as public.
        """
        if (unit is None) != (self.max_rows is None):
            raise ParameterError("unit and max_rows must be given together", subject="max_rows")
        with one_blas_thread(), self._all_or_nothing():
            self._spend(X, y, rows_per_unit=self._rows_per_unit(), unit=unit)
            self.model_ = self._draft(privacy=self.privacy_)
            del self._draft
        return self

    def _rows_per_unit(self) -> int:
        if self.max_rows is None:
            return 1
        return integer("max_rows", self.max_rows, 1, 1 << 20)

    def _checked(self, X: Any, y: Any, details: dict[str, Any]) -> tuple[Any, Any]:
        """Return the table as a source of rows, which has the target."""
        source, details["not_features"] = training_source(self, X, y, details["unit"])
        return source, None

    def _fit(
        self,
        X: Any,
        y: Any,
        spend: Budget,
        releaser: Releaser,
        unit: Any = None,
        not_features: tuple[str, ...] = (),
    ) -> tuple[str, ...]:
        source: Source = X
        missing = cast(Missing, one_of("missing", self.missing, ("error", "drop")))
        kinds, schema = self._resolved(source)
        if len(terms(kinds)) > MOST_TERMS:
            raise ParameterError(
                f"X must have at most {MOST_TERMS} columns, counting each level as a column"
            )
        # All checks that need no data are done. Rows are read from here on.
        reading = Reading(
            missing,
            self.n_jobs,
            None if unit is None else self._rows_per_unit(),
            rows_read(show=self.verbose, name=type(self).__name__),
        )
        task = FitTask(
            kinds,
            schema.target,
            spend.mu,
            self._strategy(kinds),
            rows_are_public=self._rows_are_public(missing, unit),
            rows_per_unit=self._rows_per_unit(),
            progress=rounds_done(show=self.verbose, name=type(self).__name__),
            constants=self._constants,
        )
        fitted: Fitted | None = None
        try:
            with contextlib.closing(source):
                fitted = fit(source.table(kinds, reading), task, releaser)
        except NotFiniteError:
            pass
        if fitted is None:
            # Raised here because the core does not know the parameters of estimators.
            raise NotFiniteError(
                "X or y contains NaN or infinity",
                code=Code.NOT_FINITE,
                hint='missing="drop" drops such rows',
            )
        self._draft = self._drafted(fitted, tuple(kinds), not_features, missing)
        return self._notes(missing)

    def _notes(self, missing: Missing) -> tuple[str, ...]:
        """Return sentences to add to the privacy statement.

        Privacy
        -------
        They depend on parameters only.
        """
        if missing == "drop":
            return ("Rows with missing values were dropped.",)
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
        not_features: tuple[str, ...],
        missing: Missing,
    ) -> Callable[..., Model]:
        """Return the model without its privacy record."""
        names, threshold = self._names(), fitted.estimate.threshold
        intercept, effects, errors = self._assemble(fitted, kinds)
        return functools.partial(
            Model,
            estimator=type(self).__name__,
            names=None if names is None else tuple(names),
            kinds=kinds,
            not_features=not_features,
            intercept=intercept,
            effects=effects,
            errors=errors,
            target_range=fitted.target_range if fitted.target_is_seen else (-math.inf, math.inf),
            prediction_range=fitted.prediction_range,
            residual_variance=None if threshold is None else threshold.variance * fitted.scale**2,
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

    def predict(self, X: Any) -> Any:
        """Predict the target, batch by batch.

        Parameters
        ----------
        X : table
            Any kind of table that `fit` accepts, with the same columns in the same order. Other
            columns are ignored if columns have names.

        Returns
        -------
        array, series or column
            A series for a DataFrame; a lazy series or array for Dask; a column for Spark, for use
            with ``withColumn``; an array for everything else.
        """
        check_is_fitted(self)
        model = self.model_
        problem: Exception = not_enough_memory("these predictions")
        try:
            return prediction_source(self, X, model).predict(model.kinds, model.predict)
        except ParameterError as error:
            problem = error_in_prediction(error)
        except MemoryError:
            pass
        raise problem

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a JSON file, which :func:`dpfit.load` reads.

        Parameters
        ----------
        path : str or path
            The file. An existing file is replaced, or left unchanged if saving fails.

        Privacy
        -------
        The file contains released and public numbers and the privacy record, but no rows.
        """
        check_is_fitted(self)
        model_file.save(self, path)

    def to_sklearn(self) -> Any:
        """Convert the model to a scikit-learn pipeline.

        Returns
        -------
        sklearn.pipeline.Pipeline
            A pipeline that does not need dpfit and predicts the same values up to rounding. It
            clips columns to their ranges or expands them into linear splines, encodes levels as
            one-hot columns, and ends with a ``LinearRegression`` whose predictions are clipped.
            Dates must be ``datetime64`` in UTC; durations and times of day must be numbers of days.
            A missing level counts as a level that is not listed, whereas `predict` returns NaN.

        Warns
        -----
        InsecureSeedWarning
            If the noise came from a fixed seed, because the pipeline cannot record that.
        """
        from dpfit.models.export.sklearn import to_sklearn

        check_is_fitted(self)
        return to_sklearn(self.model_)

    def to_sql(self, table: str, dialect: Dialect = "standard") -> str:
        """Convert the model to an SQL query that predicts.

        Parameters
        ----------
        table : str
            The table to predict for. Its columns have the names of the features, or ``x0``,
            ``x1``, ... if these have no names.
        dialect : {"standard", "sqlite"}, default "standard"
            How dates are converted to numbers: ``EXTRACT(EPOCH FROM ...)`` for columns of dates or
            timestamps, as in DuckDB and PostgreSQL; or SQLite's ``julianday`` for strings such as
            ``2021-01-31 12:00:00``. Without dates the queries are the same.

        Returns
        -------
        str
            ``SELECT *, ... AS prediction FROM table`` in standard SQL, in which a backslash is an
            ordinary character. The prediction is NULL if a value is missing. Durations and times
            of day must be numbers of days. If the noise came from a fixed seed, the query starts
            with a comment that says so.
        """
        check_is_fitted(self)
        return to_sql(self.model_, table, dialect)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "drop"
        tags.target_tags.required = True
        return tags
