"""Rows with missing values that are kept: columns that indicate them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfit._typing import Batch
from dpfit.schema.indicators import Indicators

__all__ = ["AddIndicators"]


@dataclass(frozen=True)
class AddIndicators:
    """Adds flags of missing values to the columns of a batch; see :class:`Indicators`.

    Missing numbers stay NaN or infinite: the statistics count them separately, and the row map
    replaces them by the middle of the released range.

    Parameters
    ----------
    indicators : Indicators
        The columns.

    Privacy
    -------
    What becomes of a row depends on that row and on the public kinds only. A row with a missing
    value in a column without an indicator gets a missing target, so that all statistics leave it
    out.
    """

    indicators: Indicators

    def __call__(self, batch: Batch) -> Batch:
        """Return the columns of the model, and the target."""
        columns, target = batch
        separate = columns if isinstance(columns, list) else list(columns.T)
        count = len(self.indicators.kinds)
        features, weights = separate[:count], separate[count:]
        unexpected = self.indicators.unexpected(features)
        if unexpected.any():
            target = np.where(unexpected, np.nan, target)
        # If rows have weights, these stay the last column.
        return [*self.indicators.added_to(features), *weights], target
