"""InterpretML's DP-EBM with the bounds that it needs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

__all__ = ["DPEBM"]

Floats = npt.NDArray[np.float64]


class DPEBM:
    """InterpretML's estimator, given bounds for every column and for the target.

    Parameters
    ----------
    epsilon, delta : float
        The privacy budget.
    max_rounds, max_leaves : int
        InterpretML's parameters.
    random_state : int
        Seed for noise and splits.
    bound : float or None
        All columns and the target are clipped to [-bound, bound]. None for their true ranges, which
        are read from the rows. That is not private, and more than the other methods are given.
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        max_rounds: int,
        max_leaves: int,
        random_state: int,
        bound: float | None = None,
    ) -> None:
        self.bound = bound
        self.options = {
            "epsilon": epsilon,
            "delta": delta,
            "max_rounds": max_rounds,
            "max_leaves": max_leaves,
            "random_state": random_state,
            "n_jobs": 1,
        }

    def fit(self, X: Floats, y: Floats) -> Self:
        """Fit InterpretML's model."""
        from interpret.privacy import DPExplainableBoostingRegressor

        if self.bound is None:
            low, high = float(y.min()), float(y.max())
            bounds = list(zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True))
        else:
            low, high = -self.bound, self.bound
            bounds = [(low, high)] * X.shape[1]
        self.model: Any = DPExplainableBoostingRegressor(
            privacy_bounds=dict(enumerate(bounds)),
            privacy_target_min=low,
            privacy_target_max=high,
            **self.options,
        )
        self.model.fit(X, y)
        return self

    def predict(self, X: Floats) -> Floats:
        """Predict with InterpretML's model."""
        return np.asarray(self.model.predict(X), dtype=np.float64)
