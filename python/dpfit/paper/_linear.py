"""What the paper's linear models share: predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfit._typing import Floats
from dpfit.estimator import PrivateRegressor

__all__ = ["LinearModel"]


class LinearModel(PrivateRegressor):
    """A linear model whose rows may be clipped to a norm."""

    coef_: Floats
    intercept_: float

    def predict(self, X: Any) -> Floats:
        """Predict the target, with rows clipped as in the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

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
        # Rows are divided by their largest entry first, so that squares cannot overflow.
        sizes = np.maximum(np.abs(rows).max(axis=1), 1e-300)
        directions = rows / sizes[:, None]
        sizes = np.minimum(sizes, bound / np.maximum(np.linalg.norm(directions, axis=1), 1e-300))
        predictions: Floats = directions @ self.coef_ * sizes + self.intercept_
        return predictions

    def _prediction_bound(self) -> float | None:
        """Return the norm to which rows are clipped; None if they are not."""
        return None
