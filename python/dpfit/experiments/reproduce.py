"""The paper's section on experiments, from data to report."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from dpfit.experiments.catalogue import open_catalogue
from dpfit.experiments.plan import Plan, units
from dpfit.experiments.progress import Progress
from dpfit.experiments.runner import run
from dpfit.experiments.store import Store

__all__ = ["reproduce"]

_STORE = "results.sqlite"


def reproduce(
    *,
    data: Path | None = None,
    out: Path = Path("dpfit-experiments"),
    epsilons: Sequence[float] = (0.1, 1.0, 10.0),
    delta: float = 1e-6,
    trials: int = 20,
    seeds: int = 3,
    jobs: int | None = None,
    methods: Sequence[str] | None = None,
    tasks: Collection[int] | None = None,
    extra: bool = False,
) -> Path:
    """Run."""
    plan = Plan(tuple(epsilons), delta, trials, seeds)
    if methods:
        plan = dataclasses.replace(plan, methods=tuple(methods))
    catalogue = open_catalogue(data, extra=extra, tasks=tasks)
    if catalogue.message:
        print(catalogue.message)
    out.mkdir(parents=True, exist_ok=True)
    store = Store(out / _STORE)
    store.agree(plan.must_agree())
    for entry in catalogue.entries:
        store.add_table(entry)
    work = units(catalogue.entries, plan)
    jobs = jobs or os.cpu_count() or 1
    with Progress(work, plan, jobs) as progress:
        for _ in progress.follow(run(work, plan, store.path, jobs)):
            pass
    return out
