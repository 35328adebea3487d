"""Check what the Python of workers has installed, before they get any work.

A worker without dpfit cannot even read what it has to do, and fails with an error of the engine
that helps nobody. The check itself therefore uses the standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dpfit.exceptions import Code, SourceError

__all__ = ["Installed", "check_installed", "describe", "missing_module", "no_module"]

# What workers import. An engine may need one of them before dpfit is asked for.
_MODULES = ("dpfit", "numpy", "pyarrow", "pandas", "narwhals", "scipy", "sklearn")
_MISSING = re.compile(r"No module named '(\w+)")


@dataclass(frozen=True)
class Installed:
    """What a Python has.

    Parameters
    ----------
    host, python : str
        The machine, and the path of the interpreter.
    dpfit, numpy : str or None
        Their versions, None if they cannot be imported.
    missing : str or None
        The module that could not be imported.
    """

    host: str
    python: str
    dpfit: str | None
    numpy: str | None
    missing: str | None

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"{self.python} on {self.host}"


def describe() -> Callable[[], tuple[str | None, ...]]:
    """Return a function that returns the fields of `Installed`, of the process that calls it.

    It is a local function, so that it is pickled with its code and not with its name: a process
    without dpfit can call it.
    """

    def found() -> tuple[str | None, ...]:
        import importlib
        import importlib.metadata
        import socket
        import sys

        def version(name: str) -> str:
            try:
                return importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                # It can be imported, but was not installed.
                return "of unknown version"

        missing = None
        try:
            for name in ("dpfit", "dpfit.sources.engines.worker", "pyarrow"):
                importlib.import_module(name)
        except ImportError as error:
            missing = (error.name or "dpfit").partition(".")[0]
        dpfit, numpy = (None, None) if missing else (version("dpfit"), version("numpy"))
        return socket.gethostname(), sys.executable, dpfit, numpy, missing

    return found


def check_installed(workers: Iterable[Installed], engine: str, hint: str) -> None:
    """Check that all workers have what this process has.

    Parameters
    ----------
    workers : iterable of Installed
        What they have.
    engine : str
        The name of the engine.
    hint : str
        How to tell the engine which Python its workers are.
    """
    here = Installed(*describe()())  # type: ignore[arg-type]
    for worker in workers:
        if worker.missing is not None:
            raise no_module(worker.missing, engine, hint, worker.place)
        if worker.dpfit != here.dpfit:
            raise _differs(engine, "dpfit", worker.dpfit, here.dpfit, worker.place, hint)
        # Arrays that one major version has pickled cannot always be read by another.
        if _major(worker.numpy) != _major(here.numpy):
            raise _differs(engine, "NumPy", worker.numpy, here.numpy, worker.place, hint)


def missing_module(error: BaseException) -> str | None:
    """Return the module that a worker could not import, if that is why it failed.

    Privacy
    -------
    An error of an engine may contain rows. Only names that are listed here are returned.
    """
    name = getattr(error, "name", None) if isinstance(error, ImportError) else None
    found = [name] if name else _MISSING.findall(str(error))
    return next((module for module in _MODULES if module in found), None)


def no_module(module: str, engine: str, hint: str, place: str | None = None) -> SourceError:
    """Return the error that workers do not have a module."""
    where = "" if place is None else f", which is {place}"
    problem = f"{module} is not installed in the Python of {engine}'s workers{where}"
    return SourceError(problem, code=Code.WORKERS, subject=module, hint=hint)


def _differs(
    engine: str, name: str, there: str | None, here: str | None, place: str, hint: str
) -> SourceError:
    return SourceError(
        f"{engine}'s workers have {name} {there} ({place}), but this process has {here}",
        code=Code.WORKERS,
        subject=name.lower(),
        hint=hint,
    )


def _major(version: str | None) -> str | None:
    return None if version is None else version.partition(".")[0]
