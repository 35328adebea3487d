"""Replace errors of other libraries, whose messages may contain data, by errors of dpfit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar, cast

from dpfit.exceptions import DpfitError

__all__ = ["Problem", "public_error", "shielded", "shielded_each"]

T = TypeVar("T")
Errors: TypeAlias = type[Exception] | tuple[type[Exception], ...]
# The error to raise instead of another one.
Problem: TypeAlias = Callable[[Exception], DpfitError]

_END = object()


def shielded(act: Callable[[], T], problem: Problem, catch: Errors = Exception) -> T:
    """Return ``act()``; raise an error of dpfit if it fails.

    Parameters
    ----------
    act : callable
        Calls another library, or a function of the user's.
    problem : callable
        Returns the error to raise instead of the one it is given.
    catch : exception class or tuple of them, default Exception
        The errors to replace.

    Privacy
    -------
    An exception is an output. Other libraries put values, and whole lines of a table, into their
    messages. The new error is raised after the `except` block, so that the old one is not attached
    to it: ``__context__`` and ``__cause__`` are None.
    """
    try:
        return act()
    except catch as error:
        found = public_error(error, problem)
    except BaseException as error:
        if catch is not Exception or not _is_panic(error):
            raise
        found = problem(RuntimeError("panic"))
    raise found


def _is_panic(error: BaseException) -> bool:
    """Return whether a library in Rust failed; its error is not an `Exception`."""
    return type(error).__module__ == "pyo3_runtime"


def shielded_each(items: Iterator[T], problem: Problem, catch: Errors = Exception) -> Iterator[T]:
    """Yield all items; an error of the iterator is replaced as in :func:`shielded`."""
    while (item := shielded(lambda: next(items, _END), problem, catch)) is not _END:
        yield cast(T, item)


def public_error(error: Exception, problem: Problem) -> DpfitError:
    """Return an error of dpfit without anything attached.

    Privacy
    -------
    Errors of dpfit contain no data. They are rebuilt from their fields, without cause and context;
    `copy.copy` would keep these if a library has registered its own way to copy exceptions. Of
    other errors, only what `problem` uses is kept.
    """
    if not isinstance(error, DpfitError):
        return problem(error)
    return type(error)(error.message, code=error.code, subject=error.subject, hint=error.hint)
