"""Reading with Arrow, whose errors show values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from dpfit.exceptions import SourceError

__all__ = ["attempt", "each"]

T = TypeVar("T")


def attempt(act: Callable[[], T], message: Callable[[str], str]) -> T:
    """Return what `act` returns; errors of Arrow, which show values, become `message` of them."""
    import pyarrow as pa

    try:
        return act()
    except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError) as error:
        text = str(error)
    # Raised out here, so that the first error is not attached to it.
    raise SourceError(message(text))


def each(batches: Iterator[T], message: Callable[[str], str]) -> Iterator[T]:
    """Give all batches; errors of Arrow become `message` of them."""
    while (batch := attempt(lambda: next(batches, None), message)) is not None:
        yield batch
