"""``python -m dpfit.experiments``."""

import argparse
import sys
from pathlib import Path

from dpfit.experiments.reproduce import reproduce


def main(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--data", type=Path)
    p.add_argument("--out", type=Path, default=Path("dpfit-experiments"))
    p.add_argument("--trials", type=int, default=20)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--jobs", type=int)
    p.add_argument("--epsilon", type=float, action="append")
    p.add_argument("--method", action="append")
    p.add_argument("--task", type=int, action="append")
    p.add_argument("--extra", action="store_true")
    a = p.parse_args(argv)
    reproduce(
        data=a.data,
        out=a.out,
        trials=a.trials,
        seeds=a.seeds,
        jobs=a.jobs,
        epsilons=a.epsilon or (0.1, 1.0, 10.0),
        methods=a.method,
        tasks=a.task,
        extra=a.extra,
    )


if __name__ == "__main__":
    sys.exit(main())
