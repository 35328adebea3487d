"""Numbers in JSON: doubles keep all their bits, and infinities are the strings "inf" and "-inf"."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfit._typing import Floats

__all__ = ["decode", "decode_array", "encode"]

_WORDS = {math.inf: "inf", -math.inf: "-inf"}
_INFINITIES = {word: number for number, word in _WORDS.items()}


def encode(value: Any) -> Any:
    """Return a number, an array, or nested sequences of numbers as values for JSON."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [encode(part) for part in value]
    return _WORDS.get(value, value) if isinstance(value, float) else value


def decode(value: Any) -> float:
    """Return the number that :func:`encode` wrote; raise ValueError for anything else."""
    if isinstance(value, str) and value in _INFINITIES:
        return _INFINITIES[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("expected a number")
    return float(value)


def decode_array(value: Any) -> Floats:
    """Return the array that :func:`encode` wrote; raise ValueError for anything else."""
    return np.array(_decoded(value), dtype=np.float64)


def _decoded(value: Any) -> Any:
    return [_decoded(part) for part in value] if isinstance(value, list) else decode(value)
