"""Hardware and versions of a run. Nothing identifies the person or the place."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["machine"]

_PACKAGES = (
    "dpfit",
    "numpy",
    "scipy",
    "scikit-learn",
    "optuna",
    "interpret-core",
    "pandas",
    "pyarrow",
    "matplotlib",
)


def machine() -> dict[str, str]:
    """Return everything that can affect a result: hardware, then versions."""
    return {**_hardware(), **_versions()}


def _hardware() -> dict[str, str]:
    """Return processor, cores, memory and system."""
    found = {"processor": _processor(), "cores": str(os.cpu_count() or "?")}
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        found["memory"] = f"{memory / 2**30:.0f} GiB"
    except (AttributeError, OSError, ValueError):
        # Not available on every system.
        pass
    found["system"] = f"{platform.system()} {platform.machine()}"
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {name.strip(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    # Processors of one name differ in their generation, and so does linear algebra.
    more = [f"{name} {facts[name]}" for name in ("cpu family", "model") if name in facts]
    return ", ".join([facts.get("model name", platform.machine()), *more])


def _versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect results."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
