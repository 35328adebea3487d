"""Download the paper's tables from OpenML and store them as Parquet files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paper.registry import registry

__all__ = ["cache_folder", "download"]

# After this many failures without a success, the network is the problem, not a table.
_PATIENCE = 3


def cache_folder() -> Path:
    """Return the folder for tables, below ``$XDG_CACHE_HOME/dpfit`` or ``~/.cache/dpfit``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dpfit" / "openml"


def download(wanted: Sequence[int], cache: Path | None, say: Callable[[str], None]) -> Path:
    """Download the tables that are not stored yet.

    Parameters
    ----------
    wanted : sequence of int
        Task numbers.
    cache : Path or None
        Where to store them. Default: `cache_folder`.
    say : callable
        Receives messages.

    Returns
    -------
    Path
        The folder with the Parquet files.

    Raises
    ------
    OSError
        If no table is stored and none can be downloaded.
    """
    folder = cache_folder() if cache is None else cache
    kept = [number for number in wanted if any(folder.glob(f"{number}_*.parquet"))]
    absent = [number for number in wanted if number not in kept]
    refused = 0
    for number in absent:
        try:
            frame = _fetch(number)
        except Exception as problem:
            # Without a network, the package raises errors of many libraries.
            refused += 1
            if not kept and refused == min(_PATIENCE, len(absent)):
                raise OSError(f"cannot reach openml.org ({type(problem).__name__})") from problem
            if kept:
                say(f"cannot download task {number} ({type(problem).__name__}); skipped")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{number}_{registry()[number].name}.parquet"
        # Renamed when complete, so a run that is killed leaves no partial table.
        partial = path.with_suffix(f".{os.getpid()}.partial")
        frame.to_parquet(partial)
        partial.replace(path)
        kept.append(number)
        say(f"downloaded task {number}: {registry()[number].name}")
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
