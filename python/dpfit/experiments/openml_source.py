"""The paper's tables from OpenML, kept as Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpfit.experiments.registry import registry

__all__ = ["cache_folder", "download"]

# After as many failures and no success it is the network, not a table.
_PATIENCE = 3


def cache_folder() -> Path:
    """Return where tables are kept: ``$XDG_CACHE_HOME/dpfit``, or ``~/.cache/dpfit``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dpfit" / "openml"


def download(wanted: Sequence[int], cache: Path | None, say: Callable[[str], None]) -> Path:
    """Fetch tables that are not kept yet.

    Parameters
    ----------
    wanted : sequence of int
        Numbers of tasks.
    cache : Path or None
        Where to keep them; `cache_folder` if None.
    say : callable
        Gets messages.

    Returns
    -------
    Path
        The folder with the Parquet files.

    Raises
    ------
    OSError
        If nothing is kept and nothing can be fetched.
    """
    folder = cache_folder() if cache is None else cache
    kept = [number for number in wanted if any(folder.glob(f"{number}_*.parquet"))]
    absent = [number for number in wanted if number not in kept]
    refused = 0
    for number in absent:
        try:
            frame = _fetch(number)
        except Exception as problem:
            # The package raises errors of many libraries when there is no network.
            refused += 1
            if not kept and refused == min(_PATIENCE, len(absent)):
                raise OSError(f"openml.org cannot be used ({type(problem).__name__})") from problem
            if kept:
                say(f"task {number} could not be fetched ({type(problem).__name__}); going on")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{number}_{registry()[number].name}.parquet"
        # Renamed when it is whole: a run that is killed here leaves no half of a table.
        partial = path.with_suffix(f".{os.getpid()}.partial")
        frame.to_parquet(partial)
        partial.replace(path)
        kept.append(number)
        say(f"task {number} fetched: {registry()[number].name}")
    return folder


def _fetch(number: int) -> Any:
    """Return a task's table with its target as the last column."""
    try:
        import openml
    except ImportError as problem:
        raise OSError("the package `openml` is not installed") from problem
    data: Any = openml.tasks.get_task(number, download_splits=False).get_dataset()
    features, target, is_level, _ = data.get_data(
        dataset_format="dataframe", target=data.default_target_attribute
    )
    for name, level in zip(features.columns, is_level, strict=True):
        if level:
            features[name] = features[name].astype("category")
    return features.assign(target=target.astype(float))
