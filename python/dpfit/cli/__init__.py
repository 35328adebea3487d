"""The command line, ``dpfit``; needs the extra ``cli``.

Each command is a module of `dpfit.cli.commands`; the other modules are shared. Large libraries are
imported when a command needs them, so help and completion are fast.
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
        The command and its options; by default the arguments of the process.

    Returns
    -------
    int
        0 for success, 1 for a failure, 2 for wrong usage; 129, 130, 131, 141 and 143 if the
        command was ended by a closed terminal, Ctrl-C, SIGQUIT, a closed pipe or SIGTERM.
    """
    try:
        from dpfit.cli.standard_streams import reopen_closed_streams

        reopen_closed_streams()
        # Typer imports rich only when it prints a help text.
        importlib.import_module("rich")
        from dpfit.cli.run import run
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        problem = 'the command line needs more packages: pip install "dpfit[cli]"'
        print(f"dpfit: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dpfit: interrupted", file=sys.stderr)
        return 130
    return run(sys.argv[1:] if arguments is None else list(arguments))
