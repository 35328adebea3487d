"""Run the paper's experiments, and write tables, figures and a report.

A run can be stopped at any time. The same command continues it and ends with the same files.

Examples
--------
  python benches/reproduce.py --quick
  python benches/reproduce.py --data FOLDER --out results
  python benches/reproduce.py --data FOLDER --epsilon 0.5 --method additive --method dp_ebm
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from dpfit.exceptions import DpfitError, ParameterError
from paper import Figures, Options, reproduce
from paper.methods import METHODS

_FAILURE, _WRONG_USE, _INTERRUPTED = 1, 2, 130
# Each option with its help and, where they are not the usual ones, its type and default.
_FOLDER: dict[str, Any] = {"type": Path, "metavar": "FOLDER"}
_NUMBER: dict[str, Any] = {"type": int, "metavar": "NUMBER"}


def _parser() -> argparse.ArgumentParser:
    summary, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="reproduce",
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--data",
        help="Parquet files named like 361072_cpu_act.parquet, with a column `target` "
        "(default: DPFIT_DATA; otherwise tables are downloaded from openml.org; "
        "without a network, generated tables are used)",
        **_FOLDER,
    )
    add("--out", help="where results are stored (default: dpfit-experiments)", **_FOLDER)
    add("--report", help="where the report goes (default: the folder of --out)", **_FOLDER)
    add(
        "--quick",
        action="store_true",
        help="finish in a few minutes: fewer rows, trials, seeds and budgets, no wide tables",
    )
    add(
        "--epsilon",
        "-e",
        dest="epsilons",
        type=float,
        action="append",
        metavar="NUMBER",
        help="a privacy budget; can be repeated (default: 0.1, 1 and 10)",
    )
    add(
        "--delta",
        type=float,
        metavar="NUMBER",
        default=1e-6,
        help="delta of each budget (default: 1e-6)",
    )
    add(
        "--trials",
        help="Optuna trials for each table, method and budget; "
        "fast methods get three times as many (default: 20)",
        **_NUMBER,
    )
    add("--seeds", help="final fits of each (default: 3)", **_NUMBER)
    add("--rows", help="maximum number of rows of each table (default: all)", **_NUMBER)
    add(
        "--ebm-rounds",
        help="upper end of the tuning range for DP-EBM's rounds (default: 4000, as in the paper)",
        **_NUMBER,
    )
    add(
        "--method",
        dest="methods",
        action="append",
        metavar="NAME",
        help=f"a method to compare; can be repeated: {', '.join(METHODS)} (default: all)",
    )
    add(
        "--task",
        dest="tasks",
        action="append",
        help="a task of the paper; can be repeated (default: all)",
        **_NUMBER,
    )
    add(
        "--extra",
        action="store_true",
        help="also use the tables in FOLDER/extra; they are reported separately",
    )
    add(
        "--adopt",
        help="report of an earlier run; its complete results are reused, not computed again",
        **_FOLDER,
    )
    add("--report-only", action="store_true", help="fit nothing; report the results that exist")
    add(
        "--figures",
        choices=get_args(Figures),
        default="all",
        help="which figures to draw; those of the theory take a minute (default: all)",
    )
    add("--jobs", help="number of processes (default: one for each core)", **_NUMBER)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = Options(**vars(_parser().parse_args(arguments)))
    try:
        reproduce(options)
    except KeyboardInterrupt:
        return _failed("interrupted", _INTERRUPTED)
    except ParameterError as error:
        return _failed(str(error), _WRONG_USE)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename is not None:
            return _failed(f"no file {str(error.filename)!r}")
        return _failed(str(error))
    except (DpfitError, ImportError) as error:
        return _failed(str(error))
    return 0


def _failed(message: str, code: int = _FAILURE) -> int:
    print(f"reproduce: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
