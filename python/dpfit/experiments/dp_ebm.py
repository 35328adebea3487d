"""InterpretML's DP-EBM, driven as it is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

__all__ = ["DPEBM"]

Floats = npt.NDArray[np.float64]


class DPEBM:
    """InterpretML's own class, given bounds of every column and of the target.

    Parameters
    ----------
    epsilon, delta : float
        The budget.
    max_rounds, max_leaves : int
        InterpretML's parameters.
    random_state : int
        For noise and splits.
    bound : float or None
        All columns and the target are cut to plus and minus this. None for their true ranges: they
        are read from the rows, which is not private and more than the other methods get.
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
