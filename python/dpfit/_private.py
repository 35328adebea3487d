"""What the estimators that need no tuning share."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from dpfit import model_file
from dpfit._estimator import Array, Floats, PrivateRegressor
from dpfit._given import check_columns, holds_texts, of_prediction, series
from dpfit._parameters import Budget, integer, one_of
from dpfit._progress import rows_read
from dpfit._validate import validate
from dpfit.accounting import Event, describe_unit
from dpfit.exceptions import NotFiniteError, ParameterError
from dpfit.export import Bent, Dialect, Line, to_sklearn, to_sql
from dpfit.fitting import Fitted, fit_table
from dpfit.release import Publisher
from dpfit.schema import Categorical, Kind, Schema, terms
from dpfit.sources import Reading, Source, named_source
from dpfit.sources.arrays import ArraySource
from dpfit.table import Missing

__all__ = ["PrivateModel"]

# The core's features end at 8192, the constant included; a line or a curve has at least one.
_MOST_TERMS = 4000


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
    intercept_: float
    feature_range_: Floats
    _additive: bool
    _kinds: list[Kind]
    # Names of columns that are in the table and are no features.
    _aside: list[str]

    def fit(self, X: Any, y: Any = None, *, unit: Any = None) -> Self:
        """Fit the model. Every fit spends its budget anew.

        Parameters
        ----------
        X : table
            Rows: an array; a frame of pandas, polars, Arrow or any other library that narwhals
            understands; an Arrow stream; what `dpfit.scan_parquet`, `dpfit.scan_csv` or
            `dpfit.scan_batches` returns; a Dask frame or array; a Spark frame.
        y : array-like of shape (n_samples,) or str, optional
            The target, or the name of the column of X that is. A scan may have it already.
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
        with it, all rows of one unit. Names and types of columns are taken as public.
        """
        if (unit is None) != (self.max_rows is None):
            raise ParameterError("unit and max_rows go together: give both or none")
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

    def _checked(self, X: Any, y: Any, details: dict[str, Any]) -> tuple[Any, Any]:
        """Return the table as a source of rows, the target and the unit included."""
        unit = details["unit"]
        source = named_source(X, y if isinstance(y, str) or y is None else series(self, y), unit)
        named = y if isinstance(y, str) else getattr(X, "target", None)
        self._aside = [name for name in (named, unit) if isinstance(name, str)]
        if source is None:
            if isinstance(y, str) or isinstance(unit, str):
                what = "target" if isinstance(y, str) else "unit"
                raise ParameterError(
                    f"X has no column {(y if isinstance(y, str) else unit)!r} to be the {what}"
                )
            X, y = self._arrays(X, y)
            return ArraySource(X, y, unit), None
        check_columns(self, source, reset=True)
        if y is None and not isinstance(named, str):
            raise ParameterError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                'is None. fit(frame, "cost") takes a column of the table.'
            )
        return source, None

    def _arrays(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Return X and y as arrays.

        Privacy
        -------
        What a column is follows from the type that X has, and not from the values in it.
        """
        schema = self.schema if isinstance(self.schema, Schema) else Schema()
        if holds_texts(X, list(schema.values())):
            # Texts are looked up among the levels later on, column by column.
            y = validate(self, X="no_validation", y=y, y_numeric=True, ensure_all_finite=False)
            validate(self, X, reset=True, skip_check_array=True)
            return X.astype(object), y
        rows, target = validate(self, X, y, y_numeric=True, ensure_all_finite=False)
        if rows.dtype == bool and getattr(X, "dtype", None) != np.dtype(bool):
            # A list has no type: one row would make numbers of what is yes or no without it.
            rows = rows.astype(np.uint8)
        return rows, target

    def _fit(
        self, X: Any, y: Any, spend: Budget, publisher: Publisher, unit: Any = None
    ) -> tuple[tuple[Event, ...], tuple[str, ...]]:
        source: Source = X
        missing = cast(Missing, one_of("missing", self.missing, ("error", "drop")))
        kinds, schema = self._resolved(source)
        if len(terms(kinds)) > _MOST_TERMS:
            raise ParameterError(
                f"X must have at most {_MOST_TERMS} columns, with every level as one"
            )
        # Names that a message could have are known by now: rows are read from here on.
        reading = Reading(
            missing,
            self.n_jobs,
            None if unit is None else self._rows_per_unit(),
            rows_read(show=self.verbose, name=type(self).__name__),
        )
        fitted: Fitted | None = None
        try:
            with contextlib.closing(source):
                fitted = fit_table(
                    source.table(kinds, reading),
                    kinds,
                    schema.target,
                    publisher,
                    spend.mu,
                    additive=self._additive,
                    knots=self._knots(kinds),
                    rows_are_public=self._rows_are_public(missing, unit),
                    rows_per_unit=self._rows_per_unit(),
                    n_jobs=self.n_jobs,
                    show=self.verbose,
                    name=type(self).__name__,
                )
        except NotFiniteError:
            pass
        if fitted is None:
            # The core does not know of estimators, and of what they are told to do.
            raise NotFiniteError(
                'the rows hold NaN or infinite values; missing="drop" leaves such rows out'
            )
        self._kinds = kinds
        self.n_rows_ = fitted.rows
        self.n_rounds_ = fitted.rounds
        width = fitted.scale if fitted.target_is_seen else math.inf
        self.target_range_ = (fitted.centre - width, fitted.centre + width)
        variance = fitted.residual_variance
        self.residual_variance_ = None if variance is None else variance * fitted.scale**2
        self._set_attributes(fitted, kinds)
        return publisher.events, self._notes(missing)

    def _notes(self, missing: Missing) -> tuple[str, ...]:
        """Return sentences for the record.

        Privacy
        -------
        They follow from settings alone.
        """
        if missing == "drop":
            return ("Rows in which a value is missing were left out.",)
        return ()

    def _rows_are_public(self, missing: Missing, unit: Any) -> bool:
        """Return whether the number of rows that count is the same in all neighbours.

        Privacy
        -------
        It is when one row is replaced by another that counts: not if that may be dropped, and not
        if a unit may be replaced by one with more or fewer rows.
        """
        return self.neighbors == "replace" and missing == "error" and unit is None

    def _resolved(self, source: Source) -> tuple[list[Kind], Schema]:
        schema = Schema() if self.schema is None else self.schema
        if not isinstance(schema, Schema):
            raise ParameterError(
                "schema must be a Schema, for example Schema({0: Binary()}), or for a file "
                "Schema.from_json(Path(...).read_text())"
            )
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        return schema.resolve(names, source.columns, source.declared), schema

    def _knots(self, kinds: Sequence[Kind]) -> int | None:
        return None

    @property
    def status_(self) -> Literal["full", "mean", "nothing"]:
        """What the model is worth: all it should be, a mean, or nothing that the noise shows.

        ``"mean"``: there were too few rows for slopes or curves, and every prediction is the mean
        of the target. ``"nothing"``: the noise hides even where the target lies.
        """
        check_is_fitted(self)
        if not math.isfinite(self.target_range_[0]):
            return "nothing"
        return "mean" if self.residual_variance_ is None else "full"

    def predict(self, X: Any) -> Any:
        """Predict, batch by batch.

        Parameters
        ----------
        X : table
            Rows, of any kind that `fit` takes, with the same columns in the same order. Others
            may be there, if columns have names, and are not looked at.

        Returns
        -------
        array, or what fits the kind of X
            A series for a frame, a lazy series or array for Dask's, a column for Spark's, to be
            used with ``withColumn``; an array for all others.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        source = named_source(X, names=None if names is None else list(names), without=self._aside)
        if source is None:
            if holds_texts(X, self._kinds):
                validate(self, X, reset=False, skip_check_array=True)
                source = ArraySource(X.astype(object), None)
            else:
                source = ArraySource(self._rows(X), None)
        else:
            check_columns(self, source, reset=False)
        try:
            return source.predict(self._kinds, self._predict_columns)
        except ParameterError as error:
            problem = error
        raise of_prediction(problem)

    def _predict_columns(self, columns: list[Array]) -> Floats:
        """Return predictions from columns as numbers."""
        numbers = [np.asarray(column) for column in columns]
        if self.missing == "error" and not all(np.isfinite(column).all() for column in numbers):
            raise NotFiniteError(
                'X contains NaN or infinity; with missing="drop" such rows have no prediction'
            )
        total = np.full(len(numbers[0]), self.intercept_)
        for place, (column, kind) in enumerate(zip(numbers, self._kinds, strict=True)):
            if isinstance(kind, Categorical):
                # The last is for levels that are not listed, whose number is -1.
                effects = np.append(self._effects(place), 0.0)
                total += effects[np.where(np.isnan(column), -1, column).astype(np.intp)]
            else:
                total += self._effect(place, column.astype(np.float64, copy=False))
            # Also of a column without a slope: whether it has one depends on the noise.
            total[np.isnan(column)] = np.nan
        return total

    def _effect(self, place: int, x: Floats) -> Floats | float:
        """Return what a column of numbers adds to the predictions."""
        raise TypeError("a private model needs a method _effect")

    def _line(self, place: int) -> Line | Bent | None:
        """Return what a column of numbers adds to the predictions, None if nothing."""
        raise TypeError("a private model needs a method _line")

    def _effects(self, place: int) -> Floats:
        """Return what every level of a column adds to the predictions."""
        raise TypeError("a private model needs a method _effects")

    def _set_attributes(self, fitted: Fitted, kinds: Sequence[Kind]) -> None:
        raise TypeError("a private model needs a method _set_attributes")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, for :func:`dpfit.load`.

        Parameters
        ----------
        path : str or path
            Where to. An existing file is replaced; if anything fails, it stays as it was.

        Privacy
        -------
        The file holds what was released, what is public and the record; nothing of the rows.
        """
        check_is_fitted(self)
        model_file.save(self, path)

    def to_sklearn(self) -> Any:
        """Return the model as a pipeline of scikit-learn's own parts.

        Returns
        -------
        sklearn.pipeline.Pipeline
            Predicts the same up to rounding, and needs no dpfit: columns are cut to their ranges
            or bent at their knots, levels become columns of zeros and ones, and a
            ``LinearRegression`` adds them up. Dates are of NumPy's type ``datetime64``, in UTC;
            durations and times of day have to be days. A missing level counts as none, where
            `predict` has no answer.

        Warns
        -----
        InsecureSeedWarning
            If the noise came from a fixed seed: the pipeline does not tell.
        """
        check_is_fitted(self)
        return to_sklearn(self)

    def to_sql(self, table: str, dialect: Dialect = "standard") -> str:
        """Return a query that predicts in a database.

        Parameters
        ----------
        table : str
            The table to read, with columns of the names of the features (``x0``, ``x1``, ... if
            they had none).
        dialect : {"standard", "sqlite"}, default "standard"
            How dates become numbers, which is nowhere the same: ``EXTRACT(EPOCH FROM ...)``, as
            DuckDB and PostgreSQL have it, of columns whose type is a date or timestamp; or
            SQLite's ``julianday``, of texts such as ``2021-01-31 12:00:00``. Without dates the
            queries do not differ.

        Returns
        -------
        str
            ``SELECT *, ... AS prediction FROM table`` in standard SQL, in which a backslash is a
            letter like others. Where a value is missing, so is the prediction. Durations and
            times of day have to be days. If the noise came from a fixed seed, a comment before it
            says so.
        """
        check_is_fitted(self)
        return to_sql(self, table, dialect)

    def _released(self) -> dict[str, Any]:
        """Return the numbers of the fit, for a file."""
        return {
            "rows": self.n_rows_,
            "rounds": self.n_rounds_,
            "residual_variance": self.residual_variance_,
            "target_range": self.target_range_,
            "intercept": self.intercept_,
            "feature_range": self.feature_range_,
        }

    def _restore(self, released: Mapping[str, Any]) -> None:
        """Take over what `_released` returned, after a way through a file."""
        variance = released["residual_variance"]
        self.n_rows_ = float(released["rows"])
        self.n_rounds_ = int(released["rounds"])
        self.residual_variance_ = None if variance is None else float(variance)
        low, high = released["target_range"]
        self.target_range_ = (float(low), float(high))
        self.intercept_ = float(released["intercept"])
        self.feature_range_ = model_file.numbers(released["feature_range"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "drop"
        tags.target_tags.required = True
        return tags

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names]
        return [f"x{i}" for i in range(self.n_features_in_)]

    def _term_names(self, kinds: Sequence[Kind]) -> list[str]:
        names, found = self._names(), []
        for column, level in terms(kinds):
            kind = kinds[column]
            if level is not None and isinstance(kind, Categorical):
                found.append(f"{names[column]}={kind.levels[level]}")
            else:
                found.append(names[column])
        return found

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
