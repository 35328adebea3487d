"""Predictions of the paper's linear models."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfit._estimator import Floats, PrivateRegressor

__all__ = ["LinearModel"]


class LinearModel(PrivateRegressor):
    """A linear model of rows whose norm is cut to a bound."""

    coef_: Floats
    intercept_: float

    def predict(self, X: Any) -> Floats:
        """Predict, with rows clipped as in the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers.

        Returns
        -------
        array of shape (n_samples,)
            Predictions.
        """
        rows = self._rows(X)
        bound = self._prediction_bound()
        if bound is None:
            unclipped: Floats = rows @ self.coef_ + self.intercept_
            return unclipped
        # Divided by their largest entries first: squares of these cannot overflow.
        sizes = np.maximum(np.abs(rows).max(axis=1), 1e-300)
        directions = rows / sizes[:, None]
        sizes = np.minimum(sizes, bound / np.maximum(np.linalg.norm(directions, axis=1), 1e-300))
        predictions: Floats = directions @ self.coef_ * sizes + self.intercept_
        return predictions

    def _prediction_bound(self) -> float | None:
        """Return the norm to which rows are clipped; None for not at all."""
        return None
