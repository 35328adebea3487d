"""Type aliases that the whole package shares.

Those that need NumPy are strings: accounting works without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import numpy.typing as npt

__all__ = ["Array", "Batch", "Floats", "Missing", "Neighbors"]

Array: TypeAlias = "npt.NDArray[Any]"
Floats: TypeAlias = "npt.NDArray[np.float64]"
# X, as one array or as a list of columns, and the target.
Batch: TypeAlias = "tuple[Array | list[Array], Array]"
# What to do with a row that contains NaN or an infinity.
Missing: TypeAlias = Literal["error", "drop", "indicator"]
# The neighbouring relation: one row more or less, or one row changed.
Neighbors: TypeAlias = Literal["add_remove", "replace"]
