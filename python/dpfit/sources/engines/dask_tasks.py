"""What a task of Dask does with a partition: it reads, sums, merges or predicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfit._typing import Array, Batch
from dpfit.exceptions import Code, SourceError
from dpfit.schema import Kind
from dpfit.sources.arrays import ArraySource
from dpfit.sources.columns import encode_array
from dpfit.sources.engines.worker import (
    AsPart,
    Block,
    Failure,
    ToBlocks,
    encoded,
    guarded,
    merged_bytes,
    summed_bytes,
)
from dpfit.sources.frames import FrameSource, encode_series
from dpfit.sources.problems import lengths_differ
from dpfit.sources.roles import Roles
from dpfit.sources.source import Change, Predictor
from dpfit.sources.units import series_units, unit_ids
from dpfit.statistics import Statistic

__all__ = [
    "FrameReading",
    "blocks",
    "encode_array_part",
    "encode_frame",
    "merged",
    "predict_array",
    "predict_frame",
    "summed",
    "unit_hashes",
]

# The hash of a unit if hashes cannot be computed.
_NO_HASH = 0


@dataclass(frozen=True)
class FrameReading:
    """How to read the partitions of a frame.

    Parameters
    ----------
    kinds : list of Kind
        What the features are.
    unit, weight : str or None
        The columns of units and weights.
    hashes : str or None
        The column of hashes of units, which is not a feature.
    max_rows : int or None
        The number of rows that are kept for each unit, if rows have units.
    change : callable or None
        Replaces columns and target.
    """

    kinds: list[Kind]
    unit: str | None
    weight: str | None
    hashes: str | None
    max_rows: int | None
    change: Change | None


def unit_hashes(units: Any) -> Any:
    """Return hashes of units, to assign their rows to partitions.

    Privacy
    -------
    Each partition keeps at most `max_rows` rows of a unit, so a unit must not be in two partitions.
    The hash is that of the unit as a string: the hash of a number would depend on its type, which
    can differ between partitions. If hashes cannot be computed, :func:`encode_frame` refuses the
    rows.
    """
    import narwhals as nw
    import pandas as pd

    def act() -> Any:
        found = unit_ids(series_units(nw.from_native(units, series_only=True)), len(units))
        values, places = np.unique(found, return_inverse=True)
        # Every string has bytes, even one that is not valid Unicode.
        strings = [str(value).encode("utf-8", "surrogatepass") for value in values.tolist()]
        hashes = pd.util.hash_array(np.array(strings, dtype=object), categorize=False)
        return np.maximum(hashes, np.uint64(_NO_HASH + 1))[places]

    hashes = guarded(act) if len(units) else np.zeros(0, dtype=np.uint64)
    # An error here would be in the logs of workers, with values. It is raised later, where rows
    # are chosen.
    if isinstance(hashes, Failure):
        hashes = np.full(len(units), _NO_HASH, dtype=np.uint64)
    return pd.Series(hashes, index=units.index)


def encode_frame(frame: Any, target: Any, how: FrameReading) -> list[Batch] | Failure:
    """Return a partition of a frame as numbers; `target` is a column or its own partition."""

    def act() -> list[Batch]:
        y = target if isinstance(target, str) else _numbers(target)
        rows = frame if how.hashes is None else frame.drop(columns=how.hashes)
        source = FrameSource.open(rows, Roles(y, how.unit, weight=how.weight))
        # Units that are invalid are refused here.
        found = encoded(source, how.kinds, how.max_rows, how.change)
        if how.hashes is not None and (frame[how.hashes] == _NO_HASH).any():
            # Others may be in two partitions, each of which would keep `max_rows` rows of them.
            problem = "a worker could not compute the hashes of its units"
            raise SourceError(problem, code=Code.FAILED, subject=how.unit)
        return found

    return _safely(act)


def encode_array_part(
    x: Array, y: Any, kinds: list[Kind], change: Change | None
) -> list[Batch] | Failure:
    """Return a chunk of an array as numbers, given the chunk of the target."""

    def act() -> list[Batch]:
        numbers = _numbers(y)
        if len(numbers) != len(x):
            raise lengths_differ()
        return encoded(ArraySource(_readable(x), numbers), kinds, None, change)

    return _safely(act)


def _safely(act: Callable[[], list[Batch]]) -> list[Batch] | Failure:
    found: list[Batch] | Failure = guarded(act)
    return found


def summed(
    part: list[Any] | Failure, asked: tuple[Statistic[Any, Any], AsPart]
) -> bytes | Failure | None:
    """Return the sum over a partition."""
    statistic, as_part = asked
    found: bytes | Failure | None = guarded(
        lambda part: summed_bytes(statistic, as_part(part)), part
    )
    return found


def merged(
    sums: list[bytes | Failure | None], asked: tuple[Statistic[Any, Any], AsPart]
) -> bytes | Failure | None:
    """Return the total of the sums over some partitions."""

    def act(*sums: bytes | None) -> bytes | None:
        return merged_bytes(asked[0], (packed for packed in sums if packed is not None))

    found: bytes | Failure | None = guarded(act, *sums)
    return found


def blocks(part: list[Any] | Failure, work: ToBlocks) -> list[Block] | Failure:
    """Convert a partition to blocks."""
    found: list[Block] | Failure = guarded(lambda part: list(work(part)), part)
    return found


def predict_frame(frame: Any, kinds: list[Kind], predictor: Predictor) -> Any:
    """Return predictions for a partition of a frame."""
    import pandas as pd

    found = FrameSource.open(frame, Roles()).predict(kinds, predictor)
    return pd.Series(found, index=frame.index, name="prediction")


def predict_array(x: Array, kinds: list[Kind], predictor: Predictor) -> Array:
    """Return predictions for a chunk of an array."""
    predictions: Array = ArraySource(_readable(x), None).predict(kinds, predictor)
    return predictions


def _readable(x: Array) -> Array:
    """Return the array with a type that the core reads."""
    if x.dtype.kind == "U":
        return x.astype(object)
    if x.dtype.kind == "f" and x.dtype.itemsize not in (4, 8):
        return x.astype(np.float64)
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def _numbers(target: Any) -> Array:
    """Return a partition of the target as numbers."""
    import narwhals as nw

    if isinstance(target, np.ndarray):
        return encode_array(target, None, "y")
    return encode_series(nw.from_native(target, series_only=True), None, "y")
