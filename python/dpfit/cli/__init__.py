"""The command line, ``dpfit``; needs the extra ``cli``.

Each command is a module of `dpfit.cli.commands`; the other modules are shared. Large libraries are
imported when a command needs them, so help and completion are fast.
"""

from __future__ import annotations

import os
import sys

# Python has imported these two before. Nothing else is imported until `main` handles Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its options; by default the arguments of the process. Then Ctrl-C ends the
        process at once, wherever it is.

    Returns
    -------
    int
        0 for success, 1 for a failure, 2 for wrong usage; 129, 130, 131, 141 and 143 if the
        command was ended by a closed terminal, Ctrl-C, SIGQUIT, a closed pipe or SIGTERM.
    """
    try:
        if arguments is not None:
            return _main(list(arguments))
        _exit_on_early_ctrl_c()
        from dpfit.cli.interrupts import exit_on_ctrl_c, ignore_ctrl_c

        exit_on_ctrl_c()
        code = _main(sys.argv[1:])
        # Only what Python does at exit is left, where Ctrl-C would print a traceback.
        ignore_ctrl_c()
        return code
    except KeyboardInterrupt:
        print("dpfit: interrupted", file=sys.stderr)
        return 130


def _exit_on_early_ctrl_c() -> None:
    """Let Ctrl-C end the process before `signal` and `threading` are imported.

    An exception in an import may be printed by Python and forgotten.
    """
    # The part of `signal` that is built into Python; importing the rest takes milliseconds.
    import _signal  # type: ignore[import-not-found]

    def leave(*_: object) -> None:
        os.write(2, b"dpfit: interrupted\n")
        os._exit(130)

    # Ignored in a process that was started with `nohup` or in the background.
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, leave)


def _main(arguments: list[str]) -> int:
    try:
        import importlib

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
    return run(arguments)
