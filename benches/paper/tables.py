"""Tables as numbers with one-hot levels, and the paper's split."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

__all__ = ["Split", "Table", "encode", "read_table"]

Floats = npt.NDArray[np.float64]

# The split of the paper's own script: a fifth of the rows for testing, shuffled with this seed.
_TEST_SHARE = 0.2
_SPLIT_SEED = 42
_TARGET = "target"


@dataclass(frozen=True)
class Split:
    """Training and test rows."""

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats

    def scaled(self) -> Split:
        """Return the rows with features in [0, 1] / sqrt(d), by the true ranges of training rows.

        This is not private. It shows how a method works on scaled features.
        """
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        width = np.where(high > low, high - low, 1.0) * np.sqrt(self.X.shape[1])
        return Split((self.X - low) / width, self.y, (self.X_test - low) / width, self.y_test)

    def held_out(self, seed: int, most_rows: int | None = None) -> Split:
        """Split the training rows again, for tuning, without using the test rows.

        Parameters
        ----------
        seed : int
            Seed for the shuffle.
        most_rows : int, optional
            Maximum number of rows.

        Returns
        -------
        Split
            Four fifths for training and a fifth for evaluation.
        """
        rows = np.random.default_rng(seed).permutation(len(self.y))[:most_rows]
        return _split(self.X, self.y, rows, seed)


@dataclass(frozen=True)
class Table:
    """Features and target of one task.

    Parameters
    ----------
    X, y : array
        Features and target of all rows.
    binary : array of bool
        Which columns are one-hot columns of levels. This is public.
    """

    X: Floats
    y: Floats
    binary: npt.NDArray[np.bool_]

    @property
    def bound(self) -> float:
        """Largest absolute value of the target."""
        return float(np.abs(self.y).max())

    def checksum(self) -> str:
        """Return a checksum of all values."""
        digest = hashlib.blake2b(digest_size=8)
        for part in (self.X, self.y):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def split(self, most_rows: int | None = None) -> Split:
        """Split as the paper does: four fifths for training, a fifth for testing.

        Parameters
        ----------
        most_rows : int, optional
            Maximum number of rows.
        """
        rows = np.random.default_rng(_SPLIT_SEED).permutation(len(self.y))[:most_rows]
        if len(rows) == len(self.y):
            rows = np.arange(len(self.y))
        return _split(self.X, self.y, rows, _SPLIT_SEED)


def _split(X: Floats, y: Floats, rows: npt.NDArray[np.intp], seed: int) -> Split:
    fit, test = train_test_split(rows, test_size=_TEST_SHARE, random_state=seed)
    return Split(X[fit], y[fit], X[test], y[test])


def encode(frame: Any) -> Table:
    """Convert a frame to numbers.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns of numbers, strings, categories or booleans. The target is the column ``target`` or,
        without one, the last column.

    Returns
    -------
    Table
        Rows with missing values are dropped. Levels are one-hot encoded and, as in the paper,
        taken as public.
    """
    import pandas as pd

    frame = frame.dropna(axis=0, how="any")
    target = _TARGET if _TARGET in frame.columns else frame.columns[-1]
    y = frame[target].to_numpy(np.float64)
    features = frame.drop(columns=[target])
    levels = [
        name
        for name, kind in features.dtypes.items()
        if not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind)
    ]
    numbers = features.drop(columns=levels).to_numpy(np.float64)
    # As strings, so that a level without rows has no column, as in the paper's script.
    dummies = [pd.get_dummies(features[name].astype(str)).to_numpy(np.float64) for name in levels]
    X = np.hstack([numbers, *dummies]) if dummies else numbers
    binary = np.zeros(X.shape[1], dtype=bool)
    binary[numbers.shape[1] :] = True
    return Table(np.ascontiguousarray(X), y, binary)


def read_table(path: Path) -> Table:
    """Read a Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    """
    import pandas as pd

    return encode(pd.read_parquet(path))
