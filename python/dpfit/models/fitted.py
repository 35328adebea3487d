"""What can be done with a fitted model: predictions, contrasts, evaluations, exports."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Mapping
from typing import Any, cast, get_args

from sklearn.utils.validation import check_is_fitted

from dpfit._atomic_file import whole_file
from dpfit._parameters import budget, one_of
from dpfit.accounting import Ledger, LedgerLike
from dpfit.estimator import PrivateRegressor, not_enough_memory
from dpfit.exceptions import HiddenTargetWarning, ParameterError
from dpfit.models import file as model_file
from dpfit.models.contrast import Contrast, contrast
from dpfit.models.estimates import Inference, checked_inference, checked_level
from dpfit.models.evaluation import Evaluation
from dpfit.models.export.sql import Dialect, to_sql
from dpfit.models.inputs import error_in_prediction, prediction_source
from dpfit.models.model import Kinds, Model
from dpfit.sources.engines.cluster import ClusterSource
from dpfit.sources.source import Predictor

__all__ = ["FittedModel"]

_HIDDEN = (
    "the noise hides where the target lies: predictions are the middle of its public bounds, or "
    "zero; more rows, a larger budget or public bounds of the target help"
)


class FittedModel(PrivateRegressor):
    """What the estimators without tuning can do after a fit, with the frozen model alone."""

    model_: Model

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
        if interval is not None:
            predictor = functools.partial(
                model.predict_with_interval,
                level=checked_level(interval, "interval"),
                kind=cast(Kinds, one_of("kind", kind, get_args(Kinds))),
                inference=checked_inference(inference),
            )
        found: Any = None
        problem: Exception | None = None
        try:
            source = prediction_source(self, X, model)
            if interval is not None and isinstance(source, ClusterSource):
                raise ParameterError(
                    "interval requires a table that is read by this process",
                    subject="interval",
                    hint="compute the table, or read its files with scan_parquet",
                )
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
            Weights of coefficients: numeric columns by their name, levels as ``column=level``,
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
        sample_weight: Any = None,
        max_weight: float | None = None,
        ledger: LedgerLike | None = None,
        random_state: Any = None,
    ) -> Evaluation:
        """Measure on other rows, privately, how good the model is.

        Parameters
        ----------
        X, y : table, and array-like or str
            Rows that the model was not fitted to, in any form that `fit` accepts.
        epsilon, delta, mu : float, optional
            The privacy budget, as in the constructor; `epsilon` or `mu` is required. It protects
            the rows of X and y.
        unit : array-like or str, optional
            The person that each row belongs to, as in `fit`. Requires `max_rows`.
        max_rows : int, optional
            The number of rows to keep of each unit.
        sample_weight : array-like or str, optional
            The weight of each row, as in `fit`. All numbers but the number of rows are then
            weighted. Requires `max_weight`.
        max_weight : float, optional
            A public upper bound on weights. Larger ones are clipped.
        ledger : Ledger or str, optional
            The ledger of the data set that the rows of X and y are from. It is charged before the
            first release.
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
        clipped, and the share of them is part of the result (``docs/how_to/evaluation.md``).

        Privacy
        -------
        The releases compose to the budget, with the neighbouring relation of the fit. They cost
        the rows of X and y, in addition to everything else that is released from these.
        """
        from dpfit.models.evaluate import evaluate

        check_is_fitted(self)
        if epsilon is None and mu is None:
            raise ParameterError(
                "evaluate spends a privacy budget of its own: epsilon or mu is required",
                subject="epsilon",
                hint="epsilon=1.0 is a common choice",
            )
        spend = budget(epsilon, delta, mu)
        return evaluate(
            self,
            X,
            y,
            spend,
            unit=unit,
            max_rows=max_rows,
            weight=sample_weight,
            max_weight=max_weight,
            ledger=ledger,
            random_state=random_state,
        )

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

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        ledger: LedgerLike | None = None,
        evaluation: Evaluation | None = None,
    ) -> None:
        """Write a report for people: one HTML file, which loads nothing and prints well.

        Parameters
        ----------
        path : str or path
            The file. An existing file is replaced, or left unchanged if writing fails.
        title : str, optional
            The heading; the name of the estimator by default.
        ledger : Ledger, path or None
            The ledger that paid for the fit, to show its history; None for that of the estimator,
            if it has one.
        evaluation : Evaluation, optional
            What :meth:`evaluate` returned, to show how good the model is on other rows.

        Raises
        ------
        ParameterError
            If the ledger has no entry of this model.

        Notes
        -----
        The report has the coefficients or curves with 95 % confidence intervals, in which privacy
        noise and sampling error are separate; what an attacker can find out; the budget; the
        privacy statement and the certificate; and how to cite.

        Privacy
        -------
        Computed from released numbers, at no privacy cost. The history of a ledger is shown
        without users, hosts and paths, but with the descriptions of its entries.
        """
        content = self.report_html(title=title, ledger=ledger, evaluation=evaluation).encode()
        with whole_file(path) as file:
            file.write(content)

    def report_html(
        self,
        *,
        title: str | None = None,
        ledger: LedgerLike | None = None,
        evaluation: Evaluation | None = None,
    ) -> str:
        """Return what :meth:`report` writes."""
        from dpfit.models.report import report_html

        check_is_fitted(self)
        if ledger is None and self.model_.provenance is not None:
            paid = self.model_.provenance.ledger_entry is not None
            ledger = self.ledger if paid else None
        summary = cast(Any, self).summary
        return report_html(
            self.model_,
            summary(),
            summary(inference="sample"),
            title=title,
            ledger=None if ledger is None else Ledger.of(ledger),
            evaluation=evaluation,
        )

    @property
    def _repr_html_(self) -> Any:
        # With display="text" in scikit-learn's configuration, this raises an AttributeError.
        diagram = super()._repr_html_
        return self._html_of_fit if hasattr(self, "model_") else diagram

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Show the summary of a fitted model in a notebook, and scikit-learn's diagram before."""
        found = super()._repr_mimebundle_(**options)
        if "text/html" in found and hasattr(self, "model_"):
            found["text/html"] = self._html_of_fit()
        return found

    def _html_of_fit(self) -> str:
        return str(cast(Any, self).summary().to_html())

    def to_sklearn(self) -> Any:
        """Convert the model to a scikit-learn pipeline.

        Returns
        -------
        sklearn.pipeline.Pipeline
            A pipeline that does not need dpfit and predicts the same values up to rounding. It
            clips columns to their ranges or expands them into linear splines, encodes levels as
            one-hot columns, and ends with a ``LinearRegression`` whose predictions are clipped.
            Dates must be ``datetime64`` in UTC; durations and times of day must be numbers of days.
            A missing level counts as a level that is not listed, whereas `predict` returns NaN,
            unless missing values have indicators.

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
            ordinary character. The prediction is NULL if a value is missing that has no indicator.
            Durations and times of day must be numbers of days. If the noise came from a fixed seed,
            the query starts with a comment that says so.
        """
        check_is_fitted(self)
        return to_sql(self.model_, table, dialect)
