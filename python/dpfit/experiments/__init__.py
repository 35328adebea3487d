"""The paper's experiments, reproduced and extended.

>>> from dpfit.experiments import reproduce
>>> reproduce(quick=True)  # doctest: +SKIP

On the command line: ``python -m dpfit.experiments --help``.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpfit.experiments.reproduction import reproduce

__all__ = ["main", "reproduce"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; see ``python -m dpfit.experiments --help``.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process if not given.

    Returns
    -------
    int
        Exit status.
    """
    from dpfit.experiments.__main__ import main as command_line

    return command_line(argv)
