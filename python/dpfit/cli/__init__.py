"""The command line, ``dpfit``; needs the extra ``cli``.

One module for each command. Nothing heavy is imported before a command needs it, so that help and
completion come at once.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What to do; by default the arguments of the process.

    Returns
    -------
    int
        0 if it is done, 2 if it was called in a wrong way, 1 if it failed; 129, 130, 131, 141
        and 143 if a closed terminal, Ctrl-C, SIGQUIT, a closed pipe or SIGTERM ended it.
    """
    try:
        from dpfit.cli.streams import open_what_is_closed

        open_what_is_closed()
        # Typer does without it until it has to print a help.
        importlib.import_module("rich")
        from dpfit.cli.run import run
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        print('dpfit: the command line needs more: pip install "dpfit[cli]"', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dpfit: interrupted", file=sys.stderr)
        return 130
    return run(sys.argv[1:] if arguments is None else list(arguments))
