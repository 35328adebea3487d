"""``python -m dpfit.experiments``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dpfit.exceptions import DpfitError
from dpfit.experiments.methods import METHODS
from dpfit.experiments.reproduction import reproduce

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dpfit.experiments",
        description="The paper's experiments: tables, methods, tuning, figures and a report. "
        "A run that was stopped goes on where it was.",
    )
    add = parser.add_argument
    add("--data", type=Path, metavar="FOLDER",
        help="Parquet files named like 361072_cpu_act.parquet, with a column `target` "
        "(default: DPFIT_DATA, else openml.org, else generated tables)")  # fmt: skip
    add("--out", type=Path, metavar="FOLDER", help="where results are kept")
    add("--report", type=Path, metavar="FOLDER", help="where the report goes (default: --out)")
    add("--epsilon", type=float, action="append", metavar="E",
        help="a privacy level; may be repeated (default: 0.1, 1, 10)")  # fmt: skip
    add("--delta", type=float, default=1e-6)
    add("--trials", type=int, help="Optuna trials for each (default: 20)")
    add("--seeds", type=int, help="final fits of each (default: 3)")
    add("--rows", type=int, help="rows of each table that are used (default: all)")
    add("--ebm-rounds", type=int, metavar="N",
        help="upper end of DP-EBM's range of rounds (default: 4000, the paper's)")  # fmt: skip
    add("--method", action="append", choices=sorted(METHODS), help="may be repeated")
    add("--task", type=int, action="append", metavar="NUMBER", help="may be repeated")
    add("--extra", action="store_true", help="also the tables in FOLDER/extra, reported apart")
    add("--quick", action="store_true", help="a few minutes: fewer rows, trials, seeds, levels")
    add("--report-only", action="store_true", help="run nothing, report what is there")
    add("--figures", choices=("all", "results", "none"), default="all",
        help="which figures; the theory's take a minute (default: all)")  # fmt: skip
    add("--jobs", type=int, help="processes (default: one for each core)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process if not given.

    Returns
    -------
    int
        Exit status.
    """
    options = _parser().parse_args(argv)
    try:
        reproduce(
            data=options.data,
            out=options.out,
            report=options.report,
            epsilons=options.epsilon,
            delta=options.delta,
            trials=options.trials,
            seeds=options.seeds,
            most_rows=options.rows,
            ebm_rounds=options.ebm_rounds,
            methods=options.method,
            tasks=options.task,
            extra=options.extra,
            quick=options.quick,
            run_missing=not options.report_only,
            jobs=options.jobs,
            figures=options.figures,
        )
    except (DpfitError, FileNotFoundError, ImportError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
