"""The base class of the estimators that need no tuning."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar, cast, get_args, overload

from sklearn.utils.validation import check_is_fitted

from dpfit._blas_threads import one_blas_thread
from dpfit._parameters import Budget, budget, integer, one_of, real
from dpfit._progress import rounds_done, rows_read
from dpfit._typing import Missing
from dpfit.engine.constants import Constants
from dpfit.engine.fit import fit
from dpfit.engine.strategy import Strategy
from dpfit.engine.task import FitTask, Fitted
from dpfit.estimator import PrivateRegressor, not_enough_memory
from dpfit.exceptions import Code, HiddenTargetWarning, NotFiniteError, ParameterError
from dpfit.models import file as model_file
from dpfit.models.assembly import nothing
from dpfit.models.contrast import Contrast, contrast
from dpfit.models.estimates import Inference, checked_inference, checked_level
from dpfit.models.evaluation import Evaluation
from dpfit.models.export.sql import Dialect, to_sql
from dpfit.models.inputs import error_in_prediction, prediction_source, training_source
from dpfit.models.model import Assembled, Kinds, Model
from dpfit.release import Releaser
from dpfit.schema import Kind, Schema, terms
from dpfit.schema.kinds import MOST_TERMS
from dpfit.sources import Reading, Source
from dpfit.sources.engines.cluster import ClusterSource
from dpfit.sources.source import Predictor

__all__ = ["FittedAttribute", "PrivateModel"]

T = TypeVar("T")

_HIDDEN = (
    "the noise hides where the target lies: predictions are the middle of its public bounds, or "
    "zero; more rows, a larger budget or public bounds of the target help"
)


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
    max_weight: float | None
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
        if (unit is None) != (self.max_rows is None):
            raise ParameterError("unit and max_rows must be given together", subject="max_rows")
        if sample_weight is not None and self.max_weight is None:
            raise ParameterError(
                "sample_weight requires max_weight, a public upper bound on the weights",
                subject="max_weight",
                hint="BaggingRegressor passes the number of copies of a row as its weight",
            )
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
        missing = cast(Missing, one_of("missing", self.missing, ("error", "drop")))
        max_weight = None if weight is None else real("max_weight", self.max_weight, 0.0, 1e100)
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
            max_weight=max_weight,
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
                "X or y contains NaN or infinity"
                + (", or sample_weight also a negative number" if weight is not None else ""),
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
        if fitted.target_is_seen:
            intercept, effects, estimates = self._assemble(fitted, kinds)
        else:
            intercept, effects, estimates = nothing(kinds, fitted.prediction_range)
            threshold = None
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
            residual_variance=None if threshold is None else threshold.variance * fitted.scale**2,
            # The engine does not hand over the variance of the target and its error.
            r_squared=None,
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

    def predict(
        self,
        X: Any,
        interval: float | None = None,
        *,
        kind: Kinds = "mean",
        inference: Inference = "population",
    ) -> Any:
        """Predict the target, batch by batch.

        Parameters
        ----------
        X : table
            Any kind of table that `fit` accepts, with the same columns in the same order. Other
            columns are ignored if columns have names.
        interval : float, optional
            A confidence level, such as 0.95, to return intervals, too; not for Dask and Spark.
        kind : {"mean", "observation"}, default "mean"
            What intervals are for: the mean of the target for such rows, or one new observation.
            The latter assume that residuals are normal and have the same variance everywhere,
            `residual_variance_`.
        inference : {"population", "sample"}, default "population"
            What means are about: the population that the rows of the fit are a sample of, or the
            least squares of these very rows.

        Returns
        -------
        array, series or column
            A lazy series or array for Dask; a column for Spark, for use with ``withColumn``; an
            array for everything else, as in scikit-learn. With `interval`: a DataFrame with the
            columns ``prediction``, ``lower`` and ``upper`` for a DataFrame, and an array with these
            three columns for everything else.

        Warns
        -----
        HiddenTargetWarning
            If the noise hides where the target lies. Predictions are then the middle of the
            target's public bounds, or zero.

        Notes
        -----
        Intervals are centred at predictions before shrinkage, and widened to contain the
        prediction where that is further away. They are NaN where nothing is known, as for a level
        that the noise hides. They are for the least-squares fit of the model's lines or curves: if
        the mean has another shape, that difference is not part of their width.
        """
        check_is_fitted(self)
        model = self.model_
        predictor: Predictor = model.predict
        source = prediction_source(self, X, model)
        if interval is not None:
            if isinstance(source, ClusterSource):
                raise ParameterError(
                    "interval requires a table that is read by this process",
                    subject="interval",
                    hint="compute the table, or read its files with scan_parquet",
                )
            predictor = functools.partial(
                model.predict_with_interval,
                level=checked_level(interval, "interval"),
                kind=cast(Kinds, one_of("kind", kind, get_args(Kinds))),
                inference=checked_inference(inference),
            )
        found: Any = None
        problem: Exception | None = None
        try:
            found = source.predict(model.kinds, predictor)
        except ParameterError as error:
            problem = error_in_prediction(error)
        except MemoryError:
            problem = not_enough_memory("these predictions")
        if problem is not None:
            raise problem
        if model.status == "nothing":
            warnings.warn(_HIDDEN, HiddenTargetWarning, stacklevel=2)
        return found

    def contrast(
        self,
        weights: Mapping[str, float],
        level: float = 0.95,
        *,
        inference: Inference = "population",
    ) -> Contrast:
        """Return a weighted sum of coefficients, such as the difference of two levels.

        Parameters
        ----------
        weights : dict of str to float
            Weights of coefficients: columns of numbers by their name, levels as ``column=level``,
            and all values that are not listed as ``column=(not listed)``, if there are such rows. A
            reference level has the coefficient zero and can be named. Of an additive model: levels
            and binary columns.
        level : float, default 0.95
            The confidence level of the interval.
        inference : {"population", "sample"}, default "population"
            What errors are about: the population that the rows are a sample of, or the
            least-squares coefficients of these very rows.

        Returns
        -------
        Contrast
            The estimate, its standard error and the parts of it (``noise``, ``sampling``), the
            ``interval``, ``z`` and ``p``. NaN, except the estimate, if nothing is known about one
            of the coefficients.

        Examples
        --------
        >>> import numpy as np
        >>> from dpfit import Categorical, PrivateLinearRegression, Schema
        >>> rng = np.random.default_rng(0)
        >>> X = rng.integers(0, 3, size=(20_000, 1))
        >>> y = np.array([0.0, 1.0, 3.0])[X[:, 0]] + rng.normal(size=20_000)
        >>> schema = Schema({0: Categorical([0, 1, 2])})
        >>> model = PrivateLinearRegression(epsilon=1.0, schema=schema).fit(X, y)
        >>> found = model.contrast({"x0=2": 1, "x0=1": -1})
        >>> bool(abs(found.estimate - 2.0) < 0.5), bool(found.p < 0.001)
        (True, True)

        Privacy
        -------
        Computed from released numbers, at no privacy cost.
        """
        check_is_fitted(self)
        return contrast(self.model_, weights, level, inference)

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        unit: Any = None,
        max_rows: int | None = None,
        random_state: Any = None,
    ) -> Evaluation:
        """Measure on other rows, privately, how good the model is.

        Parameters
        ----------
        X, y : table, and array-like or str
            Rows that the model was not fitted to, in any form that `fit` accepts.
        epsilon, delta, mu : float, optional
            The privacy budget, as of the constructor. It protects the rows of X and y.
        unit : array-like or str, optional
            The person that each row belongs to, as in `fit`. Requires `max_rows`.
        max_rows : int, optional
            The number of rows to keep of each unit.
        random_state : int, Generator, RandomState or None
            For tests only: with a seed, the result is reproducible but not private.

        Returns
        -------
        Evaluation
            RMSE, R², mean and quantiles of residuals, and a calibration curve, each with its
            errors, and the privacy record.

        Notes
        -----
        The errors of noise are those of normal noise; residuals beyond a released threshold are
        clipped, and the share of them is part of the result (``docs/evaluation.md``).

        Privacy
        -------
        The releases compose to the budget, with the neighbouring relation of the fit. They cost
        the rows of X and y, in addition to everything else that is released from these.
        """
        from dpfit.models.evaluate import evaluate

        check_is_fitted(self)
        spend = budget(epsilon, delta, mu)
        return evaluate(self, X, y, spend, unit=unit, max_rows=max_rows, random_state=random_state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a JSON file, which :func:`dpfit.load` reads.

        Parameters
        ----------
        path : str or path
            The file. An existing file is replaced, or left unchanged if saving fails.

        Raises
        ------
        LedgerError
            If the file was saved, but its checksum could not be recorded in the ledger.

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
